/* SPDX-License-Identifier: MIT */
/* reading.c: what reading costs: events, idle polls, opening. The rings are full and
 * nobody writes. A process's own rings are read through the mapping, and the same rings
 * as a file, as another process reads them. */
#include "bench.h"
#include "eventring/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { IDLE_POLLS = 200, FEW = 4 };

static char path[4096];

static int count_event(void *context, const struct eventring_event *event) {
  (void)event;
  ++*(uint64_t *)context;
  return 0;
}

static eventring_cursor *open_cursor(bool file, unsigned flags) {
  eventring_cursor *cursor;
  struct eventring_error error = {0};
  int status = file ? eventring_open_path(&cursor, path, flags, &error)
                    : eventring_open_self(&cursor, flags, &error);
  if (status == EVENTRING_OK) return cursor;
  fprintf(stderr, "eventring_bench: %s\n", error.text);
  exit(1);
}

/* ---- Events --------------------------------------------------------------------- */

struct reading {
  const char *name;
  bool file;
  unsigned flags;
  struct series series;
};

static void read_all(struct reading *r) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, count_event, NULL};
  uint64_t count = 0;
  eventring_cursor *cursor = open_cursor(r->file, r->flags);
  uint64_t start = cpu_ns();
  int events = eventring_poll(cursor, &callbacks, &count, 0);
  uint64_t took = cpu_ns() - start;
  eventring_close(cursor);
  if (events > 0) sample(&r->series, (double)took / events);
}

static void fill_rings(eventring_domain **domains, int count) {
  for (int i = 0; i < count; i++) {
    domains[i] = eventring_domain_start("bench", NULL);
    for (int n = 0; n < 3; n++) bench_span(domains[i]);
  }
}

static void stop_domains(eventring_domain **domains, int count) {
  for (int i = 0; i < count; i++) eventring_domain_stop(domains[i]);
}

static void bench_events(int domains_wanted) {
  static struct reading readings[] = {
      {"own rings", false, 0, {{0}, 0}},
      {"own rings, merged", false, EVENTRING_OPEN_MERGED, {{0}, 0}},
      {"a file", true, 0, {{0}, 0}},
      {"a file, merged", true, EVENTRING_OPEN_MERGED, {{0}, 0}}};
  enum { READINGS = sizeof readings / sizeof readings[0] };
  eventring_domain *domains[FEW];
  start_recording(bench.disk);
  eventring_path(path, sizeof path);
  fill_rings(domains, domains_wanted);
  for (int i = 0; i < READINGS; i++) readings[i].series.count = 0;
  for (int round = 0; round < 6 * bench.rounds; round++)
    for (int i = 0; i < READINGS; i++) read_all(&readings[i]);
  stop_domains(domains, domains_wanted);
  eventring_stop();
  struct row row = {"ns", NULL, NULL, BAR_VALUE, 5};
  for (int i = 0; i < READINGS; i++)
    report(&row, &readings[i].series, "an event, C callback, %s, %d domain%s", readings[i].name,
           domains_wanted, domains_wanted > 1 ? "s" : "");
}

/* ---- Events of other kinds -------------------------------------------------------- */

/* Writes a span: each such function writes one or two events. */
static void write_span(eventring_domain *d) {
  eventring_user_begin(d, user_span_id);
  eventring_user_end(d, user_span_id);
}
static void write_counter(eventring_domain *d) {
  eventring_user_counter(d, counter_id, 42);
}
static void write_event(eventring_domain *d) {
  eventring_instant(d, EVENTRING_USER, EVENTRING_CLASS_USER, event_id);
}
static void write_int(eventring_domain *d) {
  eventring_instant_int(d, EVENTRING_USER, EVENTRING_CLASS_USER, int_event_id, 42);
}
static void write_double(eventring_domain *d) {
  eventring_instant_double(d, EVENTRING_USER, EVENTRING_CLASS_USER, double_event_id, 4.2);
}
static void write_string(eventring_domain *d) {
  static const char text[] = "seventeen letters";
  eventring_instant_bytes(d, EVENTRING_USER, EVENTRING_CLASS_USER, string_event_id, text,
                        sizeof text - 1);
}

static uint64_t random_state;
static unsigned draw(unsigned below) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (unsigned)(random_state % below);
}

/* Writes a begin or an end, at random: spans nested up to 32 deep. */
static void write_nested(eventring_domain *d) {
  static int depth;
  if (depth > 0 && (depth == 32 || draw(2))) {
    depth--;
    eventring_user_end(d, user_span_id);
  } else {
    depth++;
    eventring_user_begin(d, user_span_id);
  }
}
static void write_any(eventring_domain *d) {
  static bench_loop *const any[] = {write_nested, write_nested, write_counter, write_string};
  any[draw(4)](d);
}

