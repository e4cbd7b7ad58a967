/* SPDX-License-Identifier: MIT */
/* starting.c: what it costs to start a recording. Measures the calls themselves, and
 * whole programs that do next to nothing, with and without a recording in turn, from
 * start to end as their parent sees it. */
#include "bench.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { WITHOUT, ON_DISK, ON_SHM, PLACES };
static const double bars[PLACES] = {0, 500, 150}; /* us */

static const char *directory_of(int place) { return place == ON_SHM ? bench.shm : bench.disk; }

/* ---- The calls ----------------------------------------------------------------- */

static void start_and_stop(const char *place, struct series *starts, struct series *stops) {
  uint64_t begin = wall_ns();
  start_recording(place);
  eventring_domain *d = eventring_domain_start("bench", NULL);
  uint64_t started = wall_ns();
  eventring_user_begin(d, user_span_id);
  eventring_user_end(d, user_span_id);
  uint64_t recorded = wall_ns();
  eventring_domain_stop(d);
  eventring_stop();
  sample(stops, (double)(wall_ns() - recorded) / 1e3);
  sample(starts, (double)(started - begin) / 1e3);
}

static void bench_calls(void) {
  static struct series starts[PLACES], stops[PLACES];
  for (int round = 0; round < 8 * bench.rounds; round++)
    for (int place = ON_DISK; place < (bench.shm ? PLACES : ON_SHM); place++)
      start_and_stop(directory_of(place), &starts[place], &stops[place]);
  for (int place = ON_DISK; place < PLACES; place++) {
    if (!starts[place].count) continue;
    report(&(struct row){"us", NULL, NULL, BAR_VALUE, bars[place]}, &starts[place],
           "a recording with one domain, %s", place_name(directory_of(place)));
    report(&(struct row){"us", NULL, NULL, NO_BAR, 0}, &stops[place], "and stopping it");
  }
}

/* ---- Trivial programs ------------------------------------------------------------- */

/* Runs eventring_bench --trivial [DIRECTORY]: a domain and one event, or nothing at
   all. */
int trivial_program(int argc, char **argv) {
  if (argc < 3) return 0;
  register_events();
  start_recording(argv[2]);
  eventring_domain *d = eventring_domain_start("main", NULL);
  eventring_user_counter(d, counter_id, 1);
  eventring_domain_stop(d);
  return eventring_stop() != EVENTRING_OK;
}

struct run {
  bool good;
  double wall_us, cpu_us;
};

static double us_of(struct timeval t) { return (double)t.tv_sec * 1e6 + (double)t.tv_usec; }

static struct run run_program(char *const argv[]) {
  struct run run = {.good = false};
  struct rusage usage;
  pid_t child;
  int status;
  uint64_t begin = wall_ns();
  if (posix_spawn(&child, argv[0], NULL, NULL, argv, environ) != 0) return run;
  if (wait4(child, &status, 0, &usage) != child || status != 0) return run;
  run.wall_us = (double)(wall_ns() - begin) / 1e3;
  run.cpu_us = us_of(usage.ru_utime) + us_of(usage.ru_stime);
  run.good = true;
  return run;
}

static struct run run_trivial(int place) {
  char *argv[] = {(char *)bench.self, "--trivial", (char *)directory_of(place), NULL};
  if (place == WITHOUT) argv[2] = NULL;
  return run_program(argv);
}

static struct run run_saros(int place) {
  char *argv[] = {(char *)bench.saros, "-e", "", NULL};
  setenv("SAROS_EVENTRING_START", place == WITHOUT ? "0" : "1", 1);
  if (place != WITHOUT) setenv("SAROS_EVENTRING_PREFIX", directory_of(place), 1);
  struct run run = run_program(argv);
  unsetenv("SAROS_EVENTRING_START");
  unsetenv("SAROS_EVENTRING_PREFIX");
  return run;
}

struct program {
  struct series wall[PLACES], cpu[PLACES];
};

static void report_program(const char *name, const struct program *program) {
  const struct series *wall = program->wall, *cpu = program->cpu;
  report(&(struct row){"us", NULL, NULL, NO_BAR, 0}, &wall[WITHOUT], "%s, not recorded", name);
  for (int place = ON_DISK; place < PLACES; place++) {
    if (!wall[place].count) continue;
    report(&(struct row){"us", NULL, &wall[WITHOUT], BAR_OVER, bars[place]}, &wall[place],
           "%s, recorded, %s", name, place_name(directory_of(place)));
    report(&(struct row){"us", NULL, &cpu[WITHOUT], NO_BAR, 0}, &cpu[place],
           "  processor time");
  }
}

/* Returns the i-th place of a round. Each place follows each other place equally often,
   because what runs after a file was written on the disk takes 50 us longer. */
static int place_at(int round, int i, int places) {
  return (round + (round / places % 2 ? places - i : i)) % places;
}

static void bench_program(const char *name, struct run (*run)(int place)) {
  struct program *program = calloc(1, sizeof *program);
  if (!program) exit(1);
  int places = bench.shm ? PLACES : ON_SHM;
  for (int round = -1; round < 20 * bench.rounds; round++)
    for (int i = 0; i < places; i++) {
      int place = place_at(round + 1, i, places);
      struct run took = run(place);
      if (round < 0 || !took.good) continue;
      sample(&program->wall[place], took.wall_us);
      sample(&program->cpu[place], took.cpu_us);
    }
  report_program(name, program);
  free(program);
}

void bench_starting(void) {
  table("Starting");
  bench_calls();
  bench_program("a C program that does nothing", run_trivial);
  if (bench.saros) bench_program("saros -e ''", run_saros);
}
