/* SPDX-License-Identifier: MIT */
/* sample_diff.c: what changed between profiles of samples, beyond the error of sampling.
 *
 * A profile is what `profile --hz --json --top 0` has written. How long a program was sampled
 * says nothing about it, so *shares* are compared: of all samples, those in which a function
 * was the innermost one. Rows are matched by name, source and line.
 *
 * A share p of n samples has the standard error sqrt(p (1 - p) / n), if samples are
 * independent. They are not quite: a program that stays in one function for longer than the
 * period gives the same sample again and again. So with EVA_LEAST_RUNS runs a side or more, the
 * shares of the runs are compared by Welch's test (analysis/compare.h), which knows of no
 * samples; with fewer, two shares are compared by their pooled error, and a change must be of
 * a point as well. In both cases the difference must be beyond the error of sampling, and one
 * is found by chance in 20 comparisons at most (Holm). */
#include "sample_diff.h"

#include <errno.h>
#include <inttypes.h>
#ifdef HAVE_JANSSON
#include <jansson.h>
#endif
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare.h"
#include "analysis/json.h"
#include "analysis/units.h"
#include "text_table.h"

#define ALPHA 0.05
#define LEAST_POINT 0.01
#define SURE 1.96 /* standard errors: 95 % */

enum { MOST_BYTES = 1 << 26 };

struct share_row {
  char *name, *source;
  uint32_t line;
  double *samples; /* of each run */
  struct eva_comparison comparison;
  double error; /* of the difference of shares, with 95 % */
};

struct shares {
  struct share_row *rows;
  size_t count, room, runs;
  double *total; /* samples of each run */
};

/* ---- Reading ---------------------------------------------------------------------------- */

/* Of the file; NULL after a message. */
static char *read_text(const char *path, size_t *size) {
  char *text = NULL;
  size_t room = 0, n = 1;
  FILE *file = fopen(path, "re");
  *size = 0;
  while (file && n > 0 && *size <= MOST_BYTES) {
    if (*size == room) text = need_resized(text, room = room ? 2 * room : 1 << 16, 1);
    n = fread(text + *size, 1, room - *size, file);
    *size += n;
  }
  if (file && !ferror(file) && *size <= MOST_BYTES) {
    fclose(file);
    return text;
  }
  complain("%s: %s", path, file && !ferror(file) ? "it is too large" : strerror(errno));
  if (file) fclose(file);
  free(text);
  return NULL;
}

bool sample_diff_knows(const char *path) {
  FILE *file = fopen(path, "re");
  bool knows = file && fgetc(file) == '{';
  if (file) fclose(file);
  return knows;
}

/* What one file says, beside its rows. */
struct heading {
  bool sampled;
  char by[16];
  double ns, samples;
};

/* Why shares cannot be made of it; NULL: they can. `own`: the sum of the rows. */
static const char *fault(const struct heading *h, double own) {
  if (!h->sampled) return "not a profile of samples (profile --hz N --json)";
  if (strcmp(h->by, "function") != 0 && strcmp(h->by, "line") != 0)
    return "its rows are not functions or lines (profile --by)";
  if (!(h->samples >= 1 && h->ns > 0 && h->ns < 1e300 && h->samples < 1e15))
    return "it has no samples";
  if (own < h->ns * (1 - 1e-9)) return "rows are missing (write it with profile --top 0)";
  return own > h->ns * (1 + 1e-9) ? "its rows are more than its total" : NULL;
}

