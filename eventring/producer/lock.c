/* SPDX-License-Identifier: MIT */
/* lock.c: the producer's mutexes.
 *
 * One word each, see lock.h. A mutex is taken by a compare-and-swap from 0, whose acquire
 * order pairs with the release of the exchange with 0 in evr_mutex_unlock. A thread that
 * waits sets WAITED and sleeps on the low half of the word; a thread that has slept takes
 * the mutex with WAITED set, because others may sleep, too. If a signal handler finds
 * that its own thread is the owner, it writes the signal into the word, so that the
 * exchange either returns the signal or comes before it.
 */
#include "producer/lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "eventring.h"

struct evr_mutex evr_producer_mutex, evr_watch_mutex;

#define WAITED ((uint64_t)1)
enum { SIGNAL_SHIFT = 56 };
#define OWNER (((uint64_t)1 << SIGNAL_SHIFT) - 1 - WAITED)

static uint64_t myself(void) { return (uint64_t)(uintptr_t)pthread_self() & OWNER; }

static bool is_mine(const struct evr_mutex *m) {
  return (__atomic_load_n(&m->word, __ATOMIC_RELAXED) & OWNER) == myself();
}

static bool take(struct evr_mutex *m, uint64_t word) {
  /* acquire: pairs with the release of the thread that had the mutex before, in
     evr_mutex_unlock or evr_mutex_renew */
  uint64_t free = 0;
  return __atomic_compare_exchange_n(&m->word, &free, word, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED);
}

/* Sleeps until the mutex may be free. The futex is the low half of the word. */
static void sleep_on(struct evr_mutex *m, uint64_t word) {
  syscall(SYS_futex, &m->word, FUTEX_WAIT_PRIVATE, (uint32_t)(word | WAITED), NULL, NULL, 0);
}

static __attribute__((noinline, cold)) void wait_for(struct evr_mutex *m) {
  int saved = errno;
  while (!take(m, myself() | WAITED)) {
    uint64_t word = __atomic_load_n(&m->word, __ATOMIC_RELAXED);
    if (word == 0) continue;
    if (word & WAITED ||
        __atomic_compare_exchange_n(&m->word, &word, word | WAITED, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
      sleep_on(m, word);
  }
  errno = saved;
}

void evr_mutex_lock(struct evr_mutex *m) {
  if (!take(m, myself())) wait_for(m);
}

static __attribute__((noinline, cold)) void attend(struct evr_mutex *m, uint64_t word) {
  int saved = errno;
  if (word & WAITED) syscall(SYS_futex, &m->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  errno = saved;
  if (word >> SIGNAL_SHIFT) raise((int)(word >> SIGNAL_SHIFT));
}

void evr_mutex_unlock(struct evr_mutex *m) {
  /* release: pairs with the acquire of the next owner, in take */
  uint64_t word = __atomic_exchange_n(&m->word, 0, __ATOMIC_RELEASE);
  if (__builtin_expect(word & ~OWNER, 0)) attend(m, word);
}

bool evr_mutex_lock_soon(struct evr_mutex *m) {
  for (int i = 0; i < 20 && !is_mine(m); i++) {
    if (take(m, myself())) return true;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return false;
}

/* Frees the mutex in a forked child. The forking thread has taken it, and is the only one
   in the child. A signal that came meanwhile belongs to the parent, and so do the
   waiters. release: pairs with the acquire in take */
void evr_mutex_renew(struct evr_mutex *m) { __atomic_store_n(&m->word, 0, __ATOMIC_RELEASE); }

bool evr_locking(void) { return is_mine(&evr_producer_mutex) || is_mine(&evr_watch_mutex); }

/* Returns the mutex that this thread has taken first, or NULL. */
static struct evr_mutex *outermost(void) {
  if (is_mine(&evr_producer_mutex)) return &evr_producer_mutex;
  return is_mine(&evr_watch_mutex) ? &evr_watch_mutex : NULL;
}

/* Defers the signal to the release of the mutex that this thread holds. (Only this
   thread, which is in its handler, can release the mutex.) */
bool eventring_defer_signal(int number) {
  struct evr_mutex *m = outermost();
  if (!m) return false;
  uint64_t word = __atomic_load_n(&m->word, __ATOMIC_RELAXED), deferred;
  do deferred = (word & (OWNER | WAITED)) | (uint64_t)number << SIGNAL_SHIFT;
  while (!__atomic_compare_exchange_n(&m->word, &word, deferred, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED));
  return true;
}
