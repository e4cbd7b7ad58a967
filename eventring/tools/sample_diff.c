/* SPDX-License-Identifier: MIT */
/* sample_diff.c: finds what changed between profiles of samples, beyond the error of
 * sampling.
 *
 * A profile is what `profile --hz --json --top 0` has written. The number of samples
 * depends on how long the program was sampled, so *shares* are compared: the part of all
 * samples in which a function was innermost.
 *
 * A share p of n samples has the standard error sqrt(p (1 - p) / n), if samples are
 * independent. They are not quite independent: a program that stays in one function for
 * longer than the period gives the same sample repeatedly. So with EVA_LEAST_RUNS runs
 * per side or more, the shares of the runs are compared like other figures (diff_rows.h).
 * With fewer, two shares are compared by their pooled error, and a change must also be at
 * least one point. In both cases the difference must exceed the error of sampling. */
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

#include "diff_rows.h"
#include "heap_diff.h"

#define LEAST_POINT 0.01
#define SURE 1.96 /* number of standard errors for 95 % */

enum { MOST_BYTES = 1 << 26 };

/* ---- Reading ------------------------------------------------------------------ */

/* Returns the text of a file, or NULL after a message. */
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

/* The contents of a file, besides its rows. */
struct heading {
  bool sampled;
  char by[16];
  double ns, samples;
  double stacks; /* number of stacks read; a stack may count as several samples */
};

/* Returns why shares cannot be computed from a profile, or NULL if they can. `own` is the
   sum of the rows. */
