/* SPDX-License-Identifier: MIT */
/* lane.c: the slow path of a probe: block transitions.
 *
 * A lane writes blocks of 512 words, numbered from 1, one after the other, each at the
 * place that its source gives (block_source.h). Only the owner of the domain runs this
 * code.
 *
 * The transition to block s is a seqlock. Names of the steps, with the reader's
 * in reader/block.c (W1 and the zeros are left out at a place that was never used: its
 * words are zero, so that no reader takes it for a block):
 *
 *   W1  store sequence = 0 in the header of the place, release: invalid (release: a
 *       reader that sees it also sees W5 of the block before, and can distinguish a
 *       block that is gone from one that damage destroyed)
 *   W2  release fence: a reader that sees any store of W3 or later sees W1, too
 *       (pairs with the acquire fence R4 between copying and checking again), and W5 of
 *       the block before (a place that was never used may belong to a block that was
 *       left out)
 *   W3  store zeros to all words, then the header's fields, relaxed
 *   W4  store sequence = s, release: a reader that sees it sees W3
 *       (pairs with the acquire load R1)
 *   W5  store head = s where the source says (for a ring in the domain table), release
 *       (pairs with the acquire load R0 with which readers check for news)
 *   W6  events: one word each, relaxed; those with a payload store it first and
 *       the event word with release (pairs with the acquire loads R2 of the walk)
 *
 * A word is not zero once written, so the walk of a reader that stops at the
 * first zero sees exactly what was committed. All stores into a block that readers may
 * be reading are atomic.
 *
 * testsuite/model/block_transition.pml proves, in the memory model of C11, that a reader
 * takes no word of another block for one of this block, and counts no event twice.
 * shared_blocks.pml beside it proves to which context and incarnation the events belong.
 * Change the steps there first.
 *
 * Before W1 the finished block gets its committed length and its checksum (release), and
 * the open spans and the totals are brought up to date by walking the block (fold_block).
 *
 * If there is no room for the rest of a ring, its source leaves out the sequences of the
 * missing places, and the lane goes on at the first place (ring.c). Then there is a step
 * S between finishing the block and W1: store head = s - 1, release. From the head,
 * readers compute which blocks may be overwritten by now, so the head must not be behind
 * the places that are in use.
 *
 * Signals. A handler may interrupt a probe of its thread anywhere and call probes of the
 * same domain, although it should have a domain of its own (eventring.h). That may lose
 * events, but nothing is written outside the ring:
 *
 *  - While the slow path is running (`writing`), the limit of its lane is NULL, so the
 *    handler also takes the slow path, which drops its event. The slow path also drops
 *    events of any domain while the thread holds the producer's mutex, because it would
 *    wait for itself. Readers count dropped events as lost.
 *  - A probe that is interrupted by a transition stores the position that it had read
 *    before. So the slow path checks that the position lies in the present block and
 *    finds it again if not. The first events of a block all take the slow path: those of
 *    the handler and the one that finds the stale position.
 *  - A probe that is interrupted by probes of the handler writes over their events, whose
 *    words stay counted. If that counts more words than there are, the slow path counts
 *    again.
 *
 * One case remains: a handler that changes blocks and writes CAREFUL_EVENTS or more
 * events into the new one. If the new block is above the old one, the stale position lies
 * below the limit, and probes write from it through the rest of the old block and all
 * blocks between, headers included, up to the limit. Only the inline path could see that
 * its position is not in this block, and a test there, or more events on the slow path,
 * would cost every event. (If blocks were used from the end of a ring to its begin, a
 * stale position would be beyond the limit except once a round; but that would be another
 * format.)
 */
#include "producer/lane.h"

#include "format/atomics.h"
#include "format/checksum.h"
#include "format/clock.h"
#include "format/control.h"
#include "format/law.h"
#include "producer/classes.h"

#include <errno.h>

static struct eventring_lane *lane_of(struct evr_lanes *l, enum eventring_ring r) {
  return &l->hot.lane[r];
}

static uint64_t events_in_block(const struct eventring_lane *lane,
                                const struct evr_writer *w) {
  return w->end ? (uint64_t)(lane->next - w->first) - lane->extra : 0;
}

/* Checks the law of a lane: its position lies in its present block, and the block has at
   least `extra` words so far. */
static inline bool is_in_block(const struct eventring_lane *lane, const struct evr_writer *w) {
  return w->end ? w->first <= lane->next && lane->next <= w->end &&
                      lane->extra <= (uint64_t)(lane->next - w->first)
                : !lane->next;
}

