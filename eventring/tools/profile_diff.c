/* SPDX-License-Identifier: MIT */
/* profile_diff.c: what changed between profiles of calls, and what of it is noise.
 *
 * Functions are matched by name, source and line. With EVA_LEAST_RUNS runs a side or more,
 * their own times are compared by Welch's test, as the figures of `diff` are (analysis/compare.h).
 * With fewer, nothing says how much runs differ. Then the own time of a call is compared: its
 * mean is exact, its spread is taken from the histogram of durations, and calls are taken for
 * independent, which is optimistic. So a change must be of a tenth as well. Of all functions
 * together one is found by chance in 20 comparisons at most (Holm). */
#include "profile_diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/call_rows.h"
#include "analysis/compare.h"
#include "analysis/json.h"
#include "analysis/units.h"
#include "follow.h"
#include "sample_diff.h"
#include "text_table.h"

#define ALPHA 0.05
#define FEW_CHANGE 0.1

struct diff_row {
  char *name, *source;
  uint32_t line;
  double *own;     /* of each run, ns; 0: it was not called */
  double calls[2]; /* of all runs of a side */
  double spread[2]; /* variance of a call's duration over the square of its mean, times calls */
  struct eva_comparison comparison;
};

struct diff {
  struct diff_row *rows;
  size_t count, room, runs;
  double total[2];
};

/* ---- Reading ---------------------------------------------------------------------------- */

static struct diff_row *add_row(struct diff *d, const struct eventring_calls_function *f) {
  if (d->count == d->room) {
    d->room = d->room ? 2 * d->room : 64;
    d->rows = need_resized(d->rows, d->room, sizeof *d->rows);
  }
  struct diff_row *row = &d->rows[d->count++];
  *row = (struct diff_row){.name = need_copy(f->name), .source = need_copy(f->source),
                           .line = f->line, .own = need_zeroed(d->runs, sizeof *row->own)};
  return row;
}

static void free_row(struct diff_row *row) {
  free(row->name);
  free(row->source);
  free(row->own);
}

static int by_name(const void *left, const void *right) {
  const struct diff_row *a = left, *b = right;
  int order = strcmp(a->name, b->name);
  if (!order) order = strcmp(a->source, b->source);
  return order ? order : (a->line > b->line) - (a->line < b->line);
}

/* Rows of the same function, one a run, become one. */
static void match(struct diff *d) {
  size_t kept = 0;
  if (d->count) qsort(d->rows, d->count, sizeof *d->rows, by_name);
  for (size_t i = 0; i < d->count; i++) {
    struct diff_row *to = kept ? &d->rows[kept - 1] : NULL, *from = &d->rows[i];
    if (!to || by_name(to, from) != 0) {
      d->rows[kept++] = *from;
      continue;
    }
    for (size_t run = 0; run < d->runs; run++) to->own[run] += from->own[run];
    for (size_t side = 0; side < 2; side++) {
      to->calls[side] += from->calls[side];
      to->spread[side] += from->spread[side];
    }
    free_row(from);
  }
  d->count = kept;
}

/* The square of the coefficient of variation of the durations, from the buckets' middles. */
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
  /* within a bucket, too: durations are spread over a factor of two */
  return (variance > 0 ? variance : 0) / (sum / n * (sum / n)) + 1.0 / 27;
}

static int read_run(struct diff *d, const char *path, size_t run) {
  struct reader reader;
  struct eventring_profiles profiles;
  struct eventring_error error;
  struct eva_call_rows rows;
  int status = reader_open_target(&reader, path, EVENTRING_OPEN_FOLLOW);
  if (status >= 0) return status;
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
    struct diff_row *row = add_row(d, rows.list[i].function);
    row->own[run] += (double)rows.list[i].exclusive;
    row->calls[run % 2] += (double)rows.list[i].count;
    row->spread[run % 2] += (double)rows.list[i].count * spread_of(&rows.list[i]);
  }
  d->total[run % 2] += (double)rows.total;
  eva_call_rows_free(&rows);
  eventring_profiles_free(&profiles);
  return reader_close(&reader, STATUS_OK) == STATUS_OK ? -1 : STATUS_WRONG;
}

