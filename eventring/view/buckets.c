/* SPDX-License-Identifier: MIT */
/* buckets.c: histograms in the form of the page. */
#include "view/buckets.h"

#include <stdlib.h>
#include <string.h>

#include "eventring/types.h"

static unsigned number_of(uint64_t word) { return (unsigned)(word >> PAGE_BUCKET_SHIFT); }
static uint64_t count_of(uint64_t word) { return word & (((uint64_t)1 << PAGE_BUCKET_SHIFT) - 1); }
static uint64_t word_of(unsigned number, uint64_t count) {
  return (uint64_t)number << PAGE_BUCKET_SHIFT | count;
}

unsigned page_bucket_of(uint64_t value) {
  if (value < 16) return (unsigned)value;
  const unsigned shift = 60 - (unsigned)__builtin_clzll(value);
  return shift * 8 + (unsigned)(value >> shift);
}

/* ---- Lists ------------------------------------------------------------------------ */

/* Returns the index in the list of the bucket with this number, or the index where it
   belongs. */
static uint32_t index_of(const struct page_buckets *buckets, unsigned number) {
  uint32_t low = 0, high = buckets->count;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (number_of(buckets->list[middle]) < number) low = middle + 1;
    else high = middle;
  }
  return low;
}

int page_buckets_add(struct page_buckets *buckets, unsigned number, uint64_t count) {
  const uint32_t at = index_of(buckets, number);
  if (at < buckets->count && number_of(buckets->list[at]) == number) {
    buckets->list[at] += count;
    return EVENTRING_OK;
  }
  uint64_t *list = realloc(buckets->list, (buckets->count + 1) * sizeof *list);
  if (!list) return EVENTRING_E_MEMORY;
  memmove(list + at + 1, list + at, (buckets->count - at) * sizeof *list);
  list[at] = word_of(number, count);
  buckets->list = list;
  buckets->count++;
  return EVENTRING_OK;
}

int page_buckets_merge(struct page_buckets *into, const struct page_buckets *from) {
  if (!from->count) return EVENTRING_OK;
  uint64_t *list = malloc(((size_t)into->count + from->count) * sizeof *list);
  if (!list) return EVENTRING_E_MEMORY;
  uint32_t count = 0, a = 0, b = 0;
  while (a < into->count || b < from->count) {
    const bool has_a = a < into->count, has_b = b < from->count;
    const unsigned x = has_a ? number_of(into->list[a]) : PAGE_BUCKETS;
    const unsigned y = has_b ? number_of(from->list[b]) : PAGE_BUCKETS;
    uint64_t sum = 0;
    if (has_a && x <= y) sum += count_of(into->list[a++]);
    if (has_b && y <= x) sum += count_of(from->list[b++]);
    list[count++] = word_of(x < y ? x : y, sum);
  }
  free(into->list);
  uint64_t *fitting = realloc(list, count * sizeof *list);
  *into = (struct page_buckets){fitting ? fitting : list, count};
  return EVENTRING_OK;
}

void page_buckets_free(struct page_buckets *buckets) {
  free(buckets->list);
  *buckets = (struct page_buckets){0};
}

/* ---- From histograms -------------------------------------------------------------- */

/* Octave 0 of the histogram has a bucket for each value from 0 to 127; here these are
   buckets 0 to 39. Each other octave has 128 buckets of equal size, 16 of which are one
   here. */
enum { OF_BUCKET = EVA_HISTOGRAM_BUCKETS / 8 };

static unsigned first_of(unsigned octave) { return octave ? 32 + 8 * octave : 0; }

/* Folds an octave (buckets.h). (Called at each cell of time for all octaves of its spans.
   Carried counts are multiples of 2^32, so they do not matter.) */
unsigned page_buckets_fold_octave(const struct eva_histogram *histogram, unsigned octave,
                                  uint32_t count[40], unsigned *first) {
  typedef uint32_t four __attribute__((vector_size(16)));
  const uint32_t *from = histogram->octaves[octave];
  *first = first_of(octave);
  if (!octave) {
    memset(count, 0, 40 * sizeof *count);
    for (unsigned value = 0; value < EVA_HISTOGRAM_BUCKETS; value++)
      count[page_bucket_of(value)] += from[value];
    return 40;
  }
  for (unsigned i = 0; i < 8; i++, from += OF_BUCKET) {
    four part[OF_BUCKET / 4];
    memcpy(part, from, sizeof part);
    const four sum = (part[0] + part[1]) + (part[2] + part[3]);
    count[i] = sum[0] + sum[1] + sum[2] + sum[3];
  }
  return 8;
}
_Static_assert(OF_BUCKET == 16, "fold_octave");

void page_buckets_fold(const struct eva_histogram *histogram, uint64_t count[PAGE_BUCKETS]) {
  memset(count, 0, PAGE_BUCKETS * sizeof *count);
  for (unsigned octave = 0; octave < EVA_HISTOGRAM_OCTAVES; octave++)
    for (unsigned i = 0; histogram->octaves[octave] && i < EVA_HISTOGRAM_BUCKETS; i++) {
      const unsigned bucket = octave ? first_of(octave) + i / OF_BUCKET : page_bucket_of(i);
      if (bucket < PAGE_BUCKETS) count[bucket] += eva_histogram_at(histogram, octave, i);
    }
}

/* ---- Writing ---------------------------------------------------------------------- */

void page_buckets_write(const struct page_buckets *buckets, struct eva_json *json) {
  unsigned before = 0;
  eva_json_open_array(json);
  for (uint32_t i = 0; i < buckets->count; i++) {
    const unsigned number = number_of(buckets->list[i]);
    eva_json_uint(json, number - before);
    eva_json_uint(json, count_of(buckets->list[i]));
    before = number;
  }
  eva_json_close_array(json);
}

void page_buckets_write_histogram(const struct eva_histogram *histogram, struct eva_json *json) {
  uint64_t count[PAGE_BUCKETS];
  unsigned before = 0;
  page_buckets_fold(histogram, count);
  eva_json_open_array(json);
  for (unsigned i = 0; i < PAGE_BUCKETS; i++) {
    if (!count[i]) continue;
    eva_json_uint(json, i - before);
    eva_json_uint(json, count[i]);
    before = i;
  }
  eva_json_close_array(json);
}