/* ---- Limits -------------------------------------------------------------------- */

/* Returns what `expires` of a lane must be: the time up to which words are unambiguous,
   or the next calibration if that comes first. */
static uint64_t expiry(const struct evr_lanes *l, const struct evr_writer *w) {
  if (l->clock == FORMAT_CLOCK_MONOTONIC) return 0;
  uint64_t at = __atomic_load_n(l->recalibrate_at, __ATOMIC_RELAXED);
  uint64_t ambiguous = w->base_ticks + FORMAT_TIME_SPAN;
  return at < ambiguous ? at : ambiguous;
}

/* ---- Signals ---------------------------------------------------------------------- */

enum { CAREFUL_EVENTS = 2 };

static bool is_stale(const struct eventring_lane *lane, const struct evr_writer *w) {
  return w->end && (uintptr_t)lane->next - (uintptr_t)w->first >
                          (uintptr_t)w->end - (uintptr_t)w->first;
}

/* Walks the words of the present block up to `end` or the first zero, and counts those
   that are not the first word of an event. Returns where it stopped. */
static uint64_t *recount(struct eventring_lane *lane, const struct evr_writer *w, uint64_t *end) {
  uint64_t *at = w->first, word;
  lane->extra = 0;
  while (at < end && (word = __atomic_load_n(at, __ATOMIC_RELAXED)) != 0) {
    size_t words = 1 + (word >> EVENTRING_WORD_LENGTH_SHIFT & 127);
    lane->extra += words - (size_t)word_is_event(word);
    at += words;
  }
  return at < end ? at : end;
}

/* Finds the position again: the next word goes to the first zero word of the present
   block. If the position only went back within the block, over events of the handler,
   their words still count. */
static __attribute__((cold, noinline)) void find_position(struct eventring_lane *lane,
                                                          const struct evr_writer *w) {
  lane->next = recount(lane, w, is_stale(lane, w) ? w->end : lane->next);
}

/* ---- Open spans ------------------------------------------------------------------ */

/* Walks the present block as fold_block does, after classes were switched on: tears their
   spans at the events of that time, and those that are still open at the end. */
static __attribute__((cold, noinline)) void fold_switched(struct evr_writer *w, size_t words,
                                                          const struct format_control *control,
                                                          uint32_t now) {
  struct evr_tears tears;
  const struct evr_switches *switches = &tears.switches;
  const uint32_t seen = evr_control_switches(control, w->switches_seen, now, &tears.switches);
  tears.class_of = evr_class_of;
  evr_open_apply(&w->open, &w->totals, w->first, words, w->block_ticks, &tears);
  for (unsigned i = 0; i < switches->count; i++)
    evr_open_tear(&w->open, evr_class_of, switches->entry[i].classes, switches->entry[i].until);
  w->switches_seen = seen;
}

/* ---- Transition -------------------------------------------------------------------- */

/* Walks the present block: brings the open spans up to date and adds its events to the
   totals. `next` is the end of its events; `skipped` is the number of sequences left out
   after it, which the totals then include. */
static void fold_block(struct evr_writer *w, const uint64_t *next, uint32_t skipped,
                       const struct format_control *control) {
  if (!w->end) return;
  const size_t words = (size_t)(next - w->first);
  /* acquire: pairs with the acq_rel of log_switch (control.c): all numbers below this one
     are then taken. Each entry is acquired by its own number */
  const uint32_t switches = __atomic_load_n(&control->switches, __ATOMIC_ACQUIRE);
  evr_totals_begin(&w->totals, w->source->head ? w->source->sequence + skipped : 0);
  if (__builtin_expect(switches == w->switches_seen, 1))
    evr_open_apply(&w->open, &w->totals, w->first, words, w->block_ticks, NULL);
  else fold_switched(w, words, control, switches);
  evr_totals_end(&w->totals);
}

/* Finishes the present block: the source counts its events, and the block gets its length
   and checksum and is then final. */
static void finish_block(struct evr_writer *w, uint64_t *next, uint64_t events) {
  if (!w->end) return;
  w->source->events += events + w->dropped;
  w->dropped = 0;
  uint64_t *words = w->end - FORMAT_BLOCK_WORDS;
  uint32_t committed = (uint32_t)(next - words);
  /* release: a reader that sees the length sees the words. The reader uses the length
     after it has acquired a later head (R0) */
  __atomic_store_n(&words[FORMAT_SEAL_WORD], evr_seal(committed, evr_checksum(words, committed)),
                   __ATOMIC_RELEASE);
}

