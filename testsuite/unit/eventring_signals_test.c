/* SPDX-License-Identifier: MIT */
/* eventring_signals_test.c: probes in a handler of a signal that interrupts the probes of
   its thread anywhere. With a domain of its own, nothing is lost except what is reported.
   With the domain of the thread, which is not allowed, nothing is written outside the
   ring. A signal that comes while its thread has the producer's mutex can be deferred. */
#include "eventring_common.h"
#include "producer/lock.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

enum { PERIOD_US = 50, RUN_MS = 1500, PER_SIGNAL = 2 };

static eventring_domain *handlers; /* the domain that the handler writes to */
static volatile uint64_t calls;

static void on_alarm(int number) {
  for (int i = 0; i < PER_SIGNAL; i++)
    eventring_user_counter(handlers, T_COUNT, (int64_t)calls++);
}

static void set_timer(long us) {
  struct itimerval timer = {{0, us}, {0, us}};
  assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static bool is_over(const struct timespec *start) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000 >=
         RUN_MS;
}

/* Writes events of all kinds and lengths under signals. Returns how many were written. */
static uint64_t write_under_signals(eventring_domain *d) {
  static const char text[300] = "text";
  struct timespec start;
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART}, before;
  uint64_t written = 0;
  calls = 0;
  clock_gettime(CLOCK_MONOTONIC, &start);
  assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
  set_timer(PERIOD_US);
  while (!is_over(&start))
    for (int i = 0; i < 500; i++, written += 4) {
      eventring_user_begin(d, T_FLOOD);
      eventring_user_counter(d, T_COUNT, -1);
      eventring_instant_bytes(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_TEXT, text,
                            (size_t)(i * 7 % 300));
      eventring_user_end(d, T_FLOOD);
    }
  set_timer(0);
  sigaction(SIGALRM, &before, NULL);
  return written;
}

static void a_domain_of_its_own(void **state) {
  struct log log = {0};
  start_recording(EVENTRING_MIN_WSIZE);
  handlers = start_domain("handler");
  eventring_domain *d = start_domain("main");
  eventring_cursor *cursor = open_self(0);
  uint64_t written = write_under_signals(d);
  assert_true(calls > 100);
  assert_true(evr_domain_emitted(d, EVENTRING_USER) == written);
  assert_true(evr_domain_emitted(handlers, EVENTRING_USER) <= calls);
  /* (a few are dropped while this thread has the producer's mutex) */
  assert_true(evr_domain_emitted(handlers, EVENTRING_USER) >= calls - calls / 10);
  while (poll_log(cursor, &log, 0) > 0) continue;
  for (size_t i = 0; i < log.count; i++) {
    const struct eventring_event *e = &log.seen[i].event;
    if (e->ring == EVENTRING_USER && e->id == T_COUNT && e->kind == EVENTRING_COUNTER)
      /* the first domain is the handler's; only the handler's values are not negative */
      assert_true((e->value.i >= 0) == (e->domain == 0));
  }
  clear_log(&log);
  eventring_close(cursor);
  eventring_domain_stop(d);
  eventring_domain_stop(handlers);
  eventring_stop();
}

static void the_domain_of_the_thread(void **state) {
  struct log log = {0};
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_domain *d = start_domain("main"), *neighbour = start_domain("neighbour");
  handlers = d;
  for (int i = 0; i < 100; i++) eventring_user_counter(neighbour, T_COUNT, i);
  uint64_t written = write_under_signals(d);
  assert_true(calls > 100);
  /* the number of overwritten or dropped events is not many times the number of
     signals */
  uint64_t emitted = evr_domain_emitted(d, EVENTRING_USER), all = written + calls;
  assert_true(emitted <= all && emitted >= all - 8 * calls);
  /* these events end the block with the wrong count */
  for (int i = 0; i < 2000; i++) eventring_user_counter(d, T_COUNT, i);
  eventring_cursor *cursor = open_self(0);
  poll_log(cursor, &log, 0);
  int count = 0;
  for (size_t i = 0; i < log.count; i++) {
    const struct eventring_event *e = &log.seen[i].event;
    if (e->ring == EVENTRING_USER && e->domain == 1 && e->kind == EVENTRING_COUNTER)
      assert_int_equal(e->value.i, count++);
  }
  assert_int_equal(count, 100);
  clear_log(&log);
  eventring_close(cursor);
  eventring_domain_stop(neighbour);
  eventring_domain_stop(d);
  eventring_stop();
}

