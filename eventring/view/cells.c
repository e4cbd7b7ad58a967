/* SPDX-License-Identifier: MIT */
/* cells.c: figures by cell, an interval of time (grid.h). */
#include "view/cells_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/saturating.h"
#include "format/array.h"
#include "view/cell_array.h"
#include "view/share.h"

enum {
  MOST_STEP_KINDS = 256,
  ALL_LEFT = PAGE_CELLS << PAGE_CELLS_LOG2 /* on each level, a cell after all others */
};

struct page_cells *page_cells_new(struct page_run *run, struct eva_tally *tally, size_t room) {
  struct page_cells *cells = calloc(1, sizeof *cells);
  if (!cells) return NULL;
  cells->run = run;
  cells->tally = tally;
  cells->most = room;
  return cells;
}

static void free_series(struct series *series) {
  for (size_t i = 0; i < series->count; i++) page_buckets_free(&series->cell[i].buckets);
  if (series->durations) eva_histogram_free(series->durations);
  free(series->durations);
  free(series->cell);
  free(series->seen);
  free(series);
}

void page_cells_free(struct page_cells *cells) {
  if (!cells) return;
  for (size_t i = 0; i < cells->series_count; i++) free_series(cells->series[i]);
  for (size_t i = 0; i < cells->counter_count; i++) {
    free(cells->counters[i]->cell);
    free(cells->counters[i]);
  }
  for (int i = 0; i < EVENTRING_MAX_DOMAINS; i++) free(cells->slot[i].id);
  free(cells->series);
  free(cells->counters);
  free(cells);
}

const uint32_t *page_cells_now(const struct page_cells *cells) { return cells->now; }

/* ---- Rows of a series ------------------------------------------------------------- */

static size_t bytes_of_cell(const struct cell *cell) {
  return sizeof *cell + cell->buckets.count * sizeof *cell->buckets.list;
}

static size_t bytes_of_series(const struct series *series) {
  size_t sum = 0;
  for (size_t i = 0; i < series->count; i++) sum += bytes_of_cell(&series->cell[i]);
  return sum;
}

static size_t bytes_of_counter(const struct counter *counter) {
  return counter->count * sizeof *counter->cell;
}

/* Returns the row of a cell, which is made if there is none, or NULL when out of
   memory. */
static struct cell *cell_at(struct page_cells *cells, struct series *series, uint32_t wanted) {
  const size_t before = series->count;
  struct cell *cell = PAGE_ROW_OF(series->cell, series->count, series->room, wanted);
  cells->used += (series->count - before) * sizeof *cell;
  return cell;
}

static int merge_cell(struct cell *into, struct cell *from) {
  into->count += from->count;
  into->sum = eva_add(into->sum, from->sum);
  into->own = eva_add(into->own, from->own);
  into->own_count += from->own_count;
  into->off_cpu = eva_add(into->off_cpu, from->off_cpu);
  into->suspended = eva_add(into->suspended, from->suspended);
  if (from->longest > into->longest) into->longest = from->longest;
  int status = page_buckets_merge(&into->buckets, &from->buckets);
  page_buckets_free(&from->buckets);
  return status;
}

static int join_cells(struct series *series) {
  int status = EVENTRING_OK;
  PAGE_JOIN_ROWS(series->cell, series->count,
                 if (merge_cell(into, from) < 0) status = EVENTRING_E_MEMORY);
  return status;
}

static int coarsen_series(struct series *series) {
  series->level++;
  return join_cells(series);
}

static void merge_level(struct level *into, const struct level *from, bool is_double) {
  into->samples += from->samples;
  into->last = from->last;
  if (is_double) {
    if (from->least.d < into->least.d) into->least = from->least;
    if (from->most.d > into->most.d) into->most = from->most;
    into->sum.d += from->sum.d;
  } else {
    if (from->least.i < into->least.i) into->least = from->least;
    if (from->most.i > into->most.i) into->most = from->most;
    into->sum.i = eva_add_signed(into->sum.i, from->sum.i);
  }
}

