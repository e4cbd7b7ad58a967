/* eventring_bench.c: what a probe costs, as a ratio to a pair of bare clock reads.
 *
 *   eventring_bench [DIRECTORY [ROUNDS]]      (default: the current one, 41)
 *
 * All loops run alternated in one process, each many short runs; shown are the
 * fastest run and the median of each, and their ratio to those of the pair. The
 * empty loop is a line of its own: it is subtracted nowhere. The last part runs
 * the enabled span while another thread reads the rings, every 10 ms and without
 * pause, and times reading.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

enum { LOOPS = 20000, CASES_MAX = 16, ROUNDS_MAX = 1001 };

static eventring_domain *domain;
static unsigned span_id, counter_id;

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What stands between two probes must not be moved across them. */
#define SEPARATE() __asm__ volatile("" ::: "memory")
#define KEEP(x) __asm__ volatile("" ::"r"(x))

/* ---- Loops -------------------------------------------------------------------- */

static void empty_loop(eventring_domain *d) {
  (void)d;
  for (int i = 0; i < LOOPS; i++) SEPARATE();
}

static void bare_pair(eventring_domain *d) {
  (void)d;
  for (int i = 0; i < LOOPS; i++) {
    uint64_t begin = eventring_ticks();
    KEEP(begin);
    SEPARATE();
    uint64_t end = eventring_ticks();
    KEEP(end);
    SEPARATE();
  }
}

/* The least that a record can be: two clock reads stored. */
static void bare_pair_stored(eventring_domain *d) {
  static uint64_t sink[2];
  (void)d;
  for (int i = 0; i < LOOPS; i++) {
    __atomic_store_n(&sink[0], eventring_ticks(), __ATOMIC_RELAXED);
    SEPARATE();
    __atomic_store_n(&sink[1], eventring_ticks(), __ATOMIC_RELAXED);
    SEPARATE();
  }
}

static void span(eventring_domain *d) {
  for (int i = 0; i < LOOPS; i++) {
    eventring_begin(d, EVENTRING_USER, EVENTRING_CLASS_USER, span_id);
    SEPARATE();
    eventring_end(d, EVENTRING_USER, EVENTRING_CLASS_USER, span_id);
    SEPARATE();
  }
}

static void constant_span(eventring_domain *d) {
  for (int i = 0; i < LOOPS; i++) {
    eventring_begin(d, EVENTRING_USER, EVENTRING_CLASS_USER, EVENTRING_ID_HOST);
    SEPARATE();
    eventring_end(d, EVENTRING_USER, EVENTRING_CLASS_USER, EVENTRING_ID_HOST);
    SEPARATE();
  }
}

static void off_span(eventring_domain *d) { /* a class that is off */
  for (int i = 0; i < LOOPS; i++) {
    eventring_begin(d, EVENTRING_USER, EVENTRING_CLASS_CALLS, EVENTRING_ID_HOST);
    SEPARATE();
    eventring_end(d, EVENTRING_USER, EVENTRING_CLASS_CALLS, EVENTRING_ID_HOST);
    SEPARATE();
  }
}

static void paused_span(eventring_domain *d) {
  eventring_pause();
  constant_span(d);
  eventring_resume();
}

static void counter(eventring_domain *d) {
  for (int i = 0; i < LOOPS; i++) {
    eventring_user_counter(d, counter_id, i);
    SEPARATE();
  }
}