#ifdef HAVE_JANSSON
static const char *text_at(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static double number_at(const json_t *object, const char *key) {
  return json_number_value(json_object_get(object, key));
}

/* Its own time is noted as its number of samples, until the total is known. */
static bool take_row(const json_t *json, struct shares *d, size_t run) {
  double line = number_at(json, "line"), own = number_at(json, "exclusive_ns");
  if (!json_is_string(json_object_get(json, "name")) || !(line >= 0 && line <= UINT32_MAX) ||
      !(own >= 0))
    return false;
  if (d->count == d->room) {
    d->room = d->room ? 2 * d->room : 64;
    d->rows = need_resized(d->rows, d->room, sizeof *d->rows);
  }
  struct share_row *row = &d->rows[d->count++];
  *row = (struct share_row){.name = need_copy(text_at(json, "name")),
                            .source = need_copy(text_at(json, "source")),
                            .line = (uint32_t)line,
                            .samples = need_zeroed(d->runs, sizeof *row->samples)};
  row->samples[run] = own;
  return true;
}

/* NULL, or what is wrong. */
static const char *take_profile(const json_t *json, struct shares *d, size_t run,
                                struct heading *h) {
  const json_t *total = json_object_get(json, "total"), *rows = json_object_get(json, "rows");
  size_t i;
  json_t *row;
  if (!json_is_array(rows)) return "not a profile (profile --hz N --json)";
  h->sampled = strcmp(text_at(json, "source"), "samples") == 0;
  snprintf(h->by, sizeof h->by, "%s", text_at(json, "by"));
  h->ns = number_at(total, "ns");
  h->samples = number_at(total, "samples");
  json_array_foreach(rows, i, row)
    if (!take_row(row, d, run)) return "a row without a name, or with a wrong line or time";
  return NULL;
}

static const char *read_profile(struct shares *d, const char *text, size_t size, size_t run,
                                struct heading *h, char *room, size_t room_size) {
  json_error_t error;
  json_t *json = json_loadb(text, size, JSON_DECODE_INT_AS_REAL, &error);
  if (!json) {
    snprintf(room, room_size, "not JSON, at byte %d: %s", error.position, error.text);
    return room;
  }
  const char *why = take_profile(json, d, run, h);
  json_decref(json);
  return why;
}
#else
static const char *read_profile(struct shares *d, const char *text, size_t size, size_t run,
                                struct heading *h, char *room, size_t room_size) {
  (void)d, (void)text, (void)size, (void)run, (void)h, (void)room, (void)room_size;
  return "this eventring was built without jansson (Debian package: libjansson-dev), which "
         "reads profiles of samples";
}
#endif

static int read_run(struct shares *d, const char *path, size_t run) {
  struct heading h = {0};
  size_t size, first = d->count;
  char room[256], *text = read_text(path, &size);
  if (!text) return STATUS_WRONG;
  const char *why = read_profile(d, text, size, run, &h, room, sizeof room);
  free(text);
  double own = 0;
  for (size_t i = first; i < d->count; i++) own += d->rows[i].samples[run];
  if (!why) why = fault(&h, own);
  if (why) {
    complain("%s: %s", path, why);
    return STATUS_WRONG;
  }
  for (size_t i = first; i < d->count; i++) d->rows[i].samples[run] *= h.samples / h.ns;
  d->total[run] = h.samples;
  return -1;
}

/* ---- Matching --------------------------------------------------------------------------- */

static int by_name(const void *left, const void *right) {
  const struct share_row *a = left, *b = right;
  int order = strcmp(a->name, b->name);
  if (!order) order = strcmp(a->source, b->source);
  return order ? order : (a->line > b->line) - (a->line < b->line);
}

static void free_row(struct share_row *row) {
  free(row->name);
  free(row->source);
  free(row->samples);
}

static void match(struct shares *d) {
  size_t kept = 0;
  if (d->count) qsort(d->rows, d->count, sizeof *d->rows, by_name);
  for (size_t i = 0; i < d->count; i++) {
    struct share_row *to = kept ? &d->rows[kept - 1] : NULL, *from = &d->rows[i];
    if (!to || by_name(to, from) != 0) {
      d->rows[kept++] = *from;
      continue;
    }
    for (size_t run = 0; run < d->runs; run++) to->samples[run] += from->samples[run];
    free_row(from);
  }
  d->count = kept;
}

/* ---- Comparing -------------------------------------------------------------------------- */

static double samples_of(const struct shares *d, const double *of_runs, size_t side) {
  double sum = 0;
  for (size_t i = side; i < d->runs; i += 2) sum += of_runs[i];
  return sum;
}

static double share_of(const struct shares *d, const struct share_row *row, size_t side) {
  return samples_of(d, row->samples, side) / samples_of(d, d->total, side);
}

static double difference(const struct shares *d, const struct share_row *row) {
  return share_of(d, row, 1) - share_of(d, row, 0);
}

static void compare_row(const struct shares *d, struct share_row *row) {
  const double n[2] = {samples_of(d, d->total, 0), samples_of(d, d->total, 1)};
  const double a = share_of(d, row, 0), b = share_of(d, row, 1);
  const double all = (a * n[0] + b * n[1]) / (n[0] + n[1]);
  const double pooled = sqrt(fmax(all * (1 - all), 0) * (1 / n[0] + 1 / n[1]));
  row->error = SURE * sqrt(fmax(a * (1 - a), 0) / n[0] + fmax(b * (1 - b), 0) / n[1]);
  row->comparison = (struct eva_comparison){
      .a = a, .b = b, .change = a > 0 ? b / a - 1 : INFINITY, .tested = pooled > 0, .p = 1};
  if (pooled > 0) row->comparison.p = erfc(fabs(b - a) / pooled / sqrt(2));
}

static void compare_runs(const struct shares *d, struct share_row *row, double *a, double *b) {
  for (size_t i = 0; i < d->runs; i++)
    (i % 2 ? b : a)[i / 2] = row->samples[i] / d->total[i];
  row->comparison = eva_compare(a, d->runs / 2, b, d->runs / 2);
}

static void compare(struct shares *d) {
  const size_t half = d->runs / 2;
  const bool few = half < EVA_LEAST_RUNS;
  struct eva_comparison *list = need_zeroed(d->count, sizeof *list);
  double *a = need_zeroed(half, sizeof *a), *b = need_zeroed(half, sizeof *b);
  for (size_t i = 0; i < d->count; i++) {
    compare_row(d, &d->rows[i]);
    if (!few) compare_runs(d, &d->rows[i], a, b);
    list[i] = d->rows[i].comparison;
  }
  eva_compare_verdicts(list, d->count, ALPHA);
  for (size_t i = 0; i < d->count; i++) {
    struct share_row *row = &d->rows[i];
    double change = fabs(difference(d, row));
    row->comparison = list[i];
    if (change < row->error || (few && change < LEAST_POINT)) row->comparison.changed = false;
  }
  free(a);
  free(b);
  free(list);
}

static const struct shares *sorting;

static int by_change(const void *left, const void *right) {
  const struct share_row *a = left, *b = right;
  if (a->comparison.changed != b->comparison.changed) return a->comparison.changed ? -1 : 1;
  double x = fabs(difference(sorting, a)), y = fabs(difference(sorting, b));
  return x == y ? by_name(a, b) : (x < y) - (x > y);
}

/* ---- Output ----------------------------------------------------------------------------- */

static void print_text(const struct shares *d, uint64_t top) {
  const size_t half = d->runs / 2;
  char text[64];
  printf("%.0f samples in A, %.0f in B, %zu %s a side\n", samples_of(d, d->total, 0),
         samples_of(d, d->total, 1), half, half == 1 ? "run" : "runs");
  if (half < EVA_LEAST_RUNS)
    printf("Too few runs to know how they differ: it takes %d a side. So samples are taken for\n"
           "independent, and a share must differ by a point.\n", EVA_LEAST_RUNS);
  putchar('\n');
  TABLE(table, "<+function", "own A", "own B", "points", "95 % error", "p", "<");
  for (size_t i = 0; i < d->count && i < top; i++) {
    const struct share_row *row = &d->rows[i];
    char name[512];
    if (row->line) snprintf(name, sizeof name, "%s %s:%u", row->name, row->source, row->line);
    else if (row->source[0]) snprintf(name, sizeof name, "%s %s", row->name, row->source);
    else snprintf(name, sizeof name, "%s", row->name);
    table_cell(&table, name);
    for (size_t side = 0; side < 2; side++) {
      snprintf(text, sizeof text, "%.1f %%", 100 * share_of(d, row, side));
      table_cell(&table, text);
    }
    snprintf(text, sizeof text, "%+.1f", 100 * difference(d, row));
    table_cell(&table, text);
    snprintf(text, sizeof text, "%.1f", 100 * row->error);
    table_cell(&table, text);
    snprintf(text, sizeof text, "%.2g", row->comparison.p);
    table_cell(&table, row->comparison.tested ? text : "-");
    table_cell(&table, row->comparison.changed ? "changed" : "");
  }
  table.keys = 1;
  table_print(&table, stdout, 2);
}

static void put_row(struct eva_json *json, const struct shares *d, const struct share_row *row) {
  eva_json_open_object(json);
  eva_json_string_at(json, "name", row->name);
  eva_json_string_at(json, "source", row->source);
  eva_json_uint_at(json, "line", row->line);
  eva_json_double_at(json, "a_share", share_of(d, row, 0));
  eva_json_double_at(json, "b_share", share_of(d, row, 1));
  eva_json_double_at(json, "difference", difference(d, row));
  eva_json_double_at(json, "error", row->error);
  eva_json_key(json, "p");
  if (row->comparison.tested) eva_json_double(json, row->comparison.p);
  else eva_json_null(json);
  eva_json_bool_at(json, "changed", row->comparison.changed);
  eva_json_close_object(json);
}

static void print_json(const struct shares *d, uint64_t top) {
  struct eva_json json;
  eva_json_start(&json, stdout);
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "version", 1);
  eva_json_key(&json, "total");
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "runs", d->runs / 2);
  eva_json_bool_at(&json, "enough", d->runs / 2 >= EVA_LEAST_RUNS);
  eva_json_double_at(&json, "a_samples", samples_of(d, d->total, 0));
  eva_json_double_at(&json, "b_samples", samples_of(d, d->total, 1));
  eva_json_close_object(&json);
  eva_json_key(&json, "rows");
  eva_json_open_array(&json);
  for (size_t i = 0; i < d->count && i < top; i++) put_row(&json, d, &d->rows[i]);
  eva_json_close_array(&json);
  eva_json_close_object(&json);
  eva_json_line(&json);
}

int sample_diff(const struct profile_diff *options, char **paths, size_t count) {
  struct shares d = {.runs = count, .total = need_zeroed(count, sizeof *d.total)};
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
  free(d.total);
  return status;
}
