/* SPDX-License-Identifier: MIT */
/* eventring_wait_test.c: eventring_wait sleeps while there is nothing to do, wakes for
 * whatever a poll has to do, in each way of reading, and costs next to nothing.
 * eventring_calls_wait waits in the same way for requests to a host. */
#include "eventring/tools.h"
#include "eventring_common.h"
#include "eventring/calls.h"
#include "eventring/question.h"
#include "eventring/stack.h"
#include "producer/lock.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#define MS ((uint64_t)1000000)
#define SOON (5000 * MS) /* allows for a loaded machine; most waits end within 10 ms */

enum { DOMAINS = 8 };

static uint64_t clock_ns(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void nap(uint64_t ns) {
  struct timespec time = {.tv_nsec = (long)ns};
  nanosleep(&time, NULL);
}

static void write_point(eventring_domain *domain) {
  eventring_instant(domain, EVENTRING_USER, EVENTRING_CLASS_USER, T_POINT);
}

static void poll_all(eventring_cursor *cursor) {
  while (eventring_poll(cursor, NULL, NULL, 0) > 0) {}
}

/* Opens a cursor in one of the three ways of reading, by number. */
static eventring_cursor *open_way(int way) {
  if (way == 0) return open_self(0);
  return open_file(own_path(), way == 1 ? 0 : EVENTRING_OPEN_UNMAPPED);
}

static int setup(void **state) {
  start_recording(EVENTRING_MIN_WSIZE);
  *state = start_domain("main");
  write_point(*state);
  return 0;
}

static int teardown(void **state) {
  eventring_domain_stop(*state);
  eventring_stop();
  return 0;
}

static void sleeps_while_nothing_comes(void **state) {
  for (int way = 0; way < 3; way++) {
    eventring_cursor *cursor = open_way(way);
    assert_int_equal(eventring_wait(cursor, SOON), 1); /* events that are there already */
    poll_all(cursor);
    assert_int_equal(eventring_wait(cursor, 0), 0);
    uint64_t began = clock_ns(CLOCK_MONOTONIC);
    uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    assert_int_equal(eventring_wait(cursor, 300 * MS), 0);
    assert_true(clock_ns(CLOCK_MONOTONIC) - began >= 300 * MS);
    assert_true(clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu < 30 * MS);
    eventring_close(cursor);
  }
}

static void set(bool *flag, bool to) {
  /* release: pairs with the acquire load in await */
  __atomic_store_n(flag, to, __ATOMIC_RELEASE);
}

static void await(const bool *flag, bool value) {
  /* acquire: pairs with the release store in set */
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != value) nap(MS);
}

struct writer {
  eventring_domain *domain;
  bool ready, go; /* atomic */
};

/* Writes one event in a domain of its own after a while. */
static void *write_later(void *context) {
  struct writer *writer = context;
  writer->domain = start_domain("writer");
  set(&writer->ready, true);
  await(&writer->go, true);
  nap(30 * MS);
  write_point(writer->domain);
  await(&writer->go, false);
  eventring_domain_stop(writer->domain);
  return NULL;
}

static void wakes_for_any_domain(void **state) {
  struct writer writers[DOMAINS] = {0};
  pthread_t threads[DOMAINS];
  for (int i = 0; i < DOMAINS; i++) {
    pthread_create(&threads[i], NULL, write_later, &writers[i]);
    await(&writers[i].ready, true);
  }
  eventring_cursor *cursor[3];
  for (int way = 0; way < 3; way++) poll_all(cursor[way] = open_way(way));
  for (int i = 0; i < DOMAINS; i++) {
    set(&writers[i].go, true);
    for (int way = 0; way < 3; way++) {
      struct log log = {0};
      assert_int_equal(eventring_wait(cursor[way], SOON), 1);
      assert_int_equal(poll_log(cursor[way], &log, 0), 1);
      assert_int_equal(log.seen[0].event.id, T_POINT);
      assert_int_equal(eventring_wait(cursor[way], 0), 0);
      clear_log(&log);
    }
  }
  for (int i = 0; i < DOMAINS; i++) set(&writers[i].go, false);
  for (int i = 0; i < DOMAINS; i++) pthread_join(threads[i], NULL);
  for (int way = 0; way < 3; way++) eventring_close(cursor[way]);
}

