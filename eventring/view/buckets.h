/* SPDX-License-Identifier: MIT */
/* buckets.h: histograms of durations in the form of the page: 8 buckets an octave
 * (DATA.md).
 *
 * A list of buckets is in the order of their numbers, without empty ones. A bucket is a
 * word: its number in the upper half, its count in the lower.
 *
 * Errors: EVENTRING_E_MEMORY, and nothing has changed. Threads: one at a time for a list.
 */
#ifndef EVENTRING_VIEW_BUCKETS_H
#define EVENTRING_VIEW_BUCKETS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/histogram.h"
#include "analysis/json.h"

enum { PAGE_BUCKETS = 496, PAGE_BUCKET_SHIFT = 54 };

struct page_buckets {
  uint64_t *list;
  uint32_t count;
};

/* Returns the number of the bucket of a value. */
unsigned page_bucket_of(uint64_t value);
/* Adds to a list the count of a bucket, or all of another list. */
int page_buckets_add(struct page_buckets *buckets, unsigned number, uint64_t count);
int page_buckets_merge(struct page_buckets *into, const struct page_buckets *from);
void page_buckets_free(struct page_buckets *buckets);

/* Stores how many of a histogram's values fall into each bucket. */
void page_buckets_fold(const struct eva_histogram *histogram, uint64_t count[PAGE_BUCKETS]);
/* Stores what page_buckets_fold does for one octave, modulo 2^32. The buckets are those
   from *first on. Returns their number: 8 or 40. */
unsigned page_buckets_fold_octave(const struct eva_histogram *histogram, unsigned octave,
                                  uint32_t count[40], unsigned *first);

/* Writes a list, or a histogram, as the column bucket, count, ..., with buckets as
   differences. */
void page_buckets_write(const struct page_buckets *buckets, struct eva_json *json);
void page_buckets_write_histogram(const struct eva_histogram *histogram, struct eva_json *json);

#endif
