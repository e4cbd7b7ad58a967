/* SPDX-License-Identifier: MIT */
/* now.h: the time. */
#ifndef EVENTRING_NOW_H
#define EVENTRING_NOW_H

#include <stdint.h>
#include <time.h>

/* Returns CLOCK_MONOTONIC in nanoseconds. */
static inline uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

#endif /* EVENTRING_NOW_H */
