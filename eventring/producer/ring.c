/* ring.c: the slow path of a probe: block transitions.
 *
 * A ring is N blocks of 512 words; block number s (from 1) lies at place
 * (s - 1) mod N. Only the owner of the domain runs this code.
 *
 * The transition to block s is a seqlock. Names of the steps, with the reader's
 * in reader/source.c:
 *
 *   W1  store sequence = 0 in the header of the place, release: invalid (release, so
 *       that who sees it sees W5 of the block before: it can tell a block that is
 *       gone from one that damage took away)
 *   W2  release fence: whoever sees any store of W3 or later sees W1 too
 *       (pairs with the acquire fence R4 between copying and checking again)
 *   W3  store zeros to all words, then the header's fields, relaxed
 *   W4  store sequence = s, release: whoever sees it sees W3
 *       (pairs with the acquire load R1)
 *   W5  store head = s in the domain table, release
 *       (pairs with the acquire load R0 with which readers look for news)
 *   W6  events: one word each, relaxed; those with a payload store it first and
 *       the event word with release (pairs with the acquire loads R2 of the walk)
 *
 * A word is not zero once written, so the walk of a reader that stops at the
 * first zero sees exactly what was committed. Nothing is stored into a block
 * with ordinary stores while readers may look at it.
 *
 * Before W1 the finished block gets its committed length (release), and the
 * stack of open spans is brought up to date by walking it.
 *
 * Signals. A handler may interrupt a probe of its thread anywhere and call probes of the
 * same domain, though it should have one of its own (eventring.h). Events may
 * be lost by that, but nothing is written outside the ring:
 *
 *  - While the slow path is at work (`writing`) the limit of its lane is NULL, so that the
 *    handler comes to the slow path as well, which drops its event. So it does while the
 *    thread has the recorder's mutex, whatever the domain: it could only wait for itself.
 *    Dropped events are counted as lost by readers.
 *  - A probe that was interrupted by a change of blocks stores the position that it had read
 *    before. So the slow path looks whether the position lies in the present block, and
 *    finds it again if not; and the first events of a block all take the
 *    slow path, that is those of the handler and the one that finds the stale position.
 *
 * What is left: a handler that changes blocks and writes CAREFUL_EVENTS or more events into the
 * new one. The stale position then lies below the limit, if the new block is above the old one,
 * and probes run on from it through the rest of the old block and all between, headers
 * included, until they come to the limit. Nothing can be done about it off the inline path: that
 * alone would see that its position is not of this block, and a test there costs every event,
 * as do more events on the slow path. (Were blocks used from the end of a ring to its begin,
 * a stale position would be beyond the limit but once a round; that is another format.)
 */
#include "producer/producer.h"

#include <string.h>

static struct format_block *block_at(const struct evr_domain *d,
                                     const struct evr_ring *ring,
                                     uint64_t sequence) {
  uint32_t blocks = format_ring_blocks(d->recording->header.wsize);
  uint64_t place = (sequence - 1) & (blocks - 1); /* a power of two */
  return (struct format_block *)(ring->base + place * FORMAT_BLOCK_BYTES);
}

static struct eventring_lane *lane_of(struct evr_domain *d, enum eventring_ring r) {
  return &d->hot.lane[r];
}

static uint64_t events_in_block(const struct eventring_lane *lane,
                                const struct evr_ring *ring) {
  return ring->end ? (uint64_t)(lane->next - ring->first) - lane->extra : 0;
}

/* ---- Limits -------------------------------------------------------------------- */

/* What `expires` of a lane must be: the time up to which words are unambiguous,
   or the next calibration if that comes first. */
static uint64_t expiry(const struct evr_domain *d, const struct evr_ring *ring) {
  if (d->recording->clock == FORMAT_CLOCK_MONOTONIC) return 0;
  uint64_t at = __atomic_load_n(&d->recording->recalibrate_at, __ATOMIC_RELAXED);
  uint64_t ambiguous = ring->base_ticks + FORMAT_TIME_SPAN;
  return at < ambiguous ? at : ambiguous;
}

/* Lets probes write up to the end of the block, unless someone asks for
   attention. The store of limit comes before the load of attention: the compiler
   is told here; the processor is, where it matters, by request_attention
   (state.c), which has a barrier run on all threads between storing attention
   and storing NULL into limit. So either we see the request, or its NULL is the
   later store. (A fence here would be paid at every transition.) */