static void join_levels(struct counter *counter) {
  const bool is_double = counter->entry->counter->is_double;
  PAGE_JOIN_ROWS(counter->cell, counter->count, merge_level(into, from, is_double));
}

int page_cells_halve(struct page_cells *cells) {
  int status = EVENTRING_OK;
  for (size_t i = 0; i < cells->series_count && status == EVENTRING_OK; i++) {
    struct series *series = cells->series[i];
    if (series->level) series->level--; /* these cells keep their length */
    else status = join_cells(series);
  }
  for (size_t i = 0; i < cells->counter_count; i++) {
    struct counter *counter = cells->counters[i];
    if (counter->level) counter->level--;
    else join_levels(counter);
  }
  for (int i = 0; i < EVENTRING_MAX_DOMAINS; i++) cells->now[i] /= 2;
  cells->async_now /= 2;
  return status;
}

/* ---- Room ------------------------------------------------------------------------- */

/* Returns how important a series is: by its time, or by the number of its events. */
static double importance(const struct series *series) {
  const uint64_t sum = series->of == OF_PAUSE ? UINT64_MAX : series->seen_sum;
  return series->of == OF_EVENT ? -1 / (1.0 + (double)series->seen_count) : (double)sum;
}

static int more_important(const void *a, const void *b) {
  const double x = importance(*(struct series *const *)a),
               y = importance(*(struct series *const *)b);
  return (x < y) - (x > y);
}

/* Frees memory that the rows of a series no longer need. */
static void trim_series(struct series *series) {
  if (!series->count || series->room <= 2 * series->count) return;
  struct cell *cell = reallocarray(series->cell, series->count, sizeof *cell);
  if (!cell) return;
  series->cell = cell;
  series->room = series->count;
}

int page_cells_fit_series(struct page_cells *cells, size_t room) {
  const size_t count = cells->series_count;
  struct page_need *needs = calloc(count ? count : 1, sizeof *needs);
  int status = needs ? EVENTRING_OK : EVENTRING_E_MEMORY;
  if (status < 0) return status;
  qsort(cells->series, count, sizeof *cells->series, more_important);
  for (size_t i = 0; i < count; i++)
    needs[i] = (struct page_need){.weight = 1 / sqrt((double)i + 1),
                                  .bytes = bytes_of_series(cells->series[i])};
  page_share(needs, count, room);
  for (size_t i = 0; i < count; i++) {
    struct series *series = cells->series[i];
    while (status == EVENTRING_OK && series->level < PAGE_CELLS_LOG2 &&
           bytes_of_series(series) > needs[i].allowed)
      status = coarsen_series(series);
    trim_series(series);
  }
  free(needs);
  return status;
}

void page_cells_fit_counters(struct page_cells *cells, size_t room) {
  const size_t count = cells->counter_count;
  for (size_t i = 0; i < count; i++) {
    struct counter *counter = cells->counters[i];
    while (counter->level < PAGE_CELLS_LOG2 && bytes_of_counter(counter) > room / count) {
      counter->level++;
      join_levels(counter);
    }
  }
}

static size_t all_series(const struct page_cells *cells) {
  size_t sum = 0;
  for (size_t i = 0; i < cells->series_count; i++) sum += bytes_of_series(cells->series[i]);
  return sum;
}

size_t page_cells_bytes_of_counters(const struct page_cells *cells) {
  size_t sum = 0;
  for (size_t i = 0; i < cells->counter_count; i++) sum += bytes_of_counter(cells->counters[i]);
  return sum;
}

static int fit(struct page_cells *cells) {
  const int status = page_cells_fit_series(cells, cells->most / 8 * 3);
  page_cells_fit_counters(cells, cells->most / 8);
  cells->used = all_series(cells) + page_cells_bytes_of_counters(cells);
  /* if each series has a single cell, no more can be joined, so there must be more
     room */
  if (cells->used > cells->most / 4 * 3) cells->most = 2 * cells->used;
  return status;
}