static void wakes_for_a_new_domain(void **state) {
  eventring_cursor *cursor = open_way(1);
  poll_all(cursor);
  struct writer writer = {.go = true};
  pthread_t thread;
  pthread_create(&thread, NULL, write_later, &writer);
  assert_int_equal(eventring_wait(cursor, SOON), 1);
  assert_true(eventring_poll(cursor, NULL, NULL, 0) > 0);
  set(&writer.go, false);
  pthread_join(thread, NULL);
  eventring_close(cursor);
}

static void goes_on_after_an_unfinished_poll(void **state) {
  eventring_cursor *cursor = open_way(1);
  poll_all(cursor);
  for (int i = 0; i < 3; i++) write_point(*state);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(eventring_wait(cursor, 0), 1);
    assert_int_equal(eventring_poll(cursor, NULL, NULL, 1), 1);
  }
  assert_int_equal(eventring_poll(cursor, NULL, NULL, 1), 0);
  assert_int_equal(eventring_wait(cursor, 0), 0);
  eventring_close(cursor);
}

static int wait_inside(void *context, const struct eventring_event *event) {
  assert_int_equal(eventring_wait(context, 0), EVENTRING_E_BUSY);
  return 0;
}

static void is_refused_in_a_callback(void **state) {
  eventring_cursor *cursor = open_way(0);
  struct eventring_callbacks callbacks = {sizeof callbacks, wait_inside, NULL};
  assert_true(eventring_poll(cursor, &callbacks, cursor, 0) > 0);
  assert_int_equal(eventring_wait(NULL, 0), EVENTRING_E_ARGUMENT);
  eventring_close(cursor);
}

static void ignore_signal(int number) { (void)number; }

static void ends_with_a_signal(void **state) {
  eventring_cursor *cursor = open_way(1);
  poll_all(cursor);
  struct sigaction action = {.sa_handler = ignore_signal, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  /* sends signals repeatedly, because a signal between two sleeps is not noticed */
  struct itimerval timer = {{0, 20000}, {0, 20000}}, off = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &timer, NULL);
  assert_int_equal(eventring_wait(cursor, EVENTRING_FOREVER), EVENTRING_E_INTERRUPTED);
  setitimer(ITIMER_REAL, &off, NULL);
  signal(SIGALRM, SIG_DFL);
  assert_string_equal(eventring_strerror(EVENTRING_E_INTERRUPTED), "interrupted by a signal");
  eventring_close(cursor);
}

/* Makes a child that records and then ends, in order if `orderly`. Stores its path and
   returns its pid. */
static pid_t start_child(bool orderly, char *path, size_t size) {
  int name_pipe[2];
  assert_int_equal(pipe(name_pipe), 0);
  pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    start_recording(EVENTRING_MIN_WSIZE);
    write_point(start_domain("child"));
    dprintf(name_pipe[1], "%s", own_path());
    close(name_pipe[1]);
    nap(100 * MS);
    if (orderly) eventring_stop();
    _exit(0);
  }
  close(name_pipe[1]);
  ssize_t length = read(name_pipe[0], path, size - 1);
  assert_true(length > 0);
  path[length] = 0;
  close(name_pipe[0]);
  return pid;
}

static void ends_with_the_producer(void **state) {
  for (int orderly = 0; orderly < 2; orderly++) {
    char path[4096];
    int n, waits = 0;
    pid_t pid = start_child(orderly, path, sizeof path);
    eventring_cursor *cursor = open_file(path, 0);
    while ((n = eventring_poll(cursor, NULL, NULL, 0)) >= 0 &&
           !eventring_finished(cursor) && eventring_wait(cursor, SOON) > 0)
      waits++;
    assert_true(n >= 0 && waits > 0);
    assert_true(eventring_finished(cursor));
    assert_int_equal(eventring_cursor_liveness(cursor),
                     orderly ? EVENTRING_ENDED : EVENTRING_DEAD);
    assert_int_equal(eventring_wait(cursor, EVENTRING_FOREVER), 1);
    eventring_close(cursor);
    waitpid(pid, NULL, 0);
    unlink(path);
  }
}

/* Checks that a reader that waits between polls keeps up with bursts of more than a
   ring's worth, if the writer leaves it the processor. */
