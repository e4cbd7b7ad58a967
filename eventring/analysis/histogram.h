/* histogram.h: how often which duration, in little memory.
 *
 * Log-linear: each octave [2^k, 2^(k+1)) is divided into 128 equal buckets;
 * values below 256 have a bucket of their own. Count, minimum, maximum and
 * total are exact. A quantile is the middle of the bucket that holds the value
 * of that rank, drawn into [min, max]: it differs from that value by at most
 * half a bucket, 1/256 of it, that is less than 0.4 % (0 below 256 ns). The
 * value of rank q is the smallest one that at least q * count values do not
 * exceed.
 *
 * Octaves are allocated when first used: 1 KiB each, 57 KiB at most.
 */
#ifndef EVENTRING_TOOL_HISTOGRAM_H
#define EVENTRING_TOOL_HISTOGRAM_H

#include <stdint.h>

enum {
  HISTOGRAM_BITS = 7,
  HISTOGRAM_BUCKETS = 1 << HISTOGRAM_BITS, /* of an octave */
  HISTOGRAM_OCTAVES = 64 - HISTOGRAM_BITS + 1
};

struct histogram {
  uint64_t count;
  uint64_t total; /* stays at UINT64_MAX rather than wrap */
  uint64_t min, max; /* of count > 0 */
  uint64_t *octaves[HISTOGRAM_OCTAVES]; /* NULL: none there */
};

/* A zeroed struct is an empty histogram. */
void histogram_add(struct histogram *histogram, uint64_t value);
void histogram_merge(struct histogram *into, const struct histogram *from);
/* The quantile is given in 1/100000: 50000 is the median, 99900 p99.9. Result
   0 when empty. */
uint64_t histogram_quantile(const struct histogram *histogram,
                            uint32_t per_100000);
uint64_t histogram_mean(const struct histogram *histogram);
void histogram_free(struct histogram *histogram);

#endif