/* ---- From the tally --------------------------------------------------------------- */

static struct series *new_series(struct page_cells *cells, enum of of, unsigned slot,
                                 const struct eva_tally_entry *entry) {
  if (!EVR_MAKE_ROOM(cells->series, cells->series_room, cells->series_count, 16)) return NULL;
  struct series *series = calloc(1, sizeof *series);
  if (!series) return NULL;
  series->of = (uint8_t)of;
  series->slot = (uint8_t)slot;
  series->entry = entry;
  series->id = entry ? entry->id : -1;
  series->reason = -1;
  return cells->series[cells->series_count++] = series;
}

/* Extends `seen` to include the buckets [first, first + size). */
static int widen_seen(struct series *series, unsigned first, unsigned size) {
  const unsigned end = first + size, had_end = series->seen_from + series->seen_size;
  const unsigned from = series->seen && series->seen_from < first ? series->seen_from : first;
  const unsigned to = series->seen && had_end > end ? had_end : end;
  if (series->seen && from == series->seen_from && to == had_end) return EVENTRING_OK;
  uint32_t *seen = calloc(to - from, sizeof *seen);
  if (!seen) return EVENTRING_E_MEMORY;
  if (series->seen)
    memcpy(seen + (series->seen_from - from), series->seen, series->seen_size * sizeof *seen);
  free(series->seen);
  series->seen = seen;
  series->seen_from = from;
  series->seen_size = to - from;
  return EVENTRING_OK;
}

/* Adds to a cell what an octave has gained since the last turn, which is below 2^32. */
static int take_octave(struct page_cells *cells, struct series *series,
                       const struct eva_histogram *durations, unsigned octave, struct cell *cell) {
  uint32_t count[40];
  unsigned first;
  const unsigned size = page_buckets_fold_octave(durations, octave, count, &first);
  if (widen_seen(series, first, size) < 0) return EVENTRING_E_MEMORY;
  for (unsigned i = 0; i < size; i++) {
    uint32_t *seen = &series->seen[first + i - series->seen_from];
    const uint32_t more = count[i] - *seen;
    if (!more) continue;
    *seen = count[i];
    const uint32_t before = cell->buckets.count;
    if (page_buckets_add(&cell->buckets, first + i, more) < 0) return EVENTRING_E_MEMORY;
    cells->used += (cell->buckets.count - before) * sizeof *cell->buckets.list;
  }
  return EVENTRING_OK;
}

static int take_buckets(struct page_cells *cells, struct series *series,
                        const struct eva_histogram *durations, struct cell *cell) {
  int status = EVENTRING_OK;
  for (unsigned octave = 0; octave < EVA_HISTOGRAM_OCTAVES && status == EVENTRING_OK; octave++)
    if (durations->octaves[octave])
      status = take_octave(cells, series, durations, octave, cell);
  return status;
}

/* Adds to cell `now` (of level 0) what the spans of a name have gained since
   the last turn. */
static int take_span(struct page_cells *cells, struct series *series, struct eva_tally_span *span,
                     uint32_t now) {
  struct eva_histogram *durations = &span->durations;
  const uint64_t more = durations->count - series->seen_count;
  if (!more) return EVENTRING_OK;
  struct cell *cell = cell_at(cells, series, now >> series->level);
  if (!cell) return EVENTRING_E_MEMORY;
  cell->count += more;
  cell->sum = eva_add(cell->sum, durations->total - series->seen_sum);
  cell->own = eva_add(cell->own, span->own - series->seen_own);
  cell->own_count += span->own_count - series->seen_own_count;
  cell->off_cpu = eva_add(cell->off_cpu, span->off_cpu - series->seen_off_cpu);
  cell->suspended = eva_add(cell->suspended, span->suspended - series->seen_suspended);
  if (durations->max > cell->longest) cell->longest = durations->max;
  if (durations->max > series->longest) series->longest = durations->max;
  durations->max = 0; /* borrowed (cells.h) */
  series->seen_count = durations->count;
  series->seen_sum = durations->total;
  series->seen_own = span->own;
  series->seen_own_count = span->own_count;
  series->seen_off_cpu = span->off_cpu;
  series->seen_suspended = span->suspended;
  return take_buckets(cells, series, durations, cell);
}