static void keeps_up_with_bursts(void **state) {
  eventring_cursor *cursor = open_way(1);
  poll_all(cursor);
  uint64_t delivered = 0;
  for (int burst = 0; burst < 50; burst++) {
    for (int i = 0; i < 700; i++) write_point(*state);
    assert_int_equal(eventring_wait(cursor, SOON), 1);
    int n = eventring_poll(cursor, NULL, NULL, 0);
    assert_true(n > 0);
    delivered += (uint64_t)n;
  }
  assert_int_equal(delivered, 50 * 700);
  eventring_close(cursor);
}

/* ---- requests for stacks ------------------------------------------------- */

/* Returns how often this thread gave up its processor. */
static long sleeps(void) {
  struct rusage usage;
  assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
  return usage.ru_nvcsw;
}

static void sleeps_until_stacks_are_asked_for(void **state) {
  assert_false(eventring_calls_wait(0));
  const long before = sleeps();
  assert_false(eventring_calls_wait(300 * MS));
  assert_true(sleeps() - before < 10);
  assert_true(eventring_stack_ask(true));
  assert_true(eventring_calls_wait(0));
  assert_true(eventring_calls_wait(EVENTRING_FOREVER));
  assert_true(eventring_stack_ask(false));
  assert_false(eventring_calls_wait(0));
}

/* Checks that the helper asks for stacks in each period, with a new number each time, and
   no longer when it is told so. */
static void stacks_are_asked_for_in_each_period(void **state) {
  eventring_domain *d = eventring_domain_start("asked", NULL);
  assert_non_null(d);
  uint32_t last = 0;
  assert_true(eventring_stack_ask_each(10 * MS));
  for (int times = 0; times < 3; times++) {
    uint32_t asked;
    while ((asked = eventring_stack_asked(d)) == 0 || asked == last) nap(MS);
    last = asked;
    assert_true(eventring_stack_ask_each(10 * MS));
  }
  assert_true(eventring_stack_ask_each(0));
  while (eventring_stack_asked(d) != 0) nap(MS);
  eventring_domain_stop(d);
}

/* Checks that a safepoint does not wait for the mutex of the producer. While stacks are
   requested, each back-edge of a loop is a safepoint, and a domain that begins may hold
   the mutex for milliseconds. If the safepoint waited, this test would never end. */
static void a_safepoint_needs_no_mutex(void **state) {
  eventring_domain *d = eventring_domain_start("obeys", NULL);
  assert_non_null(d);
  assert_true(eventring_stack_ask(true));
  evr_lock();
  const uint32_t *word = eventring_calls_word(d);
  assert_non_null(word);
  assert_int_not_equal(*word, 0);
  assert_int_not_equal(eventring_stack_asked(d), 0);
  evr_unlock();
  assert_true(eventring_stack_ask(false));
  eventring_domain_stop(d);
}

/* Requests stacks as another process does, through a separate mapping of the file. */
static void *ask_later(void *ready) {
  await(ready, true);
  nap(30 * MS);
  eventring_control(own_path(), EVENTRING_CHANGE(STACKS, .on = true), NULL);
  return NULL;
}

static int setup_with_stacks(void **state) {
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  config.writes_stacks = config.profiles_calls = config.answers = true;
  assert_int_equal(eventring_start(&config, NULL), EVENTRING_OK);
  *state = start_domain("main");
  return 0;
}

static void wakes_for_a_request_from_outside(void **state) {
  for (int i = 0; i < 3; i++) {
    bool ready = false;
    pthread_t thread;
    pthread_create(&thread, NULL, ask_later, &ready);
    set(&ready, true);
    const long before = sleeps();
    assert_true(eventring_calls_wait(60000 * MS));
    assert_true(sleeps() - before < 1000);
    pthread_join(thread, NULL);
    assert_int_equal(eventring_control(own_path(), EVENTRING_CHANGE(STACKS, .on = false), NULL), 0);
    assert_false(eventring_calls_wait(0));
  }
}

struct later {
  const struct eventring_change *change;
  bool ready; /* atomic */
};

static void *change_later(void *context) {
  struct later *later = context;
  await(&later->ready, true);
  nap(30 * MS);
  eventring_control(own_path(), later->change, NULL);
  return NULL;
}

