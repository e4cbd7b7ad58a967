/* SPDX-License-Identifier: MIT */
/* reach.h: how far back a ring reaches.
 *
 * Errors: none. Threads: any.
 */
#ifndef EVENTRING_ANALYSIS_REACH_H
#define EVENTRING_ANALYSIS_REACH_H

#include <stdbool.h>

#include "eventring/read.h"

/* Tells whether everything that was written into the ring is still in it. */
static inline bool eva_ring_is_whole(const struct eventring_ring_info *ring) {
  return ring->available >= ring->emitted;
}

/* Returns the nanoseconds from the oldest event in the ring to `last_ns`, the time of the
   last known event of the recording; 0: the ring has no event. */
static inline uint64_t eva_ring_reach(const struct eventring_ring_info *ring,
                                      uint64_t last_ns) {
  return ring->oldest_ns && last_ns > ring->oldest_ns ? last_ns - ring->oldest_ns : 0;
}

#endif
