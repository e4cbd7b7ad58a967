/* SPDX-License-Identifier: MIT */
/* share.c: divides room among many who need it. */
#include "view/share.h"

/* Returns the bytes used if each may take `factor` bytes for a weight of 1. */
static double taken(const struct page_need *needs, size_t count, double factor) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    const double may = factor * needs[i].weight, wants = (double)needs[i].bytes;
    sum += may < wants ? may : wants;
  }
  return sum;
}

void page_share(struct page_need *needs, size_t count, uint64_t room) {
  enum { STEPS = 80 };
  double low = 0, high = 1;
  const double all = taken(needs, count, 1e300);
  while (taken(needs, count, high) < all && taken(needs, count, high) < (double)room) high *= 2;
  for (int i = 0; i < STEPS; i++) {
    const double middle = (low + high) / 2;
    if (taken(needs, count, middle) > (double)room) high = middle;
    else low = middle;
  }
  if (all <= (double)room) low = 1e300;
  for (size_t i = 0; i < count; i++) {
    const double may = low * needs[i].weight;
    needs[i].allowed = may < (double)needs[i].bytes ? (uint64_t)may : needs[i].bytes;
  }
}