static const char *fault(const struct heading *h, double own) {
  if (!h->sampled) return "not a profile of samples (profile --hz N --json)";
  if (strcmp(h->by, "function") != 0 && strcmp(h->by, "line") != 0)
    return "its rows are not functions or lines (profile --by)";
  if (!(h->samples >= 1 && h->ns > 0 && h->ns < 1e300 && h->samples < 1e15))
    return "it has no samples";
  if (!(h->stacks >= 1 && h->stacks <= h->samples)) return "it has no stacks, or more than samples";
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

/* Takes a row. Its own time is stored as its number of samples until the total is
   known. */
static bool take_row(const json_t *json, struct diff_rows *d, size_t run) {
  double line = number_at(json, "line"), own = number_at(json, "exclusive_ns");
  if (!json_is_string(json_object_get(json, "name")) || !(line >= 0 && line <= UINT32_MAX) ||
      !(own >= 0))
    return false;
  struct diff_row *row =
      diff_rows_add(d, text_at(json, "name"), text_at(json, "source"), (uint32_t)line);
  row->own[run] = own;
  return true;
}

/* Takes a profile. Returns NULL, or the error. */
static const char *take_profile(const json_t *json, struct diff_rows *d, size_t run,
                                struct heading *h) {
  const json_t *total = json_object_get(json, "total"), *rows = json_object_get(json, "rows");
  size_t i;
  json_t *row;
  if (!json_is_array(rows)) return "not a profile (profile --hz N --json)";
  h->sampled = strcmp(text_at(json, "source"), "samples") == 0;
  snprintf(h->by, sizeof h->by, "%s", text_at(json, "by"));
  h->ns = number_at(total, "ns");
  h->samples = number_at(total, "samples");
  h->stacks = json_object_get(total, "stacks") ? number_at(total, "stacks") : h->samples;
  json_array_foreach(rows, i, row)
    if (!take_row(row, d, run)) return "a row without a name, or with a wrong line or time";
  return NULL;
}

static const char *read_profile(struct diff_rows *d, const char *text, size_t size, size_t run,
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
static const char *read_profile(struct diff_rows *d, const char *text, size_t size, size_t run,
                                struct heading *h, char *room, size_t room_size) {
  (void)d, (void)text, (void)size, (void)run, (void)h, (void)room, (void)room_size;
  return "this eventring was built without jansson (Debian package: libjansson-dev), which "
         "reads profiles of samples";
}
#endif

static int read_run(struct diff_rows *d, const char *path, size_t run) {
  struct heading h = {0};
  size_t size, first = d->count;
  char room[256], *text = read_text(path, &size);
  if (!text) return STATUS_WRONG;
  const char *why = read_profile(d, text, size, run, &h, room, sizeof room);
  free(text);
  double own = 0;
  for (size_t i = first; i < d->count; i++) own += d->rows[i].own[run];
  if (!why) why = fault(&h, own);
  if (why) return wrong("%s: %s", path, why);
  for (size_t i = first; i < d->count; i++) d->rows[i].own[run] *= h.stacks / h.ns;
  d->total[run] = h.stacks;
  d->lines |= strcmp(h.by, "line") == 0;
  return STATUS_GO_ON;
}

/* ---- Comparing ---------------------------------------------------------------- */

static double samples_of(const struct diff_rows *d, size_t side) {
  return diff_rows_sum(d, d->total, side);
}

static double share_of(const struct diff_rows *d, const struct diff_row *row, size_t side) {
  return diff_rows_sum(d, row->own, side) / samples_of(d, side);
}

static double share_of_run(const struct diff_rows *d, const struct diff_row *row, size_t run) {
  return row->own[run] / d->total[run];
}

static void compare_shares(const struct diff_rows *d, struct diff_row *row) {
  const double n[2] = {samples_of(d, 0), samples_of(d, 1)};
  const double a = share_of(d, row, 0), b = share_of(d, row, 1);
  const double all = (a * n[0] + b * n[1]) / (n[0] + n[1]);
  const double pooled = sqrt(fmax(all * (1 - all), 0) * (1 / n[0] + 1 / n[1]));
  row->moved = b - a;
  row->error = SURE * sqrt(fmax(a * (1 - a), 0) / n[0] + fmax(b * (1 - b), 0) / n[1]);
  row->comparison = (struct eva_comparison){
      .a = a, .b = b, .change = a > 0 ? b / a - 1 : INFINITY, .tested = pooled > 0, .p = 1};
  if (pooled > 0) row->comparison.p = erfc(fabs(b - a) / pooled / sqrt(2));
}

static bool matters(const struct diff_row *row, bool few) {
  return fabs(row->moved) >= row->error && (!few || fabs(row->moved) >= LEAST_POINT);
}

/* ---- Output ------------------------------------------------------------------- */

static void print_heading(const struct diff_rows *d) {
  printf("%.0f samples in A, %.0f in B, %zu %s a side\n", samples_of(d, 0), samples_of(d, 1),
         d->runs / 2, d->runs == 2 ? "run" : "runs");
}

static const char *change_text(const struct diff_row *row, char text[static 64]) {
  (void)row, (void)text;
  return "changed";
}

VIEW_GETTER(all, struct diff_rows) { return view_double(samples_of(row, column->argument)); }
VIEW_GETTER(own, struct diff_row) {
  return view_double(share_of(to->context, row, column->argument));
}

static VIEW(row_view, struct diff_row,
    {.form = VIEW_INCLUDE, .view = &diff_site_view},
    {"a_share", "own A", VIEW_SHARE, VIEW_GET(DOUBLE, own), .argument = 0},
    {"b_share", "own B", VIEW_SHARE, VIEW_GET(DOUBLE, own), .argument = 1},
    {"difference", "points", VIEW_CHANGE, ROW(moved)},
    {"error", "95 % error", VIEW_SHARE, ROW(error)},
    {.form = VIEW_INCLUDE, .view = &diff_verdict_view})

static VIEW(total_view, struct diff_rows,
    {.form = VIEW_INCLUDE, .view = &diff_runs_view},
    {"a_samples", NULL, VIEW_COUNT, VIEW_GET(DOUBLE, all), .argument = 0},
    {"b_samples", NULL, VIEW_COUNT, VIEW_GET(DOUBLE, all), .argument = 1})

VIEW_WITH(sample_diff_view, struct diff_rows, (.other = &heap_diff_view),
    {"total", .form = VIEW_OBJECT, .view = &total_view},
    {"rows", .form = VIEW_ROWS, .view = &row_view, .rows = diff_rows_put, .flags = VIEW_MAIN})

static const struct diff_kind kind = {
    .value = share_of_run, .compare = compare_shares, .matters = matters,
    .heading = print_heading,
    .few = "Shares are compared within the runs, whose samples are taken for independent: `few\n"
           "runs' is where they differ by a point, and p is small.",
    .verdict = change_text, .answer = &sample_diff_view, .rows = &row_view};

int sample_diff(const struct profile_diff *options, char **paths, size_t count) {
  return diff_rows(&kind, options, read_run, paths, count);
}
