/* SPDX-License-Identifier: MIT */
/* What the profile of calls costs: an entry and an exit (<eventring/calls.h>) against two
 * bare readings of the clock, measured in turn. `pairs` twice is the A/A control; `2 lines`
 * is what any counter for each of 10,000 callees would cost: it depends on how much of the
 * nearest caches is this thread's. `min`: least time of all rounds by the least pair;
 * `median`: of the ratios to the pairs beside each.
 *
 *   profile_bench [ROUNDS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eventring/calls.h"
#include "eventring/probe.h"

enum { CALLS = 20000, MOST_ROUNDS = 1000, WIDE = 10000, CASES = 7 };

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

/* What the two lines of a node cost that is not in the nearest cache: two readings and, at
   each, an addition to a line at random. */
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

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    uint64_t (*run)(eventring_calls *);
  } cases[CASES] = {{"pairs (A/A)", pairs}, {"one callee", one}, {"8 nested", nest},
                    {"32 callees", few}, {"10,000 callees", wide},
               {"10,000 x 2 lines", touch}, {"pairs (A/A)", pairs}};
  static double ratio[CASES][MOST_ROUNDS];
  uint64_t least[CASES], least_pair = UINT64_MAX;
  int rounds = argc > 1 ? atoi(argv[1]) : 200;
  if (rounds < 1 || rounds > MOST_ROUNDS) return 2;
  eventring_calls *calls = eventring_calls_new((size_t)16 << 20);
  if (!calls) return 1;
  eventring_calls_start(calls, eventring_ticks());
  memset(least, 0xff, sizeof least);
  for (int r = 0; r < rounds; r++)
    for (int i = 0; i < CASES; i++) {
      uint64_t before = pairs(calls), took = cases[i].run(calls), after = pairs(calls);
      uint64_t pair = before < after ? before : after;
      ratio[i][r] = (double)took / (double)pair;
      if (pair < least_pair) least_pair = pair;
      if (took < least[i]) least[i] = took;
    }
  printf("two readings of the clock: %.1f ns; entry and exit, in such pairs:\n",
         (double)least_pair / CALLS * eventring_ns_per_tick());
  printf("  %-16s %7s %7s\n", "", "min", "median");
  for (int i = 0; i < CASES; i++) {
    qsort(ratio[i], (size_t)rounds, sizeof ratio[i][0], compare);
    printf("  %-16s %7.2f %7.2f\n", cases[i].name, (double)least[i] / (double)least_pair,
           ratio[i][rounds / 2]);
  }
  eventring_calls_free(calls);
  return 0;
}
