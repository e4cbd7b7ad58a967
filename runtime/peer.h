/* SPDX-License-Identifier: MIT */
/* runtime/peer.h: a peer, the part of a domain that other domains may touch: its
 * identity, whether it runs, how it is woken, stopped and waited for (design: top of
 * peer.c). Everything else of a domain is its own thread's.
 */
#ifndef SAROS_RUNTIME_PEER_H
#define SAROS_RUNTIME_PEER_H

#include <pthread.h>
#include <stdatomic.h>
#include "domain.h"
#include "message.h"

#define PEER_MAX 128     /* domains at once, the main one included */
#define PEER_NAME_MAX 47 /* bytes of a name; recordings keep EVENTRING_MAX_DOMAIN_NAME of them */
#define NO_DEADLINE UINT64_MAX
#define INTERRUPTED_TEXT "interrupted!"

typedef enum PeerStatus { PEER_RUNNING, PEER_DONE, PEER_FAILED } PeerStatus;

/* Peer.attention: requests to a domain; it obeys them at its next safepoint. */
#define ATTENTION_CANCEL 1u    /* raise "cancelled" */
#define ATTENTION_DEADLOCK 2u  /* to one that waits: all domains do */
#define ATTENTION_INTERRUPT 4u /* raise INTERRUPTED_TEXT: the user's SIGINT */
#define ATTENTION_STOP 8u      /* to a host's: another domain ends the program; stand still */
/* raise "cancelled" from now on at every safepoint: the program ends */
#define ATTENTION_END 16u
#define ATTENTION_QUESTION 64u /* a tool asks (vm/question.h), or may ask for the end of a profile
                                  of calls; by the domain itself */
#define ATTENTION_ASKED (31u | ATTENTION_QUESTION) /* all requests of others */
/* A note of the domain's own thread: the domain's calls are watched, or were, so code
 * that lets another coroutine run has to note it (vm/watch.h). It shares the word so that
 * it costs nothing where calls are not watched. */
#define ATTENTION_WATCHED 32u

/* Peer.park: the state of its thread as wakers see it; a futex word. */
typedef enum Park {
  PARK_RUNNING,
  PARK_WAITING,  /* about to sleep, or spinning */
  PARK_SLEEPING, /* in the kernel, until a deadline */
  PARK_BLOCKED,  /* in the kernel, until another domain wakes it: counts as blocked */
  PARK_NOTIFIED  /* woken */
} Park;

/* What a domain waits for; for messages about a deadlock. */
typedef enum WaitKind {
  WAIT_NOTHING,
  WAIT_SEND,
  WAIT_RECEIVE,
  WAIT_SELECT,
  WAIT_JOIN,
  WAIT_SLEEP
} WaitKind;

typedef struct Peer Peer;

/* A place in a queue of waiting domains. Guarded by the lock of the queue's owner. */
typedef struct Waiter {
  struct Waiter *next, *prev;
  Peer *peer;
  bool queued;   /* in the queue; the waker takes it out */
  bool notified; /* woken through this place */
} Waiter;

typedef struct WaitQueue {
  Waiter *first, *last;
} WaitQueue;

struct Peer {
  uint32_t id;                       /* of its domain; never used again */
  char name[PEER_NAME_MAX + 1];   /* constant */
  bool spawned;                      /* by peer_spawn; else its thread is the host's */
  int slot;                          /* in the table of spawned ones; under the registry's lock */
  _Atomic uint32_t references;       /* its thread, handles */
  _Atomic uint32_t attention;        /* ATTENTION_* */
  _Atomic uint32_t park;             /* Park */
  _Atomic uint32_t wait_kind;        /* WaitKind; written by its thread */
  _Atomic uint32_t wait_id;          /* of the channel or domain waited for */
  _Atomic int tid;                   /* of its thread; 0 before and after */
  size_t memory_limit;               /* bytes of heap, 0: none; constant */
  Peer *next, *prev;              /* of all; under the registry's lock */
  /* Own thread */
  Domain *domain;
  uint32_t spin;                     /* ns that a wait spins before it sleeps */
  /* sleeps until one leads to a longer spin; from the last one to the next */
  uint32_t probe_in, probe_every;
  /* an error was raised in it because all domains were blocked */
  bool abandoned;
  bool was_cancelled;                /* the error of a cancellation was raised in it */
  uint32_t masks;                    /* parts it is in that cancelling and SIGINT wait for */
  uint32_t handing_over;             /* steps for which they wait, too (peer_hand_over) */
  uint32_t put_off;                  /* messages that it took while they waited */
  /* The end: written by its thread before `status` (release), read after it (acquire) */
  _Atomic uint32_t status;           /* PeerStatus */
  Message *outcome;                  /* its results, or its error; NULL: no memory for it */
  /* text of the error with its traceback, malloc'ed; NULL: done */
  char *failure;
  bool elsewhere;                    /* in a forked child: it is in the process that forked */
  _Atomic bool joined;               /* another domain has received the outcome */
  pthread_mutex_t lock;              /* of joiners */
  WaitQueue joiners;
  void (*body)(Peer *peer, void *argument); /* what its thread runs */
  void *argument;
};

/* ---- identity (peer.c) --------------------------------------------------- */

