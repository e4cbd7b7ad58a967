/* SPDX-License-Identifier: MIT */
/* totals.c: sums over all events of a ring (kind TOTALS of doc/FORMAT.md).
 *
 * When a block is full, its events are in the cache and are walked for the open spans
 * anyway (open_spans.c). They are then added to the row of their definition: how many,
 * the ticks of spans, the values of counters. So events that are overwritten later have
 * been counted, and the path of an event is not involved. Readers add the events of the
 * present block themselves, because a process may be killed at any moment.
 *
 * Data: rows in pages of the file, seven a page, each made at the first event of its
 * definition. Page 1 says up to which block of the ring all events are in the rows
 * (`folded`). A row has its sums twice. Invariant: in each row, one of the two copies has
 * the events up to block `folded`, and is marked with that block or an earlier one.
 *
 *   T1  mark the older sums of the row with the block that is being folded in, relaxed
 *   T2  release fence: a reader that sees a store of T3 sees T1
 *       (pairs with the acquire fence of the reader between its copy and T5)
 *   T3  copy the newer sums over the older ones, and add to the copy
 *   T4  after the last event of the block: store its number in `folded`, release
 *       (pairs with the acquire load of the reader)
 *
 * A reader loads `folded`, copies the rows, and loads `folded` again (T5): if it is
 * unchanged, T1 has not been done for the block after the next. So of the sums that are
 * marked with `folded` or less, the newer ones stayed as they were. A process that is
 * killed between T1 and T4 also leaves these newer sums.
 *
 * Spans with a reason, such as the steps of a collector, have histograms as well (kind
 * HISTOGRAMS): a row for each span and reason, in pages of their own. Such spans are few
 * and long, so their durations are converted to ns when they are added, as readers
 * convert their times, and have the same buckets in each process. These rows are written
 * and read like the others, and `folded` covers them, too.
 *
 * If there is no room for a page, the events of its definitions are not counted, and the
 * number of dropped records of the kind shows that.
 */
#include "producer/totals.h"

#include "format/atomics.h"
#include "format/checksum.h"
#include "format/cpu.h"
#include "producer/classes.h"

#define STORE(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

/* ---- Rows -------------------------------------------------------------------------- */

static struct format_block *new_page(struct evr_totals *totals, enum format_kind kind,
                                     uint32_t number, bool *is_full) {
  struct format_block *page =
      totals->claim && !*is_full ? totals->claim(totals->owner, kind) : NULL;
  *is_full = !page;
  if (!page) return NULL;
  STORE(page->kind, kind);
  STORE(page->domain, totals->slot);
  STORE(page->ring, (uint8_t)totals->ring);
  STORE(page->incarnation, number);
  /* release: for list_pages (reader/totals.c), which skips a page whose kind it does not
     see yet */
  __atomic_store_n(&page->sequence, 1, __ATOMIC_RELEASE);
  return page;
}

/* Makes row number `at` of a kind. Returns NULL if there is no room. */
static struct format_total *new_row(struct evr_totals *totals, struct format_block **pages,
                                    enum format_kind kind, uint32_t at, unsigned id,
                                    uint64_t second_word, bool *is_full) {
  uint32_t n = at / FORMAT_TOTAL_ROWS;
  if (!pages[n]) pages[n] = new_page(totals, kind, n + 1, is_full);
  if (!pages[n]) return NULL;
  struct format_total *row = (struct format_total *)(pages[n] + 1) + at % FORMAT_TOTAL_ROWS;
  STORE(row->payload, second_word);
  /* release: comes after the payload above. Readers see both by T4: they copy rows behind
     the acquire fence of read_folded (reader/totals.c) */
  __atomic_store_n(&row->first, format_record(sizeof *row / 8, 1, id), __ATOMIC_RELEASE);
  return row;
}

static __attribute__((cold, noinline)) struct format_total *add_row(struct evr_totals *totals,
                                                                    unsigned id) {
  uint64_t payload = __atomic_load_n(&evr_payload_of[id], __ATOMIC_RELAXED);
  struct format_total *row = new_row(totals, totals->page, FORMAT_TOTALS, totals->rows, id, payload,
                                     &totals->is_full);
  totals->rows += row != NULL;
  return totals->row[id] = row;
}

