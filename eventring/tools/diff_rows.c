/* SPDX-License-Identifier: MIT */
/* diff_rows.c: see diff_rows.h. */
#include "diff_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff_match.h"

#define ALPHA 0.05

struct diff_row *diff_rows_add(struct diff_rows *d, const char *name, const char *source,
                               uint32_t line) {
  if (d->count == d->room) {
    d->room = d->room ? 2 * d->room : 64;
    d->rows = need_resized(d->rows, d->room, sizeof *d->rows);
  }
  struct diff_row *row = &d->rows[d->count++];
  *row = (struct diff_row){.name = need_copy(name), .source = need_copy(source), .line = line,
                           .run = d->run,
                           .own = need_zeroed(d->runs, sizeof *row->own)};
  return row;
}

static void free_row(struct diff_row *row) {
  free(row->name);
  free(row->source);
  free(row->own);
}

double diff_rows_sum(const struct diff_rows *d, const double *of_runs, size_t side) {
  double sum = 0;
  for (size_t i = side; i < d->runs; i += 2) sum += of_runs[i];
  return sum;
}

/* ---- Matching --------------------------------------------------------------------------- */

static int by_name(const void *left, const void *right) {
  const struct diff_row *a = left, *b = right;
  int order = strcmp(a->name, b->name);
  if (!order) order = strcmp(a->source, b->source);
  return order ? order : (a->line > b->line) - (a->line < b->line);
}

static void add(const struct diff_rows *d, struct diff_row *to, const struct diff_row *from) {
  for (size_t run = 0; run < d->runs; run++) to->own[run] += from->own[run];
  for (size_t side = 0; side < 2; side++) {
    to->calls[side] += from->calls[side];
    to->spread[side] += from->spread[side];
  }
  if (!to->line_on[from->run % 2]) to->line_on[from->run % 2] = from->line;
}

/* Rows of the same function, one a run, become one: that of the first run. */
static void match(struct diff_rows *d) {
  struct diff_place *places = need_zeroed(d->count + 1, sizeof *places);
  size_t kept = 0;
  for (size_t i = 0; i < d->count; i++)
    places[i] = (struct diff_place){.name = d->rows[i].name, .source = d->rows[i].source,
                                    .line = d->rows[i].line, .run = d->rows[i].run};
  diff_match(places, d->count, d->runs, d->lines);
  for (size_t i = 0; i < d->count; i++) {
    d->rows[i].line_on[d->rows[i].run % 2] = d->rows[i].line;
    if (places[i].same != i) add(d, &d->rows[places[i].same], &d->rows[i]);
  }
  for (size_t i = 0; i < d->count; i++) {
    if (places[i].same != i) free_row(&d->rows[i]);
    else d->rows[kept++] = d->rows[i];
  }
  d->count = kept;
  free(places);
}

/* ---- Comparing -------------------------------------------------------------------------- */

static bool has_few(const struct diff_rows *d) { return d->runs / 2 < EVA_LEAST_RUNS; }

static void compare(const struct diff_kind *kind, struct diff_rows *d) {
  const size_t half = d->runs / 2;
  struct eva_comparison *list = need_zeroed(d->count, sizeof *list);
  double *values[2] = {need_zeroed(half, sizeof(double)), need_zeroed(half, sizeof(double))};
  for (size_t i = 0; i < d->count; i++) {
    struct diff_row *row = &d->rows[i];
    kind->compare(d, row);
    for (size_t run = 0; run < d->runs; run++)
      values[run % 2][run / 2] = kind->value(d, row, run);
    list[i] = has_few(d) ? row->comparison : eva_compare(values[0], half, values[1], half);
  }
  eva_compare_verdicts(list, d->count, ALPHA);
  for (size_t i = 0; i < d->count; i++) {
    d->rows[i].comparison = list[i];
    if (!kind->matters(&d->rows[i], has_few(d))) d->rows[i].comparison.changed = false;
  }
  free(values[0]);
  free(values[1]);
  free(list);
}

static int by_change(const void *left, const void *right) {
  const struct diff_row *a = left, *b = right;
  if (a->comparison.changed != b->comparison.changed) return a->comparison.changed ? -1 : 1;
  double x = fabs(a->moved), y = fabs(b->moved);
  return x == y ? by_name(a, b) : (x < y) - (x > y);
}

/* ---- Output ----------------------------------------------------------------------------- */

