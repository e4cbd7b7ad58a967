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
  struct diff_row *row = NEED_NEXT(d->rows, d->count);
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

/* ---- Matching ----------------------------------------------------------------- */

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

/* Joins the rows of the same function, one of each run, to the row of the first run. */
static void match(struct diff_rows *d) {
  struct diff_site *sites = need_zeroed(d->count + 1, sizeof *sites);
  size_t kept = 0;
  for (size_t i = 0; i < d->count; i++)
    sites[i] = (struct diff_site){.name = d->rows[i].name, .source = d->rows[i].source,
                                    .line = d->rows[i].line, .run = d->rows[i].run};
  diff_match(sites, d->count, d->runs, d->lines);
  for (size_t i = 0; i < d->count; i++) {
    d->rows[i].line_on[d->rows[i].run % 2] = d->rows[i].line;
    if (sites[i].same != i) add(d, &d->rows[sites[i].same], &d->rows[i]);
  }
  for (size_t i = 0; i < d->count; i++) {
    if (sites[i].same != i) free_row(&d->rows[i]);
    else d->rows[kept++] = d->rows[i];
  }
  d->count = kept;
  free(sites);
}

/* ---- Comparing ---------------------------------------------------------------- */

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

/* ---- Output ------------------------------------------------------------------- */

VIEW_GETTER(site, struct diff_row) {
  const uint32_t a = row->line_on[0], b = row->line_on[1];
  if (a && b && a != b)
    return view_printf(to, "%s %s:%u (B: %u)", row->name, row->source, a, b);
  if (row->line) return view_printf(to, "%s %s:%u", row->name, row->source, row->line);
  return view_printf(to, "%s%s%s", row->name, row->source[0] ? " " : "", row->source);
}

VIEW(diff_site_view, struct diff_row,
    {NULL, "<+function", VIEW_PLAIN, VIEW_GET(TEXT, site)},
    {"name", NULL, VIEW_PLAIN, ROW(name)},
    {"source", NULL, VIEW_PLAIN, ROW(source)},
    {"line", NULL, VIEW_PLAIN, ROW(line)},
    {"a_line", NULL, VIEW_PLAIN, ROW(line_on[0])},
    {"b_line", NULL, VIEW_PLAIN, ROW(line_on[1])})

/* Tells whether the calls of a function differ. (Calls are exact; times are not, and with
   few runs their noise is unknown.) */
static bool has_other_counts(const struct diff_rows *d, const struct diff_row *row) {
  return d->kind->has_counts && row->calls[0] != row->calls[1];
}

VIEW_GETTER(p, struct diff_row) {
  if (!row->comparison.tested) return view_none();
  if (view_is_text(to)) return view_printf(to, "%.2g", row->comparison.p);
  return view_double(row->comparison.p);
}

VIEW_GETTER(has_changed, struct diff_row) {
  return view_bool(row->comparison.changed && !has_few(to->context));
}

VIEW_GETTER(counts_differ, struct diff_row) {
  const struct diff_rows *d = to->context;
  return d->kind->has_counts ? view_bool(has_other_counts(d, row)) : view_none();
}

VIEW_GETTER(verdict, struct diff_row) {
  const struct diff_rows *d = to->context;
  const char *few = has_other_counts(d, row) ? "calls" : row->comparison.changed ? "few runs" : "";
  if (has_few(d)) return view_text(few);
  return view_text(row->comparison.changed ? d->kind->verdict(row, to->room) : "");
}

VIEW(diff_verdict_view, struct diff_row,
    {"p", "p", VIEW_PLAIN, VIEW_GET(DOUBLE, p)},
    {"changed", NULL, VIEW_PLAIN, VIEW_GET(BOOL, has_changed), .help = "false with few runs"},
    {"differs", NULL, VIEW_PLAIN, ROW(comparison.changed)},
    {"counts_differ", NULL, VIEW_PLAIN, VIEW_GET(BOOL, counts_differ), .flags = VIEW_MAYBE},
    {NULL, "<", VIEW_PLAIN, VIEW_GET(TEXT, verdict)})

VIEW_GETTER(half, struct diff_rows) { return view_uint(row->runs / 2); }
VIEW_GETTER(is_enough, struct diff_rows) { return view_bool(!has_few(row)); }

VIEW(diff_runs_view, struct diff_rows,
    {"runs", NULL, VIEW_COUNT, VIEW_GET(UINT, half), .help = "of a side"},
    {"enough", NULL, VIEW_PLAIN, VIEW_GET(BOOL, is_enough)})

void diff_rows_put(struct view_to *to, const void *diff) {
  const struct diff_rows *d = diff;
  for (size_t i = 0; i < d->count && i < d->top; i++) view_row(to, &d->rows[i]);
}

static void print_text(const struct diff_rows *d, struct view_to *to) {
  d->kind->heading(d);
  if (has_few(d))
    printf("Times: too few runs to tell a change from noise: it takes %d a side.\n%s\n",
           EVA_LEAST_RUNS, d->kind->few);
  putchar('\n');
  view_table(to, d->kind->rows, diff_rows_put, d, 2);
}

int diff_rows(const struct diff_kind *kind, const struct profile_diff *options,
              int (*read)(struct diff_rows *d, const char *path, size_t run), char **paths,
              size_t count) {
  struct diff_rows d = {.kind = kind, .runs = count,
                        .total = need_zeroed(count, sizeof *d.total)};
  struct view_to to = {.out = stdout, .context = &d, .as = options->as};
  int status = STATUS_GO_ON;
  for (size_t i = 0; goes_on(status) && i < count; i++) status = read(&d, paths[d.run = i], i);
  if (goes_on(status)) {
    const bool is_text = view_wants_text(&options->as);
    d.top = options->top ? options->top : is_text ? 20 : UINT64_MAX;
    match(&d);
    compare(kind, &d);
    if (d.count) qsort(d.rows, d.count, sizeof *d.rows, by_change);
    if (is_text) print_text(&d, &to);
    else view_object(&to, kind->answer, &d);
    status = STATUS_OK;
  }
  for (size_t i = 0; i < d.count; i++) free_row(&d.rows[i]);
  free(d.rows);
  free(d.total);
  return status;
}
