/* SPDX-License-Identifier: MIT */
/* probe.h: the inline probes of libeventring.
 *
 * A probe writes one event into a ring of the calling thread's own domain:
 *
 *   eventring_begin(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, MY_MINOR);
 *   ...
 *   eventring_end(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, MY_MINOR);
 *
 * `d` is what eventring_domain_start returned to this thread (never NULL), the
 * ring and class are constants that agree with the definition of the event,
 * and the id is a constant or what eventring_register returned. Only the
 * thread that owns `d` may call a probe, and not from a signal handler that
 * may interrupt another probe of the same domain: see eventring_domain_start.
 *
 * Cost. Off (stopped, paused, or the class disabled): two loads of words in the
 * first-level cache, one test, one predicted branch. On: one clock read, one
 * store into the ring and one of the lane's own position.
 *
 * How it works. Each domain has two lanes, one for each ring. A lane points to
 * its `gate`, a word of class bits: the control word of the recording (which
 * other processes may change at any time), or a word of the library while the
 * domain is not attached to a recording. `next` .. `limit` is what is left of
 * the present block. An event is
 *
 *   bits  0..2   kind, 1..7: a word is never 0 once written
 *   bits  3..9   number of payload words that follow, 0..127
 *   bits 10..22  id
 *   bits 23..63  low 41 bits of the clock
 *
 * The words of a block are zero before they are written, so that a non-zero
 * word *is* its own commitment; there is no count to publish. With a payload
 * the payload words are stored first and the word that announces them with
 * release order (pairs with the acquire load in the reader's walk, reader/block.c).
 * Everything unusual (block full, the 41 bits about to become ambiguous, not
 * attached yet, another thread wants attention, the clock is not one that can
 * be read inline) shows as `next + n > limit` or `ticks > expires`, and goes
 * out of line.
 */
#ifndef EVENTRING_PROBE_H
#define EVENTRING_PROBE_H

#include "eventring.h"
#include "eventring/word.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Hot state of one ring of one domain. Written by the owner only, except
   `gate` and `limit`, which the recorder may redirect from another thread
   (relaxed stores; the slow path sorts out why). */
struct eventring_lane {
  const uint64_t *gate; /* class bits in force; never NULL */
  uint64_t *next;       /* where the next word goes */
  uint64_t *limit;      /* end of the block; NULL: take the slow path */
  uint64_t expires;     /* ticks after which a word's 41 bits would be
                           ambiguous; 0: take the slow path always */
  uint64_t extra;       /* words written into this block that are not the first
                           word of an event */
  uint64_t context;     /* that events in this ring belong to now; 0: none */
  uint64_t reserved[2];
} __attribute__((aligned(64)));

/* The part of a domain that probes touch; the library keeps more behind it. */
struct eventring_domain {
  struct eventring_lane lane[EVENTRING_RINGS];
};

/* Out of line; for the probes below only. `ticks` is what the probe read. */
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

/* A clock read as probes do it. */
static inline uint64_t eventring_ticks(void) {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return UINT64_MAX; /* beyond any `expires`: the library reads the clock */
#endif
}

/* Is this class being recorded for this ring? For guarding work that only
   serves a probe. */
static inline bool eventring_enabled(const eventring_domain *domain,
                                     enum eventring_ring ring,
                                     enum eventring_class event_class) {
  const uint64_t *gate =
      __atomic_load_n(&domain->lane[ring].gate, __ATOMIC_RELAXED);
  uint64_t classes = __atomic_load_n(gate, __ATOMIC_RELAXED);
  return __builtin_expect((classes >> event_class & 1) != 0, 0);
}

/* Writes an event without payload. Does not look at the gate. */
static inline void eventring_emit0(eventring_domain *domain,
                                   enum eventring_ring ring, uint64_t tail) {
  struct eventring_lane *lane = &domain->lane[ring];
  uint64_t ticks = eventring_ticks();
  uint64_t *next = lane->next;
  uint64_t *limit = __atomic_load_n(&lane->limit, __ATOMIC_RELAXED);
  if (__builtin_expect(next >= limit, 0) ||
      __builtin_expect(ticks > lane->expires, 0)) {
    eventring_emit_slow(domain, ring, tail, ticks, NULL, 0);
    return;
  }
  /* relaxed: the word stands alone; its block is guarded by the seqlock */
  __atomic_store_n(next, ticks << EVENTRING_WORD_TIME_SHIFT | tail,
                   __ATOMIC_RELAXED);
  lane->next = next + 1;
}

