/* SPDX-License-Identifier: MIT */
/* eventring_threads_test.c: domains and the ends of their threads. */
#include "eventring_common.h"

#include <limits.h>
#include <pthread.h>
#include <sys/syscall.h>

enum { MANY_THREADS = EVENTRING_MAX_DOMAINS + 10 };

static void in_a_thread(void *(*run)(void *), void *argument) {
  pthread_t thread;
  void *result;
  assert_int_equal(pthread_create(&thread, NULL, run, argument), 0);
  assert_int_equal(pthread_join(thread, &result), 0);
}

static void *start_and_return(void *argument) {
  eventring_domain **domain = argument;
  *domain = eventring_domain_start("leaves", NULL);
  eventring_user_counter(*domain, T_COUNT, 1);
  return NULL;
}

static void *start_and_vanish(void *argument) {
  start_and_return(argument);
  syscall(SYS_exit, 0); /* no destructor runs */
  return NULL;
}

static void expect_a_slot(void) {
  eventring_domain *d = start_domain("after");
  assert_true(eventring_domain_slot(d) >= 0);
  eventring_domain_stop(d);
}

static void domains_end_with_their_threads(void **state) {
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_domain *domain;
  for (int i = 0; i < MANY_THREADS; i++) in_a_thread(start_and_return, &domain);
  expect_a_slot();
  eventring_cursor *cursor = open_file(own_path(), 0);
  struct log log = {0};
  poll_log(cursor, &log, 0);
  unsigned starts = 0, stops = 0;
  for (size_t i = 0; i < log.count; i++) {
    starts += log.seen[i].event.id == EVENTRING_ID_DOMAIN_START;
    stops += log.seen[i].event.id == EVENTRING_ID_DOMAIN_STOP;
  }
  assert_true(starts > 0);
  assert_int_equal(starts, stops);
  clear_log(&log);
  eventring_close(cursor);
  eventring_stop();
}

static void threads_that_vanish_leave_their_slots(void **state) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  skip(); /* sanitizers do not support threads that vanish */
#endif
#ifndef __GLIBC__
  skip(); /* pthread_join of musl waits for what the thread itself does at its end */
#endif
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_domain *domain;
  for (int i = 0; i < MANY_THREADS; i++) {
    in_a_thread(start_and_vanish, &domain);
    /* Each domain keeps its slot until none is free. Then the domains of all threads that
       have vanished are ended, and their slots are used again. */
    if (i < EVENTRING_MAX_DOMAINS) assert_int_equal(eventring_domain_slot(domain), i);
  }
  expect_a_slot();
  eventring_stop();
}

/* In each round the C library calls destructors of lower keys first. One key is made
   before the library makes its own key, the other after that. */
static pthread_key_t early_key, late_key;

/* In the last round ThreadSanitizer no longer knows the thread. */
#if defined(__SANITIZE_THREAD__)
enum { ROUNDS = PTHREAD_DESTRUCTOR_ITERATIONS - 1 };
#else
enum { ROUNDS = PTHREAD_DESTRUCTOR_ITERATIONS };
#endif

struct host_thread {
  pthread_key_t key;
  int round, stop_in; /* rounds of the destructors */
  eventring_domain *domain;
};

static void host_destructor(void *value) {
  struct host_thread *t = value;
  eventring_user_counter(t->domain, T_COUNT, 1000 + ++t->round);
  if (t->round == t->stop_in) eventring_domain_stop(t->domain);
  else pthread_setspecific(t->key, t);
}

static void *run_host_thread(void *argument) {
  struct host_thread *t = argument;
  t->domain = eventring_domain_start("host", NULL);
  pthread_setspecific(t->key, t);
  return NULL;
}

static void a_destructor_may_stop_the_domain(void **state) {
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_domain *reader = start_domain("main");
  for (int i = 0; i < 2 * ROUNDS; i++) {
    struct host_thread t = {.key = i % 2 ? early_key : late_key, .stop_in = 1 + i / 2};
    eventring_cursor *cursor = open_file(own_path(), EVENTRING_OPEN_NOW);
    in_a_thread(run_host_thread, &t);
    assert_int_equal(t.round, t.stop_in);
    struct log log = {0};
    poll_log(cursor, &log, 0);
    drop_builtins(&log);
    /* events of destructors are recorded up to the round in which the library ends the
       domain */
    size_t surely = t.stop_in < 3 ? t.stop_in : 2;
    assert_true(log.count >= surely && log.count <= 3);
    clear_log(&log);
    eventring_close(cursor);
  }
  eventring_domain_stop(reader);
  eventring_stop();
}

static void *start_unbound(void *argument) {
  start_and_return(argument);
  eventring_domain_unbind(*(eventring_domain **)argument);
  return NULL;
}

static void *stop_for_another(void *argument) {
  eventring_domain_stop(*(eventring_domain **)argument);
  return NULL;
}

static void unbound_domains_move_between_threads(void **state) {
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_domain *domain;
  in_a_thread(start_unbound, &domain);
  assert_true(eventring_domain_slot(domain) >= 0);
  eventring_user_counter(domain, T_COUNT, 2);
  assert_int_equal(evr_domain_emitted(domain, EVENTRING_USER), 2);
  in_a_thread(stop_for_another, &domain);
  /* pause and resume write their events into the domain that this thread started last;
     another thread has stopped it */
  start_unbound(&domain);
  in_a_thread(stop_for_another, &domain);
  assert_int_equal(eventring_pause(), EVENTRING_OK);
  assert_int_equal(eventring_resume(), EVENTRING_OK);
  eventring_stop();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(domains_end_with_their_threads),
      cmocka_unit_test(threads_that_vanish_leave_their_slots),
      cmocka_unit_test(a_destructor_may_stop_the_domain),
      cmocka_unit_test(unbound_domains_move_between_threads),
  };
  register_test_events();
  pthread_key_create(&early_key, host_destructor);
  /* This makes the library's key. */
  eventring_domain_stop(eventring_domain_start("first", NULL));
  pthread_key_create(&late_key, host_destructor);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