static void name_cell(struct table *table, const struct diff_row *row) {
  char name[512];
  const uint32_t a = row->line_on[0], b = row->line_on[1];
  if (a && b && a != b)
    snprintf(name, sizeof name, "%s %s:%u (B: %u)", row->name, row->source, a, b);
  else if (row->line) snprintf(name, sizeof name, "%s %s:%u", row->name, row->source, row->line);
  else snprintf(name, sizeof name, "%s%s%s", row->name, row->source[0] ? " " : "", row->source);
  table_cell(table, name);
}

/* What is exact, calls, differs or does not; with few runs, of times nobody knows. */
static bool has_other_counts(const struct diff_kind *kind, const struct diff_row *row) {
  return kind->has_counts && row->calls[0] != row->calls[1];
}

static const char *verdict_of(const struct diff_kind *kind, const struct diff_rows *d,
                              const struct diff_row *row, char text[static 64]) {
  if (!has_few(d)) return row->comparison.changed ? kind->verdict(row, text) : "";
  if (has_other_counts(kind, row)) return "calls";
  return row->comparison.changed ? "few runs" : "";
}

static void print_text(const struct diff_kind *kind, const struct diff_rows *d, uint64_t top) {
  struct table table;
  char text[64];
  kind->heading(d);
  if (has_few(d))
    printf("Times: too few runs to tell a change from noise: it takes %d a side.\n%s\n",
           EVA_LEAST_RUNS, kind->few);
  putchar('\n');
  table_init(&table, kind->titles, kind->columns);
  for (size_t i = 0; i < d->count && i < top; i++) {
    const struct diff_row *row = &d->rows[i];
    name_cell(&table, row);
    kind->cells(&table, d, row);
    snprintf(text, sizeof text, "%.2g", row->comparison.p);
    table_cell(&table, row->comparison.tested ? text : "-");
    table_cell(&table, verdict_of(kind, d, row, text));
  }
  table_print(&table, stdout, 2);
}

static void put_row(struct eva_json *json, const struct diff_kind *kind,
                    const struct diff_rows *d, const struct diff_row *row) {
  eva_json_open_object(json);
  eva_json_string_at(json, "name", row->name);
  eva_json_string_at(json, "source", row->source);
  eva_json_uint_at(json, "line", row->line);
  eva_json_uint_at(json, "a_line", row->line_on[0]);
  eva_json_uint_at(json, "b_line", row->line_on[1]);
  kind->put_row(json, d, row);
  eva_json_key(json, "p");
  if (row->comparison.tested) eva_json_double(json, row->comparison.p);
  else eva_json_null(json);
  eva_json_bool_at(json, "changed", row->comparison.changed && !has_few(d));
  eva_json_bool_at(json, "differs", row->comparison.changed);
  if (kind->has_counts) eva_json_bool_at(json, "counts_differ", has_other_counts(kind, row));
  eva_json_close_object(json);
}

static void print_json(const struct diff_kind *kind, const struct diff_rows *d, uint64_t top) {
  struct eva_json json;
  eva_json_start(&json, stdout);
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "version", 1);
  eva_json_key(&json, "total");
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "runs", d->runs / 2);
  eva_json_bool_at(&json, "enough", !has_few(d));
  kind->put_total(&json, d);
  eva_json_close_object(&json);
  eva_json_key(&json, "rows");
  eva_json_open_array(&json);
  for (size_t i = 0; i < d->count && i < top; i++) put_row(&json, kind, d, &d->rows[i]);
  eva_json_close_array(&json);
  eva_json_close_object(&json);
  eva_json_line(&json);
}

int diff_rows(const struct diff_kind *kind, const struct profile_diff *options,
              int (*read)(struct diff_rows *d, const char *path, size_t run), char **paths,
              size_t count) {
  struct diff_rows d = {.runs = count, .total = need_zeroed(count, sizeof *d.total)};
  int status = -1;
  for (size_t i = 0; status < 0 && i < count; i++) status = read(&d, paths[d.run = i], i);
  if (status < 0) {
    uint64_t top = options->top ? options->top : options->json ? UINT64_MAX : 20;
    match(&d);
    compare(kind, &d);
    if (d.count) qsort(d.rows, d.count, sizeof *d.rows, by_change);
    if (options->json) print_json(kind, &d, top);
    else print_text(kind, &d, top);
    status = STATUS_OK;
  }
  for (size_t i = 0; i < d.count; i++) free_row(&d.rows[i]);
  free(d.rows);
  free(d.total);
  return status;
}
