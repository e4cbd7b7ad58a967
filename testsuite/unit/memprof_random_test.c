/* SPDX-License-Identifier: MIT */
/* memprof_random_test.c: the distances between samples are geometric. Rate and
 * probability of each distance are checked within 5.7 standard deviations, from random
 * seeds. The number of samples in a large block is binomial, whichever way it is
 * drawn. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "cases.h"
#include "memprof_internal.h"

#define SIGMAS 5.7
#define WORDS 1000000

static uint64_t seed;
static const Heap nothing_asked = {.sample_elsewhere_at = SAMPLE_NEVER,
                                   .elsewhere_left = INT64_MAX};

static void check(const char *what, double rate, double got, double mean, double variance) {
  if (fabs(got - mean) <= SIGMAS * sqrt(variance) + 1) return;
  fail_msg("%s at %g: %g instead of %g, seed %llu", what, rate, got, mean,
           (unsigned long long)seed);
}

static void test_distances(void **state) {
  static const double rates[] = {.01, .13, .42, .73, 1};
  for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
    double rate = rates[r], samples = 0, threes = 0, p = rate * pow(1 - rate, 3);
    MemprofStream s;
    stream_seed(&s, seed + r);
    stream_start(&s, rate, &nothing_asked);
    uint64_t last = UINT64_MAX;
    while (s.at[METER_CURSOR] < 8 * (uint64_t)WORDS) {
      uint64_t at = s.at[METER_CURSOR];
      assert_int_equal(at % 8, 0);
      if (last != UINT64_MAX && at - last == 8 * 4) threes++;
      assert_int_equal(stream_take(&s, METER_CURSOR, at + 8), 1);
      assert_true(s.at[METER_CURSOR] > at);
      last = at;
      samples++;
    }
    check("samples", rate, samples, WORDS * rate, WORDS * rate * (1 - rate));
    check("distances of 3", rate, threes, samples * p, samples * p * (1 - p));
  }
}

/* Checks each distance of at least n words: near distances, and far distances, which are
   drawn in another way. */
static void test_far_distances(void **state) {
  static const unsigned least[] = {1, 2, 10, 50, 100, 300, 700, 765, 767, 800, 900};
  enum { RATES = 2, LEAST = sizeof least / sizeof least[0], DRAWS = 2000000 };
  static const double rates[RATES] = {.01, .003};
  for (int r = 0; r < RATES; r++) {
    double found[LEAST] = {0};
    MemprofStream s;
    stream_seed(&s, seed + 50 + (uint64_t)r);
    stream_start(&s, rates[r], &nothing_asked);
    for (int n = 0; n < DRAWS; n++) {
      uint64_t at = s.at[METER_CURSOR];
      stream_take(&s, METER_CURSOR, at + 8);
      for (int i = 0; i < LEAST && s.at[METER_CURSOR] - at > 8 * (uint64_t)least[i]; i++)
        found[i]++;
    }
    for (int i = 0; i < LEAST; i++) {
      double p = pow(1 - rates[r], least[i]);
      check("far distances", rates[r], found[i], DRAWS * p, DRAWS * p * (1 - p));
    }
  }
}

/* Checks blocks with so many samples that their number is drawn at once, and with
   fewer. */
static void test_large_blocks(void **state) {
  static const uint64_t sizes[] = {1000, 100000, 1000000, 100000000};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    double rate = .3, samples = 0, words = 0;
    MemprofStream s;
    stream_seed(&s, seed + 100 + i);
    stream_start(&s, rate, &nothing_asked);
    for (uint64_t end = 0, n = 0; n < 5; n++) {
      end += 8 * sizes[i];
      words += (double)sizes[i];
      if (s.at[METER_ELSEWHERE] < end)
        samples += (double)stream_take(&s, METER_ELSEWHERE, end);
      assert_true(s.at[METER_ELSEWHERE] >= end);
    }
    check("samples of large blocks", rate, samples, words * rate, words * rate * (1 - rate));
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(test_distances),
                                            cmocka_unit_test(test_far_distances),
                                            cmocka_unit_test(test_large_blocks)};
  const char *given = getenv("MEMPROF_SEED");
  if (given != NULL) seed = strtoull(given, NULL, 0);
  else if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) return 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
