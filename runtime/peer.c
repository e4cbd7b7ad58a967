/* SPDX-License-Identifier: MIT */
/* runtime/peer.c: domains as other domains see them: threads, deadlock, stopping, forks.
 *
 * Data
 *   Peer      one for each domain, malloc'ed, with counted references: the domain's
 *             thread and each handle hold one. It outlives the domain until the last
 *             handle is gone.
 *   registry  list of all peers, and a table of the spawned peers that run; one lock. A
 *             signal handler reads the table without the lock: the entries are atomic,
 *             a peer is removed from the table before it is freed, and free_peer waits
 *             until no thread reads the table any more (registry.asking).
 *
 * Waiting: peer_wait.c.
 *
 * Memory order
 *   Threads share these without a lock: the words that `registry` marks as atomic,
 *   `peer_waits`, and the atomic fields of Peer (peer.h). Accesses to `attention`,
 *   `park`, `tid`, `peer_waits` and the registry's words are sequentially consistent: the
 *   arguments below and in peer_wait.c need one total order of these accesses, and none
 *   is on a hot path. A load is relaxed where its result is only a hint.
 *
 * All domains wait
 *   `peer_waits` counts domains: its high half counts live domains, its low half domains
 *   in BLOCKED. A domain may find the halves equal after its step to BLOCKED, or after
 *   its end. Then it checks under the lock whether every park word is BLOCKED: if so, no
 *   domain is left that could wake another one. It asks the host's domain (or, if that
 *   has ended, all domains) to raise an error. A domain that waits until a deadline is
 *   not blocked.
 *
 * Stopping
 *   A request sets a bit of `attention` and sends SIGURG to the thread. The handler, in
 *   the domain's own thread, makes the interpreter check for requests before its next
 *   instruction (RuntimeHooks.interrupt), so a program without requests pays nothing.
 *   Domains' threads block all other signals from outside, which are for the host.
 *
 * Forks
 *   A forked child has only the domain of the thread that forked. All other domains have
 *   failed there, and hold no channel.
 *
 * Failure
 *   Lack of memory or of a thread is a returned result; only peer_take_up raises.
 */
#include "peer.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "channel.h"
#include "clock.h"
#include "gc.h"
#include "gc_time.h"
#include "introspection.h"
#include "mappings.h"
#include "memprof.h"
#include "os_thread.h"
#include "peer_internal.h"
#include "probes.h"
#include "thread.h"
#include "throw.h"

/* stack of a domain's thread: room for MAX_C_CALLS nested C functions */
#define STACK_BYTES ((size_t)1 << 20)
/* ThreadSanitizer delays signals to a thread, except faults, until it calls libc. A
 * program that only computes may never do that. */
#ifdef __clang__
#if __has_feature(thread_sanitizer)
#define WAKE_SIGNAL SIGTRAP
#endif
#elif defined(__SANITIZE_THREAD__)
#define WAKE_SIGNAL SIGTRAP
#endif
#ifndef WAKE_SIGNAL
/* a signal that is ignored without a handler, so a stray one does no harm */
#define WAKE_SIGNAL SIGURG
#endif

#define END_PATIENCE_MS 1000          /* for cancelled domains to end with the program */
#define END_GRACE_MS 300              /* for their to-be-closed variables */
#define END_LOOK_MS 20
#define HAND_OVER_STEPS 256 /* instructions; a call counts for more (vm_take_up) */
#define PUT_OFF_MOST 16     /* consecutive messages, after which requests are obeyed */
#define NS_PER_MS UINT64_C(1000000)