static inline void publish_limit(struct evr_domain *d, enum eventring_ring r) {
  struct eventring_lane *lane = lane_of(d, r);
  if (d->ring[r].careful) return; /* it is NULL */
  __atomic_store_n(&lane->limit, d->ring[r].end, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (__atomic_load_n(&d->attention, __ATOMIC_RELAXED))
    __atomic_store_n(&lane->limit, NULL, __ATOMIC_RELAXED);
}

/* ---- Signals ---------------------------------------------------------------------- */

enum { CAREFUL_EVENTS = 2 };

/* Returns whether it is the outermost that writes: for end_writing. */
static bool begin_writing(struct evr_domain *d, enum eventring_ring r) {
  if (d->writing) return false;
  d->writing = true;
  __atomic_store_n(&lane_of(d, r)->limit, NULL, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  return true;
}

static void end_writing(struct evr_domain *d, enum eventring_ring r, bool outermost) {
  if (!outermost) return;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  d->writing = false;
  publish_limit(d, r);
}

/* Is this probe called by a handler of a signal that has interrupted what it needs? */
static bool must_drop(struct evr_domain *d, enum eventring_ring r) {
  if (!d->writing && !evr_locking) return false;
  d->ring[r].dropped++;
  return true;
}

static bool is_stale(const struct eventring_lane *lane, const struct evr_ring *ring) {
  return ring->end && (uintptr_t)lane->next - (uintptr_t)ring->first >
                          (uintptr_t)ring->end - (uintptr_t)ring->first;
}

/* The first word of the present block that is zero is where the next one goes. */
static __attribute__((cold, noinline)) void find_position(struct eventring_lane *lane,
                                                          const struct evr_ring *ring) {
  uint64_t *at = ring->first, word;
  lane->extra = 0;
  while (at < ring->end && (word = __atomic_load_n(at, __ATOMIC_RELAXED)) != 0) {
    size_t words = 1 + (word >> EVENTRING_WORD_LENGTH_SHIFT & 127);
    lane->extra += words - ((word & 7) != FORMAT_WORD_META);
    at += words;
  }
  lane->next = at < ring->end ? at : ring->end;
}

/* ---- Open spans ------------------------------------------------------------------ */

/* Forgets open spans of classes that were off in the meantime (control.c). */
static void apply_switches(struct evr_domain *d, struct evr_ring *ring) {
  const struct format_control *control = evr_control(d->recording);
  uint32_t now = __atomic_load_n(&control->switches, __ATOMIC_ACQUIRE);
  if (now == ring->switches_seen) return;
  uint32_t from = ring->switches_seen;
  if (now - from > FORMAT_LOG_ENTRIES) from = now - FORMAT_LOG_ENTRIES;
  for (; from != now; from++) {
    struct format_switch entry;
    if (evr_control_entry(control, from, &entry))
      evr_open_tear(&ring->open, evr_class_of, (uint32_t)entry.what, entry.ticks);
  }
  ring->switches_seen = now;
}

/* ---- Transition -------------------------------------------------------------------- */

static void complete_block(struct evr_domain *d, enum eventring_ring r) {
  struct eventring_lane *lane = lane_of(d, r);
  struct evr_ring *ring = &d->ring[r];
  if (!ring->end) return;
  evr_open_apply(&ring->open, ring->first, (size_t)(lane->next - ring->first),
                 ring->block_ticks);
  apply_switches(d, ring);
  uint64_t dropped = __atomic_load_n(&ring->dropped, __ATOMIC_RELAXED);
  ring->events_before += events_in_block(lane, ring) + dropped - ring->dropped_seen;
  ring->dropped_seen = dropped;
  struct format_block *block = block_at(d, ring, ring->sequence);
  uint32_t committed = (uint32_t)(lane->next - (uint64_t *)block);
  /* release: whoever sees the length sees the words */
  __atomic_store_n(&block->committed, committed, __ATOMIC_RELEASE);
}

#define STORE(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

/* Stores zeros to 64-bit words, each a relaxed store. The string instruction
   stores quadwords, in any order among themselves, before what follows it. */
static void store_zeros(uint64_t *words, size_t count) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(EVR_TSAN)
  __asm__ __volatile__("rep stosq" : "+D"(words), "+c"(count) : "a"(0ull) : "memory");
#else
  for (size_t i = 0; i < count; i++) STORE(words[i], 0);
#endif
}

/* W3 */
static uint64_t *fill_block(const struct evr_domain *d, enum eventring_ring r,
                            struct format_block *block) {
  const struct evr_ring *ring = &d->ring[r];
  uint64_t *words = (uint64_t *)block;
  uint32_t blocks = format_ring_blocks(d->recording->header.wsize);
  /* in its first round a ring is as the kernel made it */
  if (ring->sequence > blocks) store_zeros(words + 1, FORMAT_BLOCK_WORDS - 1);
  STORE(block->kind, FORMAT_BLOCK_EVENTS);
  STORE(block->domain, (uint16_t)d->slot);
  STORE(block->ring, (uint16_t)r);
  STORE(block->incarnation, d->incarnation);
  STORE(block->open, (uint16_t)ring->open.count);
  STORE(block->open_hidden, ring->open.hidden);
  STORE(block->base_ticks, ring->block_ticks);
  STORE(block->events_before, ring->events_before);
  words += FORMAT_BLOCK_HEADER_WORDS;
  for (uint32_t i = 0; i < ring->open.count; i++) {
    STORE(words[0], ring->open.span[i].tail);
    STORE(words[1], ring->open.span[i].ticks);
    words += FORMAT_OPEN_WORDS;
  }
  return words;
}

/* In the first round of a ring its blocks are made ready part by part. */
static int ensure_ready(struct evr_domain *d, enum eventring_ring r,
                        struct eventring_error *error) {
  const struct evr_slot *slot = &d->recording->slot[d->slot];
  uint32_t blocks = format_ring_blocks(d->recording->header.wsize);
  uint64_t place = d->ring[r].sequence & (blocks - 1); /* of the next block */
  if (__builtin_expect(place < slot->ready[r], 1)) return EVENTRING_OK;
  return evr_recording_grow(d->recording, (unsigned)d->slot, r, error);
}

/* On failure the block before is still the present one. */
static int next_block(struct evr_domain *d, enum eventring_ring r, uint64_t ticks,
                      struct eventring_error *error) {
  struct eventring_lane *lane = lane_of(d, r);
  struct evr_ring *ring = &d->ring[r];
  int status = ensure_ready(d, r, error);
  if (status != EVENTRING_OK) return status;
  bool outermost = begin_writing(d, r);
  complete_block(d, r);
  evr_recording_check_gate(d->recording);
  ring->sequence++;
  ring->base_ticks = ring->block_ticks = ticks;
  struct format_block *block = block_at(d, ring, ring->sequence);
  evr_testpoint(W1);
  __atomic_store_n(&block->sequence, 0, __ATOMIC_RELEASE);               /* W1 */
  evr_testpoint(W2);
  evr_fence_release();                               /* W2 */
  evr_testpoint(W3);
  ring->first = fill_block(d, r, block);                                 /* W3 */
  evr_testpoint(W4);
  __atomic_store_n(&block->sequence, ring->sequence, __ATOMIC_RELEASE);  /* W4 */
  struct format_domain *entry = evr_domain_entry(d->recording, (unsigned)d->slot);
  evr_testpoint(W5);
  __atomic_store_n(&entry->head[r], ring->sequence, __ATOMIC_RELEASE);   /* W5 */
  lane->next = ring->first;
  lane->extra = 0;
  ring->end = (uint64_t *)block + FORMAT_BLOCK_WORDS;
  ring->careful = CAREFUL_EVENTS;
  end_writing(d, r, outermost);
  return EVENTRING_OK;
}

/* ---- Writing ------------------------------------------------------------------------- */

/* W6 */
static void put(struct eventring_lane *lane, uint64_t word, const uint64_t *payload,
                size_t words) {
  uint64_t *next = lane->next;
  for (size_t i = 0; i < words; i++) STORE(next[1 + i], payload[i]);
  evr_testpoint(W6);
  __atomic_store_n(next, word, __ATOMIC_RELEASE);
  lane->next = next + 1 + words;
  lane->extra += words;
}

static bool ambiguous(const struct evr_ring *ring, uint64_t ticks) {
  return ticks - (ring->base_ticks - FORMAT_TIME_SPAN) > 2 * FORMAT_TIME_SPAN;
}

/* Makes room for an event of `words` words at `ticks`: a new block, or a new
   base within the block. */
static int make_room(struct evr_domain *d, enum eventring_ring r, size_t words,
                     uint64_t ticks, struct eventring_error *error) {
  struct eventring_lane *lane = lane_of(d, r);
  struct evr_ring *ring = &d->ring[r];
  bool rebase = ring->end && ambiguous(ring, ticks);
  size_t needed = words + (rebase ? 2 : 0);
  if (!ring->end || (size_t)(ring->end - lane->next) < needed) {
    return next_block(d, r, ticks, error);
  } else if (rebase) {
    put(lane, EVENTRING_TAIL(FORMAT_WORD_META, FORMAT_META_REBASE, 1), &ticks, 1);
    lane->extra++; /* not an event at all */
    ring->base_ticks = ticks;
  }
  return EVENTRING_OK;
}

static void recalibrate(struct evr_domain *d, uint64_t ticks) {
  struct evr_recording *recording = d->recording;
  if (ticks < __atomic_load_n(&recording->recalibrate_at, __ATOMIC_RELAXED)) return;
  evr_lock();
  if (!recording->ended) evr_recording_recalibrate_locked(recording);
  evr_unlock();
}

void evr_ring_write(struct evr_domain *d, enum eventring_ring r, uint64_t tail,
                    uint64_t ticks, const uint64_t *payload, size_t words) {
  bool outermost = begin_writing(d, r);
  struct eventring_lane *lane = lane_of(d, r);
  struct eventring_error error;
  if (d->recording->clock == FORMAT_CLOCK_MONOTONIC)
    ticks = evr_clock_ticks(FORMAT_CLOCK_MONOTONIC);
  else
    recalibrate(d, ticks);
  uint64_t sequence = d->ring[r].sequence;
  if (is_stale(lane, &d->ring[r])) find_position(lane, &d->ring[r]);
  if (d->ring[r].careful) d->ring[r].careful--;
  if (make_room(d, r, 1 + words, ticks, &error) != EVENTRING_OK) {
    evr_domain_give_up(d, &error);
    end_writing(d, r, outermost);
    return;
  }
  /* a span that begins does not last as long as the change of blocks before it */
  if (d->ring[r].sequence != sequence && (tail & 7) == EVENTRING_BEGIN)
    ticks = evr_clock_ticks(d->recording->clock);
  put(lane, ticks << EVENTRING_WORD_TIME_SHIFT | tail, payload, words);
  lane->expires = expiry(d, &d->ring[r]);
  end_writing(d, r, outermost);
}

uint64_t evr_ring_emitted(const struct evr_domain *d, enum eventring_ring r) {
  return d->ring[r].events_before + events_in_block(&d->hot.lane[r], &d->ring[r]);
}

/* ---- Opening and closing ---------------------------------------------------------------- */

int evr_ring_open(struct evr_domain *d, enum eventring_ring r,
                  struct eventring_error *error) {
  struct evr_slot *slot = &d->recording->slot[d->slot];
  struct evr_ring *ring = &d->ring[r];
  memset(ring, 0, sizeof *ring);
  ring->base = slot->map + r * d->recording->header.ring_bytes;
  ring->sequence = slot->sequence[r];
  ring->events_before = slot->events[r];
  ring->switches_seen = __atomic_load_n(&evr_control(d->recording)->switches,
                                        __ATOMIC_ACQUIRE);
  int status = next_block(d, r, evr_clock_ticks(d->recording->clock), error);
  if (status == EVENTRING_OK) lane_of(d, r)->expires = expiry(d, ring);
  return status;
}

void evr_ring_close(struct evr_domain *d, enum eventring_ring r) {
  struct eventring_lane *lane = lane_of(d, r);
  struct evr_ring *ring = &d->ring[r];
  struct evr_slot *slot = &d->recording->slot[d->slot];
  __atomic_store_n(&lane->limit, NULL, __ATOMIC_RELAXED);
  complete_block(d, r);
  slot->sequence[r] = ring->sequence;
  slot->events[r] = ring->events_before;
  lane->next = NULL;
  lane->extra = 0;
  lane->expires = 0;
  ring->end = ring->first = NULL;
}

/* ---- Entry points of the probes ------------------------------------------------------------ */

/* False when it can't be attached. */
static __attribute__((cold, noinline)) bool settle(struct evr_domain *d,
                                                   enum eventring_ring r) {
  bool outermost = begin_writing(d, r), attached = evr_domain_settle(d);
  end_writing(d, r, outermost);
  return attached;
}

static inline void emit(struct evr_domain *d, enum eventring_ring ring, uint64_t tail,
                        uint64_t ticks, const uint64_t *payload, size_t words) {
  if (__builtin_expect(must_drop(d, ring), 0)) return;
  if (__builtin_expect(!d->recording, 0) ||
      __builtin_expect(__atomic_load_n(&d->attention, __ATOMIC_ACQUIRE), 0)) {
    if (!settle(d, ring)) return;
    /* after the event that says that the domain starts */
    ticks = evr_clock_ticks(d->recording->clock);
  }
  evr_ring_write(d, ring, tail, ticks, payload, words);
}

void eventring_emit_slow(eventring_domain *domain, enum eventring_ring ring,
                         uint64_t tail, uint64_t ticks, const uint64_t *payload,
                         size_t words) {
  emit((struct evr_domain *)domain, ring, tail, ticks, payload, words);
}

void eventring_emit_bytes(eventring_domain *domain, enum eventring_ring ring,
                          uint64_t tail, const void *bytes, size_t size) {
  uint64_t payload[FORMAT_PAYLOAD_WORDS];
  size_t kept = size <= EVENTRING_MAX_PAYLOAD ? size : EVENTRING_MAX_PAYLOAD;
  size_t words = 1 + (kept + 7) / 8;
  payload[words - 1] = 0; /* padding of the last word */
  payload[0] = kept | (kept < size ? FORMAT_BYTES_TRUNCATED : 0);
  if (kept) memcpy(payload + 1, bytes, kept);
  tail |= (uint64_t)words << EVENTRING_WORD_LENGTH_SHIFT;
  emit((struct evr_domain *)domain, ring, tail, eventring_ticks(), payload, words);
}
