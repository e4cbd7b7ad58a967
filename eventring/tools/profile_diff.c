/* SPDX-License-Identifier: MIT */
/* profile_diff.c: finds what changed between profiles of calls, and which changes are
 * noise.
 *
 * With EVA_LEAST_RUNS runs per side or more, the own times of functions are compared
 * (diff_rows.h). With fewer, it is not known how much runs vary. Then the own time of a
 * call is compared. Its mean is exact, and its spread comes from the histogram of
 * durations. Calls are taken for independent, which is optimistic, so a change must also
 * be at least a tenth. */
#include "profile_diff.h"

#include <math.h>
#include <stdio.h>

#include "analysis/call_rows.h"
#include "analysis/figures.h"
#include "diff_rows.h"
#include "reader.h"
#include "sample_diff.h"

#define FEW_CHANGE 0.1

/* ---- Reading ------------------------------------------------------------------ */

/* Returns the square of the coefficient of variation of the durations, from the buckets'
   middles. */
static double spread_of(const struct eva_call_row *row) {
  double n = 0, sum = 0, squares = 0;
  for (unsigned i = 0; i < EVENTRING_CALLS_BUCKETS; i++) {
    double middle = (i ? 1.5 * ldexp(1, (int)i - 1) : 0.5) * (1 << EVENTRING_CALLS_FIRST);
    n += row->histogram[i];
    sum += row->histogram[i] * middle;
    squares += row->histogram[i] * middle * middle;
  }
  if (n < 2 || !(sum > 0)) return 0;
  double variance = squares / n - sum / n * (sum / n);
  /* the last term is for durations within a bucket, which covers a factor of two */
  return (variance > 0 ? variance : 0) / (sum / n * (sum / n)) + 1.0 / 27;
}

static int read_run(struct diff_rows *d, const char *path, size_t run) {
  struct reader reader;
  struct eventring_profiles profiles;
  struct eventring_error error;
  struct eva_call_rows rows;
  int status = reader_open_target(&reader, path, EVENTRING_OPEN_FOLLOW);
  if (!goes_on(status)) return status;
  if (eventring_cursor_profiles(reader.cursor, &profiles, &error) < 0) {
    complain("%s", error.text);
    return reader_close(&reader, STATUS_WRONG);
  }
  if (profiles.count == 0) {
    complain("%s: no profile of calls in this recording", path);
    return reader_close(&reader, STATUS_WRONG);
  }
  if (eva_call_rows_make(&rows, &profiles, EVA_BY_FUNCTION, -1) != EVENTRING_OK) no_memory();
  for (size_t i = 0; i < rows.count; i++) {
    const struct eventring_calls_function *f = rows.list[i].function;
    struct diff_row *row = diff_rows_add(d, f->name, f->source, f->line);
    row->own[run] += (double)rows.list[i].exclusive;
    row->calls[run % 2] += (double)rows.list[i].count;
    row->spread[run % 2] += (double)rows.list[i].count * spread_of(&rows.list[i]);
  }
  d->total[run] = (double)rows.total;
  eva_call_rows_free(&rows);
  eventring_profiles_free(&profiles);
  return reader_close(&reader, STATUS_OK) == STATUS_OK ? STATUS_GO_ON : STATUS_WRONG;
}

/* ---- Comparing ---------------------------------------------------------------- */

/* Returns the mean over the runs of a side. */
static double mean_of(const struct diff_rows *d, const double *of_runs, size_t side) {
  return diff_rows_sum(d, of_runs, side) / ((double)d->runs / 2);
}

static double own_of_run(const struct diff_rows *d, const struct diff_row *row, size_t run) {
  (void)d;
  return row->own[run];
}

/* Returns the own time of a call. */
static double per_call(const struct diff_rows *d, const struct diff_row *row, size_t side) {
  double calls = row->calls[side];
  return calls > 0 ? diff_rows_sum(d, row->own, side) / calls : 0;
}

static void compare_calls(const struct diff_rows *d, struct diff_row *row) {
  double mean[2], error = 0;
  struct eva_comparison *c = &row->comparison;
  row->moved = mean_of(d, row->own, 1) - mean_of(d, row->own, 0);
  *c = (struct eva_comparison){.p = 1};
  for (size_t side = 0; side < 2; side++) {
    double calls = row->calls[side];
    if (!(calls > 1)) return;
    mean[side] = per_call(d, row, side);
    error += mean[side] * mean[side] * (row->spread[side] / calls) / calls;
  }
  c->a = mean[0];
  c->b = mean[1];
  c->change = mean[0] > 0 ? mean[1] / mean[0] - 1 : 0;
  c->tested = error > 0;
  if (c->tested) c->p = erfc(fabs(mean[1] - mean[0]) / sqrt(2 * error));
}