static int take_events(struct page_cells *cells, struct series *series, uint64_t count,
                       uint32_t now) {
  if (count == series->seen_count) return EVENTRING_OK;
  struct cell *cell = cell_at(cells, series, now >> series->level);
  if (!cell) return EVENTRING_E_MEMORY;
  cell->count += count - series->seen_count;
  series->seen_count = count;
  return EVENTRING_OK;
}

static struct level *level_at(struct page_cells *cells, struct counter *counter, uint32_t wanted) {
  const size_t before = counter->count;
  struct level *level = PAGE_ROW_OF(counter->cell, counter->count, counter->room, wanted);
  cells->used += (counter->count - before) * sizeof *level;
  return level;
}

#define TAKE_EXTREMES(row, counter, of, least_of, most_of, least_so_far, most_so_far)     \
  do {                                                                                    \
    if (is_first || (counter)->least_of < (row)->least.of) (row)->least.of = (counter)->least_of; \
    if (is_first || (counter)->most_of > (row)->most.of) (row)->most.of = (counter)->most_of;     \
    if ((counter)->least_of < (least_so_far)) (least_so_far) = (counter)->least_of;       \
    if ((counter)->most_of > (most_so_far)) (most_so_far) = (counter)->most_of;           \
  } while (0)

static int take_counter(struct page_cells *cells, struct counter *counter, uint32_t now) {
  struct eva_tally_counter *of = counter->entry->counter;
  const uint64_t more = of->samples - counter->seen_samples;
  if (!more) return EVENTRING_OK;
  struct level *row = level_at(cells, counter, now >> counter->level);
  if (!row) return EVENTRING_E_MEMORY;
  const bool is_first = row->samples == 0;
  row->samples += more;
  counter->seen_samples = of->samples;
  if (of->is_double) {
    TAKE_EXTREMES(row, of, d, dmin, dmax, counter->dleast, counter->dmost);
    row->last.d = of->dlast;
    row->sum.d += of->dsum - counter->seen_dsum;
    counter->seen_dsum = of->dsum;
    of->dmin = INFINITY, of->dmax = -INFINITY; /* borrowed */
  } else {
    TAKE_EXTREMES(row, of, i, min, max, counter->least, counter->most);
    row->last.i = of->last;
    row->sum.i = eva_add_signed(row->sum.i, of->sum - counter->seen_sum);
    counter->seen_sum = of->sum;
    of->min = INT64_MAX, of->max = INT64_MIN;
  }
  return EVENTRING_OK;
}

/* ---- Turning from cell to cell ---------------------------------------------------- */

static bool leaves(unsigned level, uint32_t before, uint32_t now) {
  return before >> level != now >> level;
}

static int turn_entry(struct page_cells *cells, unsigned slot, struct eva_tally_entry *entry,
                      struct watched *watched, uint32_t now) {
  const uint32_t before = cells->now[slot];
  int status = EVENTRING_OK;
  if (entry->span) {
    if (!watched->span && !(watched->span = new_series(cells, OF_SPAN, slot, entry)))
      return EVENTRING_E_MEMORY;
    if (leaves(watched->span->level, before, now))
      status = take_span(cells, watched->span, entry->span, before);
  }
  if (status == EVENTRING_OK && entry->counter) {
    if (!watched->counter) {
      if (!EVR_MAKE_ROOM(cells->counters, cells->counter_room, cells->counter_count, 16) ||
          !(watched->counter = calloc(1, sizeof *watched->counter)))
        return EVENTRING_E_MEMORY;
      *watched->counter = (struct counter){.slot = (uint8_t)slot, .entry = entry,
                                           .least = INT64_MAX, .most = INT64_MIN,
                                           .dleast = INFINITY, .dmost = -INFINITY};
      cells->counters[cells->counter_count++] = watched->counter;
    }
    if (leaves(watched->counter->level, before, now))
      status = take_counter(cells, watched->counter, before);
  }
  const uint64_t events = entry->events + entry->lifecycle;
  if (status == EVENTRING_OK && events) {
    if (!watched->event && !(watched->event = new_series(cells, OF_EVENT, slot, entry)))
      return EVENTRING_E_MEMORY;
    if (leaves(watched->event->level, before, now))
      status = take_events(cells, watched->event, events, before);
  }
  return status;
}

