/* SPDX-License-Identifier: MIT */
/* runtime/peer_wait.c: how a domain waits, and is woken.
 *
 * A domain waits for a change of a word of its own, `park`, first spinning and then in
 * the kernel. Wakers find it through the Waiters that it has put into queues (of a
 * channel's receivers, of a domain's joiners). A condition variable would not do: the
 * word serves any number of queues, so that `select` waits as `receive` does, and a
 * signal handler can wake the domain.
 *
 *     RUNNING -> WAITING -> SLEEPING or BLOCKED -> NOTIFIED -> RUNNING
 *
 * The domain's own thread takes all steps except the step to NOTIFIED, which any thread
 * takes by an exchange. A thread whose exchange returns SLEEPING or BLOCKED must wake the
 * domain. The two steps of a request (store attention, then park) and the two steps of
 * waiting (store park, then load attention) are sequentially consistent: a request is
 * never missed.
 *
 * Spinning
 *   An idle processor takes long to wake up: about 50 us if it is a virtual one. Two
 *   domains that reply to each other quickly, and sleep in between, wait for a processor
 *   twice in each exchange. So a wait spins, for at most the time in which a processor
 *   wakes up, as long as spinning helps. If the domain was notified while it spun, it
 *   spins twice as long the next time; if not, half as long. If its sleep was so short
 *   that it may have been only the time in which processors wake up, one of the next
 *   waits is a probe, which spins for twice the duration of that sleep. Each probe that
 *   fails makes probes rarer. A long sleep (the other domain is slow, or has no
 *   processor) leads to no probe. No domain spins while more domains are awake than there
 *   are processors: the domain that is to reply may need this processor. Domains that
 *   spin count as awake.
 */
#include "peer_internal.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "footprint.h"
#include "peer.h"

#define SPIN_LEAST 500     /* ns */
/* ns; a longer sleep was not only a wait for processors to wake up */
#define WAKING_MOST 400000
#define PROBE_RAREST 64    /* most waits between a failed probe and the next one */

/* ---- clocks and processors ----------------------------------------------- */

int peer_processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? (int)n : 1;
}

/* Returns the number of processors as it was at the first call. */
static uint32_t processor_count(void) {
  static uint32_t found; /* relaxed, since every thread finds the same number */
  uint32_t n = __atomic_load_n(&found, __ATOMIC_RELAXED);
  if (n == 0) {
    n = (uint32_t)peer_processors();
    __atomic_store_n(&found, n, __ATOMIC_RELAXED);
  }
  return n;
}

static void relax_processor(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("isb");
#endif
}

/* ---- waiting ------------------------------------------------------------- */