static uint64_t take_dropped(struct evr_lanes *l, enum eventring_ring r) {
  uint64_t dropped = __atomic_load_n(&l->dropped[r], __ATOMIC_RELAXED);
  uint64_t news = dropped - l->dropped_seen[r];
  l->dropped_seen[r] = dropped;
  return news;
}

static void finish_present(struct evr_lanes *l, enum eventring_ring r, uint32_t skipped) {
  struct evr_writer *w = l->writer[r];
  w->dropped += take_dropped(l, r);
  fold_block(w, lane_of(l, r)->next, skipped, l->control);
  finish_block(w, lane_of(l, r)->next, events_in_block(lane_of(l, r), w));
}

#define STORE(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

/* Leaves sequences out (step S): the finished block is not the newest any more, although
   the next one does not exist yet. Pairs with R0, like W5: a reader that sees this head
   sees the whole block. */
static void skip_sequences(struct evr_block_source *source, uint32_t count) {
  source->sequence += count;
  __atomic_store_n(source->head, source->sequence, __ATOMIC_RELEASE);
}

/* Takes the steps W1 and W2, and stores the zeros of W3. */
static void clear_place(const struct evr_place *place) {
  evr_testpoint(W1);
  if (place->used)
    __atomic_store_n(&place->block->sequence, 0, __ATOMIC_RELEASE); /* W1 */
  evr_testpoint(W2);
  evr_fence_release();                                              /* W2 */
  evr_testpoint(W3);
  if (place->used) evr_store_zeros((uint64_t *)place->block + 1, FORMAT_BLOCK_WORDS - 1);
}

/* Tells whether the list may have this span as one word. */
static bool is_brief(const struct format_open *span, uint64_t base) {
  return span->suspended == 0 && base - span->ticks <= FORMAT_TIME_SPAN;
}

/* Writes the list of open spans of a block: first spans with four words each, then the
   innermost spans of the block's own context with one word each. In most programs these
   are all open spans. Returns the end of the list. */
static uint64_t *put_list(uint64_t *words, struct format_block *block,
                          const struct format_open *list, unsigned count, uint64_t context) {
  unsigned own = 0, brief = 0;
  while (own < count && list[own].context == context) own++;
  while (brief < own && is_brief(&list[own - brief - 1], block->base_ticks)) brief++;
  STORE(block->open, (uint16_t)(count - brief));
  STORE(block->open_brief, (uint8_t)brief);
  evr_store_words(words, list, (own - brief) * sizeof list[0]);
  words += (own - brief) * FORMAT_OPEN_WORDS;
  evr_store_words(words, list + own, (count - own) * sizeof list[0]);
  words += (count - own) * FORMAT_OPEN_WORDS;
  for (unsigned i = own - brief; i < own; i++, words++)
    STORE(*words, list[i].ticks << EVENTRING_WORD_TIME_SHIFT | list[i].tail);
  return words;
}

/* Fills the block (W3), whose words are zero. Returns where the events begin. */
static uint64_t *fill_block(const struct evr_lanes *l, enum eventring_ring r,
                            struct format_block *block) {
  const struct evr_writer *w = l->writer[r];
  struct format_open list[FORMAT_MAX_OPEN];
  uint32_t hidden;
  unsigned open = evr_open_list(&w->open, w->block_ticks, list, &hidden);
  STORE(block->kind, FORMAT_EVENTS);
  STORE(block->domain, l->slot);
  STORE(block->ring, (uint8_t)r);
  STORE(block->before, w->source->events);
  STORE(block->base_ticks, w->block_ticks);
  STORE(block->context, w->open.context);
  STORE(block->incarnation, w->incarnation);
  STORE(block->open_hidden, hidden);
  return put_list((uint64_t *)block + FORMAT_BLOCK_HEADER_WORDS, block, list, open,
                  w->open.context);
}

/* Publishes the block (W4 and W5). */
static void publish_block(struct evr_block_source *source, struct format_block *block) {
  uint64_t sequence = ++source->sequence;
  evr_testpoint(W4);
  __atomic_store_n(&block->sequence, sequence, __ATOMIC_RELEASE);               /* W4 */
  evr_testpoint(W5);
  if (source->head) __atomic_store_n(source->head, sequence, __ATOMIC_RELEASE); /* W5 */
}

