/* SPDX-License-Identifier: MIT */
/* probe.h: the inline probes of libeventring, which write events.
 *
 * A probe writes one event into a ring of the calling thread's own domain:
 *
 *   eventring_begin(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, MY_MINOR);
 *   ...
 *   eventring_end(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, MY_MINOR);
 *
 * Parameters of all probes: `domain` is what eventring_domain_start returned, never NULL.
 * `ring`, `event_class` and the payload agree with the definition of the event; ring and
 * class should be constants. `id` is a constant or what eventring_register returned. A
 * probe returns nothing, leaves errno as it was, and cannot fail: when its domain can no
 * longer be recorded, the library calls `warn` of the configuration. Only the owner of
 * the domain may call it, and no signal handler that may interrupt another probe of the
 * same domain (eventring_domain_start).
 *
 * Cost. Off (stopped, paused, or the class is off): two loads from the first-level cache,
 * a test and a predicted branch. On: a clock read, a store into the ring and a store of
 * the lane's position.
 *
 * How it works. A domain has a lane for each of its up to 8 rings. A lane is the position
 * at which the domain writes in that ring. It points to its `gate`, a word of class bits.
 * This is the gate in the recording's control page, which other processes may change at
 * any time, or a zero word of the library when the domain is not to be recorded. `next`
 * to `limit` is the rest of the present block. A ring is made when its first event is
 * written. An event is this word, followed by its payload:
 *
 *   bits  0..2   kind, 1..7: a word is never 0 once written
 *   bits  3..9   number of payload words that follow, 0..127
 *   bits 10..22  id
 *   bits 23..63  low 41 bits of the clock
 *
 * The words of a block are zero before they are written, so a non-zero word commits
 * itself: there is no count to publish. The payload is stored first, and then the event
 * word with release order (pairs with the acquire load in the reader's walk,
 * reader/block.c). Everything unusual leaves the inline path, because `next + n > limit`
 * or `ticks > expires`: the block is full, the 41 bits are about to become ambiguous, the
 * domain is not attached yet, another thread wants attention, or the clock cannot be read
 * inline.
 */
#ifndef EVENTRING_PROBE_H
#define EVENTRING_PROBE_H

#include "eventring.h"
#include "eventring/word.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The position at which a domain writes in one of its rings. Written by the owner only,
   except `gate` and `limit`, which the library may change from another thread (relaxed
   stores; the slow path finds out why). */
struct eventring_lane {
  const uint64_t *gate; /* class bits in force; never NULL */
  uint64_t *next;       /* address of the next word */
  uint64_t *limit;      /* end of the block; NULL to take the slow path */
  uint64_t expires;     /* ticks after which 41 bits are ambiguous; 0: the slow path */
  uint64_t extra;       /* words of this block that are not the first word of an event */
  uint64_t context;     /* context of the next events in this ring; 0 if none */
  uint64_t reserved[2];
} __attribute__((aligned(64)));

/* The part of a domain that probes use; the library keeps more behind it. */
struct eventring_domain {
  struct eventring_lane lane[EVENTRING_RINGS];
};

/* The slow path. None of these functions tests the gate. `tail` is EVENTRING_TAIL(kind,
   id, 0); for eventring_emit_slow it includes the number of payload words. Owner.
     eventring_emit_slow: an event for which the probe has read the clock (`ticks`).
     eventring_emit_bytes: an event with a payload STRING or BYTES of `size` bytes.
     eventring_emit_words: an event with `count` payload words as in FORMAT.md; with it, a
       host writes payloads VALUES and linked events with a payload.
     The others write a change of the context: see eventring_set_context. */
#pragma GCC visibility push(default)
void eventring_emit_slow(eventring_domain *domain, enum eventring_ring ring,
                         uint64_t tail, uint64_t ticks, const uint64_t *payload,
                         size_t words) __attribute__((cold, noinline));
void eventring_emit_bytes(eventring_domain *domain, enum eventring_ring ring,
                          uint64_t tail, const void *bytes, size_t size);
void eventring_emit_words(eventring_domain *domain, enum eventring_ring ring,
                          uint64_t tail, const uint64_t *words, size_t count);
