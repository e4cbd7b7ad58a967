/* SPDX-License-Identifier: MIT */
/* helper.c: the thread that makes the copies of triggers, and notices what a program that
 * is asleep in C cannot notice.
 *
 * A recording has one helper from its start to its end, also while it stands by. The
 * helper sleeps on the futex evr_watch_work. Every 400 ms it checks whether the file was
 * deleted (deletion.c), whether a tool has set triggers (triggers.c), and whether a tool
 * asks a domain that does not run (question.c); domains check, too, but only with their
 * events and at their safepoints. It asks domains for their stacks as often as the host
 * wants (last_stack.c). The helper blocks all signals but SIGBUS. Its state changes under
 * `mutex`, which nobody takes while holding another lock of the library; only `sleep` is
 * changed without it.
 *
 * Cost: 2.5 wake-ups a second, two more for each request for stacks, and a recorded
 * process has a second thread. The helper opens files only to make a copy or a new file:
 * a program may close descriptor 0 and expect its next open to return 0, which fails if
 * another thread opens a file in between. The helper must not keep a process alive: a
 * process ends with its last thread, so the helper ends when all others have ended.
 *
 * A short program must not wait for the helper. So the helper does nothing before its
 * first check, EVR_FIRST_LOOK_NS after its start, and a process that exits while the
 * helper is asleep does not wait for its end. The exiting thread changes `sleep` from
 * ASLEEP to FOR_GOOD; a helper that wakes up and finds that does nothing more, and the
 * kernel ends it with the process. */
#include "trigger/helper.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "eventring/conditions.h"
#include "eventring/tools.h"
#include "format/clock.h"
#include "format/error.h"
#include "producer/last_stack.h"
#include "producer/off_cpu.h"