/* Begins the next block. On failure the present block stays the same. */
static int next_block(struct evr_lanes *l, enum eventring_ring r, uint64_t ticks,
                      struct eventring_error *error) {
  struct eventring_lane *lane = lane_of(l, r);
  struct evr_writer *w = l->writer[r];
  struct evr_place place = {0};
  int saved = errno; /* a probe leaves errno as it is */
  int status = w->source->next_place(w->source, &place, error);
  errno = saved;
  if (status != EVENTRING_OK) return status;
  finish_present(l, r, place.skipped);
  if (w->incarnation != l->incarnation) evr_open_clear(&w->open);
  w->incarnation = l->incarnation;
  w->open.context = lane->context;
  w->base_ticks = w->block_ticks = ticks;
  if (place.skipped) skip_sequences(w->source, place.skipped);
  clear_place(&place);
  w->first = fill_block(l, r, place.block);
  publish_block(w->source, place.block);
  lane->next = w->first;
  lane->extra = 0;
  w->end = (uint64_t *)place.block + FORMAT_BLOCK_WORDS;
  w->careful = CAREFUL_EVENTS;
  EVR_LAW(is_in_block(lane, w));
  return EVR_NEW_BLOCK;
}

/* ---- Writing --------------------------------------------------------------------- */

/* Writes an event word, after its payload (W6). */
static void put_event(struct eventring_lane *lane, uint64_t word, const uint64_t *payload,
                      size_t words) {
  uint64_t *next = lane->next;
  for (size_t i = 0; i < words; i++) STORE(next[1 + i], payload[i]);
  /* W6, release: pairs with the acquire load R2 of the reader's walk, which then sees the
     payload */
  evr_testpoint(W6);
  __atomic_store_n(next, word, __ATOMIC_RELEASE);
  lane->next = next + 1 + words;
  lane->extra += words;
}

/* Writes a remark, which is no event. */
static void put_remark(struct eventring_lane *lane, enum format_remark remark, uint64_t ticks,
                       const uint64_t *payload, size_t words) {
  uint64_t tail = EVENTRING_TAIL(FORMAT_WORD_REMARK, remark, words);
  put_event(lane, ticks << EVENTRING_WORD_TIME_SHIFT | tail, payload, words);
  lane->extra++;
}

static bool is_ambiguous(const struct evr_writer *w, uint64_t ticks) {
  return ticks - (w->base_ticks - FORMAT_TIME_SPAN) > 2 * FORMAT_TIME_SPAN;
}

/* Makes room for an event of `words` words at `ticks`: a new block, or a new
   base within the block. */
static int make_room(struct evr_lanes *l, enum eventring_ring r, size_t words,
                     uint64_t ticks, struct eventring_error *error) {
  struct eventring_lane *lane = lane_of(l, r);
  struct evr_writer *w = l->writer[r];
  bool rebase = w->end && is_ambiguous(w, ticks);
  size_t needed = words + (rebase ? 2 : 0);
  if (!w->end || (size_t)(w->end - lane->next) < needed) {
    return next_block(l, r, ticks, error);
  } else if (rebase) {
    put_remark(lane, FORMAT_REMARK_REBASE, ticks, &ticks, 1);
    w->base_ticks = ticks;
  }
  return EVENTRING_OK;
}

/* Makes room as make_room does, but first checks the position, which a signal handler may
   have moved. */
static int prepare(struct evr_lanes *l, enum eventring_ring r, size_t words, uint64_t ticks,
                   struct eventring_error *error) {
  struct evr_writer *w = l->writer[r];
  if (w->end && !is_in_block(lane_of(l, r), w)) find_position(lane_of(l, r), w);
  if (w->careful) w->careful--;
  return make_room(l, r, words, ticks, error);
}

int evr_lane_write(struct evr_lanes *l, enum eventring_ring r, uint64_t tail,
                   uint64_t *ticks, const uint64_t *payload, size_t words,
                   struct eventring_error *error) {
  struct eventring_lane *lane = lane_of(l, r);
  int status = prepare(l, r, 1 + words, *ticks, error);
  if (status < 0) return status;
  /* the time of a span does not include the change of blocks before it */
  if (status == EVR_NEW_BLOCK && (tail & 7) == EVENTRING_BEGIN)
    *ticks = evr_clock_ticks(l->clock);
  put_event(lane, *ticks << EVENTRING_WORD_TIME_SHIFT | tail, payload, words);
  EVR_LAW(is_in_block(lane, l->writer[r]));
  lane->expires = expiry(l, l->writer[r]);
  return status;
}