/* Measures a ring of each kind in turn, own rings, one domain. */
static void bench_kinds(void) {
  static struct {
    bench_loop *write;
    struct reading reading;
  } kinds[] = {
      {write_span, {"spans", false, 0, {{0}, 0}}},
      {write_counter, {"counters", false, 0, {{0}, 0}}},
      {write_event, {"events without payload", false, 0, {{0}, 0}}},
      {write_int, {"events with an integer", false, 0, {{0}, 0}}},
      {write_double, {"events with a double", false, 0, {{0}, 0}}},
      {write_string, {"strings of 17 bytes", false, 0, {{0}, 0}}},
      {write_nested, {"nested spans, at random", false, 0, {{0}, 0}}},
      {write_any, {"one of begin, end, counter, string, at random", false, 0, {{0}, 0}}}};
  enum { KINDS = sizeof kinds / sizeof kinds[0] };
  random_state = 88172645463325252u;
  for (int round = 0; round < bench.rounds; round++)
    for (int i = 0; i < KINDS; i++) {
      start_recording(bench.shm ? bench.shm : bench.disk);
      eventring_domain *domain = eventring_domain_start("bench", NULL);
      for (int n = 0; n < 3 * LOOPS; n++) kinds[i].write(domain);
      for (int n = 0; n < 6; n++) read_all(&kinds[i].reading);
      eventring_domain_stop(domain);
      eventring_stop();
    }
  struct row row = {"ns", NULL, NULL, NO_BAR, 0};
  for (int i = 0; i < KINDS; i++)
    report(&row, &kinds[i].reading.series, "an event, own rings: %s", kinds[i].reading.name);
}

/* ---- Idle polls ------------------------------------------------------------------- */

static double idle_poll(eventring_cursor *cursor) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, count_event, NULL};
  uint64_t count = 0;
  while (eventring_poll(cursor, &callbacks, &count, 0) > 0) continue;
  uint64_t start = cpu_ns();
  for (int i = 0; i < IDLE_POLLS; i++) eventring_poll(cursor, &callbacks, &count, 0);
  return (double)(cpu_ns() - start) / IDLE_POLLS;
}

static void bench_idle(int domains_wanted) {
  static struct series own, file;
  eventring_domain *domains[EVENTRING_MAX_DOMAINS];
  own.count = file.count = 0;
  start_recording(bench.shm ? bench.shm : bench.disk);
  eventring_path(path, sizeof path);
  fill_rings(domains, domains_wanted);
  eventring_cursor *mapping = open_cursor(false, 0), *reader = open_cursor(true, 0);
  for (int round = 0; round < 4 * bench.rounds; round++) {
    sample(&own, idle_poll(mapping));
    sample(&file, idle_poll(reader));
  }
  eventring_close(mapping);
  eventring_close(reader);
  stop_domains(domains, domains_wanted);
  eventring_stop();
  struct row row = {"ns", NULL, NULL, BAR_VALUE, 1000};
  report(&row, &own, "an idle poll, own rings, %d domain%s", domains_wanted,
         domains_wanted > 1 ? "s" : "");
  report(&row, &file, "an idle poll, a file, %d domain%s", domains_wanted,
         domains_wanted > 1 ? "s" : "");
}

/* ---- Opening ---------------------------------------------------------------------- */

enum opening { SELF, FILE_OF_SELF, PID_OF_SELF, OPENINGS };

static int open_by(enum opening how, eventring_cursor **cursor) {
  if (how == SELF) return eventring_open_self(cursor, 0, NULL);
  if (how == PID_OF_SELF) return eventring_open_pid(cursor, getpid(), 0, NULL);
  return eventring_open_path(cursor, path, 0, NULL);
}

static void bench_opening(void) {
  static const char *const names[OPENINGS] = {"own rings", "by path", "by pid"};
  static struct series series[OPENINGS];
  eventring_domain *domains[1];
  start_recording(bench.disk);
  eventring_path(path, sizeof path);
  fill_rings(domains, 1);
  for (int round = 0; round < 8 * bench.rounds; round++)
    for (int how = 0; how < OPENINGS; how++) {
      eventring_cursor *cursor;
      uint64_t start = wall_ns();
      if (open_by((enum opening)how, &cursor) != EVENTRING_OK) continue;
      sample(&series[how], (double)(wall_ns() - start) / 1e3);
      eventring_close(cursor);
    }
  stop_domains(domains, 1);
  eventring_stop();
  for (int how = 0; how < OPENINGS; how++)
    report(&(struct row){"us", NULL, NULL, BAR_VALUE, 50}, &series[how], "opening a cursor, %s",
           names[how]);
}

void bench_reading(void) {
  table("Reading");
  bench_events(1);
  bench_events(FEW);
  bench_kinds();
  bench_idle(1);
  bench_idle(EVENTRING_MAX_DOMAINS);
  bench_opening();
}