static struct {
  pthread_mutex_t lock;
  pthread_cond_t ended;                    /* a spawned domain's thread is about to end */
  Peer *all; /* all peers; peers of ended domains until they are freed */
  /* the members from here to `closing` are atomic */
  Peer *spawned[PEER_MAX]; /* written under the lock */
  uint32_t running;        /* number of spawned domains in the table */
  /* number of threads that peer_spawn has started and that have not ended */
  uint32_t threads;
  uint32_t hosts;          /* number of domains of the host's threads */
  uint32_t next_id;
  uint32_t asking; /* number of threads that read `spawned` without the lock */
  /* the main script has ended: nothing more comes from main */
  bool closing;
  bool ending;
  int exiting; /* number of the thread that ends the program, or 0 */
  /* not atomic: time in ns when the end of the program first cancelled all domains, or
     0 */
  uint64_t cancelled_at;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

/* Atomic. On a cache line of its own, since a domain that spins reads it all the time */
_Alignas(64) uint64_t peer_waits;

/* peer of the domain for which this thread was spawned, or of the host's last domain in
   it */
static __thread Peer *own;

static void lock_registry(void) { pthread_mutex_lock(&registry.lock); }
static void unlock_registry(void) { pthread_mutex_unlock(&registry.lock); }

/* ---- life ---------------------------------------------------------------- */

static Peer *new_peer(const char *name) {
  Peer *peer = calloc(1, sizeof *peer);
  if (peer == NULL) return NULL;
  pthread_mutex_init(&peer->lock, NULL);
  peer->id = __atomic_fetch_add(&registry.next_id, 1, __ATOMIC_RELAXED);
  peer->slot = -1;
  peer->references = 1;
  peer->spin = SPIN_MOST;
  peer->probe_in = peer->probe_every = 1;
  if (name != NULL) snprintf(peer->name, sizeof peer->name, "%s", name);
  else snprintf(peer->name, sizeof peer->name, peer->id == 0 ? "main" : "domain %u", peer->id);
  return peer;
}

static void link_locked(Peer *peer) {
  peer->next = registry.all;
  if (peer->next != NULL) peer->next->prev = peer;
  registry.all = peer;
}

static void unlink_locked(Peer *peer) {
  if (peer->next != NULL) peer->next->prev = peer->prev;
  if (peer->prev != NULL) peer->prev->next = peer->next;
  else if (registry.all == peer) registry.all = peer->next;
}

static bool is_over(void) {
  return __atomic_load_n(&registry.closing, __ATOMIC_SEQ_CST) || peer_program_ends();
}

/* Prints an error with its traceback. Line ends and tabs are kept. */
static void print_lines(FILE *out, const char *text) {
  char line[4096];
  while (text[0] != '\0') {
    size_t size = strcspn(text, "\n\t");
    fputs(eventring_printable(line, sizeof line, text, size), out);
    text += size;
    if (text[0] != '\0') fputc(*text++, out);
  }
}

/* Reports the error of a domain, if nothing has read it. Does not report an error that
 * the end of the program caused, or an error of a cancelled domain. The acquire load
 * pairs with the release store in peer_finish: `failure` and `was_cancelled` were written
 * before it. */
static void warn_of_lost_error(Peer *peer) {
  if (__atomic_load_n(&peer->status, __ATOMIC_ACQUIRE) != PEER_FAILED) return;
  if (peer->was_cancelled || peer->elsewhere || (peer->abandoned && is_over())) return;
  if (__atomic_exchange_n(&peer->joined, true, __ATOMIC_RELAXED)) return;
  char name[4 * sizeof peer->name + 1];
  fflush(stdout);
  fprintf(stderr, "saros: warning: domain %u (%s) ended with an error, and was not joined: ",
          peer->id, eventring_printable(name, sizeof name, peer->name, strlen(peer->name)));
  print_lines(stderr, peer->failure != NULL ? peer->failure : "not enough memory");
  fputc('\n', stderr);
}

/* Frees the peer. A thread in ask_spawned, which may be in a signal handler, takes no
 * lock and may have found this peer in its slot before the slot became free. So this
 * function waits for such threads. */
static void free_peer(Peer *peer) {
  lock_registry();
  unlink_locked(peer);
  unlock_registry();
  while (__atomic_load_n(&registry.asking, __ATOMIC_SEQ_CST) != 0) sched_yield();
  warn_of_lost_error(peer);
  message_free(peer->outcome);
  free(peer->failure);
  pthread_mutex_destroy(&peer->lock);
  free(peer);
}

void peer_hold(Peer *peer) { __atomic_fetch_add(&peer->references, 1, __ATOMIC_RELAXED); }

/* Drops a reference, and frees the peer with the last reference. acq_rel: the last
 * decrement acquires what all other decrements have released, so the thread that frees
 * the peer sees all that other threads did with it. */
void peer_release(Peer *peer) {
  if (__atomic_fetch_sub(&peer->references, 1, __ATOMIC_ACQ_REL) == 1) free_peer(peer);
}

uint32_t peer_count(void) {
  return __atomic_load_n(&registry.running, __ATOMIC_RELAXED) +
         __atomic_load_n(&registry.hosts, __ATOMIC_RELAXED);
}

bool peer_program_ends(void) {
  return __atomic_load_n(&registry.ending, __ATOMIC_RELAXED);
}

/* ---- all domains wait ---------------------------------------------------- */

static bool is_alive(const Peer *peer) {
  return __atomic_load_n(&peer->tid, __ATOMIC_SEQ_CST) != 0;
}

static bool all_blocked_locked(void) {
  for (Peer *peer = registry.all; peer != NULL; peer = peer->next)
    if (is_alive(peer) && __atomic_load_n(&peer->park, __ATOMIC_SEQ_CST) != PARK_BLOCKED)
      return false;
  return true;
}

static void set_attention(Peer *peer, uint32_t what) {
  /* comes before the exchange of park. Pairs with peer_wait, which loads attention after
   * the store to park in peer_prepare. In the total order of these sequentially
   * consistent operations, either the load in peer_wait comes after this store and sees
   * the request, or the exchange of park here comes after the store in peer_prepare and
   * wakes the domain */
  __atomic_fetch_or(&peer->attention, what, __ATOMIC_SEQ_CST);
  uint32_t before = __atomic_exchange_n(&peer->park, PARK_NOTIFIED, __ATOMIC_SEQ_CST);
  if (before == PARK_BLOCKED) __atomic_fetch_sub(&peer_waits, 1, __ATOMIC_SEQ_CST);
  if (before == PARK_BLOCKED || before == PARK_SLEEPING) peer_wake(&peer->park);
}

static void report_deadlock_locked(void) {
  bool hosts = __atomic_load_n(&registry.hosts, __ATOMIC_RELAXED) > 0;
  for (Peer *peer = registry.all; peer != NULL; peer = peer->next)
    if (is_alive(peer) && !(hosts && peer->spawned)) set_attention(peer, ATTENTION_DEADLOCK);
}

void peer_look_for_deadlock(uint64_t now) {
  if ((uint32_t)now != (uint32_t)(now >> 32) || now == 0) return;
  lock_registry();
  if (all_blocked_locked()) report_deadlock_locked();
  unlock_registry();
}

static const char *const wait_texts[] = {[WAIT_NOTHING] = "runs",
                                         [WAIT_SEND] = "waits to send to channel",
                                         [WAIT_RECEIVE] = "waits to receive from channel",
                                         [WAIT_SELECT] = "waits in select, first channel",
                                         [WAIT_JOIN] = "waits to join domain",
                                         [WAIT_SLEEP] = "sleeps"};

/* Describes what all domains wait for. Called only while all of them wait, so what it
 * reads does not change, except in domains that were also asked to raise. */
static void describe_waits(char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "deadlock: all domains wait for each other");
  lock_registry();
  for (Peer *peer = registry.all; peer != NULL && used < size; peer = peer->next) {
    uint32_t kind = __atomic_load_n(&peer->wait_kind, __ATOMIC_RELAXED);
    if (!is_alive(peer) || kind == WAIT_NOTHING) continue;
    int n = snprintf(text + used, size - used, "\n\tdomain %u (%s) %s %u", peer->id, peer->name,
                     wait_texts[kind], __atomic_load_n(&peer->wait_id, __ATOMIC_RELAXED));
    used += n > 0 ? (size_t)n : 0;
  }
  unlock_registry();
}