static int make_watched(struct slot *of, size_t ids) {
  if (ids <= of->ids) return EVENTRING_OK;
  struct watched *id = realloc(of->id, ids * sizeof *id);
  if (!id) return EVENTRING_E_MEMORY;
  memset(id + of->ids, 0, (ids - of->ids) * sizeof *id);
  of->id = id;
  of->ids = ids;
  return EVENTRING_OK;
}

int page_cells_turn_slot(struct page_cells *cells, uint32_t slot, uint32_t now) {
  slot %= EVENTRING_MAX_DOMAINS;
  struct eva_tally_domain *domain = &cells->tally->domains[slot];
  struct slot *of = &cells->slot[slot];
  int status = EVENTRING_OK;
  if (domain->entries && page_wants_domain(cells->run, slot)) {
    status = make_watched(of, domain->end);
    for (size_t id = 0; id < domain->end && status == EVENTRING_OK; id++)
      if (domain->entries[id])
        status = turn_entry(cells, slot, domain->entries[id], &of->id[id], now);
  }
  cells->now[slot] = now;
  if (status == EVENTRING_OK && cells->used > cells->most) status = fit(cells);
  return status;
}

static int turn_async_of(struct page_cells *cells, unsigned slot, uint32_t now) {
  struct eva_tally_domain *domain = &cells->tally->domains[slot];
  struct slot *of = &cells->slot[slot];
  int status = make_watched(of, domain->end);
  for (size_t id = 0; id < domain->end && status == EVENTRING_OK; id++) {
    struct eva_tally_entry *entry = domain->entries[id];
    if (!entry || !entry->async) continue;
    struct series **series = &of->id[id].async;
    if (!*series && !(*series = new_series(cells, OF_ASYNC, slot, entry)))
      return EVENTRING_E_MEMORY;
    if (leaves((*series)->level, cells->async_now, now))
      status = take_span(cells, *series, entry->async, cells->async_now);
  }
  return status;
}

int page_cells_turn_async(struct page_cells *cells, uint32_t now) {
  int status = EVENTRING_OK;
  if (now == cells->async_now) return status;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS && status == EVENTRING_OK; slot++)
    if (cells->tally->domains[slot].entries && page_wants_domain(cells->run, slot))
      status = turn_async_of(cells, slot, now);
  cells->async_now = now;
  return status;
}

/* ---- Pauses ----------------------------------------------------------------------- */

static struct series *pauses_of(struct page_cells *cells, const struct eva_step *step) {
  size_t kinds = 0;
  for (size_t i = 0; i < cells->series_count; i++) {
    struct series *series = cells->series[i];
    if (series->of != OF_PAUSE) continue;
    kinds++;
    if (series->slot == step->domain && series->id == step->id && series->reason == step->reason)
      return series;
  }
  if (kinds >= MOST_STEP_KINDS * EVENTRING_MAX_DOMAINS) return NULL;
  struct series *series = new_series(cells, OF_PAUSE, step->domain, NULL);
  if (!series) return NULL;
  series->id = step->id;
  series->reason = step->reason;
  series->durations = calloc(1, sizeof *series->durations);
  return series->durations ? series : NULL;
}

