/* SPDX-License-Identifier: MIT */
/* runtime/mapping_ahead.c: see mapping_ahead.h.
 *
 * `life` is held while the thread is started or joined, `lock` for everything else.
 * Whoever takes both takes `life` first. A fork takes both, so that the child finds them
 * free and what they guard complete. */
#include "mapping_ahead.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>

#include "os_thread.h"

static struct {
  pthread_mutex_t life, lock;
  pthread_cond_t asked; /* `wanted` or `ends` has changed */
  pthread_t thread;
  /* guarded by life: */
  uint32_t users;
  bool runs;
  bool refused; /* no thread in this process: it is the child of a fork, or none could be
                 * started */
  bool follows_forks;
  /* guarded by lock: */
  bool ends;
  uint32_t wanted; /* pages that are to be ready */
  void *ready[MAPPING_AHEAD_MOST];
  uint32_t n;
} ahead = {.life = PTHREAD_MUTEX_INITIALIZER,
           .lock = PTHREAD_MUTEX_INITIALIZER,
           .asked = PTHREAD_COND_INITIALIZER};

/* ---- the thread ---------------------------------------------------------- */

/* Adds a page to those that are ready. If the system has no memory, no more are tried
 * until the next heap asks. */
static void add_one_locked(void) {
  pthread_mutex_unlock(&ahead.lock);
  void *page = mapping_new_present();
  pthread_mutex_lock(&ahead.lock);
  if (page == NULL) ahead.wanted = ahead.n;
  else if (ahead.ends || ahead.n >= ahead.wanted) mapping_unmap(page, MAPPING_HUGE_PAGE);
  else ahead.ready[ahead.n++] = page;
}

static void *keep_ready(void *unused) {
  pthread_mutex_lock(&ahead.lock);
  while (!ahead.ends) {
    if (ahead.n < ahead.wanted) add_one_locked();
    else pthread_cond_wait(&ahead.asked, &ahead.lock);
  }
  pthread_mutex_unlock(&ahead.lock);
  return unused;
}

/* ---- fork ---------------------------------------------------------------- */

static void lock_for_fork(void) {
  pthread_mutex_lock(&ahead.life);
  pthread_mutex_lock(&ahead.lock);
}

static void unlock_in_parent(void) {
  pthread_mutex_unlock(&ahead.lock);
  pthread_mutex_unlock(&ahead.life);
}

static void begin_in_child(void) {
  ahead.runs = false;
  ahead.refused = true;
  pthread_cond_init(&ahead.asked, NULL);
  unlock_in_parent();
}

/* ---- interface ----------------------------------------------------------- */

static bool has_processors(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) > 1;
}

static bool start_thread(void) {
  if (!has_processors()) return false;
  if (!ahead.follows_forks) {
    if (pthread_atfork(lock_for_fork, unlock_in_parent, begin_in_child) != 0) return false;
    ahead.follows_forks = true;
  }
  ahead.ends = false;
  ahead.wanted = 1;
  return os_thread_start_joinable(&ahead.thread, keep_ready, NULL, OS_THREAD_SMALL) == 0;
}

bool mapping_ahead_begin(void) {
  pthread_mutex_lock(&ahead.life);
  if (!ahead.runs && !ahead.refused) {
    ahead.runs = start_thread();
    ahead.refused = !ahead.runs;
    if (ahead.runs) mapping_huge_is_known(true);
  }
  if (ahead.runs) ahead.users++;
  bool begun = ahead.runs;
  pthread_mutex_unlock(&ahead.life);
  return begun;
}

static void join_thread(void) {
  pthread_mutex_lock(&ahead.lock);
  ahead.ends = true;
  ahead.wanted = 0;
  pthread_cond_signal(&ahead.asked);
  pthread_mutex_unlock(&ahead.lock);
  pthread_join(ahead.thread, NULL);
  ahead.runs = false;
}

void mapping_ahead_end(void) {
  pthread_mutex_lock(&ahead.life);
  if (--ahead.users == 0) {
    mapping_huge_is_known(false);
    if (ahead.runs) join_thread();
    mapping_ahead_drop();
  }
  pthread_mutex_unlock(&ahead.life);
}

void *mapping_ahead_take(uint32_t most) {
  pthread_mutex_lock(&ahead.lock);
  void *page = ahead.n > 0 ? ahead.ready[--ahead.n] : NULL;
  ahead.wanted = most < MAPPING_AHEAD_MOST ? most : MAPPING_AHEAD_MOST;
  if (ahead.n < ahead.wanted) pthread_cond_signal(&ahead.asked);
  pthread_mutex_unlock(&ahead.lock);
  return page;
}

void mapping_ahead_drop(void) {
  void *dropped[MAPPING_AHEAD_MOST];
  uint32_t n = 0;
  pthread_mutex_lock(&ahead.lock);
  ahead.wanted = 0;
  while (ahead.n > 0) dropped[n++] = ahead.ready[--ahead.n];
  pthread_mutex_unlock(&ahead.lock);
  while (n > 0) mapping_unmap(dropped[--n], MAPPING_HUGE_PAGE);
}

void mapping_ahead_each(MemoryPart *part, void *context) {
  pthread_mutex_lock(&ahead.lock);
  for (uint32_t i = 0; i < ahead.n; i++) part(context, ahead.ready[i], MAPPING_HUGE_PAGE);
  pthread_mutex_unlock(&ahead.lock);
}
