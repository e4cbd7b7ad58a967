/* SPDX-License-Identifier: MIT */
/* lock.c: the producer's mutex. */
#include "producer/lock.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "eventring.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__thread bool evr_locking;
/* A signal that came meanwhile, to be raised again; 0: none. In the same place as the other
   one, for the same reason. */
static __thread volatile sig_atomic_t deferred __attribute__((tls_model("initial-exec")));

bool eventring_defer_signal(int number) {
  if (evr_locking) deferred = number;
  return evr_locking;
}

static __attribute__((noinline, cold)) void raise_deferred(void) {
  int number = deferred;
  deferred = 0;
  raise(number);
}

void evr_lock(void) {
  evr_locking = true;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  pthread_mutex_lock(&mutex);
}

void evr_unlock(void) {
  pthread_mutex_unlock(&mutex);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  evr_locking = false;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (__builtin_expect(deferred != 0, 0)) raise_deferred();
}

bool evr_lock_soon(void) {
  for (int i = 0; i < 20; i++) {
    if (pthread_mutex_trylock(&mutex) == 0) return true;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return false;
}

/* The forking thread has taken it, and is the one that the child has. A signal that came
   meanwhile is the parent's. */
void evr_lock_renew(void) {
  deferred = 0;
  evr_unlock();
}
