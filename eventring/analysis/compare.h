/* SPDX-License-Identifier: MIT */
/* compare.h: tells whether the values of two groups of runs differ by more than noise.
 *
 * Runs differ by factors, so Welch's test compares the logarithms of the values (the
 * values themselves, if one is not above 0). To know the noise takes EVA_LEAST_RUNS runs
 * a side. A caller that tests many values at once finds some changes by chance:
 * eva_compare_verdicts corrects for that by Holm's method, and ignores changes of less
 * than EVA_LEAST_CHANGE.
 *
 * Errors: none. Pure functions; any thread.
 */
#ifndef EVENTRING_ANALYSIS_COMPARE_H
#define EVENTRING_ANALYSIS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

enum { EVA_LEAST_RUNS = 3 };
#define EVA_LEAST_CHANGE 0.02

struct eva_comparison {
  double a, b;      /* means of the sides: geometric, if all values are above 0 */
  double change;    /* b / a - 1; infinite where a is 0 and b is not */
  bool tested;      /* there were enough runs; else the fields below are 0, and p is 1 */
  double low, high; /* bounds of `change`, with 95 % confidence */
  double p;         /* probability of a difference as large as this one without a
                       change */
  bool changed;     /* set by eva_compare_verdicts */
};

/* Compares `count_a` values, 1 or more, with `count_b`, 1 or more. */
struct eva_comparison eva_compare(const double *a, size_t count_a, const double *b,
                                  size_t count_b);
/* Compares values that depend on another figure of the same runs (`by_a`, `by_b`, all
   above 0), such as the speed of the machine. The values are corrected to what they would
   be if the other figure had its mean in all runs. The dependence is estimated from the
   runs (analysis of covariance, of logarithms). With fewer than EVA_LEAST_RUNS runs a
   side, or values not above 0, the values are compared as they are. */
struct eva_comparison eva_compare_at_equal(const double *a, const double *by_a, size_t count_a,
                                           const double *b, const double *by_b, size_t count_b);
/* Marks the comparisons that show a change (`changed`). The probability that one of them
   is marked without a change is at most `alpha`. */
void eva_compare_verdicts(struct eva_comparison *list, size_t count, double alpha);

#endif
