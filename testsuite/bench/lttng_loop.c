/* SPDX-License-Identifier: MIT */
/* lttng_loop.c: the loop of an enabled span with LTTng-UST's tracepoints. It is started
 * by lttng.sh and controlled by children.c. Built only if lttng-ust is installed. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_provider.h"

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "eventring/probe.h"

enum { LOOPS = 16000 };
#define SEPARATE() __asm__ volatile("" ::: "memory")
#define KEEP(x) __asm__ volatile("" ::"r"(x))
#define LOOP __attribute__((noinline, aligned(64)))

static LOOP void empty(void) {
  for (int i = 0; i < LOOPS; i++) SEPARATE();
}

static LOOP void pair(void) {
  for (int i = 0; i < LOOPS; i++) {
    uint64_t begin = eventring_ticks();
    KEEP(begin);
    SEPARATE();
    uint64_t end = eventring_ticks();
    KEEP(end);
    SEPARATE();
  }
}

static LOOP void span(void) {
  for (int i = 0; i < LOOPS; i++) {
    lttng_ust_tracepoint(saros_bench, span_begin);
    SEPARATE();
    lttng_ust_tracepoint(saros_bench, span_end);
    SEPARATE();
  }
}

static LOOP void disabled(void) {
  for (int i = 0; i < LOOPS; i++) {
    lttng_ust_tracepoint(saros_bench, not_enabled);
    SEPARATE();
    lttng_ust_tracepoint(saros_bench, not_enabled);
    SEPARATE();
  }
}

static double cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void run(const char *name, void (*loop)(void)) {
  double start = cpu_ns();
  loop();
  printf("%s %.3f\n", name, (cpu_ns() - start) / LOOPS);
}

int main(void) {
  char line[64];
  while (fgets(line, sizeof line, stdin)) {
    run("empty loop", empty);
    run("pair of bare clock reads", pair);
    run("enabled span (two tracepoints)", span);
    run("disabled span (two tracepoints)", disabled);
    puts(".");
    fflush(stdout);
  }
  return 0;
}
