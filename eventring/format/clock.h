/* SPDX-License-Identifier: MIT */
/* clock.h: the clock of a recording, and its conversion to nanoseconds. */
#ifndef EVENTRING_CLOCK_H
#define EVENTRING_CLOCK_H

#include "format/format.h"

#pragma GCC visibility push(hidden)

/* Returns the best clock of this machine; determined once. */
enum format_clock evr_clock_kind(void);
uint64_t evr_clock_ticks(enum format_clock kind);
/* Returns CLOCK_MONOTONIC, or CLOCK_REALTIME, in nanoseconds. */
uint64_t evr_monotonic_ns(void);
int64_t evr_wall_ns(void);

struct evr_pair { /* the same moment on both clocks */
  uint64_t ticks, ns;
};
struct evr_pair evr_clock_pair(enum format_clock kind);
/* Returns the nanoseconds per tick, times 2^40, that the processor states, or 0. */
uint64_t evr_clock_nominal(enum format_clock kind);
/* Returns the nanoseconds per tick, times 2^40, measured between two readings, or 0. */
uint64_t evr_clock_measured(struct evr_pair from, struct evr_pair to);

/* Linear segments that join (doc/FORMAT.md, section 5, kind 7), ordered by from_ticks. */
struct evr_conversion {
  const struct format_segment *segment;
  uint32_t segments; /* at least 1 */
};
/* Converts ticks, which are not before the segment, to nanoseconds. */
static inline uint64_t evr_segment_ns(const struct format_segment *s, uint64_t ticks) {
  return s->from_ns + (uint64_t)((unsigned __int128)(ticks - s->from_ticks) * s->multiplier >>
                                 FORMAT_CLOCK_SHIFT);
}
/* Returns the index of the last segment that begins at `ticks` or before; 0 if none
   does. */
uint32_t evr_segment_at(const struct evr_conversion *conversion, uint64_t ticks);
uint64_t evr_to_ns(const struct evr_conversion *conversion, uint64_t ticks);
/* Tells whether this segment may follow `before` (NULL: be the first), by the rule "valid
   if and only if" of doc/FORMAT.md. */
bool evr_segment_valid(const struct format_segment *s, const struct format_segment *before);
/* Makes two segments that follow `last`. The first begins `lead` ticks after `now`, or
   later if `last` begins later, and reaches the true time after `interval` ticks. The
   second begins at that point and has the rate measured between `then` and `now`. Returns
   false when the readings give no rate. */
bool evr_next_segments(const struct format_segment *last, struct evr_pair then,
                       struct evr_pair now, uint64_t lead, uint64_t interval,
                       struct format_segment next[2]);

#pragma GCC visibility pop

#endif /* EVENTRING_CLOCK_H */
