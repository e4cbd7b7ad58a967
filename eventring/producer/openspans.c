/* SPDX-License-Identifier: MIT */
/* openspans.c: the stack of open spans that a block header carries.
 *
 * The probes don't keep it. When a block is full its writer walks the block
 * once, while it is still in the cache, and so learns which spans are open at
 * the start of the next one. The usual block is little but begin-end pairs
 * without anything in between, which leave no trace on the stack: they are
 * passed over two words at a time.
 *
 * The rules are those of format.h (Open spans). Here the hidden spans are always the
 * innermost ones, for a begin is hidden while there are any.
 */
#include "producer/openspans.h"

#include <string.h>

/* A test compiles this file with EVENTRING_PLAIN_RUNS too: as other processors have it. */
#if defined(__x86_64__) && !defined(EVENTRING_PLAIN_RUNS)
#define EVR_AVX2 1
#include <immintrin.h>
#endif

/* What the C library has found out already is free; the compiler's own way asks
   the processor at each start of a program, which in a virtual machine takes as long
   as starting the recorder. */
#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define EVR_CPU_HAS(compiler, library) CPU_FEATURE_ACTIVE(library)
#elif defined(__x86_64__)
#define EVR_CPU_HAS(compiler, library) __builtin_cpu_supports(#compiler)
#endif

static void open_push(struct evr_open_spans *open, uint64_t word, uint64_t ticks) {
  if (open->hidden || open->count == FORMAT_MAX_OPEN) {
    open->hidden++;
    return;
  }
  uint64_t tail = EVENTRING_TAIL(EVENTRING_BEGIN, word_id(word), 0);
  open->span[open->count++] = (struct evr_open_span){tail, ticks};
}

static void open_remove(struct evr_open_spans *open, uint32_t index) {
  open->count--;
  memmove(&open->span[index], &open->span[index + 1],
          (open->count - index) * sizeof open->span[0]);
}

static void open_pop(struct evr_open_spans *open, uint64_t word) {
  if (open->hidden) {
    open->hidden--;
    return;
  }
  for (uint32_t i = open->count; i-- > 0;)
    if (word_id(open->span[i].tail) == word_id(word)) {
      open_remove(open, i);
      return;
    }
}

/* Are these a begin without payload and the end of the same id? Kinds differ by
   one and everything else of the tail agrees. */
static inline bool is_leaf_span(uint64_t first, uint64_t second) {
  uint64_t begin = first & FORMAT_TAIL_MASK;
  return (begin & 0x3ff) == EVENTRING_BEGIN &&
         (second & FORMAT_TAIL_MASK) == begin + (EVENTRING_END - EVENTRING_BEGIN);
}

/* ---- Runs of leaf spans -----------------------------------------------------------
 *
 * RUN words are checked at once, without a branch for each: the kind and length
 * bits of first words must be those of a begin, of second words those of an end,
 * and the ids of each two must be the same. What a block has at its end and is no
 * whole run is checked together with words that were checked before (with an odd
 * number of words left that fails, as it must: it meets an end for a begin).
 *
 * The tail of a word lies in its low half, so with vectors the low halves of 16
 * words are sorted into those of begins and those of ends first. 252 spans take
 * about 90 ticks that way, a third of the transition to the next block; it took
 * 310 with vectors of 64 bytes, whose first use after a while makes the processor
 * wait.
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

/* Passes over runs at the start of the words. */
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

/* Passes over leaf spans; tries runs once a few were seen. */
static const uint64_t *skip_leaf_spans(const uint64_t *words, const uint64_t *end) {
  int seen = 0;
  while (end - words >= 2 && is_leaf_span(words[0], words[1])) {
    words += 2;
    if (++seen < 4) continue;
    words = skip_runs(words, end);
    seen = 0;
  }
  return words;
}

void evr_open_apply(struct evr_open_spans *open, const uint64_t *words,
                    size_t count, uint64_t base) {
  const uint64_t *end = words + count;
  words = skip_runs(words, end); /* at first, where a vector is no two cache lines */
  while (words < end) {
    words = skip_leaf_spans(words, end);
    if (words == end) break;
    uint64_t word = *words;
    switch (word_kind(word)) {
    case EVENTRING_BEGIN:
      open_push(open, word, word_ticks(word, base));
      break;
    case EVENTRING_END:
      open_pop(open, word);
      break;
    case FORMAT_WORD_META:
      /* (what another process may have put here stays within the block) */
      base = format_remark_base(words, end, base);
      break;
    default:
      break;
    }
    words += 1 + word_length(word);
  }
}

void evr_open_tear(struct evr_open_spans *open, const uint8_t *class_of,
                   uint32_t classes, uint64_t ticks) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < open->count; i++) {
    const struct evr_open_span *span = &open->span[i];
    bool torn = (classes >> class_of[word_id(span->tail)] & 1) && span->ticks < ticks;
    if (!torn) open->span[kept++] = *span;
  }
  open->count = kept;
}
