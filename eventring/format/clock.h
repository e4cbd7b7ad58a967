/* SPDX-License-Identifier: MIT */
/* clock.h: the clock of a recording, and its conversion to nanoseconds. */
#ifndef EVENTRING_CLOCK_H
#define EVENTRING_CLOCK_H

#include "format/format.h"

#pragma GCC visibility push(hidden)

/* The best clock of this machine; looked at once. */
enum format_clock evr_clock_kind(void);
uint64_t evr_clock_ticks(enum format_clock kind);
/* CLOCK_MONOTONIC and CLOCK_REALTIME in nanoseconds. */
uint64_t evr_monotonic_ns(void);
int64_t evr_wall_ns(void);

struct evr_pair { /* one moment on both clocks */
  uint64_t ticks, ns;
};
struct evr_pair evr_clock_pair(enum format_clock kind);
/* Nanoseconds per tick times 2^40 as the processor states it, or 0. */
uint64_t evr_clock_nominal(enum format_clock kind);
/* The same measured between two moments. */
uint64_t evr_clock_measured(struct evr_pair from, struct evr_pair to);

struct evr_conversion {
  uint32_t segments; /* 1 .. FORMAT_CLOCK_SEGMENTS */
  struct format_segment segment[FORMAT_CLOCK_SEGMENTS];
};
uint64_t evr_to_ns(const struct evr_conversion *conversion, uint64_t ticks);
/* "Valid if and only if" of doc/FORMAT.md. */
bool evr_conversion_valid(const struct evr_conversion *conversion);

#pragma GCC visibility pop

#endif /* EVENTRING_CLOCK_H */
