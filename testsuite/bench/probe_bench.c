/* SPDX-License-Identifier: MIT */
/* probe_bench.c: every kind of probe, with one thread and no reader. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

/* ---- Loops -------------------------------------------------------------------- */

/* Stores two clock reads, the least that a recorded span can be. */
static LOOP void pair_stored(eventring_domain *d) {
  static uint64_t sink[2];
  (void)d;
  for (int i = 0; i < LOOPS; i++) {
    __atomic_store_n(&sink[0], eventring_ticks(), __ATOMIC_RELAXED);
    SEPARATE();
    __atomic_store_n(&sink[1], eventring_ticks(), __ATOMIC_RELAXED);
    SEPARATE();
  }
}

static LOOP void user_span(eventring_domain *d) { /* the id is not a constant */
  for (int i = 0; i < LOOPS; i++) {
    eventring_user_begin(d, user_span_id);
    SEPARATE();
    eventring_user_end(d, user_span_id);
    SEPARATE();
  }
}

static LOOP void off_span(eventring_domain *d) { /* a class that is off */
  for (int i = 0; i < LOOPS; i++) {
    eventring_begin(d, EVENTRING_USER, EVENTRING_CLASS_CALLS, SPAN_ID);
    SEPARATE();
    eventring_end(d, EVENTRING_USER, EVENTRING_CLASS_CALLS, SPAN_ID);
    SEPARATE();
  }
}

static LOOP void one_counter(eventring_domain *d) {
  for (int i = 0; i < LOOPS; i++) {
    eventring_user_counter(d, counter_id, i);
    SEPARATE();
  }
}

enum { PAIR, EMPTY = 7 };
static const struct {
  const char *name;
  bench_loop *run;
  enum bar kind;
  double bar;
  bool paused;
} cases[] = {
    {"pair of bare clock reads", bench_pair, NO_BAR, 0, false},
    {"the same, both stored", pair_stored, NO_BAR, 0, false},
    {"enabled span", bench_span, BAR_RATIO, 1.10, false},
    {"user span from C, id not a constant", user_span, NO_BAR, 0, false},
    {"counter (one event, two words)", one_counter, NO_BAR, 0, false},
    {"disabled span", off_span, BAR_OVER, 0.5, false},
    {"paused span", bench_span, BAR_OVER, 0.5, true},
    {"empty loop", bench_empty, NO_BAR, 0, false},
};
enum { CASES = sizeof cases / sizeof cases[0] };
_Static_assert(CASES == EMPTY + 1, "the empty loop is the last case");

/* ---- The first round through a ring ---------------------------------------------- */

static long page_faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

/* Measures a new recording, whose pages must be there before a probe touches them. The
   first loop fills exactly one ring; the second loop goes over the same pages again. */
static long first_touch(const char *place, struct series *first, struct series *second) {
  start_recording(place);
  eventring_domain *d = eventring_domain_start("bench", NULL);
  eventring_user_begin(d, user_span_id); /* pays the costs of the first probe */
  eventring_user_end(d, user_span_id);
  bench_pair(d);
  long before = page_faults();
  sample(first, time_of(bench_span, d));
  long faults = page_faults() - before;
  sample(second, time_of(bench_span, d));
  eventring_domain_stop(d);
  eventring_stop();
  return faults;
}

static void bench_first_touch(const char *place, struct series *pair) {
  static struct series first, second;
  long faults = 0;
  first.count = second.count = 0;
  for (int i = 0; i < 4 * bench.rounds; i++) faults += first_touch(place, &first, &second);
  report(&(struct row){"ns", pair, NULL, NO_BAR, 0}, &first,
         "enabled span, first round of a fresh ring");
  report(&(struct row){"ns", pair, NULL, NO_BAR, 0}, &second, "enabled span, second round");
  remark("%ld page faults in %d first rounds", faults, 4 * bench.rounds);
}

/* ---- All of it -------------------------------------------------------------------- */

static void measure(const char *place) {
  static struct series series[CASES];
  for (int i = 0; i < CASES; i++) series[i].count = 0;
  start_recording(place);
  eventring_domain *d = eventring_domain_start("bench", NULL);
  for (int round = -2; round < 20 * bench.rounds; round++)
    for (int i = 0; i < CASES; i++) {
      if (cases[i].paused) eventring_pause();
      double t = time_of(cases[i].run, d);
      if (cases[i].paused) eventring_resume();
      if (round >= 0) sample(&series[i], t);
    }
  eventring_domain_stop(d);
  eventring_stop();
  table("Probes: one thread, no reader, ring on %s", place_name(place));
  for (int i = 0; i < CASES; i++) {
    struct row row = {"ns", &series[PAIR], &series[EMPTY], cases[i].kind, cases[i].bar};
    report(&row, &series[i], "%s", cases[i].name);
  }
  bench_first_touch(place, &series[PAIR]);
}

void bench_probes(void) {
  measure(bench.disk);
  if (bench.shm) measure(bench.shm);
}
