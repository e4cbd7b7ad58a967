/* SPDX-License-Identifier: MIT */
/* histogram.h: how often each duration occurred, in little memory.
 *
 * Log-linear: each octave [2^k, 2^(k+1)) is divided into 128 equal buckets; values below
 * 256 have a bucket of their own. Count, minimum, maximum and total are exact. A quantile
 * is the middle of the bucket that holds the value of that rank, clamped to [min, max].
 * The quantile differs from the value by at most half a bucket: 1/256 of the value, which
 * is less than 0.4 % (0 below 256). The value of rank q is the smallest one that at least
 * q * count values do not exceed.
 *
 * Units: those of the values, any. Memory: octaves are allocated when first used, half a
 * KiB each, at most 29 KiB, and as much again if a bucket gets 2^32 values. Errors:
 * EVENTRING_E_MEMORY, and the histogram is as it was. Threads: a histogram is used by one
 * thread at a time; several may read one.
 */
#ifndef EVENTRING_ANALYSIS_HISTOGRAM_H
#define EVENTRING_ANALYSIS_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/saturating.h"

enum {
  EVA_HISTOGRAM_BITS = 7,
  EVA_HISTOGRAM_BUCKETS = 1 << EVA_HISTOGRAM_BITS, /* of an octave */
  EVA_HISTOGRAM_OCTAVES = 64 - EVA_HISTOGRAM_BITS + 1
};

/* A zeroed struct is an empty histogram. */
struct eva_histogram {
  uint64_t count;
  uint64_t total; /* stays at UINT64_MAX rather than wrap */
  uint64_t min, max; /* if count > 0 */
  uint32_t *octaves[EVA_HISTOGRAM_OCTAVES]; /* NULL: not there */
  uint32_t *carried; /* for each bucket, how many times 2^32 values it has beyond what
                        octaves count; NULL if none */
  uint64_t borrowed; /* bit n: octave n belongs to another histogram
                        (eva_histogram_borrow) */
};
_Static_assert(EVA_HISTOGRAM_OCTAVES <= 64, "borrowed");

/* Returns the index of a value's bucket: the number of its octave, times
   EVA_HISTOGRAM_BUCKETS, plus the number of the bucket in it. Octave 0 holds 0..127 one
   by one, octave n > 0 holds the values whose highest bit is 6 + n, in buckets of
   2^(n-1). (Octaves 0 and 1 have buckets of the same size.) */
static inline uint64_t eva_histogram_index(uint64_t value) {
  unsigned highest = (unsigned)__builtin_clzll(value | (2 * EVA_HISTOGRAM_BUCKETS - 1)) ^ 63;
  unsigned shift = highest - EVA_HISTOGRAM_BITS;
  return ((uint64_t)shift << EVA_HISTOGRAM_BITS) + (value >> shift);
}
/* Makes an octave that does not exist yet. Returns 0 or EVENTRING_E_MEMORY. */
int eva_histogram_make_octave(struct eva_histogram *histogram, unsigned number);
/* Counts one value in a bucket whose 32-bit count is full; its octave exists. Returns 0
   or EVENTRING_E_MEMORY. */
int eva_histogram_carry(struct eva_histogram *histogram, uint64_t index);
/* Returns how many values are in a bucket of an octave that exists. */
static inline uint64_t eva_histogram_at(const struct eva_histogram *histogram, unsigned octave,
                                        unsigned bucket) {
  const uint64_t low = histogram->octaves[octave][bucket];
  if (__builtin_expect(!histogram->carried, 1)) return low;
  return low | (uint64_t)histogram->carried[octave * EVA_HISTOGRAM_BUCKETS + bucket] << 32;
}

/* Adds a value (eva_histogram_merge: all values of another histogram). Returns 0 or
   EVENTRING_E_MEMORY. */
static inline int eva_histogram_add(struct eva_histogram *histogram, uint64_t value) {
  const uint64_t index = eva_histogram_index(value), number = index / EVA_HISTOGRAM_BUCKETS;
  /* the first value takes this path, too */
  if (__builtin_expect(!histogram->octaves[number], 0)) {
    int status = eva_histogram_make_octave(histogram, (unsigned)number);
    if (status < 0) return status;
    if (histogram->count == 0) histogram->min = value;
  }
  uint32_t *bucket = &histogram->octaves[number][index % EVA_HISTOGRAM_BUCKETS];
  if (__builtin_expect(*bucket == UINT32_MAX, 0)) {
    int status = eva_histogram_carry(histogram, index);
    if (status < 0) return status;
  } else {
    ++*bucket;
  }
  if (value < histogram->min) histogram->min = value;
  if (value > histogram->max) histogram->max = value;
  histogram->count++;
  histogram->total = eva_add(histogram->total, value);
  return 0;
}
int eva_histogram_merge(struct eva_histogram *into, const struct eva_histogram *from);
/* Merges a histogram, which must stay unchanged as long as `into` is used: octaves that
   `into` lacks are shared, not copied. After that, whole histograms may be merged into
   `into`, but no single values added. Returns 0 or EVENTRING_E_MEMORY. */
int eva_histogram_borrow(struct eva_histogram *into, const struct eva_histogram *from);
/* Returns a quantile, given in 1/100000, 0 to 100000: 50000 is the median, 99900 p99.9.
   Returns 0 for an empty histogram. */
uint64_t eva_histogram_quantile(const struct eva_histogram *histogram,
                                uint32_t per_100000);
/* Returns the mean, rounded down; 0 for an empty histogram. */
uint64_t eva_histogram_mean(const struct eva_histogram *histogram);
/* Frees the memory of a histogram and makes it empty. */
void eva_histogram_free(struct eva_histogram *histogram);

#endif
