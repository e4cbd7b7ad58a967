/* SPDX-License-Identifier: MIT */
/* histogram.c: how often each duration occurred, in little memory. */
#include "analysis/histogram.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/saturating.h"
#include "eventring/types.h"

static uint64_t middle_of(unsigned octave, unsigned bucket) {
  if (octave == 0) return bucket;
  uint64_t lowest = (uint64_t)(EVA_HISTOGRAM_BUCKETS + bucket) << (octave - 1);
  return lowest + (((uint64_t)1 << (octave - 1)) >> 1);
}

/* Makes sure that the octave exists and belongs to the histogram. Returns false: no
   memory. */
static bool has_octave(struct eva_histogram *histogram, unsigned number) {
  const uint32_t *borrowed = histogram->borrowed >> number & 1 ? histogram->octaves[number] : NULL;
  if (histogram->octaves[number] && !borrowed) return true;
  uint32_t *own = calloc(EVA_HISTOGRAM_BUCKETS, sizeof *own);
  if (!own) return false;
  if (borrowed) memcpy(own, borrowed, EVA_HISTOGRAM_BUCKETS * sizeof *own);
  histogram->octaves[number] = own;
  histogram->borrowed &= ~((uint64_t)1 << number);
  return true;
}

int eva_histogram_make_octave(struct eva_histogram *histogram, unsigned number) {
  return has_octave(histogram, number) ? EVENTRING_OK : EVENTRING_E_MEMORY;
}

static bool has_carried(struct eva_histogram *histogram) {
  if (!histogram->carried)
    histogram->carried = calloc(EVA_HISTOGRAM_OCTAVES * EVA_HISTOGRAM_BUCKETS,
                                sizeof *histogram->carried);
  return histogram->carried != NULL;
}

int eva_histogram_carry(struct eva_histogram *histogram, uint64_t index) {
  if (!has_carried(histogram)) return EVENTRING_E_MEMORY;
  histogram->octaves[index / EVA_HISTOGRAM_BUCKETS][index % EVA_HISTOGRAM_BUCKETS] = 0;
  histogram->carried[index]++;
  return EVENTRING_OK;
}

static void add_octave(struct eva_histogram *into, const struct eva_histogram *from, unsigned i) {
  if (!into->octaves[i]) {
    into->octaves[i] = from->octaves[i];
    into->borrowed |= (uint64_t)1 << i;
    return;
  }
  for (unsigned j = 0; j < EVA_HISTOGRAM_BUCKETS; j++) {
    const uint64_t sum = eva_histogram_at(into, i, j) + eva_histogram_at(from, i, j);
    into->octaves[i][j] = (uint32_t)sum;
    if (into->carried) into->carried[i * EVA_HISTOGRAM_BUCKETS + j] = (uint32_t)(sum >> 32);
  }
}

static int merge(struct eva_histogram *into, const struct eva_histogram *from, bool borrows) {
  if (from->count == 0) return EVENTRING_OK;
  if (into->count + from->count > UINT32_MAX) { /* the count of a bucket could overflow */
    borrows = false;
    if (!has_carried(into)) return EVENTRING_E_MEMORY;
  }
  for (unsigned i = 0; i < EVA_HISTOGRAM_OCTAVES; i++)
    if (from->octaves[i] && !(borrows && !into->octaves[i]) && !has_octave(into, i))
      return EVENTRING_E_MEMORY;
  if (into->count == 0 || from->min < into->min) into->min = from->min;
  if (from->max > into->max) into->max = from->max;
  into->count += from->count;
  into->total = eva_add(into->total, from->total);
  for (unsigned i = 0; i < EVA_HISTOGRAM_OCTAVES; i++)
    if (from->octaves[i]) add_octave(into, from, i);
  return EVENTRING_OK;
}

int eva_histogram_merge(struct eva_histogram *into, const struct eva_histogram *from) {
  return merge(into, from, false);
}

int eva_histogram_borrow(struct eva_histogram *into, const struct eva_histogram *from) {
  return merge(into, from, true);
}

static uint64_t within(const struct eva_histogram *histogram, uint64_t value) {
  if (value < histogram->min) return histogram->min;
  return value > histogram->max ? histogram->max : value;
}

uint64_t eva_histogram_quantile(const struct eva_histogram *histogram,
                            uint32_t per_100000) {
  if (histogram->count == 0) return 0;
  unsigned __int128 scaled = (unsigned __int128)histogram->count * per_100000;
  uint64_t rank = (uint64_t)((scaled + 99999) / 100000), seen = 0;
  if (rank == 0) return histogram->min;
  if (rank >= histogram->count) return histogram->max;
  for (unsigned i = 0; i < EVA_HISTOGRAM_OCTAVES; i++)
    for (unsigned j = 0; histogram->octaves[i] && j < EVA_HISTOGRAM_BUCKETS; j++) {
      seen += eva_histogram_at(histogram, i, j);
      if (seen >= rank) return within(histogram, middle_of(i, j));
    }
  return histogram->max;
}

uint64_t eva_histogram_mean(const struct eva_histogram *histogram) {
  return histogram->count ? histogram->total / histogram->count : 0;
}

void eva_histogram_free(struct eva_histogram *histogram) {
  for (unsigned i = 0; i < EVA_HISTOGRAM_OCTAVES; i++)
    if (!(histogram->borrowed >> i & 1)) free(histogram->octaves[i]);
  free(histogram->carried);
  *histogram = (struct eva_histogram){0};
}