/* Returns the histogram of a span and reason, or NULL if there is no room. */
static struct format_total *find_histogram(struct evr_totals *totals, unsigned id,
                                           uint64_t reason) {
  const uint32_t count = totals->histograms;
  for (uint32_t i = 0; i < count; i++)
    if (record_number(totals->histogram[i]->first) == id && totals->histogram[i]->reason == reason)
      return totals->histogram[i];
  if (count == EVR_HISTOGRAMS) return NULL;
  struct format_total *row = new_row(totals, totals->histogram_page, FORMAT_HISTOGRAMS, count, id,
                                     reason, &totals->histograms_full);
  if (row) totals->histogram[totals->histograms++] = row;
  return row;
}

/* Begins to add the events of the block to a row. Returns the sums to add to. */
static struct format_sums *turn(const struct evr_totals *totals, struct format_total *row) {
  bool second = row->sums[1].through > row->sums[0].through;
  struct format_sums *newer = &row->sums[second], *older = &row->sums[!second];
  if (newer->through == totals->block) return newer;
  STORE(older->through, totals->block); /* T1 */
  evr_fence_release();                  /* T2 */
  /* T3 */
  evr_store_words(&older->count, &newer->count, sizeof *newer - sizeof newer->through);
  return older;
}

/* Returns the sums of a definition, or NULL if there is no room for them. */
static struct format_sums *find_sums(struct evr_totals *totals, unsigned id) {
  if (totals->last && totals->last_id == id) return totals->last;
  struct format_total *row = totals->row[id];
  if (!row) row = add_row(totals, id);
  totals->last_id = id;
  return totals->last = row ? turn(totals, row) : NULL;
}

/* ---- Events ------------------------------------------------------------------------ */

static inline void add(uint64_t *to, uint64_t amount) { STORE(*to, *to + amount); }

void evr_totals_span(struct evr_totals *totals, unsigned id, uint64_t ticks) {
  struct format_sums *sums = find_sums(totals, id);
  if (!sums) return;
  add(&sums->count, 1);
  add(&sums->sum, ticks);
  add(&sums->bucket[format_total_bucket(ticks)], 1);
}

void evr_totals_reasoned_span(struct evr_totals *totals, unsigned id, uint64_t reason,
                              uint64_t from_ticks, uint64_t to_ticks) {
  struct format_total *row = find_histogram(totals, id, reason);
  if (!row) return;
  struct format_sums *sums = turn(totals, row);
  const uint64_t ns = totals->took(totals->owner, from_ticks, to_ticks);
  add(&sums->count, 1);
  add(&sums->sum, ns);
  add(&sums->bucket[format_histogram_bucket(ns)], 1);
}

/* Returns the ticks of a leaf span. The time is in the upper bits of a word, and the tail
   of an end is greater than that of its begin. */
static inline uint64_t leaf_ticks(const uint64_t *words) {
  int64_t ticks = (int64_t)(words[1] - words[0]) >> EVENTRING_WORD_TIME_SHIFT;
  return ticks > 0 ? (uint64_t)ticks : 0;
}

/* ---- Leaf spans ---------------------------------------------------------------------
 *
 * Most blocks consist mainly of leaf spans of one definition and of similar durations. So
 * eight of them (EIGHT words) are added together, without a branch for each, if they have
 * one definition and fall into four consecutive buckets: counters side by side count how
 * many took longer than the first, the second and the third bucket. */

enum { EIGHT = 16 /* words */, MANY = 2 * EIGHT, NEAR = 4 /* buckets */, LIMITS = NEAR - 1 };

/* (The compiler uses two halves where the processor has no vectors of this size.) */
typedef uint64_t words4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef uint64_t words2 __attribute__((vector_size(16), aligned(8), may_alias));
typedef int32_t ints8 __attribute__((vector_size(32), may_alias));

static inline __attribute__((always_inline)) bool is_zero(words4 w) {
  const words2 half = __builtin_shufflevector(w, w, 0, 1) | __builtin_shufflevector(w, w, 2, 3);
  return (half[0] | half[1]) == 0;
}

struct alike { /* spans that were added */
  uint64_t count, ticks, longer[LIMITS]; /* longer[n]: spans longer than those of bucket
                                            `bucket` + n */
  unsigned bucket;
};

/* Returns the most ticks that a span of an earlier bucket can have. */
static int32_t ticks_before(unsigned bucket) {
  return bucket ? (int32_t)(1u << (bucket + FORMAT_TOTAL_SHIFT - 1)) - 1 : -1;
}