/* Returns the time from the beginning of the wait to its end, in ns. */
static uint64_t waits_for(const struct eventring_change *change) {
  struct later later = {change, false};
  pthread_t thread;
  pthread_create(&thread, NULL, change_later, &later);
  assert_false(eventring_calls_wait(0));
  const uint64_t begun = eventring_now();
  set(&later.ready, true);
  assert_true(eventring_calls_wait(60000 * MS));
  const uint64_t passed = eventring_now() - begun;
  pthread_join(thread, NULL);
  return passed;
}

/* Obeys as the host does. Bit 3 says that a profile is kept. */
static void obey(const eventring_domain *d, bool keeps) {
  uint32_t *word = (uint32_t *)eventring_calls_word(d);
  if (keeps) __atomic_fetch_or(word, 8u, __ATOMIC_RELAXED);
  else __atomic_fetch_and(word, ~(uint32_t)(8u | 2u), __ATOMIC_RELAXED);
}

/* Checks that a change wakes the waiter. A waiter that only polled would notice the
   change a second after it began to wait. */
static void wakes_for_all_that_is_asked(void **state) {
  const uint64_t calls = EVENTRING_CLASS_BIT(EVENTRING_CLASS_CALLS);
  uint64_t least[4] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
  for (int i = 0; i < 3; i++) {
    uint64_t took[4];
    took[0] = waits_for(EVENTRING_CHANGE(PROFILE, .on = true));
    obey(*state, true);
    took[1] = waits_for(EVENTRING_CHANGE(ASK, .kinds = EVENTRING_ASKS_MEMORY));
    eventring_control(own_path(), EVENTRING_CHANGE(ASK_NO_MORE), NULL);
    took[2] = waits_for(EVENTRING_CHANGE(ENABLE, .classes = calls));
    eventring_control(own_path(), EVENTRING_CHANGE(DISABLE, .classes = calls), NULL);
    __atomic_fetch_and((uint32_t *)eventring_calls_word(*state), ~2u, __ATOMIC_RELAXED);
    took[3] = waits_for(EVENTRING_CHANGE(PROFILE, .on = false));
    obey(*state, false);
    for (int k = 0; k < 4; k++) if (took[k] < least[k]) least[k] = took[k];
  }
  for (int k = 0; k < 4; k++) assert_true(least[k] < 900 * MS);
}

static void *wait_for_stacks(void *asked) {
  *(bool *)asked = eventring_calls_wait(100 * MS);
  return NULL;
}

/* Checks that a wait survives the end of the recording, which unmaps the file. */
static void survives_the_end_of_the_recording(void **state) {
  pthread_t thread;
  bool asked = true;
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_domain *domain = start_domain("main");
  pthread_create(&thread, NULL, wait_for_stacks, &asked);
  nap(30 * MS);
  eventring_domain_stop(domain);
  eventring_stop();
  pthread_join(thread, NULL);
  assert_false(asked);
  assert_false(eventring_calls_wait(10 * MS));
}

int main(void) {
  register_test_events();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(sleeps_while_nothing_comes, setup, teardown),
      cmocka_unit_test_setup_teardown(wakes_for_any_domain, setup, teardown),
      cmocka_unit_test_setup_teardown(wakes_for_a_new_domain, setup, teardown),
      cmocka_unit_test_setup_teardown(goes_on_after_an_unfinished_poll, setup, teardown),
      cmocka_unit_test_setup_teardown(is_refused_in_a_callback, setup, teardown),
      cmocka_unit_test_setup_teardown(ends_with_a_signal, setup, teardown),
      cmocka_unit_test_setup_teardown(keeps_up_with_bursts, setup, teardown),
      cmocka_unit_test_setup_teardown(sleeps_until_stacks_are_asked_for, setup, teardown),
      cmocka_unit_test_setup_teardown(stacks_are_asked_for_in_each_period, setup, teardown),
      cmocka_unit_test_setup_teardown(a_safepoint_needs_no_mutex, setup, teardown),
      cmocka_unit_test_setup_teardown(wakes_for_a_request_from_outside, setup_with_stacks,
                                      teardown),
      cmocka_unit_test_setup_teardown(wakes_for_all_that_is_asked, setup_with_stacks, teardown),
      cmocka_unit_test(survives_the_end_of_the_recording),
      cmocka_unit_test(ends_with_the_producer)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
