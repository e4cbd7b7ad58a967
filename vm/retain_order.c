/* SPDX-License-Identifier: MIT */
/* vm/retain_order.c: sorts entries by number. It is a heapsort in place, since the child
 * of a fork may not call qsort, which allocates. */
#include "retain_walk.h"

/* Moves the entry at `at` down the tree until none of its children comes behind it. */
static void sink(uint32_t *order, uint32_t at, uint32_t n, RetainBefore *before,
                 const void *context) {
  const uint32_t entry = order[at];
  for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && before(context, order[child], order[child + 1])) child++;
    if (!before(context, entry, order[child])) break;
    order[at] = order[child];
  }
  order[at] = entry;
}

void retain_order(uint32_t *order, uint32_t n, RetainBefore *before, const void *context) {
  for (uint32_t i = 0; i < n; i++) order[i] = i;
  for (uint32_t i = n / 2; i-- > 0;) sink(order, i, n, before, context);
  for (uint32_t left = n; left-- > 1;) {
    const uint32_t last = order[0];
    order[0] = order[left];
    order[left] = last;
    sink(order, 0, left, before, context);
  }
}
