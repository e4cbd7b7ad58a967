/* SPDX-License-Identifier: MIT */
/* profile_bench.c: what the profile of calls costs: an entry and an exit
 * (<eventring/calls.h>) compared with two bare readings of the clock, measured in turn.
 * `pairs`, measured twice, is the A/A control. `2 lines` is what any counter for each of
 * 10,000 callees would cost; this cost depends on how much of the nearest caches this
 * thread has. `min` is the least time of all rounds divided by the least pair; `median`
 * is the median of the ratios to the adjacent pairs, with its 95 % interval.
 *
 * The cases of the first table evict each other's memory from the caches. In the second
 * table each case runs once before it is measured: callees at random and, for comparison,
 * as many lines, with an addition to one of them at each reading.
 *
 *   profile_bench [ROUNDS]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eventring/calls.h"
#include "eventring/probe.h"

enum { CALLS = 20000, MOST_ROUNDS = 1000, WIDE = 10000, CASES = 7, WIDTHS = 8 };

static volatile uint64_t sink;

static uint64_t pairs(eventring_calls *c) {
  (void)c;
  uint64_t begin = eventring_ticks();
  for (int i = 0; i < CALLS; i++) {
    sink = eventring_ticks();
    sink = eventring_ticks();
  }
  return eventring_ticks() - begin;
}

/* The cost of the two lines of a node that are not in the nearest cache: two readings
   and, at each, an addition to a random line. */
static struct lines {
  uint64_t first[8], second[8];
} __attribute__((aligned(128))) lines[WIDE];

static uint64_t touch(eventring_calls *c) {
  static uint64_t state = 1;
  (void)c;
  uint64_t begin = eventring_ticks();
  for (int i = 0; i < CALLS; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    struct lines *at = &lines[(state >> 40) % WIDE];
    at->first[0] += eventring_ticks();
    at->second[0] += eventring_ticks();
  }
  return eventring_ticks() - begin;
}

static inline void call(eventring_calls *c, uint64_t id) {
  eventring_calls_enter(c, id, eventring_ticks());
  eventring_calls_leave(c, eventring_ticks());
}

static uint64_t one(eventring_calls *c) {
  uint64_t begin = eventring_ticks();
  for (int i = 0; i < CALLS; i++) call(c, 1);
  return eventring_ticks() - begin;
}

static uint64_t nest(eventring_calls *c) {
  uint64_t begin = eventring_ticks();
  for (int i = 0; i < CALLS / 8; i++) {
    for (uint64_t k = 1; k <= 8; k++) eventring_calls_enter(c, k, eventring_ticks());
    for (uint64_t k = 1; k <= 8; k++) eventring_calls_leave(c, eventring_ticks());
  }
  return eventring_ticks() - begin;
}

static uint64_t turns(eventring_calls *c, uint64_t callees) {
  static uint64_t state = 1;
  uint64_t begin = eventring_ticks();
  for (int i = 0; i < CALLS; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    call(c, 100 + (state >> 40) % callees);
  }
  return eventring_ticks() - begin;
}
static uint64_t few(eventring_calls *c) { return turns(c, 32); }
static uint64_t wide(eventring_calls *c) { return turns(c, WIDE); }

/* ---- by number of callees ------------------------------------------------ */

static uint32_t sequence[CALLS];

static void draw(uint32_t callees) {
  static uint64_t state = 1;
  for (int i = 0; i < CALLS; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    sequence[i] = (uint32_t)((state >> 40) % callees);
  }
}

static uint64_t drawn(eventring_calls *c) {
  uint64_t begin = eventring_ticks();
  for (int i = 0; i < CALLS; i++) call(c, sequence[i]);
  return eventring_ticks() - begin;
}

static uint64_t drawn_line(eventring_calls *c) {
  (void)c;
  uint64_t begin = eventring_ticks();
  for (int i = 0; i < CALLS; i++) {
    struct lines *at = &lines[sequence[i]];
    at->first[0] += eventring_ticks();
    at->first[1] += eventring_ticks();
  }
  return eventring_ticks() - begin;
}