int page_cells_add_step(struct page_cells *cells, const struct eva_step *step) {
  struct series *series = pauses_of(cells, step);
  if (!series || eva_histogram_add(series->durations, step->ns) < 0) return EVENTRING_E_MEMORY;
  const uint32_t now = page_grid_cell(&cells->run->grid, step->begin_ns + step->ns);
  struct cell *cell = cell_at(cells, series, now >> series->level);
  if (!cell) return EVENTRING_E_MEMORY;
  const uint64_t off_cpu = step->off_cpu > 0 ? (uint64_t)step->off_cpu : 0;
  if (step->off_cpu >= 0) series->measures_off_cpu = true;
  series->off_cpu = eva_add(series->off_cpu, off_cpu);
  cell->count++;
  cell->sum = eva_add(cell->sum, step->ns);
  cell->off_cpu = eva_add(cell->off_cpu, off_cpu);
  if (step->ns > cell->longest) cell->longest = step->ns;
  return page_buckets_add(&cell->buckets, page_bucket_of(step->ns), 1);
}

/* ---- The end ---------------------------------------------------------------------- */

static void give_back(struct page_cells *cells) {
  for (size_t i = 0; i < cells->series_count; i++) {
    struct series *series = cells->series[i];
    struct eva_tally_span *span = !series->entry             ? NULL
                                  : series->of == OF_SPAN    ? series->entry->span
                                  : series->of == OF_ASYNC   ? series->entry->async : NULL;
    if (span) span->durations.max = series->longest;
    if (series->entry) series->measures_off_cpu = series->entry->measure == EVENTRING_OFF_CPU;
  }
  for (size_t i = 0; i < cells->counter_count; i++) {
    struct counter *counter = cells->counters[i];
    struct eva_tally_counter *of = counter->entry->counter;
    if (of->is_double) of->dmin = counter->dleast, of->dmax = counter->dmost;
    else if (of->samples) of->min = counter->least, of->max = counter->most;
  }
}

/* Frees what was stored at the last turn, as no turn follows. */
static void forget_seen(struct series *series) {
  free(series->seen);
  series->seen = NULL;
  series->seen_size = 0;
  trim_series(series);
}

int page_cells_finish(struct page_cells *cells) {
  int status = EVENTRING_OK;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS && status == EVENTRING_OK; slot++)
    status = page_cells_turn_slot(cells, slot, ALL_LEFT);
  if (status == EVENTRING_OK) status = page_cells_turn_async(cells, ALL_LEFT);
  give_back(cells);
  for (size_t i = 0; i < cells->series_count; i++) forget_seen(cells->series[i]);
  cells->series_whole = all_series(cells);
  cells->counters_whole = page_cells_bytes_of_counters(cells);
  for (size_t i = 0; i < cells->series_count; i++) cells->rows_whole += cells->series[i]->count;
  return status;
}

static int complete_entry(struct page_cells *cells, unsigned slot,
                          const struct eva_tally_entry *entry, struct watched *watched) {
  if (entry->span && !watched->span) watched->span = new_series(cells, OF_SPAN, slot, entry);
  if (entry->async && !watched->async) watched->async = new_series(cells, OF_ASYNC, slot, entry);
  const bool has_all = (!entry->span || watched->span) && (!entry->async || watched->async);
  return has_all ? EVENTRING_OK : EVENTRING_E_MEMORY;
}

int page_cells_complete(struct page_cells *cells) {
  int status = EVENTRING_OK;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS && status == EVENTRING_OK; slot++) {
    const struct eva_tally_domain *domain = &cells->tally->domains[slot];
    if (!page_wants_domain(cells->run, slot)) continue;
    status = make_watched(&cells->slot[slot], domain->end);
    for (size_t id = 0; id < domain->end && status == EVENTRING_OK; id++)
      if (domain->entries[id])
        status = complete_entry(cells, slot, domain->entries[id], &cells->slot[slot].id[id]);
  }
  return status;
}