/* Adds the spans at the start of words .. end that are alike. Returns where they end. */
static inline __attribute__((always_inline)) const uint64_t *
add_alike(struct alike *alike, const uint64_t *words, const uint64_t *end) {
  const uint64_t *from = words, tail = *words & FORMAT_TAIL_MASK;
  const int32_t least = ticks_before(alike->bucket), most = ticks_before(alike->bucket + NEAR),
                a = ticks_before(alike->bucket + 1), b = ticks_before(alike->bucket + 2),
                c = ticks_before(alike->bucket + 3);
  words4 ticks = {0};
  ints8 longer_a = {0}, longer_b = {0}, longer_c = {0};
  for (const uint64_t *last = end - EIGHT; words <= last; words += EIGHT) {
    const words4 *w = (const words4 *)words;
    const words4 begin0 = __builtin_shufflevector(w[0], w[1], 0, 4, 2, 6),
                 begin1 = __builtin_shufflevector(w[2], w[3], 0, 4, 2, 6),
                 end0 = __builtin_shufflevector(w[0], w[1], 1, 5, 3, 7),
                 end1 = __builtin_shufflevector(w[2], w[3], 1, 5, 3, 7);
    const words4 ticks0 = (end0 - begin0) >> EVENTRING_WORD_TIME_SHIFT,
                 ticks1 = (end1 - begin1) >> EVENTRING_WORD_TIME_SHIFT;
    const ints8 each = __builtin_shufflevector((ints8)ticks0, (ints8)ticks1, 0, 2, 8, 10, 4, 6, 12,
                                               14);
    const words4 others = (((begin0 ^ tail) | (begin1 ^ tail)) & FORMAT_TAIL_MASK) |
                          (ticks0 | ticks1) >> 31 | (words4)((each <= least) | (each > most));
    if (!is_zero(others)) break;
    ticks += ticks0 + ticks1;
    longer_a += each > a; /* a comparison that holds is -1 */
    longer_b += each > b;
    longer_c += each > c;
  }
  alike->count = (uint64_t)(words - from) / 2;
  alike->ticks = ticks[0] + ticks[1] + ticks[2] + ticks[3];
  for (int i = 0; i < EIGHT / 2; i++) {
    alike->longer[0] -= (uint64_t)(int64_t)longer_a[i];
    alike->longer[1] -= (uint64_t)(int64_t)longer_b[i];
    alike->longer[2] -= (uint64_t)(int64_t)longer_c[i];
  }
  return words;
}

static const uint64_t *add_alike_plain(struct alike *alike, const uint64_t *words,
                                       const uint64_t *end) {
  return add_alike(alike, words, end);
}

#if defined(EVR_AVX2)
__attribute__((target("avx2"))) static const uint64_t *
add_alike_avx2(struct alike *alike, const uint64_t *words, const uint64_t *end) {
  return add_alike(alike, words, end);
}
#endif

static const uint64_t *find_alike(struct alike *alike, const uint64_t *words,
                                  const uint64_t *end) {
#if defined(EVR_AVX2)
  if (EVR_CPU_HAS(avx2, AVX2)) return add_alike_avx2(alike, words, end);
#endif
  return add_alike_plain(alike, words, end);
}

/* Adds the spans that are like the first one. Returns where they end. */
static const uint64_t *add_many(struct format_sums *sums, const uint64_t *words,
                                const uint64_t *end) {
  enum { LAST = 31 - FORMAT_TOTAL_SHIFT - NEAR }; /* ticks are compared as 31 bits */
  const unsigned bucket = format_total_bucket(leaf_ticks(words));
  struct alike alike = {.bucket = bucket ? bucket - 1 : 0};
  if (bucket > LAST) return words;
  words = find_alike(&alike, words, end);
  add(&sums->count, alike.count);
  add(&sums->sum, alike.ticks);
  uint64_t *to = &sums->bucket[alike.bucket], before = alike.count;
  for (int i = 0; i < LIMITS; before = alike.longer[i++]) add(&to[i], before - alike.longer[i]);
  add(&to[LIMITS], before);
  return words;
}

