/* SPDX-License-Identifier: MIT */
/* runtime/peer.h: a peer, the part of a domain that other domains may access: its
 * identity, whether it runs, and how it is woken, stopped and waited for (design: top of
 * peer.c). All other parts of a domain belong to its own thread.
 */
#ifndef SAROS_RUNTIME_PEER_H
#define SAROS_RUNTIME_PEER_H

#include <pthread.h>
#include "domain.h"
#include "message.h"

#define PEER_MAX 128     /* most domains at once, with the main domain */
/* most bytes of a name; EVENTRING_MAX_DOMAIN_NAME of them are recorded */
#define PEER_NAME_MAX 47
#define NO_DEADLINE UINT64_MAX
#define INTERRUPTED_TEXT "interrupted!"

typedef enum PeerStatus { PEER_RUNNING, PEER_DONE, PEER_FAILED } PeerStatus;

/* Peer.attention: requests to a domain, which it obeys at its next safepoint. */
#define ATTENTION_CANCEL 1u    /* raise "cancelled" */
#define ATTENTION_DEADLOCK 2u  /* raise an error: all domains wait for each other */
#define ATTENTION_INTERRUPT 4u /* raise INTERRUPTED_TEXT for the user's SIGINT */
/* a domain of the host must stand still, because another domain ends the program */
#define ATTENTION_STOP 8u
/* raise "cancelled" at every safepoint from now on, because the program ends */
#define ATTENTION_END 16u
/* a tool asks a question (vm/question.h), or may ask to end a profile of calls; set by
 * the domain itself */
#define ATTENTION_QUESTION 64u
#define ATTENTION_ASKED (31u | ATTENTION_QUESTION) /* all requests of others */
/* A note of the domain's own thread, not a request: the domain's calls are watched, or
 * were, so code that lets another coroutine run must report this (vm/watch.h). The bit is
 * in the word of requests so that it costs nothing while calls are not watched. */
#define ATTENTION_WATCHED 32u

/* Peer.park: the state of the domain's thread as wakers see it; a futex word. */
typedef enum Park {
  PARK_RUNNING,
  PARK_WAITING,  /* about to sleep, or spinning */
  PARK_SLEEPING, /* asleep in the kernel, until a deadline */
  PARK_BLOCKED,  /* asleep until another domain wakes it; counted in peer_waits */
  PARK_NOTIFIED  /* woken */
} Park;

/* What a domain waits for, for messages about a deadlock. */
typedef enum WaitKind {
  WAIT_NOTHING,
  WAIT_SEND,
  WAIT_RECEIVE,
  WAIT_SELECT,
  WAIT_JOIN,
  WAIT_SLEEP
} WaitKind;

typedef struct Peer Peer;

/* An entry of a queue of waiting domains. Guarded by the lock of the queue's owner. */
typedef struct Waiter {
  struct Waiter *next, *prev;
  Peer *peer;
  bool queued;   /* it is in the queue; the waker removes it */
  bool notified; /* woken through this entry */
} Waiter;

typedef struct WaitQueue {
  Waiter *first, *last;
} WaitQueue;

struct Peer {
  uint32_t id;                       /* id of the domain; never given again */
  char name[PEER_NAME_MAX + 1];   /* constant */
  /* spawned by peer_spawn; otherwise the thread is the host's */
  bool spawned;
  int slot; /* index in the table of spawned peers; guarded by the registry's lock */
  /* Atomic (the orders: peer.c) */
  uint32_t references;               /* one for its thread, one for each handle */
  uint32_t attention;                /* ATTENTION_* */
  uint32_t park;                     /* Park */
  uint32_t wait_kind;                /* WaitKind; written by its thread */
  uint32_t wait_id;                  /* id of the channel or domain that it waits for */
  int tid; /* id of its thread; 0 before the thread begins and after it ends */
  /* Not atomic */
  /* limit of the heap in bytes, 0 for none; constant */
  size_t memory_limit;
  /* links in the list of all peers; guarded by the registry's lock */
  Peer *next, *prev;
  /* Own thread */
  Domain *domain;
  uint32_t spin;                     /* time in ns that a wait spins before it sleeps */
  /* number of sleeps until the next sleep that leads to a longer spin, and interval
   * between two such sleeps */
  uint32_t probe_in, probe_every;
  /* an error was raised in the domain because all domains were blocked */
  bool abandoned;
  /* the error of a cancellation was raised in the domain */
  bool was_cancelled;
  uint32_t masks; /* number of nested masks, which delay cancelling and SIGINT */
  uint32_t handing_over; /* number of steps that still delay requests (peer_hand_over) */
  uint32_t put_off; /* number of messages that it took while a request was delayed */
  /* The end. The thread writes the fields below before it stores `status` with release
   * (peer_finish). They are read after a load of `status` with acquire (has_ended in
   * peer.c). */
  uint32_t status;                   /* PeerStatus; atomic */
  Message *outcome; /* its results, or its error; NULL if there was no memory */
  /* text of the error with its traceback, malloc'ed; NULL after success */
  char *failure;
  bool elsewhere; /* in a forked child, the domain runs in the process that forked */
  bool joined;                       /* another domain has received the outcome; atomic */
  pthread_mutex_t lock;              /* lock of `joiners` */
  WaitQueue joiners;
  void (*body)(Peer *peer, void *argument); /* the function that its thread runs */
  void *argument;
};

/* ---- identity (peer.c) --------------------------------------------------- */

/* Returns the peer of the domain that begins in this thread, for domain_new: the peer for
 * which the thread was spawned, or a new peer if the thread is the host's. Returns NULL
 * if out of memory. */
