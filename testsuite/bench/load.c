/* SPDX-License-Identifier: MIT */
/* load.c: a program that records at a known rate, for benchmarks of its readers.
 *
 *   load [--threads=N] [--rate=EVENTS] [--seconds=S]
 *
 * Each of N threads (1) writes spans into its user ring: EVENTS a second, begins and
 * ends, in bursts twice a millisecond; with 0, as fast as it can. After S seconds (10) it
 * prints a line of JSON: events of each thread, and for all threads the time on a
 * processor, how often threads were taken off a processor, and wall time.
 * SAROS_EVENTRING_* says where it records.
 *
 * A thread that was kept off its processor for longer than a few bursts does not make up
 * for the bursts. Otherwise it would fill a ring at full speed instead of the requested
 * rate. */
#include "bench.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { BURST_NS = 500 * 1000, MOST_BEHIND = 4 /* bursts */, MOST_THREADS = 64 };

static unsigned threads = 1, seconds = 10;
static uint64_t rate;
static unsigned span;

struct load {
  pthread_t thread;
  uint64_t events, cpu_ns, involuntary;
};

static void die(const struct eventring_error *error) {
  fprintf(stderr, "load: %s\n", error->text);
  exit(1);
}

static uint64_t now_of(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void write_spans(eventring_domain *d, uint64_t spans) {
  for (uint64_t i = 0; i < spans; i++) {
    eventring_user_begin(d, span);
    eventring_user_end(d, span);
  }
}

static void wait_until(uint64_t ns) {
  struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static void write_paced(eventring_domain *d, struct load *load, uint64_t end) {
  uint64_t burst = rate * BURST_NS / 1000000000 / 2, next = now_of(CLOCK_MONOTONIC);
  for (uint64_t now = next; now < end; now = now_of(CLOCK_MONOTONIC)) {
    write_spans(d, burst);
    load->events += 2 * burst;
    next += BURST_NS;
    if (now > next + MOST_BEHIND * BURST_NS) next = now;
    wait_until(next);
  }
}

static void write_at_full_speed(eventring_domain *d, struct load *load, uint64_t end) {
  while (now_of(CLOCK_MONOTONIC) < end) {
    write_spans(d, 10000);
    load->events += 20000;
  }
}

static void *run(void *context) {
  struct load *load = context;
  struct eventring_error error = {0};
  struct rusage usage;
  eventring_domain *d = eventring_domain_start("load", &error);
  if (error.code) die(&error);
  uint64_t end = now_of(CLOCK_MONOTONIC) + seconds * 1000000000ull;
  if (rate) write_paced(d, load, end);
  else write_at_full_speed(d, load, end);
  eventring_domain_stop(d);
  load->cpu_ns = now_of(CLOCK_THREAD_CPUTIME_ID);
  if (getrusage(RUSAGE_THREAD, &usage) == 0) load->involuntary = (uint64_t)usage.ru_nivcsw;
  return NULL;
}

static void usage(void) {
  fprintf(stderr, "usage: load [--threads=1 to 64] [--rate=EVENTS] [--seconds=S]\n");
  exit(2);
}

static void read_words(int count, char **words) {
  for (int i = 1; i < count; i++)
    if (sscanf(words[i], "--threads=%u", &threads) != 1 &&
        sscanf(words[i], "--rate=%lu", &rate) != 1 &&
        sscanf(words[i], "--seconds=%u", &seconds) != 1)
      usage();
  if (threads < 1 || threads > MOST_THREADS) usage();
}

static void print(const struct load *load, uint64_t wall_ns) {
  uint64_t cpu = 0, involuntary = 0;
  printf("{\"events\":[");
  for (unsigned i = 0; i < threads; i++) {
    printf("%s%lu", i ? "," : "", load[i].events);
    cpu += load[i].cpu_ns;
    involuntary += load[i].involuntary;
  }
  printf("],\"cpu_ns\":%lu,\"involuntary\":%lu,\"wall_ns\":%lu}\n", cpu, involuntary, wall_ns);
}

static void start(void) {
  struct eventring_config config;
  struct eventring_error error;
  eventring_config_init(&config);
  int id = eventring_register_user(EVENTRING_DEF_SPAN, "work", 4, EVENTRING_NONE, &error);
  if (id < 0) die(&error);
  span = (unsigned)id;
  if (eventring_config_from_env(&config, "SAROS_EVENTRING", &error) < 0 ||
      eventring_start(&config, &error) < 0)
    die(&error);
}

int main(int count, char **words) {
  static struct load load[MOST_THREADS];
  read_words(count, words);
  start();
  uint64_t began = now_of(CLOCK_MONOTONIC);
  for (unsigned i = 0; i < threads; i++)
    if (pthread_create(&load[i].thread, NULL, run, &load[i]) != 0) abort();
  for (unsigned i = 0; i < threads; i++) pthread_join(load[i].thread, NULL);
  print(load, now_of(CLOCK_MONOTONIC) - began);
  eventring_stop();
  return 0;
}
