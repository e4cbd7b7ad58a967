/* SPDX-License-Identifier: MIT */
/* helper.c: the thread that makes the copies of triggers.
 *
 * There is one while something is recorded and watched for; starting and stopping recordings
 * and setting triggers start it, the end of a recording ends it. It sleeps on the futex
 * evr_watch_work. It blocks all signals but SIGBUS. Only functions of this file change its
 * state, under `mutex`, which nobody takes under another lock of the library. */
#include "trigger/helper.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "eventring/conditions.h"
#include "format/clock.h"
#include "format/error.h"

enum {
  FINISH_S = 5,    /* that the end of a recording waits for copies */
  STACK_BYTES = 256 << 10,
  POLL_US = 200
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
  bool running;    /* it was started and not joined */
  uint32_t stopped;   /* atomic: it is to end */
  uint32_t has_ended; /* atomic */
  pthread_t thread;
} helper;

/* ---- The thread ------------------------------------------------------------------------- */

static void report(const struct evr_watch_job *job, const struct eventring_error *cause) {
  struct eventring_error error;
  evr_fail(&error, EVENTRING_UNSAVED, 0, "trigger %d: no copy: %.300s", job->number, cause->text);
  evr_producer_warn(evr_producer_listener(), &error);
}

static void work(void) {
  struct evr_watch_job job;
  while (evr_watch_take(&job)) {
    struct eventring_error error;
    uint64_t bytes = 0;
    int status = evr_save(&job, &bytes, &error);
    bool over = status == EVENTRING_E_STATE; /* nothing is recorded any more */
    if (evr_watch_done(&job, bytes, status != EVENTRING_OK) && !over) report(&job, &error);
  }
}

static void *help(void *unused) {
  (void)unused;
  while (true) {
    /* acquire: pairs with evr_watch_post, whose entries are seen then */
    uint32_t seen = __atomic_load_n(&evr_watch_work, __ATOMIC_ACQUIRE);
    work();
    if (__atomic_load_n(&helper.stopped, __ATOMIC_ACQUIRE)) break;
    syscall(SYS_futex, &evr_watch_work, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
  }
  __atomic_store_n(&helper.has_ended, 1, __ATOMIC_RELEASE);
  return NULL;
}

static void wake(void) {
  __atomic_fetch_add(&evr_watch_work, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &evr_watch_work, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* ---- Its life ---------------------------------------------------------------------------- */

static void start(void) {
  sigset_t all, before;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  sigfillset(&all);
  sigdelset(&all, SIGBUS);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  helper.stopped = helper.has_ended = 0;
  helper.running = pthread_create(&helper.thread, &attributes, help, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (helper.running) pthread_setname_np(helper.thread, "eventring save");
  pthread_attr_destroy(&attributes);
}

static void join(void) {
  pthread_join(helper.thread, NULL);
  helper.running = false;
}

static void begin(void) {
  evr_lock();
  bool needed = evr_producer.recording && !evr_producer.recording->ended && evr_watch_any();
  evr_unlock();
  if (!needed) return;
  pthread_mutex_lock(&mutex);
  if (helper.running && __atomic_load_n(&helper.has_ended, __ATOMIC_ACQUIRE)) join();
  if (!helper.running) start();
  pthread_mutex_unlock(&mutex);
}

static void sleep_us(long us) { nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL); }

/* A copy onto a disk that hangs must not keep the program from ending: the helper is left
   alone then, and joined when a later start finds that it has ended. */
static void end_helper(void) {
  uint64_t until = evr_monotonic_ns() + FINISH_S * (uint64_t)1000000000;
  __atomic_store_n(&helper.stopped, 1, __ATOMIC_RELEASE);
  while (!__atomic_load_n(&helper.has_ended, __ATOMIC_ACQUIRE) && evr_monotonic_ns() < until) {
    wake(); /* should the call fail, it is made again */
    sleep_us(POLL_US);
  }
  if (__atomic_load_n(&helper.has_ended, __ATOMIC_ACQUIRE)) join();
}

static void finish(void) {
  pthread_mutex_lock(&mutex);
  if (helper.running) end_helper();
  pthread_mutex_unlock(&mutex);
}

/* Async-signal-safe. */
static void wait_ns(uint64_t ns) {
  uint64_t until = evr_monotonic_ns() + ns;
  while (evr_watch_is_busy() && evr_monotonic_ns() < until) sleep_us(POLL_US);
}

static void after_fork(void) {
  pthread_mutex_init(&mutex, NULL);
  helper.running = false;
}

const struct evr_savers evr_savers = {begin, finish, wait_ns, after_fork};

/* ---- Public ------------------------------------------------------------------------------- */

/* The top of the library: the producer gets what needs the reader, too. */
int eventring_start(const struct eventring_config *config, struct eventring_error *error) {
  return evr_start(config, &evr_savers, error);
}

int eventring_triggers_wait(uint64_t ns) {
  wait_ns(ns);
  return evr_watch_is_busy() ? EVENTRING_E_BUSY : EVENTRING_OK;
}