void evr_totals_leaf_spans(struct evr_totals *totals, const uint64_t *words, const uint64_t *end) {
  while (words < end) {
    struct format_sums *sums = find_sums(totals, word_id(*words));
    if (sums && end - words >= MANY) words = add_many(sums, words, end);
    for (int n = 0; words < end && n < EIGHT / 2; n++, words += 2)
      evr_totals_span(totals, word_id(*words), leaf_ticks(words));
  }
}

/* ---- Others ------------------------------------------------------------------------ */

struct values { uint64_t count, sum, signs; };

/* Adds counters of one definition, four events at a time: those at the start of words ..
 * end that have this tail. Their values are integers, one each. Returns where they
 * end. */
static const uint64_t *add_integers(struct values *to, const uint64_t *words, const uint64_t *end,
                                    uint64_t tail) {
  enum { FOUR = 8 /* words */ };
  const uint64_t *from = words;
  words2 sum = {0}, signs = {0}; /* of the events' words, and of their values */
  for (; end - words >= FOUR; words += FOUR) {
    const words2 *w = (const words2 *)words;
    const words2 others = (w[0] ^ tail) | (w[1] ^ tail) | (w[2] ^ tail) | (w[3] ^ tail);
    if (others[0] & FORMAT_TAIL_MASK) break;
    sum += (w[0] + w[1]) + (w[2] + w[3]);
    signs |= w[0] | w[1] | w[2] | w[3];
  }
  to->count += (uint64_t)(words - from) / 2;
  to->sum += sum[1];
  to->signs |= signs[1];
  return words;
}

/* Adds events. Consecutive events mostly have one definition, so its row is looked up
   only when the definition changes. The first event lies before `end`. */
const uint64_t *evr_totals_events(struct evr_totals *totals, const uint64_t *words,
                                  const uint64_t *end, uint64_t base) {
  const uint64_t tail = *words & FORMAT_TAIL_MASK;
  const size_t size = 1 + word_length(tail);
  const bool has_value = word_kind(tail) == EVENTRING_COUNTER && size == 2;
  const unsigned payload = evr_payload_of[word_id(tail)];
  struct format_sums *sums = find_sums(totals, word_id(tail));
  struct values values = {.sum = sums ? sums->sum : 0};
  if (has_value && payload != EVENTRING_DOUBLE) words = add_integers(&values, words, end, tail);
  while ((size_t)(end - words) >= size && (*words & FORMAT_TAIL_MASK) == tail) {
    if (has_value) {
      values.sum = format_total_add(payload, values.sum, words[1]);
      values.signs |= words[1];
    }
    words += size;
    values.count++;
  }
  if (!sums) return words;
  add(&sums->count, values.count);
  if (!has_value) return words;
  STORE(sums->sum, values.sum);
  STORE(sums->last, words[-1]);
  STORE(sums->last_ticks, word_ticks(words[-2], base));
  /* values of UINT have no sign */
  if (payload != EVENTRING_UINT) add(&sums->negative, values.signs >> 63);
  return words;
}

/* ---- Blocks ------------------------------------------------------------------------ */

void evr_totals_begin(struct evr_totals *totals, uint64_t block) {
  totals->block = block;
  totals->last = NULL;
}

void evr_totals_end(struct evr_totals *totals) {
  if (totals->page[0]) /* T4 */
    __atomic_store_n((uint64_t *)totals->page[0] + FORMAT_TOTALS_FOLDED, totals->block,
                     __ATOMIC_RELEASE);
}

static void seal_pages(struct format_block *const *pages, uint32_t rows) {
  for (uint32_t n = 0; n * FORMAT_TOTAL_ROWS < rows; n++) {
    uint32_t left = rows - n * FORMAT_TOTAL_ROWS;
    if (left > FORMAT_TOTAL_ROWS) left = FORMAT_TOTAL_ROWS;
    uint64_t *words = (uint64_t *)pages[n];
    uint32_t end = FORMAT_BLOCK_HEADER_WORDS + left * (uint32_t)(sizeof(struct format_total) / 8);
    /* release: a reader that sees the length sees the words. Readers use it only when the
       recording has ended, whose state they acquire */
    __atomic_store_n(&words[FORMAT_SEAL_WORD], evr_seal(end, evr_checksum(words, end)),
                     __ATOMIC_RELEASE);
  }
}

void evr_totals_finish(struct evr_totals *totals) {
  seal_pages(totals->page, totals->rows);
  seal_pages(totals->histogram_page, totals->histograms);
}