void eventring_enter_context(eventring_domain *domain, enum eventring_ring ring,
                             uint64_t context) __attribute__((noinline));
void eventring_leave_context(eventring_domain *domain, enum eventring_ring ring,
                             uint64_t context);
void eventring_continue_context(eventring_domain *domain, enum eventring_ring ring,
                                uint64_t context);
#pragma GCC visibility pop

/* Reads the clock as probes do; returns ticks. Any thread. */
static inline uint64_t eventring_ticks(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return UINT64_MAX; /* beyond any `expires`: the library reads the clock */
#endif
}

/* Returns whether this class is being recorded in this ring, to skip work for probes.
   Owner. */
static inline bool eventring_enabled(const eventring_domain *domain,
                                     enum eventring_ring ring,
                                     enum eventring_class event_class) {
  const uint64_t *gate =
      __atomic_load_n(&domain->lane[ring].gate, __ATOMIC_RELAXED);
  uint64_t classes = __atomic_load_n(gate, __ATOMIC_RELAXED);
  return __builtin_expect((classes >> event_class & 1) != 0, 0);
}

/* Writes an event without payload, or with one payload word, at `ticks`, if the inline
   path suffices; returns whether it did. Does not test the gate. Owner. */
static inline int eventring_put0(struct eventring_lane *lane, uint64_t ticks, uint64_t tail) {
  uint64_t *next = lane->next;
  uint64_t *limit = __atomic_load_n(&lane->limit, __ATOMIC_RELAXED);
  if (__builtin_expect(next >= limit || ticks > lane->expires, 0)) return 0;
  /* relaxed: the word stands alone; its block is guarded by the seqlock */
  __atomic_store_n(next, (ticks << EVENTRING_WORD_TIME_SHIFT) + tail, __ATOMIC_RELAXED);
  lane->next = next + 1;
  return 1;
}
static inline int eventring_put1(struct eventring_lane *lane, uint64_t ticks, uint64_t tail,
                                 uint64_t value) {
  uint64_t *next = lane->next;
  uint64_t *limit = __atomic_load_n(&lane->limit, __ATOMIC_RELAXED);
  if (__builtin_expect((uintptr_t)next + 16 > (uintptr_t)limit || ticks > lane->expires, 0))
    return 0;
  __atomic_store_n(next + 1, value, __ATOMIC_RELAXED);
  /* release: pairs with the reader's acquire load of this word (R2, reader/block.c); a
     reader that sees this word sees the payload */
  __atomic_store_n(next, (ticks << EVENTRING_WORD_TIME_SHIFT) + tail, __ATOMIC_RELEASE);
  lane->next = next + 2;
  lane->extra += 1;
  return 1;
}

/* Writes an event without payload, or with one payload word, on the inline path or else
   on the slow path. Does not test the gate. Owner. */
static inline void eventring_emit0(eventring_domain *domain,
                                   enum eventring_ring ring, uint64_t tail) {
  uint64_t ticks = eventring_ticks();
  if (!eventring_put0(&domain->lane[ring], ticks, tail))
    eventring_emit_slow(domain, ring, tail, ticks, NULL, 0);
}
static inline void eventring_emit1(eventring_domain *domain, enum eventring_ring ring,
                                   uint64_t tail, uint64_t value) {
  uint64_t ticks = eventring_ticks();
  if (!eventring_put1(&domain->lane[ring], ticks, tail, value))
    eventring_emit_slow(domain, ring, tail, ticks, &value, 1);
}

