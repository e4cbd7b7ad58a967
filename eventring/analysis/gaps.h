/* SPDX-License-Identifier: MIT */
/* gaps.h: when events of rings were lost.
 *
 * A loss becomes known only with the next event. Until then, statements about a moment in
 * the gap (such as which span a step of the collector was in) are made as if nothing had
 * been lost.
 *
 * Units: nanoseconds of the recording's clock. Errors: EVENTRING_E_MEMORY, and nothing is
 * added. Threads: one at a time.
 */
#ifndef EVENTRING_ANALYSIS_GAPS_H
#define EVENTRING_ANALYSIS_GAPS_H

#include <stdbool.h>
#include <stddef.h>

#include "eventring/read.h"

struct eva_gap {
  uint32_t domain, ring;
  uint64_t from, until; /* times of the events before and after the gap */
};

/* A zeroed struct has no gaps. */
struct eva_gaps {
  struct eva_gap *gap;
  size_t count, room;
};

/* Adds a loss; `from` is the time of the last event of its ring before it. */
int eva_gaps_add(struct eva_gaps *gaps, const struct eventring_loss *loss, uint64_t from);
/* Sorts the gaps. To be called after the last eva_gaps_add and before the first
   eva_gaps_has. */
void eva_gaps_sort(struct eva_gaps *gaps);
/* Tells whether the moment lies in a gap of this ring. */
bool eva_gaps_has(const struct eva_gaps *gaps, uint32_t domain, uint8_t ring, uint64_t ns);
void eva_gaps_free(struct eva_gaps *gaps);

#endif
