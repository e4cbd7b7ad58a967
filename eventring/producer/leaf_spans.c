/* SPDX-License-Identifier: MIT */
/* leaf_spans.c: skips spans that have nothing inside.
 *
 * Most blocks consist mainly of begins directly followed by their ends, which do not
 * change the open spans. When a block is full, the producer skips these pairs, and so
 * quickly finds the spans that are open at the start of the next block.
 */
#include "producer/leaf_spans.h"

#include <stdbool.h>

#include "format/cpu.h"
#include "format/format.h"

/* Not in a header: its 60,000 lines took half of the time of each compilation. */
#if defined(EVR_AVX2)
#include <immintrin.h>
#endif

/* ---- Runs of leaf spans -----------------------------------------------------------
 *
 * RUN words are checked at once, without a branch for each: the kind and length bits of
 * first words must be those of a begin, those of second words of an end, and the ids of
 * each pair must be equal. An incomplete run at the end of a block is checked together
 * with words that were checked before. (If the number of words is odd, this check takes
 * ends for begins and fails, as it must.)
 *
 * The tail of a word lies in its low half, so with vectors the low halves of 16 words are
 * first separated into those of begins and those of ends. 252 spans take about 90 ticks
 * that way, a third of the transition to the next block. Vectors of 64 bytes took 310
 * ticks, because their first use after a while makes the processor wait.
 */

enum { RUN = 64 };
#define KIND_AND_LENGTH ((uint64_t)0x3ff)
#define ID_OF_TAIL (FORMAT_TAIL_MASK & ~KIND_AND_LENGTH)

typedef uint64_t words2 __attribute__((vector_size(16), aligned(8), may_alias));

static bool is_run_plain(const uint64_t *words) {
  const words2 tails = {EVENTRING_BEGIN, EVENTRING_END};
  words2 kinds = {0}, ids = {0};
  for (int i = 0; i < RUN; i += 2) {
    words2 w = *(const words2 *)(words + i);
    kinds |= w ^ tails;
    ids |= w ^ __builtin_shufflevector(w, w, 1, 0);
  }
  words2 bad = (kinds & KIND_AND_LENGTH) | (ids & ID_OF_TAIL);
  return (bad[0] | bad[1]) == 0;
}

/* Skips runs at the start of the words; `is_run` checks one. */
static inline __attribute__((always_inline)) const uint64_t *
skip_runs_with(bool (*is_run)(const uint64_t *), const uint64_t *words,
               const uint64_t *end) {
  const uint64_t *start = words;
  while (end - words >= RUN && is_run(words)) words += RUN;
  bool rest = words != start && end - words < RUN;
  return rest && is_run(end - RUN) ? end : words;
}

static const uint64_t *skip_runs_plain(const uint64_t *words, const uint64_t *end) {
  return skip_runs_with(is_run_plain, words, end);
}

#if defined(EVR_AVX2)
#define EVENS_OF_TWO 0x88
#define ODDS_OF_TWO 0xdd

__attribute__((target("avx2"), always_inline)) static inline __m256
low_halves(const uint64_t *words) {
  __m256 a = _mm256_loadu_ps((const float *)words);
  __m256 b = _mm256_loadu_ps((const float *)(words + 4));
  return _mm256_shuffle_ps(a, b, EVENS_OF_TWO);
}

__attribute__((target("avx2"), always_inline)) static inline bool
is_run_of_vectors(const uint64_t *words) {
  const __m256i begin = _mm256_set1_epi32(EVENTRING_BEGIN);
  const __m256i end = _mm256_set1_epi32(EVENTRING_END);
  __m256i kinds = _mm256_setzero_si256(), ids = kinds;
#pragma GCC unroll 4
  for (int i = 0; i < RUN; i += 16) {
    __m256 a = low_halves(words + i), b = low_halves(words + i + 8);
    __m256i begins = _mm256_castps_si256(_mm256_shuffle_ps(a, b, EVENS_OF_TWO));
    __m256i ends = _mm256_castps_si256(_mm256_shuffle_ps(a, b, ODDS_OF_TWO));
    kinds = _mm256_or_si256(kinds, _mm256_or_si256(_mm256_xor_si256(begins, begin),
                                                   _mm256_xor_si256(ends, end)));
    ids = _mm256_or_si256(ids, _mm256_xor_si256(begins, ends));
  }
  __m256i bad = _mm256_or_si256(
      _mm256_and_si256(kinds, _mm256_set1_epi32((int)KIND_AND_LENGTH)),
      _mm256_and_si256(ids, _mm256_set1_epi32((int)ID_OF_TAIL)));
  return _mm256_testz_si256(bad, bad);
}

__attribute__((target("avx2"))) static const uint64_t *
skip_runs_avx2(const uint64_t *words, const uint64_t *end) {
  return skip_runs_with(is_run_of_vectors, words, end);
}
#endif

static const uint64_t *skip_runs(const uint64_t *words, const uint64_t *end) {
#if defined(EVR_AVX2)
  if (EVR_CPU_HAS(avx2, AVX2)) return skip_runs_avx2(words, end);
#endif
  return skip_runs_plain(words, end);
}

const uint64_t *evr_pass_leaf_runs(const uint64_t *words, const uint64_t *end) {
  return skip_runs(words, end);
}
