/* SPDX-License-Identifier: MIT */
/* nearest.c: finds which word a misspelt word was meant to be: the word that needs the
 * fewest edits, if these are at most about a third of its letters. An edit inserts,
 * deletes or replaces a letter, or exchanges two neighbours. */
#include "analysis/nearest.h"

#include <string.h>

enum { LONGEST = 32 };

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static size_t distance(const char *a, size_t size_a, const char *b, size_t size_b) {
  size_t row[3][LONGEST + 1]; /* the row before the last, the last row and this row, in
                                 turn */
  for (size_t j = 0; j <= size_b; j++) row[0][j] = j;
  for (size_t i = 1; i <= size_a; i++) {
    size_t *now = row[i % 3];
    const size_t *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
    now[0] = i;
    for (size_t j = 1; j <= size_b; j++) {
      now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = least(now[j], before[j - 2] + 1);
    }
  }
  return row[size_a % 3][size_b];
}

void eva_nearest_begin(struct eva_nearest *nearest, const char *given, size_t size) {
  *nearest = (struct eva_nearest){.given = given, .size = size,
                              .distance = size / 3 + 1 + (size > 1 && size < 3)};
}

void eva_nearest_try(struct eva_nearest *nearest, const char *word) {
  size_t size = strlen(word);
  if (size > LONGEST || nearest->size > LONGEST) return;
  size_t far = distance(nearest->given, nearest->size, word, size);
  if (far >= nearest->distance) return;
  nearest->distance = far;
  nearest->word = word;
}
