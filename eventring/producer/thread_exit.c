/* SPDX-License-Identifier: MIT */
/* thread_exit.c: what is to be done when a thread ends.
 *
 * The order in which the C library calls the destructors of different keys is not
 * specified, and a destructor of the host may still write events or end its domain. While
 * some destructors set their value again, another round follows, at most
 * PTHREAD_DESTRUCTOR_ITERATIONS rounds. The library's destructor sets its value, the
 * number of the round, until the last round but one. (In the last round ThreadSanitizer
 * frees its data of the thread.)
 */
#include "producer/thread_exit.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OUR_ROUND = PTHREAD_DESTRUCTOR_ITERATIONS - 1 };

static pthread_key_t key;
static bool have_key;
static void (*at_end)(void);

static void in_destructors(void *round) {
  uintptr_t number = (uintptr_t)round;
  if (number < OUR_ROUND &&
      pthread_setspecific(key, (void *)(number + 1)) == 0)
    return;
  void (*end)(void) = __atomic_load_n(&at_end, __ATOMIC_RELAXED);
  end();
}

static void make_key(void) { have_key = pthread_key_create(&key, in_destructors) == 0; }

/* Deletes the key: the library may be unloaded before the last of its threads ends. */
__attribute__((destructor)) static void delete_key(void) {
  if (have_key) pthread_key_delete(key);
}

void evr_thread_at_exit(void (*end)(void)) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  __atomic_store_n(&at_end, end, __ATOMIC_RELAXED);
  pthread_once(&once, make_key);
  if (have_key && !pthread_getspecific(key)) pthread_setspecific(key, (void *)1);
}

bool evr_thread_is_gone(int32_t tid) {
  int saved = errno;
  bool gone = syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH;
  errno = saved;
  return gone;
}