static long futex_call(uint32_t *word, int operation, uint32_t value,
                       const struct timespec *timeout) {
  return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

void peer_wake(uint32_t *park) {
  if (park != NULL) futex_call(park, FUTEX_WAKE, 1, NULL);
}

void peer_prepare(Peer *peer, WaitKind kind, uint32_t id) {
  __atomic_store_n(&peer->wait_kind, kind, __ATOMIC_RELAXED);
  __atomic_store_n(&peer->wait_id, id, __ATOMIC_RELAXED);
  __atomic_store_n(&peer->park, PARK_WAITING, __ATOMIC_SEQ_CST);
}

void peer_end_wait(Peer *peer) {
  __atomic_store_n(&peer->wait_kind, WAIT_NOTHING, __ATOMIC_RELAXED);
  __atomic_store_n(&peer->park, PARK_RUNNING, __ATOMIC_SEQ_CST);
}

static bool is_notified(const Peer *peer) {
  /* acquire: pairs with the exchange of park in waiter_notify_first or in set_attention
   * (peer.c), so that what the waker did before the exchange is seen */
  return __atomic_load_n(&peer->park, __ATOMIC_ACQUIRE) == PARK_NOTIFIED;
}

/* Tells whether more domains are awake than there are processors. Domains that spin count
 * as awake. */
static bool is_crowded(void) {
  uint64_t now = __atomic_load_n(&peer_waits, __ATOMIC_RELAXED);
  return (uint32_t)(now >> 32) - (uint32_t)now > processor_count();
}

/* Spins until the time `until`, or until the domain is notified, or until there are too
 * few processors. Returns whether it was notified. */
static bool spin_until(Peer *peer, uint64_t until) {
  do {
    for (int n = 0; n < 8; n++) {
      if (is_notified(peer)) return true;
      relax_processor();
    }
  } while (monotonic_ns() < until && !is_crowded());
  return is_notified(peer);
}

static uint32_t spin_time(const Peer *peer) {
  return processor_count() > 1 && !is_crowded() ? peer->spin : 0;
}

static void learn_from_success(Peer *peer) {
  peer->spin = peer->spin * 2 < SPIN_MOST ? peer->spin * 2 : SPIN_MOST;
  peer->probe_in = peer->probe_every = 1;
}

/* Adapts the time to spin after a sleep of `slept` ns, which followed spinning without
 * success. */
static void learn_from_sleep(Peer *peer, uint64_t slept) {
  peer->spin = peer->spin / 2 > SPIN_LEAST ? peer->spin / 2 : SPIN_LEAST;
  if (slept > WAKING_MOST || --peer->probe_in > 0) return;
  peer->probe_every = peer->probe_every < PROBE_RAREST ? peer->probe_every * 2 : PROBE_RAREST;
  peer->probe_in = peer->probe_every;
  uint32_t probe = (uint32_t)slept * 2 < SPIN_MOST ? (uint32_t)slept * 2 : SPIN_MOST;
  if (probe > peer->spin) peer->spin = probe;
}

static void sleep_until(Peer *peer, uint32_t state, uint64_t deadline) {
  /* acquire: pairs with the exchange of a waker, as in is_notified */
  while (__atomic_load_n(&peer->park, __ATOMIC_ACQUIRE) == state) {
    if (deadline == NO_DEADLINE) {
      futex_call(&peer->park, FUTEX_WAIT, state, NULL);
      continue;
    }
    uint64_t now = monotonic_ns();
    if (now >= deadline) return;
    uint64_t left = deadline - now;
    struct timespec timeout = {.tv_sec = (time_t)(left / 1000000000u),
                               .tv_nsec = (long)(left % 1000000000u)};
    futex_call(&peer->park, FUTEX_WAIT, state, &timeout);
  }
}

/* Takes the step from WAITING to `state`. Returns false if the domain was notified. */
static bool begin_sleep(Peer *peer, uint32_t state) {
  uint32_t expected = PARK_WAITING;
  return __atomic_compare_exchange_n(&peer->park, &expected, state, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST);
}

static void sleep_blocked(Peer *peer) {
  /* counted first, since a waker subtracts it again */
  __atomic_fetch_add(&peer_waits, 1, __ATOMIC_SEQ_CST);
  if (!begin_sleep(peer, PARK_BLOCKED)) {
    __atomic_fetch_sub(&peer_waits, 1, __ATOMIC_SEQ_CST);
    return;
  }
  peer_look_for_deadlock(__atomic_load_n(&peer_waits, __ATOMIC_SEQ_CST));
  sleep_until(peer, PARK_BLOCKED, NO_DEADLINE);
}

static void wait_in_kernel(Peer *peer, uint64_t deadline) {
  if (deadline == NO_DEADLINE) sleep_blocked(peer);
  else if (begin_sleep(peer, PARK_SLEEPING)) sleep_until(peer, PARK_SLEEPING, deadline);
}

static void spin_or_sleep(Peer *peer, uint64_t deadline) {
  uint32_t most = spin_time(peer);
  if (most == 0) {
    wait_in_kernel(peer, deadline);
    return;
  }
  uint64_t until = monotonic_ns() + most;
  if (spin_until(peer, until < deadline ? until : deadline)) {
    learn_from_success(peer);
    return;
  }
  uint64_t tired = monotonic_ns();
  wait_in_kernel(peer, deadline);
  learn_from_sleep(peer, monotonic_ns() - tired);
}

WaitResult peer_wait(Peer *peer, uint64_t deadline) {
  /* comes after the store to park in peer_prepare. Pairs with set_attention (peer.c),
   * which stores attention first and then exchanges park */
  if (peer_asked(peer) != 0) return WAIT_ATTENTION;
  Domain *d = peer->domain;
  /* while the domain waits, no tool can ask it */
  if (d != NULL) footprint_reckon_if_old(d);
  const bool is_watched = d != NULL && d->hooks.interlude != NULL;
  if (is_watched) d->hooks.interlude(d, INTERLUDE_WAIT, true);
  spin_or_sleep(peer, deadline);
  if (is_watched) d->hooks.interlude(d, INTERLUDE_WAIT, false);
  if (peer_asked(peer) != 0) return WAIT_ATTENTION;
  return is_notified(peer) ? WAIT_NOTIFIED : WAIT_TIMEOUT;
}

/* ---- queues -------------------------------------------------------------- */

void waiter_enqueue(WaitQueue *queue, Waiter *w) {
  w->queued = true;
  w->notified = false;
  w->next = NULL;
  w->prev = queue->last;
  if (w->prev != NULL) w->prev->next = w;
  else queue->first = w;
  queue->last = w;
}

void waiter_remove(WaitQueue *queue, Waiter *w) {
  if (!w->queued) return;
  if (w->prev != NULL) w->prev->next = w->next;
  else queue->first = w->next;
  if (w->next != NULL) w->next->prev = w->prev;
  else queue->last = w->prev;
  w->queued = false;
}

uint32_t *waiter_notify_first(WaitQueue *queue) {
  Waiter *w = queue->first;
  if (w == NULL) return NULL;
  Peer *peer = w->peer;
  waiter_remove(queue, w);
  w->notified = true;
  uint32_t before = __atomic_exchange_n(&peer->park, PARK_NOTIFIED, __ATOMIC_SEQ_CST);
  if (before == PARK_BLOCKED) __atomic_fetch_sub(&peer_waits, 1, __ATOMIC_SEQ_CST);
  return before == PARK_BLOCKED || before == PARK_SLEEPING ? &peer->park : NULL;
}

void waiter_notify_all(WaitQueue *queue) {
  while (queue->first != NULL) peer_wake(waiter_notify_first(queue));
}