/* Checks a wrong count: the interrupted probe has overwritten events of the handler, and
   their payloads are still counted. */
static void a_count_that_a_handler_spoilt(void **state) {
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_domain *d = start_domain("main");
  struct eventring_lane *lane = &((struct evr_domain *)d)->lanes.hot.lane[EVENTRING_USER];
  for (int i = 0; i < 10; i++) eventring_user_counter(d, T_COUNT, i);
  lane->extra += 100;
  lane->limit = NULL; /* the next probe takes the slow path */
  for (int i = 0; i < 5; i++) eventring_user_counter(d, T_COUNT, i);
  assert_int_equal(evr_domain_emitted(d, EVENTRING_USER), 15);
  for (int i = 0; i < 2000; i++) eventring_user_counter(d, T_COUNT, i);
  assert_int_equal(evr_domain_emitted(d, EVENTRING_USER), 2015);
  eventring_domain_stop(d);
  eventring_stop();
}

/* Drops events, as probes of a signal handler do that has interrupted the producer. */
static void drop_events(eventring_domain *d, int count) {
  ((struct evr_domain *)d)->lanes.hot.lane[EVENTRING_USER].limit = NULL;
  evr_lock();
  for (int i = 0; i < count; i++) eventring_user_counter(d, T_COUNT, i);
  evr_unlock();
}

/* Writes so many events that the block changes. Returns how many the ring counts. */
static uint64_t counted_of(eventring_domain *d, int events) {
  for (int i = 0; i < events; i++) eventring_user_counter(d, T_COUNT, i);
  return evr_domain_emitted(d, EVENTRING_USER);
}

/* Checks that dropped events count only in the recording from which they were dropped:
   not in the next one, and not in that of a forked child. */
static void dropped_events_count_once(void **state) {
  enum { EVENTS = 600, DROPPED = 3 };
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  int status;
  config.follow_forks = true;
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_domain *d = start_domain("main");
  drop_events(d, DROPPED); /* nothing was written into the ring yet */
  eventring_stop();
  assert_int_equal(eventring_start(&config, NULL), EVENTRING_OK);
  assert_int_equal(counted_of(d, EVENTS), EVENTS);
  drop_events(d, DROPPED);
  pid_t child = fork();
  if (child == 0) _exit(counted_of(d, EVENTS) != EVENTS);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(counted_of(d, EVENTS), 2 * EVENTS + DROPPED);
  eventring_domain_stop(d);
  eventring_stop();
}

static int deferrals, deliveries;

static void on_deferrable(int number) {
  if (eventring_defer_signal(number)) deferrals++;
  else deliveries++;
}

static void a_signal_is_deferred(void **state) {
  struct sigaction action = {.sa_handler = on_deferrable}, before;
  assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
  start_recording(EVENTRING_MIN_WSIZE);
  raise(SIGUSR1);
  assert_int_equal(deliveries, 1);
  evr_lock();
  raise(SIGUSR1);
  raise(SIGUSR1);
  assert_int_equal(deferrals, 2);
  assert_int_equal(deliveries, 1);
  evr_unlock();
  assert_int_equal(deliveries, 2);
  evr_lock();
  evr_unlock();
  assert_int_equal(deliveries, 2);
  eventring_stop();
  assert_int_equal(deferrals, 2);
  sigaction(SIGUSR1, &before, NULL);
}

int main(void) {
  register_test_events();
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_domain_of_its_own),
                                     cmocka_unit_test(the_domain_of_the_thread),
                                     cmocka_unit_test(a_count_that_a_handler_spoilt),
                                     cmocka_unit_test(dropped_events_count_once),
                                     cmocka_unit_test(a_signal_is_deferred)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
