/* SPDX-License-Identifier: MIT */
/* gaps.c: when events of rings were lost. */
#include "analysis/gaps.h"

#include <stdlib.h>

#include "format/array.h"

int eva_gaps_add(struct eva_gaps *gaps, const struct eventring_loss *loss, uint64_t from) {
  if (!EVR_MAKE_ROOM(gaps->gap, gaps->room, gaps->count, 8)) return EVENTRING_E_MEMORY;
  gaps->gap[gaps->count++] = (struct eva_gap){loss->domain, loss->ring, from, loss->ns};
  return EVENTRING_OK;
}

static int compare(const void *a, const void *b) {
  const struct eva_gap *x = a, *y = b;
  if (x->domain != y->domain) return x->domain < y->domain ? -1 : 1;
  if (x->ring != y->ring) return x->ring < y->ring ? -1 : 1;
  return x->until < y->until ? -1 : x->until > y->until;
}

void eva_gaps_sort(struct eva_gaps *gaps) {
  if (gaps->count) qsort(gaps->gap, gaps->count, sizeof *gaps->gap, compare);
}

/* Finds the first gap of the ring that ends after `ns`. Gaps of a ring do not overlap, so
   no other gap can contain the moment. */
bool eva_gaps_has(const struct eva_gaps *gaps, uint32_t domain, uint8_t ring, uint64_t ns) {
  const struct eva_gap wanted = {.domain = domain, .ring = ring, .until = ns};
  size_t low = 0, high = gaps->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (compare(&gaps->gap[middle], &wanted) <= 0) low = middle + 1;
    else high = middle;
  }
  const struct eva_gap *gap = &gaps->gap[low];
  return low < gaps->count && gap->domain == domain && gap->ring == ring && gap->from <= ns;
}

void eva_gaps_free(struct eva_gaps *gaps) {
  free(gaps->gap);
  *gaps = (struct eva_gaps){0};
}