static bool matters(const struct diff_row *row, bool few) {
  return !few || fabs(row->comparison.change) >= FEW_CHANGE;
}

/* ---- Output ------------------------------------------------------------------- */

static void print_heading(const struct diff_rows *d) {
  printf("time in A %s, in B %s, %zu %s a side\n", eva_duration((uint64_t)mean_of(d, d->total, 0)),
         eva_duration((uint64_t)mean_of(d, d->total, 1)), d->runs / 2, d->runs == 2 ? "run" :
         "runs");
}

static const char *change_text(const struct diff_row *row, char text[static 64]) {
  snprintf(text, 64, "%+.1f %%", 100 * row->comparison.change);
  return text;
}

VIEW_GETTER(time_of_side, struct diff_rows) {
  return view_double(mean_of(row, row->total, column->argument));
}
VIEW_GETTER(own, struct diff_row) {
  return view_double(mean_of(to->context, row->own, column->argument));
}
VIEW_GETTER(a_call, struct diff_row) {
  return view_double(per_call(to->context, row, column->argument));
}
VIEW_GETTER(calls, struct diff_row) {
  const struct diff_rows *d = to->context;
  return view_double(row->calls[column->argument] / ((double)d->runs / 2));
}

#define OF_SIDE(getter, side) VIEW_GET(DOUBLE, getter), .argument = side
static VIEW(row_view, struct diff_row,
    {.form = VIEW_INCLUDE, .view = &diff_site_view},
    {"a_exclusive_ns", "own A", VIEW_NS, OF_SIDE(own, 0), .flags = VIEW_DASH_0},
    {"b_exclusive_ns", "own B", VIEW_NS, OF_SIDE(own, 1), .flags = VIEW_DASH_0},
    {"a_count", NULL, VIEW_COUNT, OF_SIDE(calls, 0)},
    {"b_count", NULL, VIEW_COUNT, OF_SIDE(calls, 1)},
    {NULL, "a call A", VIEW_NS, OF_SIDE(a_call, 0), .flags = VIEW_DASH_0},
    {NULL, "a call B", VIEW_NS, OF_SIDE(a_call, 1), .flags = VIEW_DASH_0},
    {"change", NULL, VIEW_CHANGE, ROW(comparison.change), .help = "of a call's own time"},
    {.form = VIEW_INCLUDE, .view = &diff_verdict_view})

static VIEW(total_view, struct diff_rows,
    {.form = VIEW_INCLUDE, .view = &diff_runs_view},
    {"a_ns", NULL, VIEW_NS, OF_SIDE(time_of_side, 0)},
    {"b_ns", NULL, VIEW_NS, OF_SIDE(time_of_side, 1)})

VIEW_WITH(call_diff_view, struct diff_rows, (.other = &sample_diff_view),
    {"total", .form = VIEW_OBJECT, .view = &total_view},
    {"rows", .form = VIEW_ROWS, .view = &row_view, .rows = diff_rows_put, .flags = VIEW_MAIN})

static const struct diff_kind kind = {
    .value = own_of_run, .compare = compare_calls, .matters = matters, .heading = print_heading,
    .has_counts = true,
    .few = "Counts are exact: `calls' is where they differ. The own time of a call is compared\n"
           "within the runs: `few runs' is where it differs by a tenth, and p is small.",
    .verdict = change_text, .answer = &call_diff_view, .rows = &row_view};

/* Tells which kind all files have: 1 for samples, 0 for calls, -1 after a message. */
static int is_of_samples(char **paths, size_t count) {
  bool first = sample_diff_knows(paths[0]);
  for (size_t i = 1; i < count; i++)
    if (sample_diff_knows(paths[i]) != first) {
      complain("%s: profiles of calls and of samples are not compared", paths[i]);
      return -1;
    }
  return first;
}

int profile_diff(const struct profile_diff *options, char **paths, size_t count) {
  const int samples = is_of_samples(paths, count);
  if (samples != 0) return samples < 0 ? STATUS_WRONG : sample_diff(options, paths, count);
  return diff_rows(&kind, options, read_run, paths, count);
}