Peer *peer_attach(Domain *d);
/* Records the end of a spawned domain. Own thread. */
void peer_record_end(Peer *peer);
/* Separates the peer from its domain, which is about to be freed: a signal finds no
 * domain from now on. */
void peer_forget_domain(Peer *peer);
/* Detaches the peer when its domain ends: nothing may wait for it or wake it any more. */
void peer_detach(Peer *peer);
void peer_hold(Peer *peer);
void peer_release(Peer *peer);
/* Returns how many domains run, both spawned domains and domains of the host. */
uint32_t peer_count(void);
/* Returns how many processors this process may use. */
int peer_processors(void);

/* ---- threads ------------------------------------------------------------- */

typedef enum SpawnResult {
  SPAWN_OK,
  SPAWN_TOO_MANY,
  SPAWN_NO_MEMORY,
  SPAWN_NO_THREAD,
  SPAWN_ENDING
} SpawnResult;

/* Starts a thread that runs body(peer, argument), and returns its peer in *result, with a
 * reference for the caller. The body creates the domain and passes its outcome to
 * peer_finish. */
SpawnResult peer_spawn(Peer **result, const char *name, size_t memory_limit,
                          void (*body)(Peer *, void *), void *argument);
/* Waits briefly for the end of any spawned domain. */
void peer_await_end(void);
/* Publishes the end of the domain to the domains that wait for it. Called by the body.
 * Takes over outcome and failure. */
void peer_finish(Peer *peer, PeerStatus status, Message *outcome, char *failure);
/* Asks the domain to raise an error at its next safepoint, and wakes it if it waits. */
void peer_cancel(Peer *peer);
/* Makes a request to the domain in whose thread the caller, a signal handler, runs. */
void peer_ask_in_handler(Peer *peer, uint32_t what);
/* Withdraws requests that were not obeyed yet. Own thread. */
void peer_withdraw(Peer *peer, uint32_t what);
/* Cancels all spawned domains. For signal handlers. */
void peer_cancel_all_in_handler(void);
/* Ends all domains but the caller's, since the program ends. No domain can be spawned
 * from now on. Waits until the domains have ended. With `cancel`, cancels them again and
 * again, for at most a second, and makes the host's domains stand still. Any thread may
 * call this before it calls exit; if several do, it returns in only one of them. */
void peer_end_all(bool cancel);
/* Begins the end of the program. To be called first if the caller's domain is closed
 * before peer_end_all, with the same `cancel`. From then on a deadlock is not reported as
 * an error. With `cancel` the other domains have ended when this returns. If they were
 * cancelled only after the domain was closed, they would first fail because it is
 * missing, and then be cancelled while they close their variables. */
void peer_begin_end(bool cancel);
/* Waits at most `milliseconds` until the spawned domains have ended. Returns whether they
 * have ended. For signal handlers. */
bool peer_wait_in_handler(int milliseconds);
/* Tells whether the program is ending: peer_end_all, peer_begin_end with `cancel`, or
 * peer_cancel_all_in_handler was called. */
bool peer_program_ends(void);

/* ---- waiting ------------------------------------------------------------- */

/* Deadlines are times of monotonic_ns (clock.h). */

typedef enum WaitResult { WAIT_NOTIFIED, WAIT_TIMEOUT, WAIT_ATTENTION } WaitResult;

/* Waits. The steps of a wait are: peer_prepare; put Waiters into queues, under the locks
 * of their owners, and check under those locks that it is still necessary to wait;
 * peer_wait, without any lock; remove the Waiters. Own thread. */
void peer_prepare(Peer *peer, WaitKind kind, uint32_t id);
WaitResult peer_wait(Peer *peer, uint64_t deadline);
void peer_end_wait(Peer *peer); /* also after a wait that was not needed */

void waiter_enqueue(WaitQueue *queue, Waiter *waiter);
void waiter_remove(WaitQueue *queue, Waiter *waiter); /* no effect if it is not queued */
/* Removes the first waiter from the queue and notifies it. The result, unless NULL, is to
 * be passed to peer_wake, which may be called after the lock was released. */
uint32_t *waiter_notify_first(WaitQueue *queue);
void waiter_notify_all(WaitQueue *queue);
void peer_wake(uint32_t *park);

/* Returns the requests to the domain, without those that a mask delays. Own thread. */
uint32_t peer_asked(const Peer *peer);
struct Domain *peer_own_domain(void); /* the domain that this thread runs, or NULL */
/* Obeys the requests to the domain, whether it waits or runs: clears the flags and raises
 * the error, if there is one. Own thread. */
void peer_take_up(lua_State *L);
/* Obeys ATTENTION_STOP: does not return if this domain is the host's and another domain
 * ends the program. To be called before an error is reported, since the error may be a
 * result of the end of the program. Own thread. */
void peer_obey_stop(const Peer *peer);
/* Masks cancellation and SIGINT: they are delayed and end no wait until peer_unmask was
 * called as many times. The end of the program and a deadlock are not masked. Own
 * thread. */
void peer_mask(Peer *peer);
void peer_unmask(Peer *peer);
/* Delays requests for some steps of the interpreter (vm_take_up), because the running
 * function has taken or delivered a message: an error must not lose the message before
 * the program has it, or knows of the delivery. Own thread. */
void peer_hand_over(Peer *peer);
/* Obeys requests before a message is taken or delivered, unless another message is being
 * handed over. This delay is bounded. Own thread. */
void peer_begin_message(lua_State *L);
/* Waits for the end of another domain, until the deadline at most. */
WaitResult peer_join(Peer *self, Peer *other, uint64_t deadline);

#endif
