/* SPDX-License-Identifier: MIT */
/* pauses.c: section `pauses`. */
#include "view/pauses.h"

#include <stdlib.h>

#include "analysis/gaps.h"
#include "analysis/top.h"
#include "format/array.h"
#include "view/events.h"
#include "view/lists.h"

enum { MOST = 4096, LEVELS = 5 };

struct row {
  uint64_t ns; /* key of eva_top */
  struct eva_step step;
};

struct page_pauses {
  struct page_run *run;
  struct eva_top top;
  struct row *of_cell; /* the longest step of each of PAGE_CELLS cells; ns is 0 if none */
  struct eva_gaps gaps;
  uint64_t seen;
};

struct page_pauses *page_pauses_new(struct page_run *run) {
  struct page_pauses *pauses = calloc(1, sizeof *pauses);
  if (!pauses) return NULL;
  pauses->run = run;
  pauses->top = (struct eva_top){.size = sizeof(struct row), .most = MOST};
  pauses->of_cell = calloc(PAGE_CELLS, sizeof *pauses->of_cell);
  if (pauses->of_cell) return pauses;
  free(pauses);
  return NULL;
}

void page_pauses_free(struct page_pauses *pauses) {
  if (!pauses) return;
  eva_top_free(&pauses->top);
  eva_gaps_free(&pauses->gaps);
  free(pauses->of_cell);
  free(pauses);
}

int page_pauses_add(struct page_pauses *pauses, const struct eva_step *step) {
  const struct row row = {step->ns, *step};
  struct row *longest =
      &pauses->of_cell[page_grid_cell(&pauses->run->grid, step->begin_ns + step->ns)];
  pauses->seen++;
  if (row.ns > longest->ns) *longest = row;
  return eva_top_add(&pauses->top, &row);
}

int page_pauses_lost(struct page_pauses *pauses, const struct eventring_loss *loss, uint64_t from) {
  return eva_gaps_add(&pauses->gaps, loss, from);
}

void page_pauses_halve(struct page_pauses *pauses) {
  struct row *rows = pauses->of_cell;
  for (unsigned i = 0; i < PAGE_CELLS / 2; i++)
    rows[i] = rows[2 * i].ns >= rows[2 * i + 1].ns ? rows[2 * i] : rows[2 * i + 1];
  for (unsigned i = PAGE_CELLS / 2; i < PAGE_CELLS; i++) rows[i] = (struct row){0};
}

/* ---- The section ------------------------------------------------------------------ */

static void *begin(struct page_run *run) { return run->events->pauses; }

/* Tells whether a step begins in a gap, so that the recording does not say what was
   around it. */
static bool is_in_gap(const struct page_pauses *pauses, const struct eva_step *step, uint8_t ring) {
  return eva_gaps_has(&pauses->gaps, step->domain, ring, step->begin_ns);
}

static int span_of(const struct page_pauses *pauses, const struct eva_step *step) {
  return is_in_gap(pauses, step, EVENTRING_USER) ? -1 : step->span;
}

static int function_of(const struct page_pauses *pauses, const struct eva_step *step) {
  return is_in_gap(pauses, step, EVENTRING_CALLS) ? -1 : step->function;
}

static int finish(void *state) {
  struct page_pauses *pauses = state;
  eva_top_sort(&pauses->top);
  eva_gaps_sort(&pauses->gaps);
  return EVENTRING_OK;
}

bool page_pauses_longest(const struct page_pauses *pauses, size_t i, struct eva_step *step) {
  if (i >= pauses->top.count) return false;
  *step = ((const struct row *)eva_top_row(&pauses->top, i))->step;
  step->span = span_of(pauses, step);
  step->function = function_of(pauses, step);
  return true;
}

#define COMPARE(a, b) if ((a) != (b)) return (a) < (b) ? -1 : 1

static int by_begin(const void *a, const void *b) {
  const struct eva_step *x = &((const struct row *)a)->step, *y = &((const struct row *)b)->step;
  COMPARE(x->begin_ns, y->begin_ns);
  COMPARE(x->domain, y->domain);
  return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* Chooses the steps to show, sorted by begin: the `longest` longest steps, and the
   longest step of each cell. Returns their number. */
static size_t choose(const struct page_pauses *pauses, size_t longest, bool cells,
                     struct row *rows) {
  size_t count = 0, kept = 0;
  for (; count < pauses->top.count && count < longest; count++)
    rows[count] = *(const struct row *)eva_top_row(&pauses->top, count);
  for (unsigned i = 0; cells && i < PAGE_CELLS; i++)
    if (pauses->of_cell[i].ns) rows[count++] = pauses->of_cell[i];
  if (count) qsort(rows, count, sizeof *rows, by_begin);
  for (size_t i = 0; i < count; i++)
    if (!kept || by_begin(&rows[kept - 1], &rows[i]) != 0) rows[kept++] = rows[i];
  return kept;
}

static bool any_function(const struct page_pauses *pauses, const struct row *rows, size_t count) {
  size_t i = 0;
  while (i < count && function_of(pauses, &rows[i].step) < 0) i++;
  return i < count;
}

static void put_phases(const struct page_lists *lists, const struct eva_step *step,
                       struct eva_json *json) {
  eva_json_open_array(json);
  for (unsigned i = 0; i < step->phases; i++) {
    eva_json_int(json, page_name(lists, step->phase[i].id));
    eva_json_uint(json, step->phase[i].ns);
  }
  eva_json_close_array(json);
}

static void put_rows(const struct page_pauses *pauses, const struct row *rows, size_t count,
                     struct eva_json *json) {
  const struct page_run *run = pauses->run;
  eva_json_open_object(json);
  PAGE_DIFFERENCES(json, "begin_d", count, page_grid_time(&run->grid, rows[i].step.begin_ns));
  PAGE_COLUMN(json, "length", count, rows[i].step.ns);
  PAGE_COLUMN(json, "off_cpu", count, rows[i].step.off_cpu);
  PAGE_COLUMN(json, "work", count, rows[i].step.work);
  PAGE_COLUMN(json, "domain", count, page_domain(run->lists, rows[i].step.domain));
  PAGE_COLUMN(json, "name", count, page_name(run->lists, rows[i].step.id));
  PAGE_COLUMN(json, "reason", count, page_name(run->lists, rows[i].step.reason));
  PAGE_COLUMN(json, "span", count, page_name(run->lists, span_of(pauses, &rows[i].step)));
  if (any_function(pauses, rows, count))
    PAGE_COLUMN(json, "function", count, page_name(run->lists, function_of(pauses, &rows[i].step)));
  eva_json_key(json, "phases");
  eva_json_open_array(json);
  for (size_t i = 0; i < count; i++) put_phases(run->lists, &rows[i].step, json);
  eva_json_close_array(json);
  eva_json_close_object(json);
}

static bool write(void *state, struct eva_json *json, unsigned level, struct page_left *left) {
  const struct page_pauses *pauses = state;
  if (!pauses->seen) return false;
  struct row *rows = calloc(MOST + PAGE_CELLS, sizeof *rows);
  if (!rows) pauses->run->events->status = EVENTRING_E_MEMORY;
  if (!rows) return false;
  const size_t count = choose(pauses, MOST >> level, level < 3, rows);
  put_rows(pauses, rows, count, json);
  if (count < pauses->seen)
    *left = (struct page_left){"pauses, one by one", count, pauses->seen, "the number of pauses"};
  free(rows);
  return true;
}

const struct page_part page_part_pauses = {
    .name = "pauses", .levels = LEVELS, .begin = begin, .finish = finish, .write = write};