int evr_lane_set_context(struct evr_lanes *l, enum eventring_ring r, uint64_t context,
                         uint64_t ticks, struct eventring_error *error) {
  struct eventring_lane *lane = lane_of(l, r);
  if (lane->context == context) return EVENTRING_OK;
  int status = prepare(l, r, 2, ticks, error);
  if (status < 0) return status;
  put_remark(lane, FORMAT_REMARK_CONTEXT, ticks, &context, 1);
  lane->context = context;
  lane->expires = expiry(l, l->writer[r]);
  return status;
}

int evr_lane_switch_context(struct evr_lanes *l, enum eventring_ring r,
                            enum format_remark remark, uint64_t context, uint64_t ticks,
                            struct eventring_error *error) {
  struct eventring_lane *lane = lane_of(l, r);
  size_t words = context == lane->context ? 0 : 1;
  int status = prepare(l, r, 1 + words, ticks, error);
  if (status < 0) return status;
  put_remark(lane, remark, ticks, &context, words);
  if (remark == FORMAT_REMARK_RESUME) lane->context = context;
  lane->expires = expiry(l, l->writer[r]);
  return status;
}

uint64_t evr_lane_emitted(const struct evr_lanes *l, enum eventring_ring r) {
  const struct evr_writer *w = l->writer[r];
  return w ? w->source->events + events_in_block(&l->hot.lane[r], w) : 0;
}

uint64_t evr_writer_emitted(const struct evr_writer *w) {
  return w->source->events + (w->end ? (uint64_t)(w->next - w->first) - w->extra : 0);
}

/* ---- Opening and closing --------------------------------------------------------- */

/* Writes a remark on the incarnation of the events that follow in the present block. */
static int change_incarnation(struct evr_lanes *l, enum eventring_ring r,
                              struct eventring_error *error) {
  struct evr_writer *w = l->writer[r];
  uint64_t ticks = evr_clock_ticks(l->clock), incarnation = l->incarnation;
  size_t words = l->incarnation == w->incarnation + 1 ? 0 : 1;
  int status = make_room(l, r, 1 + words, ticks, error);
  if (status != EVENTRING_OK) return status; /* a new block's header has the
                                                incarnation */
  put_remark(lane_of(l, r), FORMAT_REMARK_INCARNATION, ticks, &incarnation, words);
  w->incarnation = l->incarnation;
  return EVENTRING_OK;
}

static int enter_ring(struct evr_lanes *l, enum eventring_ring r,
                      struct eventring_error *error) {
  struct evr_writer *w = l->writer[r];
  if (!w->end) return next_block(l, r, evr_clock_ticks(l->clock), error);
  if (w->incarnation == l->incarnation) return EVENTRING_OK;
  return change_incarnation(l, r, error);
}

int evr_lane_open(struct evr_lanes *l, enum eventring_ring r, struct evr_writer *w,
                  struct eventring_error *error) {
  struct eventring_lane *lane = lane_of(l, r);
  /* acquire: as in fold_block */
  if (!w->end) w->switches_seen = __atomic_load_n(&l->control->switches, __ATOMIC_ACQUIRE);
  l->writer[r] = w;
  lane->next = w->next;
  lane->extra = w->extra;
  lane->context = 0;
  bool outermost = evr_lane_begin_writing(l, r);
  int status = enter_ring(l, r, error);
  if (status < 0) l->writer[r] = NULL;
  else lane->expires = expiry(l, w);
  evr_lane_end_writing(l, r, outermost);
  return status < 0 ? status : EVENTRING_OK;
}

void evr_lane_close(struct evr_lanes *l, enum eventring_ring r) {
  struct eventring_lane *lane = lane_of(l, r);
  struct evr_writer *w = l->writer[r];
  if (!w) {
    take_dropped(l, r); /* they are not events of the next recording */
    return;
  }
  __atomic_store_n(&lane->limit, NULL, __ATOMIC_RELAXED);
  if (w->end && !is_in_block(lane, w)) find_position(lane, w);
  w->dropped += take_dropped(l, r);
  w->next = lane->next;
  w->extra = lane->extra;
  lane->next = NULL;
  lane->extra = 0;
  lane->expires = 0;
  l->writer[r] = NULL;
}

void evr_writer_finish(struct evr_writer *w) {
  if (!w->end) return;
  finish_block(w, w->next, (uint64_t)(w->next - w->first) - w->extra);
  evr_totals_finish(&w->totals);
  w->end = w->first = NULL;
}
