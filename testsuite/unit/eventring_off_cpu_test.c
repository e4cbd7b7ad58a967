/* SPDX-License-Identifier: MIT */
/* eventring_off_cpu_test.c: for how long a thread was not on a processor. The measurement
   is compared with the thread's clocks, with restartable sequences and without (the
   program runs itself again without them), where other code uses them, in threads and in
   a forked child. Also checks the ends of spans that record this time. */
#include "eventring_common.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#if __has_include(<sys/rseq.h>) && defined(__x86_64__)
#include <sys/rseq.h>
#endif

enum { US = 1000, MS = 1000 * US };

/* Time that a hypervisor has taken. The kernel counts it, but not in the thread's CPU
   clock, so the thread does not see it. */
static __thread uint64_t stolen_ns;

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time) {
  int status = __real_clock_gettime(clock, time);
  if (clock != CLOCK_THREAD_CPUTIME_ID || status != 0) return status;
  const uint64_t ns = (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec - stolen_ns;
  *time = (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
  return 0;
}

static uint64_t clock_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_for(uint64_t ns) {
  struct timespec t = {.tv_nsec = (long)ns};
  while (nanosleep(&t, &t) != 0) continue;
}

/* Works for a time on the CPU clock, which takes longer when other threads run. */
static void work_for(uint64_t ns) {
  uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) continue;
}

/* What a pair of calls measured, and what the clocks show. */
struct measured {
  uint64_t off, wall, cpu;
};

static struct measured measure(void (*what)(void)) {
  uint64_t wall = clock_ns(CLOCK_MONOTONIC), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  uint64_t begun = eventring_off_cpu_begin();
  what();
  uint64_t off = eventring_off_cpu_since(begun);
  cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
  return (struct measured){off, clock_ns(CLOCK_MONOTONIC) - wall, cpu};
}

/* Checks a measurement, in which only short steal and interrupts may be missing. */
static void expect_between(struct measured m, uint64_t least) {
  uint64_t by_clocks = m.wall > m.cpu ? m.wall - m.cpu : 0;
  assert_true(m.off <= by_clocks + 300 * US);
  assert_true(m.off >= least);
}

static void work(void) { work_for(3 * MS); }
static void work_briefly(void) { work_for(20 * US); }
static void rest(void) { sleep_for(5 * MS); }
static void rest_between(void) {
  work_for(1 * MS);
  sleep_for(5 * MS);
  work_for(1 * MS);
}
static void get_a_signal(void) {
  raise(SIGUSR1);
  work_for(100 * US);
}

static void is_what_the_clocks_say(void **state) {
  for (int i = 0; i < 20; i++) {
    expect_between(measure(work), 0);
    expect_between(measure(work_briefly), 0);
    expect_between(measure(rest), 5 * MS - 10 * US);
    expect_between(measure(rest_between), 5 * MS - 10 * US);
    expect_between(measure(get_a_signal), 0);
  }
}

static void what_was_before_does_not_count(void **state) {
  for (int i = 0; i < 50; i++) {
    sleep_for(2 * MS);
    expect_between(measure(work_briefly), 0);
  }
}

static void have_time_stolen(void) {
  work_for(12 * MS); /* the clock that counts ticks goes on meanwhile */
  stolen_ns += 8 * MS;
}

/* Checks that stolen time counts, although the thread sees no interruption. */
static void what_is_stolen_counts(void **state) {
  work_for(1 * MS);
  for (int i = 0; i < 5; i++) expect_between(measure(have_time_stolen), 8 * MS - 10 * US);
}

static void pairs_nest(void **state) {
  uint64_t outer = eventring_off_cpu_begin();
  struct measured first = measure(rest);
  sleep_for(5 * MS);
  struct measured second = measure(rest);
  uint64_t all = eventring_off_cpu_since(outer);
  assert_true(all >= first.off + second.off + 5 * MS - 10 * US);
  assert_true(eventring_off_cpu_begin() - outer >= all);
}

static long switches_so_far(void) {
  struct rusage usage;
  assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
  return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* Checks that most short pieces of work measure no interruption. On a busy machine, more
   do. */
static void nothing_is_made_up(void **state) {
  long interrupted = 0, before = switches_so_far();
  for (int i = 0; i < 1000; i++) interrupted += measure(work_briefly).off > 0;
  assert_true(interrupted < 500 + switches_so_far() - before);
}

static void *in_thread(void *unused) {
  is_what_the_clocks_say(NULL);
  return NULL;
}

static void threads_have_their_own(void **state) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, in_thread, NULL), 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

static void a_child_measures_too(void **state) {
  work_for(20 * MS);
  eventring_off_cpu_begin();
  int status;
  pid_t child = fork();
  if (child == 0) {
    struct measured m = measure(rest);
    _exit(m.off >= 4 * MS && m.off <= m.wall ? 0 : 1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

#ifdef RSEQ_SIG
/* Another library's restartable sequence, whose address stays in the thread's
   structure. */
static struct { uint32_t version, flags; uint64_t start, length, abort; }
    __attribute__((aligned(32))) foreign;
static struct { uint32_t signature; char handler[4]; } foreign_abort = {.signature = RSEQ_SIG};

static uint64_t *own_section(void) {
  char *thread;
  __asm__("movq %%fs:0, %0" : "=r"(thread));
  return (uint64_t *)(thread + __rseq_offset + 8);
}

static void use_sections(void) {
  __atomic_store_n(own_section(), (uintptr_t)&foreign, __ATOMIC_RELAXED);
  work_for(50 * US);
}

static void others_may_use_sections(void **state) {
  if (__rseq_size == 0) skip();
  foreign.start = foreign.abort = (uintptr_t)foreign_abort.handler;
  for (int i = 0; i < 100; i++) expect_between(measure(use_sections), 0);
  use_sections();
  uint64_t before = __atomic_load_n(own_section(), __ATOMIC_RELAXED);
  eventring_off_cpu_since(1);
  assert_true(before == 0 || before == (uintptr_t)&foreign);
}
#endif

/* ---- Spans ------------------------------------------------------------------------ */

static int step;

static int end_of_step(void *context, const struct eventring_event *event) {
  if (event->id == step && event->kind == EVENTRING_END)
    *(struct eventring_event *)context = *event;
  return 0;
}

/* Returns the end of a span `step` in which `what` is called. The event's definition is
   valid as long as the cursor. */
static struct eventring_event recorded(eventring_domain *domain, eventring_cursor *cursor,
                                       void (*what)(void)) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, end_of_step, NULL};
  struct eventring_event end = {0};
  uint64_t begun = eventring_off_cpu_begin();
  eventring_user_begin(domain, (unsigned)step);
  what();
  eventring_end_off_cpu(domain, EVENTRING_USER, EVENTRING_CLASS_USER, (unsigned)step,
                        eventring_off_cpu_since(begun));
  eventring_poll(cursor, &callbacks, &end, 0);
  assert_int_equal(end.kind, EVENTRING_END);
  return end;
}

static void record(bool measured, void (*check)(eventring_domain *, eventring_cursor *)) {
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  config.no_cpu_time = !measured;
  assert_int_equal(eventring_start(&config, NULL), 0);
  eventring_domain *domain = start_domain("main");
  eventring_cursor *cursor = open_self(0);
  check(domain, cursor);
  eventring_close(cursor);
  eventring_domain_stop(domain);
  eventring_stop();
}

static void check_measured(eventring_domain *domain, eventring_cursor *cursor) {
  struct eventring_event end = recorded(domain, cursor, rest);
  assert_int_equal(end.def->measure, EVENTRING_OFF_CPU);
  assert_int_equal(end.payload, EVENTRING_UINT);
  int64_t off = eventring_event_off_cpu(&end);
  assert_true(off >= 5 * MS - 100 * US && off <= (int64_t)(end.ns - end.begin_ns));
  end.flags &= (uint16_t)~EVENTRING_MATCHED;
  assert_int_equal(eventring_event_off_cpu(&end), -1);
  for (int tries = 0; tries < 100; tries++) {
    end = recorded(domain, cursor, work_briefly);
    if (end.payload == EVENTRING_NONE) break;
  }
  assert_int_equal(end.payload, EVENTRING_NONE);
  assert_int_equal(eventring_event_off_cpu(&end), 0);
}

static void check_unmeasured(eventring_domain *domain, eventring_cursor *cursor) {
  assert_int_equal(eventring_off_cpu_begin(), 0);
  assert_int_equal(eventring_off_cpu_since(0), 0);
  struct eventring_event end = recorded(domain, cursor, rest);
  assert_int_equal(end.def->measure, EVENTRING_MEASURE_NONE);
  assert_int_equal(end.payload, EVENTRING_NONE);
  assert_int_equal(eventring_event_off_cpu(&end), -1);
}

static void ends_say_it(void **state) {
  record(true, check_measured);
  record(false, check_unmeasured);
  record(true, check_measured);
}

static void only_spans_have_this_measure(void **state) {
  struct eventring_def def = {.name = "no span", .kind = EVENTRING_DEF_COUNTER,
                              .event_class = EVENTRING_CLASS_USER, .ring = EVENTRING_USER,
                              .payload = EVENTRING_INT, .measure = EVENTRING_OFF_CPU};
  assert_int_equal(eventring_register(&def, NULL), EVENTRING_E_ARGUMENT);
}

static void ignore(int signal) { (void)signal; }

/* Runs the program again without restartable sequences. */
static int again_without(char **arguments) {
  if (getenv("OFF_CPU_AGAIN")) return 0;
  setenv("OFF_CPU_AGAIN", "1", 1);
  setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
  execv("/proc/self/exe", arguments);
  return 1;
}

int main(int count, char **arguments) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(is_what_the_clocks_say),
      cmocka_unit_test(what_was_before_does_not_count),
      cmocka_unit_test(what_is_stolen_counts),
      cmocka_unit_test(pairs_nest),
      cmocka_unit_test(nothing_is_made_up),
      cmocka_unit_test(threads_have_their_own),
      cmocka_unit_test(a_child_measures_too),
#ifdef RSEQ_SIG
      cmocka_unit_test(others_may_use_sections),
#endif
      cmocka_unit_test(ends_say_it),
      cmocka_unit_test(only_spans_have_this_measure),
  };
  const struct eventring_def def = {.name = "step", .kind = EVENTRING_DEF_SPAN,
                                    .event_class = EVENTRING_CLASS_USER,
                                    .ring = EVENTRING_USER, .measure = EVENTRING_OFF_CPU};
  step = eventring_register(&def, NULL);
  signal(SIGUSR1, ignore);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return failed ? failed : again_without(arguments);
}
