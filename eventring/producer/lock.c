/* SPDX-License-Identifier: MIT */
/* lock.c: the producer's mutex. */
#include "producer/lock.h"

#include <pthread.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__thread bool evr_locking;

void evr_lock(void) {
  evr_locking = true;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  pthread_mutex_lock(&mutex);
}

void evr_unlock(void) {
  pthread_mutex_unlock(&mutex);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  evr_locking = false;
}

bool evr_lock_soon(void) {
  for (int i = 0; i < 20; i++) {
    if (pthread_mutex_trylock(&mutex) == 0) return true;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return false;
}

/* The forking thread has taken it, and is the one that the child has. */
void evr_lock_renew(void) { evr_unlock(); }
