/* SPDX-License-Identifier: MIT */
/* runtime/clock.h: clocks for measuring intervals. */
#ifndef SAROS_RUNTIME_CLOCK_H
#define SAROS_RUNTIME_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Returns the nanoseconds of CLOCK_MONOTONIC. Any thread; errno stays as it was. */
static inline uint64_t monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

enum { CLOCK_TICKS = 100 /* ticks per second */ };

/* Returns the ticks of CLOCK_MONOTONIC, modulo 2^32. May be a few milliseconds behind,
 * but is cheaper than monotonic_ns. Any thread; errno stays as it was. */
static inline uint32_t clock_ticks(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (uint32_t)((uint64_t)now.tv_sec * CLOCK_TICKS +
                    (uint64_t)now.tv_nsec / (1000000000 / CLOCK_TICKS));
}

#endif