/* ---- measuring ----------------------------------------------------------- */

/* The figures of one case, round by round. */
struct figures {
  uint64_t least, least_pair;
  double ratio[MOST_ROUNDS];
  int rounds;
};

static void measure(struct figures *f, uint64_t (*run)(eventring_calls *), eventring_calls *c,
                    bool warm) {
  if (f->rounds == 0) f->least = f->least_pair = UINT64_MAX;
  uint64_t before = pairs(c);
  if (warm) run(c);
  uint64_t took = run(c), after = pairs(c), pair = before < after ? before : after;
  f->ratio[f->rounds++] = (double)took / (double)pair;
  if (pair < f->least_pair) f->least_pair = pair;
  if (took < f->least) f->least = took;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Prints figures. Two order statistics enclose the 95 % interval of the median. */
static void print(struct figures *f, uint64_t least_pair) {
  const int n = f->rounds;
  int reach = 0;
  while (reach * reach < n) reach++; /* 1.96 * sqrt(n) / 2, rounded up */
  const int low = n / 2 - reach > 0 ? n / 2 - reach : 0;
  const int high = n / 2 + reach < n - 1 ? n / 2 + reach : n - 1;
  qsort(f->ratio, (size_t)n, sizeof f->ratio[0], compare);
  printf(" %6.2f %7.2f (%.2f..%.2f)", (double)f->least / (double)least_pair, f->ratio[n / 2],
         f->ratio[low], f->ratio[high]);
}

static uint64_t measure_cases(eventring_calls *calls, int rounds) {
  static const struct {
    const char *name;
    uint64_t (*run)(eventring_calls *);
  } cases[CASES] = {{"pairs (A/A)", pairs}, {"one callee", one}, {"8 nested", nest},
                    {"32 callees", few}, {"10,000 callees", wide},
                    {"10,000 x 2 lines", touch}, {"pairs (A/A)", pairs}};
  static struct figures figures[CASES];
  uint64_t pair = UINT64_MAX;
  for (int r = 0; r < rounds; r++)
    for (int i = 0; i < CASES; i++) measure(&figures[i], cases[i].run, calls, false);
  for (int i = 0; i < CASES; i++)
    if (figures[i].least_pair < pair) pair = figures[i].least_pair;
  printf("two readings of the clock: %.1f ns; entry and exit, in such pairs:\n",
         (double)pair / CALLS * eventring_ns_per_tick());
  printf("  %-16s %7s %7s\n", "", "min", "median");
  for (int i = 0; i < CASES; i++) {
    printf("  %-16s", cases[i].name);
    print(&figures[i], pair);
    printf("\n");
  }
  return pair;
}

static void measure_widths(int rounds, uint64_t pair) {
  static const uint32_t widths[WIDTHS] = {1, 8, 32, 64, 128, 512, 4000, WIDE};
  printf("callees at random, warm:     entry and exit     two readings, one line\n");
  for (int w = 0; w < WIDTHS; w++) {
    static struct figures tries, floors;
    eventring_calls *calls = eventring_calls_new((size_t)16 << 20);
    if (!calls) exit(1);
    eventring_calls_start(calls, eventring_ticks());
    tries.rounds = floors.rounds = 0;
    for (int r = 0; r < rounds; r++) {
      draw(widths[w]);
      measure(&tries, drawn, calls, true);
      measure(&floors, drawn_line, calls, true);
    }
    printf("  %-16u", widths[w]);
    print(&tries, pair);
    printf("   ");
    print(&floors, pair);
    printf("\n");
    eventring_calls_free(calls);
  }
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 200;
  if (rounds < 1 || rounds > MOST_ROUNDS) return 2;
  eventring_calls *calls = eventring_calls_new((size_t)16 << 20);
  if (!calls) return 1;
  eventring_calls_start(calls, eventring_ticks());
  uint64_t pair = measure_cases(calls, rounds);
  eventring_calls_free(calls);
  measure_widths(rounds, pair);
  return 0;
}
