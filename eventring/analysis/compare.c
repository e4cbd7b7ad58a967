/* SPDX-License-Identifier: MIT */
/* compare.c: Welch's test of two samples. */
#include "analysis/compare.h"

#include <math.h>

/* Times and counts differ by this much (0.2 %) even where the runs show no noise. */
#define FLOOR 0.002

/* ---- Student's distribution -------------------------------------------------------- */

/* Returns the continued fraction of the incomplete beta function (Lentz's method). */
static double beta_fraction(double a, double b, double x) {
  const double tiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (fabs(d) < tiny ? tiny : d);
  double h = d;
  for (int m = 1; m <= 300; m++) {
    double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    for (int i = 0; i < 2; i++) {
      double step = i == 0 ? even : odd;
      d = 1 + step * d;
      d = 1 / (fabs(d) < tiny ? tiny : d);
      c = 1 + step / c;
      if (fabs(c) < tiny) c = tiny;
      h *= d * c;
      if (i == 1 && fabs(d * c - 1) < 1e-12) return h;
    }
  }
  return h;
}

static double incomplete_beta(double a, double b, double x) {
  if (!(x > 0)) return 0;
  if (x >= 1) return 1;
  double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* Returns the probability of a value at least as far from 0 as t. */
static double tails(double t, double freedom) {
  return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

/* Returns the t whose tails have the probability p. */
static double quantile(double p, double freedom) {
  double low = 0, high = 1;
  while (tails(high, freedom) > p && high < 1e6) high *= 2;
  for (int i = 0; i < 80; i++) {
    double middle = (low + high) / 2;
    if (tails(middle, freedom) > p) low = middle;
    else high = middle;
  }
  return high;
}

/* ---- Comparison -------------------------------------------------------------------- */

struct sample {
  double mean, variance; /* mean of the values, and the variance of this mean */
  size_t count;
};

static bool all_above_0(const double *values, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!(values[i] > 0)) return false;
  return true;
}

static struct sample sample_of(const double *values, size_t count, bool logarithms) {
  struct sample sample = {.count = count};
  for (size_t i = 0; i < count; i++)
    sample.mean += (logarithms ? log(values[i]) : values[i]) / (double)count;
  for (size_t i = 0; i < count && count > 1; i++) {
    double value = logarithms ? log(values[i]) : values[i];
    sample.variance += (value - sample.mean) * (value - sample.mean) / (double)(count - 1);
  }
  double least = FLOOR * (logarithms ? 1 : fabs(sample.mean));
  sample.variance = (sample.variance + least * least) / (double)count;
  return sample;
}

/* Returns the degrees of freedom of the difference (Welch and Satterthwaite). */
static double freedom_of(const struct sample *a, const struct sample *b) {
  double sum = a->variance + b->variance;
  double parts = a->variance * a->variance / (double)(a->count - 1) +
                 b->variance * b->variance / (double)(b->count - 1);
  return parts > 0 ? sum * sum / parts : (double)(a->count + b->count - 2);
}

static void test(struct eva_comparison *result, const struct sample *a, const struct sample *b,
                 bool logarithms) {
  double error = sqrt(a->variance + b->variance), difference = b->mean - a->mean;
  result->tested = true;
  result->p = error > 0 ? tails(difference / error, freedom_of(a, b)) : 1;
  if (!(error > 0)) return;
  double margin = quantile(0.05, freedom_of(a, b)) * error;
  double low = difference - margin, high = difference + margin;
  result->low = logarithms ? expm1(low) : result->a != 0 ? low / result->a : 0;
  result->high = logarithms ? expm1(high) : result->a != 0 ? high / result->a : 0;
}

/* Returns the mean. If all runs are equal, returns their value unchanged, because
   exp(log()) would round it. */
static double mean_of(const struct sample *sample, const double *values, bool logarithms) {
  for (size_t i = 1; i < sample->count; i++)
    if (values[i] != values[0]) return logarithms ? exp(sample->mean) : sample->mean;
  return values[0];
}

struct eva_comparison eva_compare(const double *a, size_t count_a, const double *b,
                                  size_t count_b) {
  bool logarithms = all_above_0(a, count_a) && all_above_0(b, count_b);
  struct sample sa = sample_of(a, count_a, logarithms), sb = sample_of(b, count_b, logarithms);
  struct eva_comparison result = {.p = 1};
  result.a = mean_of(&sa, a, logarithms);
  result.b = mean_of(&sb, b, logarithms);
  result.change = result.a == result.b ? 0 : result.b / result.a - 1;
  if (count_a >= EVA_LEAST_RUNS && count_b >= EVA_LEAST_RUNS)
    test(&result, &sa, &sb, logarithms);
  return result;
}

/* ---- At equal values of another figure --------------------------------------------- */

struct joint { /* statistics of the logarithms on one side */
  double x, y;          /* mean of the other figure, mean of the values */
  double xx, xy, yy;    /* sums of products of the deviations from the means */
};

static struct joint joint_of(const double *values, const double *by, size_t count) {
  struct joint j = {0};
  for (size_t i = 0; i < count; i++) {
    j.x += log(by[i]) / (double)count;
    j.y += log(values[i]) / (double)count;
  }
  for (size_t i = 0; i < count; i++) {
    double x = log(by[i]) - j.x, y = log(values[i]) - j.y;
    j.xx += x * x;
    j.xy += x * y;
    j.yy += y * y;
  }
  return j;
}

static void judge_adjusted(struct eva_comparison *result, double difference, double error,
                           double freedom) {
  double margin = quantile(0.05, freedom) * error;
  result->tested = true;
  result->p = tails(difference / error, freedom);
  result->low = expm1(difference - margin);
  result->high = expm1(difference + margin);
}

struct eva_comparison eva_compare_at_equal(const double *a, const double *by_a, size_t count_a,
                                           const double *b, const double *by_b, size_t count_b) {
  bool suits = count_a >= EVA_LEAST_RUNS && count_b >= EVA_LEAST_RUNS &&
               all_above_0(a, count_a) && all_above_0(b, count_b) &&
               all_above_0(by_a, count_a) && all_above_0(by_b, count_b);
  if (!suits) return eva_compare(a, count_a, b, count_b);
  struct joint ja = joint_of(a, by_a, count_a), jb = joint_of(b, by_b, count_b);
  double xx = ja.xx + jb.xx, xy = ja.xy + jb.xy, yy = ja.yy + jb.yy;
  double n = (double)(count_a + count_b), freedom = n - 3, apart = jb.x - ja.x;
  double slope = xx > 0 ? xy / xx : 0, rest = yy - slope * xy;
  double variance = (rest > 0 ? rest / freedom : 0) + FLOOR * FLOOR;
  double middle = (ja.x * (double)count_a + jb.x * (double)count_b) / n;
  double error = sqrt(variance * (1 / (double)count_a + 1 / (double)count_b +
                                  (xx > 0 ? apart * apart / xx : 0)));
  struct eva_comparison result = {.a = exp(ja.y - slope * (ja.x - middle)),
                                  .b = exp(jb.y - slope * (jb.x - middle))};
  result.change = result.b / result.a - 1;
  judge_adjusted(&result, jb.y - ja.y - slope * apart, error, freedom);
  return result;
}

/* ---- Verdicts ---------------------------------------------------------------------- */

/* Returns the tested comparison with the least p among those not decided yet; NULL:
   none. */
static struct eva_comparison *least_p(struct eva_comparison *list, size_t count) {
  struct eva_comparison *least = NULL;
  for (size_t i = 0; i < count; i++)
    if (list[i].tested && !list[i].changed && (!least || list[i].p < least->p))
      least = &list[i];
  return least;
}

void eva_compare_verdicts(struct eva_comparison *list, size_t count, double alpha) {
  size_t left = 0;
  for (size_t i = 0; i < count; i++) left += list[i].tested;
  for (struct eva_comparison *next; left > 0 && (next = least_p(list, count)); left--) {
    if (next->p > alpha / (double)left) break;
    next->changed = true;
  }
  for (size_t i = 0; i < count; i++)
    if (fabs(list[i].change) < EVA_LEAST_CHANGE) list[i].changed = false;
}