/* ---- Comparing -------------------------------------------------------------------------- */

static double own_of(const struct diff *d, const struct diff_row *row, size_t side) {
  double sum = 0;
  for (size_t i = side; i < d->runs; i += 2) sum += row->own[i];
  return sum / (double)(d->runs / 2);
}

static void compare_runs(const struct diff *d, struct diff_row *row, double *a, double *b) {
  for (size_t i = 0; i < d->runs; i++) (i % 2 ? b : a)[i / 2] = row->own[i];
  row->comparison = eva_compare(a, d->runs / 2, b, d->runs / 2);
}

/* The own time of a call. */
static void compare_calls(const struct diff *d, struct diff_row *row) {
  double half = (double)d->runs / 2, mean[2], error = 0;
  struct eva_comparison *c = &row->comparison;
  *c = (struct eva_comparison){.p = 1};
  for (size_t side = 0; side < 2; side++) {
    double calls = row->calls[side];
    if (!(calls > 1)) return;
    mean[side] = own_of(d, row, side) * half / calls;
    error += mean[side] * mean[side] * (row->spread[side] / calls) / calls;
  }
  c->a = mean[0];
  c->b = mean[1];
  c->change = mean[0] > 0 ? mean[1] / mean[0] - 1 : 0;
  c->tested = error > 0;
  if (c->tested) c->p = erfc(fabs(mean[1] - mean[0]) / sqrt(2 * error));
}

static void compare(struct diff *d) {
  size_t half = d->runs / 2;
  bool few = half < EVA_LEAST_RUNS;
  struct eva_comparison *list = need_zeroed(d->count, sizeof *list);
  double *a = need_zeroed(half, sizeof *a), *b = need_zeroed(half, sizeof *b);
  for (size_t i = 0; i < d->count; i++) {
    if (few) compare_calls(d, &d->rows[i]);
    else compare_runs(d, &d->rows[i], a, b);
    list[i] = d->rows[i].comparison;
  }
  eva_compare_verdicts(list, d->count, ALPHA);
  for (size_t i = 0; i < d->count; i++) {
    d->rows[i].comparison = list[i];
    if (few && fabs(list[i].change) < FEW_CHANGE) d->rows[i].comparison.changed = false;
  }
  free(a);
  free(b);
  free(list);
}

static const struct diff *sorting;

static int by_change(const void *left, const void *right) {
  const struct diff_row *a = left, *b = right;
  if (a->comparison.changed != b->comparison.changed) return a->comparison.changed ? -1 : 1;
  double x = fabs(own_of(sorting, a, 1) - own_of(sorting, a, 0));
  double y = fabs(own_of(sorting, b, 1) - own_of(sorting, b, 0));
  return (x < y) - (x > y);
}

/* ---- Output ----------------------------------------------------------------------------- */

static void cell_ns(struct table *table, double ns) {
  char figure[EVA_FIGURE];
  table_cell(table, ns > 0 ? eva_duration_text(figure, (uint64_t)(ns + 0.5)) : "-");
}

static double per_call(const struct diff *d, const struct diff_row *row, size_t side) {
  double calls = row->calls[side];
  return calls > 0 ? own_of(d, row, side) * ((double)d->runs / 2) / calls : 0;
}

