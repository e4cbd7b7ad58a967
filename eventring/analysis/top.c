/* SPDX-License-Identifier: MIT */
/* top.c: keeps the greatest of many rows: a heap whose first row is the least. */
#include "analysis/top.h"

#include <stdlib.h>
#include <string.h>

#include "eventring/types.h"

static uint64_t key_of(const void *row) {
  uint64_t key;
  memcpy(&key, row, sizeof key);
  return key;
}

/* Tells whether row `a` is less than row `b`, by its key, then by `before`. */
static int is_less(const struct eva_top *top, const void *a, const void *b) {
  if (key_of(a) != key_of(b)) return key_of(a) < key_of(b);
  return top->before && top->before(b, a);
}

static char *at(const struct eva_top *top, size_t i) { return top->rows + i * top->size; }

static int make_room(struct eva_top *top) {
  if (top->count < top->room) return EVENTRING_OK;
  size_t room = top->room ? 2 * top->room : 16;
  char *rows = reallocarray(top->rows, room, top->size);
  if (!rows) return EVENTRING_E_MEMORY;
  top->rows = rows;
  top->room = room;
  return EVENTRING_OK;
}

/* Inserts a row at the end and moves it up past the rows that are greater. */
static void sift_up(struct eva_top *top, const void *row) {
  size_t i = top->count++;
  for (; i > 0 && is_less(top, row, at(top, (i - 1) / 2)); i = (i - 1) / 2)
    memcpy(at(top, i), at(top, (i - 1) / 2), top->size);
  memcpy(at(top, i), row, top->size);
}

/* Replaces the first row and moves the new one down past the rows that are less. */
static void sift_down(struct eva_top *top, const void *row) {
  size_t i = 0;
  for (;;) {
    size_t below = 2 * i + 1;
    if (below + 1 < top->count && is_less(top, at(top, below + 1), at(top, below))) below++;
    if (below >= top->count || !is_less(top, at(top, below), row)) break;
    memcpy(at(top, i), at(top, below), top->size);
    i = below;
  }
  memcpy(at(top, i), row, top->size);
}

int eva_top_add(struct eva_top *top, const void *row) {
  if (!eva_top_wants(top, key_of(row))) return EVENTRING_OK;
  if (top->count == top->most) {
    if (!is_less(top, at(top, 0), row)) return EVENTRING_OK;
    sift_down(top, row);
    return EVENTRING_OK;
  }
  int status = make_room(top);
  if (status == EVENTRING_OK) sift_up(top, row);
  return status;
}

static int greater_first(const void *a, const void *b, void *context) {
  return is_less(context, a, b) - is_less(context, b, a);
}

void eva_top_sort(struct eva_top *top) {
  if (top->count) qsort_r(top->rows, top->count, top->size, greater_first, top);
}

void eva_top_free(struct eva_top *top) {
  free(top->rows);
  top->rows = NULL;
  top->count = top->room = 0;
}