static const struct bench {
  const char *name;
  void (*run)(eventring_domain *);
} cases[] = {
    {"pair of bare clock reads", bare_pair},
    {"the same, stored", bare_pair_stored},
    {"enabled span", constant_span},
    {"enabled span, id not constant", span},
    {"counter (one event)", counter},
    {"disabled span", off_span},
    {"paused span", paused_span},
    {"empty loop", empty_loop},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* ---- Measuring ------------------------------------------------------------------- */

static double measured[CASES_MAX][ROUNDS_MAX];

static double time_of(const struct bench *b) {
  uint64_t start = now_ns();
  b->run(domain);
  return (double)(now_ns() - start) / LOOPS;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void measure(int rounds) {
  for (int round = -2; round < rounds; round++)
    for (int i = 0; i < CASES; i++) {
      double t = time_of(&cases[i]);
      if (round >= 0) measured[i][round] = t;
    }
  for (int i = 0; i < CASES; i++)
    qsort(measured[i], (size_t)rounds, sizeof(double), compare);
}

static void print_table(int rounds) {
  double min = measured[0][0], median = measured[0][rounds / 2];
  printf("%-32s %8s %8s %8s %8s\n", "per iteration", "min ns", "ratio", "median",
         "ratio");
  for (int i = 0; i < CASES; i++)
    printf("%-32s %8.2f %8.3f %8.2f %8.3f\n", cases[i].name, measured[i][0],
           measured[i][0] / min, measured[i][rounds / 2],
           measured[i][rounds / 2] / median);
}

/* ---- With a reader ---------------------------------------------------------------- */

struct reader {
  int pause_us; /* between polls */
  bool stop;    /* atomic */
  uint64_t polls;
  struct eventring_totals totals;
};

static int ignore_event(void *context, const struct eventring_event *event) {
  (void)event;
  ++*(uint64_t *)context;
  return 0;
}

static void *read_rings(void *argument) {
  struct reader *r = argument;
  struct eventring_callbacks callbacks = {.event = ignore_event};
  eventring_cursor *cursor;
  uint64_t count = 0;
  if (eventring_open_self(&cursor, EVENTRING_OPEN_NOW, NULL) != EVENTRING_OK) return NULL;
  while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
    eventring_poll(cursor, &callbacks, &count, 0);
    r->polls++;
    if (r->pause_us) usleep((useconds_t)r->pause_us);
  }
  eventring_cursor_totals(cursor, &r->totals);
  eventring_close(cursor);
  return NULL;
}

static void with_reader(const char *name, int pause_us, int rounds) {
  struct reader reader = {.pause_us = pause_us};
  pthread_t thread;
  double pair[ROUNDS_MAX], spans[ROUNDS_MAX];
  if (pthread_create(&thread, NULL, read_rings, &reader) != 0) exit(1);
  for (int i = 0; i < rounds; i++) {
    pair[i] = time_of(&cases[0]);
    spans[i] = time_of(&cases[2]);
  }
  __atomic_store_n(&reader.stop, true, __ATOMIC_RELAXED);
  pthread_join(thread, NULL);
  qsort(pair, (size_t)rounds, sizeof(double), compare);
  qsort(spans, (size_t)rounds, sizeof(double), compare);
  printf("%-32s %8.2f %8.3f %8.2f %8.3f   (%llu polls, %llu read, %llu lost)\n", name,
         spans[0], spans[0] / pair[0], spans[rounds / 2],
         spans[rounds / 2] / pair[rounds / 2], (unsigned long long)reader.polls,
         (unsigned long long)reader.totals.delivered,
         (unsigned long long)reader.totals.lost);
}

static void time_reading(void) {
  struct eventring_callbacks callbacks = {.event = ignore_event};
  eventring_cursor *cursor;
  uint64_t count = 0, best = UINT64_MAX, best_idle = UINT64_MAX, best_open = UINT64_MAX;
  int events = 0;
  for (int i = 0; i < 20; i++) {
    uint64_t start = now_ns();
    if (eventring_open_self(&cursor, 0, NULL) != EVENTRING_OK) return;
    uint64_t opened = now_ns();
    int n = eventring_poll(cursor, &callbacks, &count, 0);
    uint64_t polled = now_ns();
    eventring_poll(cursor, &callbacks, &count, 0);
    uint64_t idle = now_ns();
    if (opened - start < best_open) best_open = opened - start;
    if (polled - opened < best) best = polled - opened, events = n;
    if (idle - polled < best_idle) best_idle = idle - polled;
    eventring_close(cursor);
  }
  printf("reading: %.2f ns per event (%d events), idle poll %llu ns, opening %llu ns\n",
         (double)best / (events ? events : 1), events, (unsigned long long)best_idle,
         (unsigned long long)best_open);
}

/* ---- Main ---------------------------------------------------------------------------- */

static uint64_t start_recorder(const char *directory) {
  struct eventring_config config;
  struct eventring_error error = {0};
  eventring_config_init(&config);
  config.start = EVENTRING_START_ON;
  config.directory = directory;
  uint64_t begin = now_ns();
  if (eventring_start(&config, &error) != EVENTRING_OK) {
    fprintf(stderr, "eventring_bench: %s\n", error.text);
    exit(1);
  }
  domain = eventring_domain_start("bench", &error);
  return now_ns() - begin;
}

int main(int argc, char **argv) {
  static const struct eventring_def defs[] = {
      {.name = "bench.span", .kind = EVENTRING_DEF_SPAN, .ring = EVENTRING_USER,
       .event_class = EVENTRING_CLASS_USER},
      {.name = "bench.counter", .kind = EVENTRING_DEF_COUNTER, .ring = EVENTRING_USER,
       .event_class = EVENTRING_CLASS_USER, .payload = EVENTRING_INT}};
  int rounds = argc > 2 ? atoi(argv[2]) : 41;
  if (rounds < 1 || rounds > ROUNDS_MAX) rounds = 41;
  eventring_register_table(defs, 2, &span_id, NULL);
  counter_id = span_id + 1;
  uint64_t start_ns = start_recorder(argc > 1 ? argv[1] : NULL);
  measure(rounds);
  print_table(rounds);
  with_reader("enabled span, polled every 10 ms", 10000, rounds);
  with_reader("enabled span, polled always", 0, rounds);
  time_reading();
  eventring_domain_stop(domain);
  uint64_t begin = now_ns();
  eventring_stop();
  printf("start with one domain %.0f us, stop %.0f us\n", (double)start_ns / 1e3,
         (double)(now_ns() - begin) / 1e3);
  return 0;
}