static bool is_spawned_thread(void) { return own != NULL && own->spawned; }

/* ---- requests ------------------------------------------------------------ */

static void on_wake_signal(int number) {
  (void)number;
  Peer *peer = own;
  Domain *d = peer != NULL ? peer->domain : NULL;
  if (d == NULL || d->current == NULL || d->hooks.interrupt == NULL) return;
  if (__atomic_load_n(&peer->attention, __ATOMIC_RELAXED) & ATTENTION_ASKED)
    d->hooks.interrupt(d->current);
}

void peer_ask_in_handler(Peer *peer, uint32_t what) {
  set_attention(peer, what);
  peer->domain->hooks.interrupt(peer->domain->current);
}

void peer_withdraw(Peer *peer, uint32_t what) {
  __atomic_fetch_and(&peer->attention, ~what, __ATOMIC_SEQ_CST);
}

static void install_handler(void) {
  struct sigaction action = {.sa_handler = on_wake_signal, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(WAKE_SIGNAL, &action, NULL);
}

/* Makes the requests and sends the signal. Async-signal-safe. If the thread has ended,
 * its number is invalid, or belongs to a later thread, which finds no request. The
 * calling thread gets no signal, since there may be no handler yet. */
static void request_and_wake(Peer *peer, uint32_t what) {
  set_attention(peer, what);
  if (peer == own) {
    on_wake_signal(WAKE_SIGNAL);
    return;
  }
  int tid = __atomic_load_n(&peer->tid, __ATOMIC_SEQ_CST);
  if (tid != 0) syscall(SYS_tgkill, getpid(), tid, WAKE_SIGNAL);
}

void peer_cancel(Peer *peer) { request_and_wake(peer, ATTENTION_CANCEL); }

static void end_thread(void) {
  lock_registry();
  __atomic_fetch_sub(&registry.threads, 1, __ATOMIC_SEQ_CST);
  pthread_cond_broadcast(&registry.ended);
  unlock_registry();
}

/* Stops this domain, and waits until another thread ends the process. The domain counts
 * as ended. */
_Noreturn static void stand_still(void) {
  if (own != NULL && own->domain != NULL) {
    memprof_collected(own->domain);
    gc_record_asked(own->domain);
    peer_record_end(own);
    probes_domain_stop(own->domain);
  }
  if (is_spawned_thread()) end_thread();
  else __atomic_fetch_sub(&registry.hosts, 1, __ATOMIC_SEQ_CST);
  for (;;) pause();
}

void peer_obey_stop(const Peer *peer) {
  if (__atomic_load_n(&peer->attention, __ATOMIC_SEQ_CST) & ATTENTION_STOP) stand_still();
}

Domain *peer_own_domain(void) { return own != NULL ? own->domain : NULL; }

void peer_mask(Peer *peer) { peer->masks++; }

void peer_unmask(Peer *peer) {
  /* the results of the masked function are to be handed over */
  if (--peer->masks == 0) peer_hand_over(peer);
}

void peer_hand_over(Peer *peer) {
  const uint32_t attention = __atomic_load_n(&peer->attention, __ATOMIC_SEQ_CST);
  peer->put_off = (attention & ATTENTION_ASKED) == 0 ? 0 : peer->put_off + 1;
  peer->handing_over = HAND_OVER_STEPS;
}

void peer_begin_message(lua_State *L) {
  const Peer *peer = L->domain->peer;
  if (L->allow_hook && peer_asked(peer) != 0 &&
      (peer->handing_over == 0 || peer->put_off >= PUT_OFF_MOST))
    peer_take_up(L);
}

/* Returns the requests that raise something now. A question of a tool ends no wait. It is
 * answered at the next safepoint (vm_take_up) or, for a domain that is asleep, by a
 * thread of libeventring (answer_aside). */
static uint32_t unmasked_requests(const Peer *peer) {
  const uint32_t requests = ATTENTION_ASKED & ~ATTENTION_QUESTION;
  return peer->masks > 0 ? requests & ~(ATTENTION_CANCEL | ATTENTION_INTERRUPT) : requests;
}

uint32_t peer_asked(const Peer *peer) {
  return __atomic_load_n(&peer->attention, __ATOMIC_SEQ_CST) & unmasked_requests(peer);
}

/* Raises the error of a cancelled domain. A message handler in Lua reaches a safepoint as
 * soon as it starts. While the program ends, each safepoint raises the cancellation
 * again, so the handler would be called for an error of its own, nested until the C stack
 * is full. Therefore only the first cancellation of a domain calls the handler. */
static _Noreturn void raise_cancelled(lua_State *L, bool again) {
  static const char message[] = "domain was cancelled";
  if (!again) error_run(L, message);
  string_format(L, "%s", message);
  error_throw(L, LUA_ERRRUN);
}

void peer_take_up(lua_State *L) {
  Peer *peer = L->domain->peer;
  uint32_t taken = unmasked_requests(peer);
  uint32_t asked =
      __atomic_fetch_and(&peer->attention, ~taken | ATTENTION_END, __ATOMIC_SEQ_CST) & taken;
  peer->handing_over = peer->put_off = 0;
  char text[2000];
  if (asked & ATTENTION_DEADLOCK) describe_waits(text, sizeof text);
  peer_end_wait(peer);
  if (asked & (ATTENTION_CANCEL | ATTENTION_END)) {
    bool again = peer->was_cancelled;
    peer->was_cancelled = true;
    raise_cancelled(L, again);
  }
  if (asked & ATTENTION_STOP) stand_still();
  if (asked & ATTENTION_INTERRUPT) error_run(L, INTERRUPTED_TEXT);
  if (asked & ATTENTION_DEADLOCK) {
    peer->abandoned = true;
    error_run(L, "%s", text);
  }
}

/* Tells whether the domain is to end. Such a domain must not see how others ended. */
static bool must_end(const Peer *peer) {
  return (peer_asked(peer) & (ATTENTION_CANCEL | ATTENTION_END | ATTENTION_STOP)) != 0;
}

/* Tells whether all spawned threads have ended, except the caller's. */
static bool all_ended(void) {
  return __atomic_load_n(&registry.threads, __ATOMIC_SEQ_CST) <= (uint32_t)is_spawned_thread();
}

/* Makes a request to all spawned domains. All of them have the request before the first
 * is woken. When a domain ends, others may fail because of that (a join, an orphaned
 * channel); they find the request first and obey it instead. */
static void ask_spawned(uint32_t what) {
  __atomic_fetch_add(&registry.asking, 1, __ATOMIC_SEQ_CST);
  for (int wakes = 0; wakes < 2; wakes++)
    for (int s = 0; s < PEER_MAX; s++) {
      Peer *peer = __atomic_load_n(&registry.spawned[s], __ATOMIC_SEQ_CST);
      if (peer == NULL || peer == own) continue;
      if (wakes) request_and_wake(peer, what);
      else __atomic_fetch_or(&peer->attention, what, __ATOMIC_SEQ_CST);
    }
  __atomic_fetch_sub(&registry.asking, 1, __ATOMIC_SEQ_CST);
}

/* Stops the host's domains if a spawned domain ends the program. */
static void stop_hosts_locked(void) {
  if (!is_spawned_thread()) return;
  for (Peer *peer = registry.all; peer != NULL; peer = peer->next)
    if (!peer->spawned && peer != own && is_alive(peer)) request_and_wake(peer, ATTENTION_STOP);
}

static bool hosts_stopped(void) {
  return !is_spawned_thread() || __atomic_load_n(&registry.hosts, __ATOMIC_SEQ_CST) == 0;
}

void peer_cancel_all_in_handler(void) {
  __atomic_store_n(&registry.ending, true, __ATOMIC_SEQ_CST);
  ask_spawned(ATTENTION_CANCEL);
}

bool peer_wait_in_handler(int milliseconds) {
  for (int n = 0; n < milliseconds; n++) {
    if (all_ended()) return true;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return all_ended();
}

/* Waits until a thread ends, for at most `milliseconds`. */
static void wait_for_end_locked(int milliseconds) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_nsec += milliseconds * 1000000L;
  at.tv_sec += at.tv_nsec / 1000000000L;
  at.tv_nsec %= 1000000000L;
  pthread_cond_timedwait(&registry.ended, &registry.lock, &at);
}

static void report_lost_errors_locked(void) {
  for (Peer *peer = registry.all; peer != NULL; peer = peer->next) warn_of_lost_error(peer);
}

/* Cancels all domains and waits for their end. They have some time for their to-be-closed
 * variables; after that each safepoint raises again, so that nothing can catch the error
 * for long. */
static void cancel_all(void) {
  lock_registry();
  __atomic_store_n(&registry.ending, true, __ATOMIC_SEQ_CST);
  if (registry.cancelled_at == 0) {
    registry.cancelled_at = monotonic_ns();
    stop_hosts_locked(); /* done before a domain ends for which the host's domains wait */
    ask_spawned(ATTENTION_CANCEL);
  }
  for (;;) {
    uint64_t took = monotonic_ns() - registry.cancelled_at;
    if ((all_ended() && hosts_stopped()) || took >= END_PATIENCE_MS * NS_PER_MS) break;
    if (took >= END_GRACE_MS * NS_PER_MS) ask_spawned(ATTENTION_END);
    stop_hosts_locked();
    wait_for_end_locked(END_LOOK_MS);
  }
  unlock_registry();
}

void peer_await_end(void) {
  lock_registry();
  wait_for_end_locked(END_LOOK_MS);
  unlock_registry();
}

static void wait_for_all(void) {
  lock_registry();
  __atomic_store_n(&registry.ending, true, __ATOMIC_SEQ_CST);
  while (!all_ended()) wait_for_end_locked(END_LOOK_MS);
  unlock_registry();
}

/* Lets only one thread end the process. In any other thread this function does not
 * return, because exit must not run twice. */
static void claim_exit(void) {
  int mine = (int)syscall(SYS_gettid), who = 0;
  if (!__atomic_compare_exchange_n(&registry.exiting, &who, mine, false, __ATOMIC_SEQ_CST,
                                   __ATOMIC_SEQ_CST) &&
      who != mine)
    stand_still();
}

void peer_begin_end(bool cancel) {
  __atomic_store_n(&registry.closing, true, __ATOMIC_SEQ_CST);
  if (!cancel) return;
  claim_exit();
  cancel_all();
}

void peer_end_all(bool cancel) {
  if (!cancel) wait_for_all();
  claim_exit();
  if (cancel) cancel_all();
  /* the thread's domain ends with the process */
  if (is_spawned_thread() && own->domain != NULL) peer_record_end(own);
  lock_registry();
  report_lost_errors_locked();
  unlock_registry();
}

/* ---- threads ------------------------------------------------------------- */

static void begin_life(Peer *peer) {
  own = peer;
  __atomic_fetch_add(&peer_waits, ALIVE, __ATOMIC_SEQ_CST);
  __atomic_store_n(&peer->tid, (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
}

static void end_life(Peer *peer) {
  __atomic_store_n(&peer->tid, 0, __ATOMIC_SEQ_CST);
  if (own == peer) own = NULL;
  peer_look_for_deadlock(__atomic_fetch_sub(&peer_waits, ALIVE, __ATOMIC_SEQ_CST) - ALIVE);
}

Peer *peer_attach(Domain *d) {
  if (own != NULL && own->spawned && own->domain == NULL) {
    own->domain = d;
    return own;
  }
  Peer *peer = new_peer(NULL);
  if (peer == NULL) return NULL;
  lock_registry();
  link_locked(peer);
  unlock_registry();
  __atomic_fetch_add(&registry.hosts, 1, __ATOMIC_RELAXED);
  peer->domain = d;
  begin_life(peer);
  return peer;
}

void peer_record_end(Peer *peer) {
  gc_time_record(peer->domain);
  if (peer->spawned) PROBE_LIFECYCLE(peer->domain, DOMAIN_TERMINATE, peer->id);
}

void peer_forget_domain(Peer *peer) {
  peer->domain = NULL;
  /* pairs with on_wake_signal, which may interrupt this thread at any point: from here on
   * the handler finds no domain */
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void peer_detach(Peer *peer) {
  if (peer->spawned) return; /* peer_finish does the rest */
  channel_find_cycles();
  __atomic_fetch_sub(&registry.hosts, 1, __ATOMIC_RELAXED);
  end_life(peer);
  peer_release(peer);
}

/* Gives the peer a slot. Returns false if there are too many domains. */
static bool take_slot_locked(Peer *peer) {
  if (peer_count() >= PEER_MAX) return false;
  for (int s = 0; s < PEER_MAX && peer->slot < 0; s++)
    if (__atomic_load_n(&registry.spawned[s], __ATOMIC_RELAXED) == NULL) peer->slot = s;
  if (peer->slot < 0) return false;
  __atomic_store_n(&registry.spawned[peer->slot], peer, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&registry.running, 1, __ATOMIC_SEQ_CST);
  return true;
}

static void free_slot(Peer *peer) {
  lock_registry();
  __atomic_store_n(&registry.spawned[peer->slot], NULL, __ATOMIC_SEQ_CST);
  peer->slot = -1;
  __atomic_fetch_sub(&registry.running, 1, __ATOMIC_SEQ_CST);
  unlock_registry();
}

/* Ends a spawned domain. Frees its slot before any other domain can see that it has
 * ended. If a request to end was pending while the program ended, that counts as the
 * reason for its failure. */
void peer_finish(Peer *peer, PeerStatus status, Message *outcome, char *failure) {
  if (peer_program_ends() && must_end(peer)) peer->was_cancelled = true;
  peer->outcome = outcome;
  peer->failure = failure;
  channel_find_cycles();
  free_slot(peer);
  pthread_mutex_lock(&peer->lock);
  /* release: pairs with the acquire loads in has_ended, in warn_of_lost_error and in
   * stdlib/lib_domain.c. Code behind these loads reads what is stored above: outcome,
   * failure, was_cancelled */
  __atomic_store_n(&peer->status, status, __ATOMIC_RELEASE);
  waiter_notify_all(&peer->joiners);
  pthread_mutex_unlock(&peer->lock);
}

static void *run_thread(void *argument) {
  Peer *peer = argument;
  own = peer;
  __atomic_store_n(&peer->tid, (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
  peer->body(peer, peer->argument);
  end_life(peer);
  peer_release(peer);
  end_thread();
  return NULL;
}

static int start_thread(Peer *peer) {
  return os_thread_start(run_thread, peer, STACK_BYTES, WAKE_SIGNAL);
}

static void end_at_exit(void) { peer_end_all(true); }

/* ---- fork ---------------------------------------------------------------- */

/* Locks all shared data, which must be consistent when the process forks: the child has a
 * copy of the data at that moment, but only the thread that forked. */
static void lock_for_fork(void) {
  lock_registry();
  for (Peer *peer = registry.all; peer != NULL; peer = peer->next) pthread_mutex_lock(&peer->lock);
  channel_lock_all();
  mapping_lock();
}

static void unlock_peers(void) {
  for (Peer *peer = registry.all; peer != NULL; peer = peer->next)
    pthread_mutex_unlock(&peer->lock);
}

static void unlock_after_fork(void) {
  mapping_unlock();
  channel_unlock_all();
  unlock_peers();
  unlock_registry();
}

/* Ends, in the child, a domain that runs only in the parent. Joins see its end, which is
 * not reported as an error. */
static void stay_in_parent(Peer *peer) {
  __atomic_store_n(&peer->tid, 0, __ATOMIC_SEQ_CST);
  /* the domain does not count as blocked */
  __atomic_store_n(&peer->park, PARK_RUNNING, __ATOMIC_SEQ_CST);
  peer->joiners = (WaitQueue){0};
  if (__atomic_load_n(&peer->status, __ATOMIC_SEQ_CST) != PEER_RUNNING) return;
  peer->failure = strdup("the domain stayed in the process that forked");
  peer->elsewhere = true;
  __atomic_store_n(&peer->status, PEER_FAILED, __ATOMIC_SEQ_CST);
}

/* Ends all other domains in the child. Their heaps and stacks stay allocated and
 * unused. */
static void forget_others_locked(void) {
  for (Peer *peer = registry.all; peer != NULL; peer = peer->next)
    if (peer != own) stay_in_parent(peer);
  for (int s = 0; s < PEER_MAX; s++)
    if (own == NULL || s != own->slot)
      __atomic_store_n(&registry.spawned[s], NULL, __ATOMIC_SEQ_CST);
}

static void begin_in_child(void) {
  bool mine = own != NULL, spawned = is_spawned_thread();
  mapping_unlock();
  unlock_peers();
  forget_others_locked();
  if (mine) __atomic_store_n(&own->tid, (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
  if (mine) own->joiners = (WaitQueue){0}; /* on stacks of threads of the parent */
  __atomic_store_n(&registry.asking, 0, __ATOMIC_SEQ_CST); /* threads of the parent */
  introspection_keep_only(mine ? own->domain : NULL);
  __atomic_store_n(&registry.running, spawned, __ATOMIC_SEQ_CST);
  __atomic_store_n(&registry.threads, spawned, __ATOMIC_SEQ_CST);
  __atomic_store_n(&registry.hosts, mine && !spawned, __ATOMIC_SEQ_CST);
  __atomic_store_n(&peer_waits, mine ? ALIVE : 0, __ATOMIC_SEQ_CST);
  pthread_cond_init(&registry.ended, NULL);
  unlock_registry();
  channel_forget_others(own);
}

static void prepare_to_spawn(void) {
  install_handler();
  atexit(end_at_exit);
  pthread_atfork(lock_for_fork, unlock_after_fork, begin_in_child);
}

static SpawnResult enter_registry(Peer *peer) {
  lock_registry();
  SpawnResult result = peer_program_ends()   ? SPAWN_ENDING
                       : take_slot_locked(peer) ? SPAWN_OK
                                             : SPAWN_TOO_MANY;
  if (result == SPAWN_OK) link_locked(peer);
  unlock_registry();
  return result;
}

SpawnResult peer_spawn(Peer **result, const char *name, size_t memory_limit,
                          void (*body)(Peer *, void *), void *argument) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare_to_spawn);
  Peer *peer = new_peer(name);
  if (peer == NULL) return SPAWN_NO_MEMORY;
  peer->spawned = true;
  peer->memory_limit = memory_limit;
  peer->body = body;
  peer->argument = argument;
  SpawnResult entered = enter_registry(peer);
  if (entered == SPAWN_OK) {
    peer_hold(peer); /* the reference of the thread */
    __atomic_fetch_add(&peer_waits, ALIVE, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&registry.threads, 1, __ATOMIC_SEQ_CST);
    if (start_thread(peer) == 0) {
      *result = peer;
      return SPAWN_OK;
    }
    entered = SPAWN_NO_THREAD;
    free_slot(peer);
    end_life(peer);
    end_thread();
    peer_release(peer);
  }
  peer_release(peer);
  return entered;
}

/* ---- joining ------------------------------------------------------------- */

static bool has_ended(Peer *peer) {
  /* acquire: pairs with the release store in peer_finish, before which the outcome was
   * stored */
  return __atomic_load_n(&peer->status, __ATOMIC_ACQUIRE) != PEER_RUNNING;
}

/* Enters the queue of joiners, unless the domain has ended. Returns whether it has
 * entered. */
static bool enter_joiners(Peer *other, Waiter *w) {
  pthread_mutex_lock(&other->lock);
  bool waits_for_it = !has_ended(other);
  if (waits_for_it) waiter_enqueue(&other->joiners, w);
  pthread_mutex_unlock(&other->lock);
  return waits_for_it;
}

WaitResult peer_join(Peer *self, Peer *other, uint64_t deadline) {
  if (has_ended(other)) return must_end(self) ? WAIT_ATTENTION : WAIT_NOTIFIED;
  Waiter w = {.peer = self};
  WaitResult result = WAIT_NOTIFIED;
  do { /* waits again when it was woken for a masked request */
    peer_prepare(self, WAIT_JOIN, other->id);
    if (!enter_joiners(other, &w)) break;
    result = peer_wait(self, deadline);
    pthread_mutex_lock(&other->lock);
    waiter_remove(&other->joiners, &w);
    pthread_mutex_unlock(&other->lock);
  } while (result == WAIT_NOTIFIED && !has_ended(other));
  if (has_ended(other) && !must_end(self)) result = WAIT_NOTIFIED;
  if (result != WAIT_ATTENTION) peer_end_wait(self);
  return result;
}