/* Returns the payload word of a double. Any thread. */
static inline uint64_t eventring_double_bits(double value) {
  uint64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* ---- The probes --------------------------------------------------------
 *
 * Each tests the gate and does nothing when its class is off. For all: owner. */

/* Writes the begin of a span; the next function, the end. */
static inline void eventring_begin(eventring_domain *domain,
                                   enum eventring_ring ring,
                                   enum eventring_class event_class,
                                   unsigned id) {
  if (eventring_enabled(domain, ring, event_class))
    eventring_emit0(domain, ring, EVENTRING_TAIL(EVENTRING_BEGIN, id, 0));
}
static inline void eventring_end(eventring_domain *domain,
                                 enum eventring_ring ring,
                                 enum eventring_class event_class,
                                 unsigned id) {
  if (eventring_enabled(domain, ring, event_class))
    eventring_emit0(domain, ring, EVENTRING_TAIL(EVENTRING_END, id, 0));
}

/* Writes the end of a span whose definition has the measure OFF_CPU. `off_cpu`: for how
   many ns its thread was not on a processor (eventring_off_cpu_since), or 0. */
static inline void eventring_end_off_cpu(eventring_domain *domain,
                                         enum eventring_ring ring,
                                         enum eventring_class event_class,
                                         unsigned id, uint64_t off_cpu) {
  if (!eventring_enabled(domain, ring, event_class)) return;
  if (__builtin_expect(off_cpu == 0, 1))
    eventring_emit0(domain, ring, EVENTRING_TAIL(EVENTRING_END, id, 0));
  else
    eventring_emit1(domain, ring, EVENTRING_TAIL(EVENTRING_END, id, 1), off_cpu);
}

/* Writes the begin of a span with an integer, such as the reason of a collection (the
   definition's payload is INT or UINT). */
static inline void eventring_begin_int(eventring_domain *domain,
                                       enum eventring_ring ring,
                                       enum eventring_class event_class,
                                       unsigned id, int64_t value) {
  if (eventring_enabled(domain, ring, event_class))
    eventring_emit1(domain, ring, EVENTRING_TAIL(EVENTRING_BEGIN, id, 1),
                    (uint64_t)value);
}

/* Writes the begin of a span with text or bytes, as the definition says. Bytes beyond
   EVENTRING_MAX_PAYLOAD are cut and the event is marked TRUNCATED. */
static inline void eventring_begin_bytes(eventring_domain *domain,
                                         enum eventring_ring ring,
                                         enum eventring_class event_class,
                                         unsigned id, const void *bytes,
                                         size_t size) {
  if (eventring_enabled(domain, ring, event_class))
    eventring_emit_bytes(domain, ring, EVENTRING_TAIL(EVENTRING_BEGIN, id, 0), bytes, size);
}

/* Writes the value of a counter with payload INT or UINT; the next function, with payload
   DOUBLE. */
static inline void eventring_counter(eventring_domain *domain,
                                     enum eventring_ring ring,
                                     enum eventring_class event_class,
                                     unsigned id, int64_t value) {
  if (eventring_enabled(domain, ring, event_class))
    eventring_emit1(domain, ring, EVENTRING_TAIL(EVENTRING_COUNTER, id, 1),
                    (uint64_t)value);
}
static inline void eventring_counter_double(eventring_domain *domain,
                                            enum eventring_ring ring,
                                            enum eventring_class event_class,
                                            unsigned id, double value) {
  if (eventring_enabled(domain, ring, event_class))
    eventring_emit1(domain, ring, EVENTRING_TAIL(EVENTRING_COUNTER, id, 1),
                    eventring_double_bits(value));
}

/* Writes an instant without payload. The next functions write one with an integer, a
   double or bytes. */
static inline void eventring_instant(eventring_domain *domain,
                                   enum eventring_ring ring,
                                   enum eventring_class event_class,
                                   unsigned id) {
  if (eventring_enabled(domain, ring, event_class))
    eventring_emit0(domain, ring, EVENTRING_TAIL(EVENTRING_INSTANT, id, 0));
}
static inline void eventring_instant_int(eventring_domain *domain,
                                       enum eventring_ring ring,
                                       enum eventring_class event_class,
                                       unsigned id, int64_t value) {
  if (eventring_enabled(domain, ring, event_class))
    eventring_emit1(domain, ring, EVENTRING_TAIL(EVENTRING_INSTANT, id, 1),
                    (uint64_t)value);
}
static inline void eventring_instant_double(eventring_domain *domain,
                                          enum eventring_ring ring,
                                          enum eventring_class event_class,
                                          unsigned id, double value) {
  if (eventring_enabled(domain, ring, event_class))
    eventring_emit1(domain, ring, EVENTRING_TAIL(EVENTRING_INSTANT, id, 1),
                    eventring_double_bits(value));
}
/* Writes an instant with text or bytes, which are cut as in eventring_begin_bytes. */
static inline void eventring_instant_bytes(eventring_domain *domain,
                                         enum eventring_ring ring,
                                         enum eventring_class event_class,
                                         unsigned id, const void *bytes,
                                         size_t size) {
  if (eventring_enabled(domain, ring, event_class))
    eventring_emit_bytes(domain, ring, EVENTRING_TAIL(EVENTRING_INSTANT, id, 0),
                         bytes, size);
}

/* Writes a lifecycle event of the host, with an integer. */
static inline void eventring_lifecycle(eventring_domain *domain,
                                       enum eventring_ring ring,
                                       enum eventring_class event_class,
                                       unsigned id, int64_t data) {
  if (eventring_enabled(domain, ring, event_class))
    eventring_emit1(domain, ring, EVENTRING_TAIL(EVENTRING_LIFECYCLE, id, 1), (uint64_t)data);
}

/* ---- Contexts ----------------------------------------------------------
 *
 * A context is a flow of control within a domain, such as a coroutine. Begins and ends of
 * spans match within their context. The host chooses the ids, from 1 (0 means none), and
 * uses no id again as long as the domain lives. A host without contexts calls none of
 * these functions and has no costs. For all: owner. */

/* Makes the events that follow in this ring belong to `context`. A host with contexts
   calls it before its probes when their class is being recorded (eventring_enabled). It
   costs a comparison while the context stays the same. */
static inline void eventring_set_context(eventring_domain *domain,
                                         enum eventring_ring ring, uint64_t context) {
  if (__builtin_expect(domain->lane[ring].context != context, 0))
    eventring_enter_context(domain, ring, context);
}

/* Notes that a context with open spans in this ring is left (a coroutine yields), and the
   next function, that it goes on. So readers know for how long its spans were suspended.
   `event_class` is the class of the spans. */
static inline void eventring_suspend(eventring_domain *domain, enum eventring_ring ring,
                                     enum eventring_class event_class, uint64_t context) {
  if (eventring_enabled(domain, ring, event_class))
    eventring_leave_context(domain, ring, context);
}
static inline void eventring_resume_context(eventring_domain *domain,
                                            enum eventring_ring ring,
                                            enum eventring_class event_class,
                                            uint64_t context) {
  if (eventring_enabled(domain, ring, event_class))
    eventring_continue_context(domain, ring, context);
}

/* ---- Async spans and flows ------------------------------------------------
 *
 * Begin and end of an async span, and all events of a flow, have the same definition
 * (kind ASYNC or FLOW) and the same `link`, a number that the host chooses. They may lie
 * in different contexts and domains. */

/* Writes a linked event without further payload. To write a linked event with payload, a
   host tests eventring_enabled and passes link, role and payload words to
   eventring_emit_words. Owner. */
static inline void eventring_linked(eventring_domain *domain, enum eventring_ring ring,
                                    enum eventring_class event_class, unsigned id,
                                    uint64_t link, enum eventring_role role) {
  uint64_t words[2] = {link, (uint64_t)role};
  if (eventring_enabled(domain, ring, event_class))
    eventring_emit_words(domain, ring, EVENTRING_TAIL(EVENTRING_LINKED, id, 0), words, 2);
}

/* Writes an event with an id from eventring_register_user: user ring, class USER.
   Owner. */
static inline void eventring_user_begin(eventring_domain *domain, unsigned id) {
  eventring_begin(domain, EVENTRING_USER, EVENTRING_CLASS_USER, id);
}
static inline void eventring_user_end(eventring_domain *domain, unsigned id) {
  eventring_end(domain, EVENTRING_USER, EVENTRING_CLASS_USER, id);
}
static inline void eventring_user_counter(eventring_domain *domain, unsigned id,
                                          int64_t value) {
  eventring_counter(domain, EVENTRING_USER, EVENTRING_CLASS_USER, id, value);
}

#ifdef __cplusplus
}
#endif

#endif /* EVENTRING_PROBE_H */
