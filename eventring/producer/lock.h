/* SPDX-License-Identifier: MIT */
/* lock.h: the producer's mutexes.
 *
 * The producer's mutex guards all that the producer keeps for the whole process: the
 * present recording, the list of domains, the slots, the catalogue. Nobody holds it on
 * the path of an event. The caller of a function whose name ends in _locked must hold it.
 * The table of triggers has a mutex of its own (watch.c), which is taken after this one.
 *
 * A signal handler must find out whether the thread that it interrupts holds one of them.
 * So the instruction that takes a mutex also stores its owner. (A thread-local variable
 * would be written before or after the mutex is taken. In a library that is loaded late,
 * such a variable is either allocated by malloc at its first use, perhaps in the handler,
 * or part of the space for static TLS, which may be used up; then dlopen fails.)
 */
#ifndef EVENTRING_LOCK_H
#define EVENTRING_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* 0: free. Otherwise pthread_self() of the owner; bit 0: others may wait; the eight
   highest bits: a signal to be raised when the mutex is released. */
struct evr_mutex { uint64_t word; };

extern struct evr_mutex evr_producer_mutex, evr_watch_mutex;

void evr_mutex_lock(struct evr_mutex *m);
void evr_mutex_unlock(struct evr_mutex *m);
/* Takes the mutex in a signal handler; returns false when it does not become free within
   20 ms, or the interrupted thread itself holds it. */
bool evr_mutex_lock_soon(struct evr_mutex *m);
/* Releases the mutex in a forked child, whose only thread holds it. */
void evr_mutex_renew(struct evr_mutex *m);

/* Tells whether this thread holds one of the mutexes. Async-signal-safe. */
bool evr_locking(void);

static inline void evr_lock(void) { evr_mutex_lock(&evr_producer_mutex); }
static inline void evr_unlock(void) { evr_mutex_unlock(&evr_producer_mutex); }
static inline bool evr_lock_soon(void) { return evr_mutex_lock_soon(&evr_producer_mutex); }
static inline void evr_lock_renew(void) { evr_mutex_renew(&evr_producer_mutex); }

#pragma GCC visibility pop

#endif /* EVENTRING_LOCK_H */
