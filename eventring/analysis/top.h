/* SPDX-License-Identifier: MIT */
/* top.h: the greatest of many rows, in the memory of those that are kept.
 *
 * A row is a structure that begins with a uint64_t, its key. Of equal ones the first is kept,
 * unless `before` says which.
 * Errors: EVENTRING_E_MEMORY; the row is not taken then. Threads: one at a time.
 */
#ifndef EVENTRING_ANALYSIS_TOP_H
#define EVENTRING_ANALYSIS_TOP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct eva_top {
  size_t size; /* bytes of a row, set by the user before the first */
  size_t most; /* rows that are kept, the same */
  /* Of rows with the same key: is `a` to be kept rather than `b`? A strict order, so that what is
     kept does not depend on the order in which rows come. NULL: see above */
  int (*before)(const void *a, const void *b);
  char *rows;  /* `count` of them; a heap, the least first, until eva_top_sort */
  size_t count, room;
};

/* Would a row with this key be kept? */
static inline int eva_top_wants(const struct eva_top *top, uint64_t key) {
  uint64_t least;
  if (top->count < top->most) return 1;
  if (!top->count) return 0;
  memcpy(&least, top->rows, sizeof least);
  return key > least || (key == least && top->before);
}
/* No row with a key below this would be kept. */
static inline uint64_t eva_top_least(const struct eva_top *top) {
  uint64_t least;
  if (top->count < top->most || !top->count) return 0;
  memcpy(&least, top->rows, sizeof least);
  return least < UINT64_MAX && !top->before ? least + 1 : least;
}
int eva_top_add(struct eva_top *top, const void *row);
/* Puts the greatest first; nothing may be added after that. */
void eva_top_sort(struct eva_top *top);
static inline void *eva_top_place(struct eva_top *top, size_t i) {
  return top->rows + i * top->size;
}
static inline const void *eva_top_row(const struct eva_top *top, size_t i) {
  return top->rows + i * top->size;
}
void eva_top_free(struct eva_top *top);

#endif
