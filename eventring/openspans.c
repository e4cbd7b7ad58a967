/* openspans.c: the stack of open spans that a block header carries.
 *
 * The probes don't keep it. When a block is full its writer walks the block
 * once, while it is still in the cache, and so learns which spans are open at
 * the start of the next one. The usual block is little but begin-end pairs
 * without anything in between, which leave no trace on the stack: they are
 * passed over two words at a time.
 *
 * Rules (the reader's own stack, spanstack.c, follows the same ones):
 *  - a begin is pushed; when the table is full it is only counted as hidden;
 *  - an end closes, while there are hidden spans, one of those; else the
 *    innermost span of the same id. Other spans stay: those of interleaving
 *    coroutines need not nest. An end that finds none is ignored.
 */
#include "internal.h"

#include <string.h>

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
 * and the ids of each two must be the same. With wide vectors this takes about one
 * clock tick a span; it was 4 % of a span's cost when done word by word. */

enum { RUN = 32 };

typedef uint64_t words8 __attribute__((vector_size(64), aligned(8), may_alias));

static inline __attribute__((always_inline)) const uint64_t *
skip_runs_with(const uint64_t *words, const uint64_t *end) {
  const words8 kinds = {EVENTRING_BEGIN, EVENTRING_END, EVENTRING_BEGIN, EVENTRING_END,
                        EVENTRING_BEGIN, EVENTRING_END, EVENTRING_BEGIN, EVENTRING_END};
  for (; end - words >= RUN; words += RUN) {
    words8 kind = {0}, id = {0};
    for (int i = 0; i < RUN; i += 8) {
      words8 w = *(const words8 *)(words + i);
      kind |= w ^ kinds;
      id |= w ^ __builtin_shufflevector(w, w, 1, 0, 3, 2, 5, 4, 7, 6);
    }
    words8 bad = (kind & 0x3ff) | (id & (FORMAT_TAIL_MASK & ~(uint64_t)0x3ff));
    uint64_t any = 0;
    for (int i = 0; i < 8; i++) any |= bad[i];
    if (any) break;
  }
  return words;
}

static const uint64_t *skip_runs_plain(const uint64_t *words, const uint64_t *end) {
  return skip_runs_with(words, end);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static const uint64_t *
skip_runs_avx2(const uint64_t *words, const uint64_t *end) {
  return skip_runs_with(words, end);
}
__attribute__((target("avx512f"))) static const uint64_t *
skip_runs_avx512(const uint64_t *words, const uint64_t *end) {
  return skip_runs_with(words, end);
}
#endif

static const uint64_t *skip_runs(const uint64_t *words, const uint64_t *end) {
#if defined(__x86_64__)
  if (EVR_CPU_HAS(avx512f, AVX512F)) return skip_runs_avx512(words, end);
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
      /* a rebase: the only remark a producer writes; what another process may
         have put here stays within the block */
      if (words + 1 < end) base = words[1];
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
