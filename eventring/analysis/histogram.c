/* SPDX-License-Identifier: MIT */
/* histogram.c: how often which duration, in little memory. */
#include "analysis/histogram.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analysis/saturating.h"
#include "eventring/types.h"

static uint64_t middle_of(unsigned octave, unsigned bucket) {
  if (octave == 0) return bucket;
  uint64_t lowest = (uint64_t)(EVA_HISTOGRAM_BUCKETS + bucket) << (octave - 1);
  return lowest + (((uint64_t)1 << (octave - 1)) >> 1);
}

/* Sees to it that an octave is there; false when there is no memory for it. */
static bool has_octave(struct eva_histogram *histogram, unsigned number) {
  return histogram->octaves[number] || eva_histogram_make_octave(histogram, number) == 0;
}

int eva_histogram_make_octave(struct eva_histogram *histogram, unsigned number) {
  histogram->octaves[number] = calloc(EVA_HISTOGRAM_BUCKETS, sizeof *histogram->octaves[number]);
  return histogram->octaves[number] ? EVENTRING_OK : EVENTRING_E_MEMORY;
}

int eva_histogram_merge(struct eva_histogram *into, const struct eva_histogram *from) {
  if (from->count == 0) return EVENTRING_OK;
  for (unsigned i = 0; i < EVA_HISTOGRAM_OCTAVES; i++)
    if (from->octaves[i] && !has_octave(into, i)) return EVENTRING_E_MEMORY;
  if (into->count == 0 || from->min < into->min) into->min = from->min;
  if (from->max > into->max) into->max = from->max;
  into->count += from->count;
  into->total = eva_add(into->total, from->total);
  for (unsigned i = 0; i < EVA_HISTOGRAM_OCTAVES; i++)
    for (unsigned j = 0; from->octaves[i] && j < EVA_HISTOGRAM_BUCKETS; j++)
      into->octaves[i][j] += from->octaves[i][j];
  return EVENTRING_OK;
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
      seen += histogram->octaves[i][j];
      if (seen >= rank) return within(histogram, middle_of(i, j));
    }
  return histogram->max;
}

uint64_t eva_histogram_mean(const struct eva_histogram *histogram) {
  return histogram->count ? histogram->total / histogram->count : 0;
}

void eva_histogram_free(struct eva_histogram *histogram) {
  for (unsigned i = 0; i < EVA_HISTOGRAM_OCTAVES; i++) free(histogram->octaves[i]);
  *histogram = (struct eva_histogram){0};
}
