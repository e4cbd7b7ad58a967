/* SPDX-License-Identifier: MIT */
/* leaf_spans.h: skips spans that have nothing inside. */
#ifndef EVENTRING_LEAF_SPANS_H
#define EVENTRING_LEAF_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

#pragma GCC visibility push(hidden)

/* Skips the runs of leaf spans at the start of words .. end; returns where they stop.
   Checks many words together. */
const uint64_t *evr_pass_leaf_runs(const uint64_t *words, const uint64_t *end);

/* Tells whether the words are a begin without payload and the end of the same span: their
   kinds differ by one, and the rest of their tails agrees. */
static inline bool evr_is_leaf_span(uint64_t first, uint64_t second) {
  uint64_t begin = first & FORMAT_TAIL_MASK;
  return (begin & FORMAT_WHAT_MASK) == EVENTRING_BEGIN &&
         (second & FORMAT_TAIL_MASK) == begin + (EVENTRING_END - EVENTRING_BEGIN);
}

/* Skips the leaf spans at the start of words .. end; returns where they stop. Tries runs
   once it has seen a few spans. */
static inline const uint64_t *evr_pass_leaf_spans(const uint64_t *words, const uint64_t *end) {
  int seen = 0;
  while (end - words >= 2 && evr_is_leaf_span(words[0], words[1])) {
    words += 2;
    if (++seen < 4) continue;
    words = evr_pass_leaf_runs(words, end);
    seen = 0;
  }
  return words;
}

#pragma GCC visibility pop

#endif /* EVENTRING_LEAF_SPANS_H */