/* For domain_new: the peer of the domain that begins in this thread: the one
 * its thread was spawned for, or a new one for a host's thread. NULL: no memory. */
Peer *peer_attach(Domain *d);
/* Records the end of a spawned domain. Own thread. */
void peer_record_end(Peer *peer);
/* The domain is about to be freed: a signal from now on finds none. */
void peer_forget_domain(Peer *peer);
/* For the end of the domain: nothing may wait for it or wake it any more. */
void peer_detach(Peer *peer);
void peer_hold(Peer *peer);
void peer_release(Peer *peer);
/* Domains that run, spawned ones and those of the host. */
uint32_t peer_count(void);
/* Processors that this process may use. */
int peer_processors(void);

/* ---- threads ------------------------------------------------------------- */

typedef enum SpawnResult {
  SPAWN_OK,
  SPAWN_TOO_MANY,
  SPAWN_NO_MEMORY,
  SPAWN_NO_THREAD,
  SPAWN_ENDING
} SpawnResult;

/* Starts a thread that runs body(peer, argument) and gives its peer with a
 * reference for the caller. The body makes the domain and passes the outcome to
 * peer_finish. */
SpawnResult peer_spawn(Peer **result, const char *name, size_t memory_limit,
                          void (*body)(Peer *, void *), void *argument);
/* Waits briefly for a domain to end. */
void peer_await_end(void);
/* From the body: publishes the end to those that wait for it. Takes over outcome and
 * failure. */
void peer_finish(Peer *peer, PeerStatus status, Message *outcome, char *failure);
/* Asks the domain to raise an error at its next safepoint, and wakes it when it waits. */
void peer_cancel(Peer *peer);
/* For a signal handler: the same for the domain whose thread runs it. */
void peer_ask_in_handler(Peer *peer, uint32_t what);
/* Withdraws requests that were not obeyed yet. Own thread. */
void peer_withdraw(Peer *peer, uint32_t what);
/* Cancels, in a handler of a signal, all spawned domains. */
void peer_cancel_all_in_handler(void);
/* The program ends: no domain can be spawned from now on. Waits until all (but the
 * caller's) have ended; with `cancel`, cancels them again and again, for at most a
 * second, and has the host's ones stand still. Any thread, before it calls exit; if
 * several do, only one returns. */
void peer_end_all(bool cancel);
/* To be called first if the domain of the caller is closed before peer_end_all, with the
 * same `cancel`. From then on a deadlock is not reported as an error. With `cancel` the
 * others have ended on return: if they were cancelled after the domain was closed, they
 * would first fail because it is missing, and be cancelled while they close their
 * variables. */
void peer_begin_end(bool cancel);
/* Waits, in a signal handler, at most `milliseconds` for them. */
bool peer_wait_in_handler(int milliseconds);
/* Is the program ending: were peer_end_all or peer_cancel_all_in_handler called? */
bool peer_program_ends(void);

/* ---- waiting ------------------------------------------------------------- */

/* Deadlines are those of monotonic_ns (clock.h). */

typedef enum WaitResult { WAIT_NOTIFIED, WAIT_TIMEOUT, WAIT_ATTENTION } WaitResult;

/* A wait is: peer_prepare; put Waiters into queues, under the locks of their
 * owners, and see under those locks that there is nothing to wait for; peer_wait
 * without any lock; take the Waiters out. Own thread. */
void peer_prepare(Peer *peer, WaitKind kind, uint32_t id);
WaitResult peer_wait(Peer *peer, uint64_t deadline);
void peer_end_wait(Peer *peer); /* also after a wait that was not needed */

void waiter_enqueue(WaitQueue *queue, Waiter *waiter);
void waiter_remove(WaitQueue *queue, Waiter *waiter); /* harmless when it is not queued */
/* Takes the first out and notifies it. The result, unless NULL, is for peer_wake,
 * which may be called after the lock was released. */
_Atomic uint32_t *waiter_notify_first(WaitQueue *queue);
void waiter_notify_all(WaitQueue *queue);
void peer_wake(_Atomic uint32_t *park);

/* Requests to the domain that no mask delays. Own thread. */
uint32_t peer_asked(const Peer *peer);
struct Domain *peer_own_domain(void); /* that this thread runs, or NULL */
/* Obeys the requests to the domain, whether it waits or runs: clears the flags and raises
 * the error, if there is one. Own thread. */
void peer_take_up(lua_State *L);
/* Does not return when another domain ends the program, which this one (the host's) has not
 * obeyed yet: before it reports an error, which may follow from that end. Own thread. */
void peer_obey_stop(const Peer *peer);
/* Until it is unmasked the same number of times, a cancellation or SIGINT waits, and ends
 * no wait. The end of the program and a deadlock are not masked. Own thread. */
void peer_mask(Peer *peer);
void peer_unmask(Peer *peer);
/* The function that runs has taken or delivered a message: an error must not lose it
 * before the program has it, or knows. So the interpreter raises nothing for some steps
 * (vm_take_up). Own thread. */
void peer_hand_over(Peer *peer);
/* Before a message is taken or delivered: obeys requests, unless another message is being
 * handed over. That delay is bounded. Own thread. */
void peer_begin_message(lua_State *L);
/* Waits for the end of another domain. */
WaitResult peer_join(Peer *self, Peer *other, uint64_t deadline);

#endif
