/* SPDX-License-Identifier: MIT */
/* top.h: keeps the greatest of many rows, in no more memory than these rows take.
 *
 * A row is a structure that begins with a uint64_t, its key. Among rows with equal keys
 * the first is kept, unless `before` decides. Errors: EVENTRING_E_MEMORY; the row is not
 * taken then. Threads: one at a time.
 */
#ifndef EVENTRING_ANALYSIS_TOP_H
#define EVENTRING_ANALYSIS_TOP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct eva_top {
  size_t size; /* bytes of a row, set by the user before the first row */
  size_t most; /* most rows that are kept, set by the user before the first */
  /* Tells whether, of two rows with the same key, `a` is to be kept rather than `b`. It
     must be a strict order; then the rows that are kept do not depend on the order in
     which they come. NULL: the first row is kept. */
  int (*before)(const void *a, const void *b);
  char *rows;  /* `count` rows; until eva_top_sort a heap, the least first */
  size_t count, room;
};

/* Tells whether a row with this key would be kept (if `before` decides: may be kept). */
static inline int eva_top_wants(const struct eva_top *top, uint64_t key) {
  uint64_t least;
  if (top->count < top->most) return 1;
  if (!top->count) return 0;
  memcpy(&least, top->rows, sizeof least);
  return key > least || (key == least && top->before);
}
/* Returns the key below which no row would be kept. */
static inline uint64_t eva_top_least(const struct eva_top *top) {
  uint64_t least;
  if (top->count < top->most || !top->count) return 0;
  memcpy(&least, top->rows, sizeof least);
  return least < UINT64_MAX && !top->before ? least + 1 : least;
}
int eva_top_add(struct eva_top *top, const void *row);
/* Sorts the rows, the greatest first; no row may be added after that. */
void eva_top_sort(struct eva_top *top);
static inline void *eva_top_at(struct eva_top *top, size_t i) {
  return top->rows + i * top->size;
}
static inline const void *eva_top_row(const struct eva_top *top, size_t i) {
  return top->rows + i * top->size;
}
void eva_top_free(struct eva_top *top);

#endif