/* Writes an event with one payload word. Does not look at the gate. */
static inline void eventring_emit1(eventring_domain *domain,
                                   enum eventring_ring ring, uint64_t tail,
                                   uint64_t value) {
  struct eventring_lane *lane = &domain->lane[ring];
  uint64_t ticks = eventring_ticks();
  uint64_t *next = lane->next;
  uint64_t *limit = __atomic_load_n(&lane->limit, __ATOMIC_RELAXED);
  if (__builtin_expect((uintptr_t)next + 16 > (uintptr_t)limit, 0) ||
      __builtin_expect(ticks > lane->expires, 0)) {
    eventring_emit_slow(domain, ring, tail, ticks, &value, 1);
    return;
  }
  __atomic_store_n(next + 1, value, __ATOMIC_RELAXED);
  /* release: pairs with the reader's acquire load of this word; whoever sees
     it sees the payload */
  __atomic_store_n(next, ticks << EVENTRING_WORD_TIME_SHIFT | tail,
                   __ATOMIC_RELEASE);
  lane->next = next + 2;
  lane->extra += 1;
}

static inline uint64_t eventring_double_bits(double value) {
  uint64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* ---- The probes -------------------------------------------------------- */

/* Begin and end of a span. */
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

/* Begin of a span that carries an integer, such as the reason of a collection
   (the definition's payload is INT or UINT). */
static inline void eventring_begin_int(eventring_domain *domain,
                                       enum eventring_ring ring,
                                       enum eventring_class event_class,
                                       unsigned id, int64_t value) {
  if (eventring_enabled(domain, ring, event_class))
    eventring_emit1(domain, ring, EVENTRING_TAIL(EVENTRING_BEGIN, id, 1),
                    (uint64_t)value);
}

/* A counter's value. */
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

/* An instant, a point in time: without payload, with an integer, a double, a string. */
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
/* String or bytes (as the definition says); more than EVENTRING_MAX_PAYLOAD
   bytes are cut and the event is marked. */
static inline void eventring_instant_bytes(eventring_domain *domain,
                                         enum eventring_ring ring,
                                         enum eventring_class event_class,
                                         unsigned id, const void *bytes,
                                         size_t size) {
  if (eventring_enabled(domain, ring, event_class))
    eventring_emit_bytes(domain, ring, EVENTRING_TAIL(EVENTRING_INSTANT, id, 0),
                         bytes, size);
}

/* A lifecycle event of the host with its data. */
static inline void eventring_lifecycle(eventring_domain *domain,
                                       enum eventring_ring ring,
                                       unsigned id, int64_t data) {
  if (eventring_enabled(domain, ring, EVENTRING_CLASS_LIFECYCLE))
    eventring_emit1(domain, ring, EVENTRING_TAIL(EVENTRING_LIFECYCLE, id, 1),
                    (uint64_t)data);
}

/* ---- Contexts ----------------------------------------------------------
 *
 * A context is a flow of control within a domain, such as a coroutine. Spans match within
 * their context. The host chooses the ids, from 1 (0 is none), and does not use one again
 * while the domain lives. A host without contexts calls none of these. */

/* The events that follow in this ring belong to `context`. Called before the probes of a
   host that has contexts, where their class is recorded (eventring_enabled); costs a
   comparison while the context stays the same. */
static inline void eventring_set_context(eventring_domain *domain, enum eventring_ring ring,
                                         uint64_t context) {
  if (__builtin_expect(domain->lane[ring].context != context, 0))
    eventring_enter_context(domain, ring, context);
}

/* A context that has open spans in this ring is left (a coroutine yields), or goes on: so
   readers know for how long its spans stood still. */
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
 * Begin and end of an async span, and the points of a flow, have the same definition (kind
 * ASYNC or FLOW, without payload) and the same link, a number of the host's choice. They
 * may lie in different contexts and domains. */
static inline void eventring_linked(eventring_domain *domain, enum eventring_ring ring,
                                    enum eventring_class event_class, unsigned id,
                                    uint64_t link, enum eventring_role role) {
  uint64_t words[2] = {link, (uint64_t)role};
  if (eventring_enabled(domain, ring, event_class))
    eventring_emit_words(domain, ring, EVENTRING_TAIL(EVENTRING_LINKED, id, 0), words, 2);
}

/* User spans, counters and events, of ids from eventring_register_user. */
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