enum {
  FINISH_S = 5,    /* how long the end of a recording waits for copies */
  STACK_BYTES = 256 << 10,
  POLL_US = 200,
  LOOK_NS = 400 * 1000000 /* acts at the second check after a deletion, within a second */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* FOR_GOOD: the helper must not go on. GONE: it has seen that. */
enum sleep { ASLEEP, AWAKE, FOR_GOOD, GONE };
static struct {
  bool running;       /* the helper was started and not joined */
  bool detached;      /* the helper was left at some time: it cannot be joined */
  uint32_t stopped;   /* atomic: the helper is to end */
  uint32_t has_ended; /* atomic */
  uint32_t sleep;     /* enum sleep; atomic */
  pthread_t thread;
} helper;

static uintptr_t own_thread; /* pthread_self() of the helper; atomic */

static void note_own_thread(uintptr_t thread) {
  __atomic_store_n(&own_thread, thread, __ATOMIC_RELAXED);
}

/* Tells whether the caller is the helper: a recording that it starts must not get a
   second helper. */
static bool is_helper(void) {
  return __atomic_load_n(&own_thread, __ATOMIC_RELAXED) == (uintptr_t)pthread_self();
}

/* ---- Is it alone? ------------------------------------------------------------------ */

static bool is_there(const char *link) {
  char target[8];
  return readlink(link, target, sizeof target) >= 0;
}

/* Tells whether all other threads have ended. The first thread of a process stays as a
   zombie when it has ended; /proc/self/exe is then missing. */
static bool is_alone(void) {
  enum { NO_THREADS = 2 }; /* links of /proc/self/task */
  struct stat st;
  if (stat("/proc/self/task", &st) != 0) return false;
  if (st.st_nlink == NO_THREADS + 1) return true;
  return st.st_nlink == NO_THREADS + 2 && !is_there("/proc/self/exe") &&
         is_there("/proc/thread-self/exe");
}

/* Tells whether the helper would see that it is alone. Where the system does not show it
   (without /proc), the helper ends at once. */
static bool would_see_that_it_is_alone(void) { return is_there("/proc/thread-self/exe"); }

/* ---- The thread -------------------------------------------------------------------- */

static void make_copies(void) {
  struct evr_watch_job job;
  while (evr_watch_take(&job)) {
    struct eventring_error cause, error;
    uint64_t bytes = 0;
    int status = evr_save(&job, &bytes, &cause);
    bool over = status == EVENTRING_E_STATE; /* nothing is recorded any more */
    if (!evr_watch_done(&job, bytes, status) || over) continue;
    evr_fail(&error, EVENTRING_UNSAVED, 0, "trigger %d: no copy: %.300s", job.number, cause.text);
    evr_producer_warn(evr_producer_listener(), &error);
  }
}

/* Lets other threads run first. The thread that fires a trigger wakes the helper and goes
   on; on a busy processor the helper must not displace that thread at once for as long as
   a copy takes. */
static void yield_to_others(void) {
  const struct sched_param none = {0};
  if (sched_getscheduler(0) == SCHED_OTHER) sched_setscheduler(0, SCHED_BATCH, &none);
}

/* Sleeps until evr_watch_work differs from `seen`, at most `ns`. The state must be
   ASLEEP. Returns false if the helper must not go on. */
static bool sleep_on(uint32_t seen, uint64_t ns) {
  const struct timespec time = {.tv_nsec = (long)ns};
  uint32_t state = ASLEEP;
  syscall(SYS_futex, &evr_watch_work, FUTEX_WAIT_PRIVATE, seen, &time, NULL, 0);
  /* acquire: pairs with the release in take_back */
  while (!__atomic_compare_exchange_n(&helper.sleep, &state, state == ASLEEP ? AWAKE : GONE,
                                      false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    continue;
  return state == ASLEEP;
}

/* Returns the number of changes of the work. acquire: pairs with the releases in
   evr_watch_post, whose entries are then seen, and in wake. */
static uint32_t work_seen(void) {
  return __atomic_load_n(&evr_watch_work, __ATOMIC_ACQUIRE);
}

/* Tells whether the helper is to end. acquire: pairs with the release in end_helper,
   which passes nothing else on. */
static bool is_stopped(void) { return __atomic_load_n(&helper.stopped, __ATOMIC_ACQUIRE); }

/* Makes copies, checks and requests for stacks until the helper is to end. Its state is
   ASLEEP at first. Returns false if the helper must not do anything any more. */
static bool help_on(void) {
  uint64_t look_at = 0;
  uint32_t seen = work_seen();
  bool is_early = evr_watch_is_busy() || is_stopped();
  if (!sleep_on(seen, is_early ? 0 : EVR_FIRST_LOOK_NS)) return false;
  yield_to_others();
  if (!would_see_that_it_is_alone()) return true;
  while (true) {
    seen = work_seen();
    make_copies();
    if (is_stopped() || is_alone()) return true;
    const uint64_t now = evr_monotonic_ns();
    if (now >= look_at) {
      evr_off_cpu_find();
      evr_triggers_look();
      evr_questions_aside();
      evr_on_deleted(EVR_LOOK_ASIDE);
      look_at = now + LOOK_NS;
    }
    const uint64_t stacks_due = evr_stack_turn(), until_look = look_at - now;
    /* release: pairs with the acquire in leave_asleep, after which the exiting thread
       sees all that the helper did */
    __atomic_store_n(&helper.sleep, ASLEEP, __ATOMIC_RELEASE);
    if (!sleep_on(seen, stacks_due < until_look ? stacks_due : until_look)) return false;
  }
}

static void *help(void *unused) {
  (void)unused;
  prctl(PR_SET_NAME, EVENTRING_HELPER_NAME);
  note_own_thread((uintptr_t)pthread_self());
  if (!help_on()) return NULL;
  evr_off_cpu_find_yourself();
  evr_stack_helped(false);
  note_own_thread(0);
  /* release: pairs with the acquire loads of has_ended in begin and end_helper: the
     helper does nothing more */
  __atomic_store_n(&helper.has_ended, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &helper.has_ended, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
  return NULL;
}

static void wake(void) {
  /* release: pairs with the acquire load of evr_watch_work in help, which then sees
     `stopped` */
  __atomic_fetch_add(&evr_watch_work, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &evr_watch_work, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* ---- Its life ---------------------------------------------------------------------- */

static void start(void) {
  sigset_t all, before;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  sigfillset(&all);
  sigdelset(&all, SIGBUS);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  helper.stopped = helper.has_ended = 0;
  helper.sleep = ASLEEP;
  helper.detached = false;
  evr_off_cpu_find_later();
  evr_stack_helped(true);
  helper.running = pthread_create(&helper.thread, &attributes, help, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!helper.running) {
    evr_off_cpu_find_yourself();
    evr_stack_helped(false);
  }
  pthread_attr_destroy(&attributes);
}

/* Joins the helper's thread. (If the helper is the last thread of the process, it calls
   this itself, without effect.) */
static void join(void) {
  if (!helper.detached) pthread_join(helper.thread, NULL);
  helper.running = false;
}

/* Undoes leave_asleep, for a recording that begins while the process exits. Returns false
   if no helper was left asleep, or if it has seen that it must not go on. */
static bool take_back(void) {
  uint32_t for_good = FOR_GOOD;
  /* release: pairs with the acquire in sleep_on */
  return __atomic_compare_exchange_n(&helper.sleep, &for_good, ASLEEP, false, __ATOMIC_RELEASE,
                                     __ATOMIC_RELAXED);
}

static void begin(void) {
  if (is_helper()) return; /* the thread that ends the helper has the mutex */
  evr_lock();
  bool needed = evr_producer.recording && !evr_producer.recording->ended;
  evr_unlock();
  if (!needed) return;
  pthread_mutex_lock(&mutex);
  /* acquire: pairs with the release at the end of help */
  if (helper.running && __atomic_load_n(&helper.has_ended, __ATOMIC_ACQUIRE)) join();
  if (!helper.running) helper.running = take_back();
  if (!helper.running) start();
  pthread_mutex_unlock(&mutex);
}

static void sleep_us(long us) { nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL); }

/* Waits until the helper has ended, at most 2 ms: the caller wakes it again, in case a
   wake-up has failed. */
static void wait_for_end(void) {
  enum { AGAIN_NS = 2 * 1000000 };
  const struct timespec again = {.tv_nsec = AGAIN_NS};
  syscall(SYS_futex, &helper.has_ended, FUTEX_WAIT_PRIVATE, 0, &again, NULL, 0);
}

/* Ends the helper. A copy onto a hanging disk must not keep the program from ending: the
   helper is then left running, and a later start joins it when it has ended. */
static void end_helper(void) {
  uint64_t until = evr_monotonic_ns() + FINISH_S * (uint64_t)1000000000;
  /* release: pairs with the acquire load of `stopped` in help; acquire: pairs with the
     release at the end of help */
  __atomic_store_n(&helper.stopped, 1, __ATOMIC_RELEASE);
  while (!__atomic_load_n(&helper.has_ended, __ATOMIC_ACQUIRE) && evr_monotonic_ns() < until) {
    wake();
    wait_for_end();
  }
  /* acquire: pairs with the release at the end of help */
  if (__atomic_load_n(&helper.has_ended, __ATOMIC_ACQUIRE)) join();
}

/* Leaves the helper asleep for good if it is asleep and has nothing to do. Returns
   whether it did. */
static bool leave_asleep(void) {
  uint32_t asleep = ASLEEP;
  /* acquire: pairs with the release in help_on */
  return !evr_watch_is_busy() &&
         __atomic_compare_exchange_n(&helper.sleep, &asleep, FOR_GOOD, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED);
}

static void finish(bool exits) {
  pthread_mutex_lock(&mutex);
  if (helper.running && exits && leave_asleep()) {
    pthread_detach(helper.thread);
    helper.running = false;
    helper.detached = true;
  }
  if (helper.running) end_helper();
  pthread_mutex_unlock(&mutex);
}

/* Waits until no copy is due or being made, at most `ns`. Async-signal-safe. */
static void wait_ns(uint64_t ns) {
  uint64_t until = evr_monotonic_ns() + ns;
  while (evr_watch_is_busy() && evr_monotonic_ns() < until) sleep_us(POLL_US);
}

static void after_fork(void) {
  evr_questions_after_fork();
  pthread_mutex_init(&mutex, NULL);
  helper.running = false;
  helper.sleep = ASLEEP;
  evr_stack_helped(false);
  note_own_thread(0);
}

const struct evr_helper evr_helper = {begin, finish, wait_ns, after_fork};

/* ---- Public ------------------------------------------------------------------------ */

/* Starts a recording. This file is the top of the library: here the producer gets
   functions that need the reader, too. */
int eventring_start(const struct eventring_config *config, struct eventring_error *error) {
  return evr_start(config, &evr_helper, error);
}

int eventring_triggers_wait(uint64_t ns) {
  wait_ns(ns);
  return evr_watch_is_busy() ? EVENTRING_E_BUSY : EVENTRING_OK;
}
