/* SPDX-License-Identifier: MIT */
/* saturating.h: sums and products that stay at the end of their range instead of
 * wrapping, so that a hostile file makes a figure large instead of wrong.
 *
 * Pure functions: no errors, any thread.
 */
#ifndef EVENTRING_ANALYSIS_SATURATING_H
#define EVENTRING_ANALYSIS_SATURATING_H

#include <stdint.h>

static inline uint64_t eva_add(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline int64_t eva_add_signed(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? INT64_MIN : INT64_MAX;
}

static inline uint64_t eva_times(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Returns the nearest whole number; 0 for what is not above 0 or not a number. */
static inline uint64_t eva_whole(double value) {
  if (!(value > 0)) return 0;
  return value < 0x1p64 ? (uint64_t)(value < 0x1p52 ? value + 0.5 : value) : UINT64_MAX;
}

#endif