static void print_text(const struct diff *d, uint64_t top) {
  size_t half = d->runs / 2, shown = 0;
  char a[EVA_FIGURE], b[EVA_FIGURE], text[64];
  printf("time in A %s, in B %s, %zu %s a side\n",
         eva_duration_text(a, (uint64_t)(d->total[0] / (double)half)),
         eva_duration_text(b, (uint64_t)(d->total[1] / (double)half)), half,
         half == 1 ? "run" : "runs");
  if (half < EVA_LEAST_RUNS)
    printf("Too few runs to tell change from noise: it takes %d a side. So the own time of a call "
           "is\ncompared within the runs, and must differ by a tenth.\n", EVA_LEAST_RUNS);
  putchar('\n');
  TABLE(table, "<+function", "own A", "own B", "a call A", "a call B", "p", "<");
  for (; shown < d->count && shown < top; shown++) {
    const struct diff_row *row = &d->rows[shown];
    char name[512];
    if (row->line) snprintf(name, sizeof name, "%s %s:%u", row->name, row->source, row->line);
    else snprintf(name, sizeof name, "%s", row->name);
    table_cell(&table, name);
    for (size_t side = 0; side < 2; side++) cell_ns(&table, own_of(d, row, side));
    for (size_t side = 0; side < 2; side++) cell_ns(&table, per_call(d, row, side));
    snprintf(text, sizeof text, "%.2g", row->comparison.p);
    table_cell(&table, row->comparison.tested ? text : "-");
    snprintf(text, sizeof text, "%+.1f %%", 100 * row->comparison.change);
    table_cell(&table, row->comparison.changed ? text : "");
  }
  table.keys = 1;
  table_print(&table, stdout, 2);
}

static void put_row(struct eva_json *json, const struct diff *d, const struct diff_row *row) {
  const struct eva_comparison *c = &row->comparison;
  eva_json_open_object(json);
  eva_json_string_at(json, "name", row->name);
  eva_json_string_at(json, "source", row->source);
  eva_json_uint_at(json, "line", row->line);
  eva_json_double_at(json, "a_exclusive_ns", own_of(d, row, 0));
  eva_json_double_at(json, "b_exclusive_ns", own_of(d, row, 1));
  eva_json_double_at(json, "a_count", row->calls[0] / ((double)d->runs / 2));
  eva_json_double_at(json, "b_count", row->calls[1] / ((double)d->runs / 2));
  eva_json_key(json, "change");
  if (isfinite(c->change)) eva_json_double(json, c->change);
  else eva_json_null(json);
  eva_json_key(json, "p");
  if (c->tested) eva_json_double(json, c->p);
  else eva_json_null(json);
  eva_json_bool_at(json, "changed", c->changed);
  eva_json_close_object(json);
}

static void print_json(const struct diff *d, uint64_t top) {
  struct eva_json json;
  size_t half = d->runs / 2;
  eva_json_start(&json, stdout);
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "version", 1);
  eva_json_key(&json, "total");
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "runs", half);
  eva_json_bool_at(&json, "enough", half >= EVA_LEAST_RUNS);
  eva_json_double_at(&json, "a_ns", d->total[0] / (double)half);
  eva_json_double_at(&json, "b_ns", d->total[1] / (double)half);
  eva_json_close_object(&json);
  eva_json_key(&json, "rows");
  eva_json_open_array(&json);
  for (size_t i = 0; i < d->count && i < top; i++) put_row(&json, d, &d->rows[i]);
  eva_json_close_array(&json);
  eva_json_close_object(&json);
  eva_json_line(&json);
}

/* Of which kind all files are: 1: samples, 0: calls; -1 after a message. */
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
  struct diff d = {.runs = count};
  int status = -1;
  for (size_t i = 0; status < 0 && i < count; i++) status = read_run(&d, paths[i], i);
  if (status < 0) {
    uint64_t top = options->top ? options->top : options->json ? UINT64_MAX : 20;
    match(&d);
    compare(&d);
    sorting = &d;
    if (d.count) qsort(d.rows, d.count, sizeof *d.rows, by_change);
    if (options->json) print_json(&d, top);
    else print_text(&d, top);
    status = STATUS_OK;
  }
  for (size_t i = 0; i < d.count; i++) free_row(&d.rows[i]);
  free(d.rows);
  return status;
}
