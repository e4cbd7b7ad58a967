/* SPDX-License-Identifier: MIT */
/* cells_write.c: sections `series` and `counters`. */
#include <math.h>

#include "view/cells_rows.h"
#include "view/events.h"
#include "view/lists.h"

enum { LEVELS = 8 };

/* ---- Section `series` ------------------------------------------------------------- */

/* Returns the value, limited to the range in which JavaScript's numbers are exact; only a
   damaged file has larger ones. */
static uint64_t exact(uint64_t value) { return value < 1ull << 53 ? value : (1ull << 53) - 1; }

static const char *const names_of[] = {
    [OF_SPAN] = "span", [OF_ASYNC] = "async", [OF_EVENT] = "event", [OF_PAUSE] = "pause"};

static void put_index(struct eva_json *json, const char *key, int index) {
  eva_json_key(json, key);
  if (index < 0) eva_json_null(json);
  else eva_json_int(json, index);
}

#define PUT_COLUMN(json, key, rows, count, member) \
  PAGE_COLUMN(json, key, count, exact((rows)[i].member))

/* Tells whether own time is unknown for some of the spans. */
static bool lacks_own(const struct series *series) {
  return series->entry->span->own_count < series->entry->span->durations.count;
}

static void put_columns(const struct series *series, struct eva_json *json) {
  const struct cell *cell = series->cell;
  const size_t count = series->count;
  PAGE_DIFFERENCES(json, "cell_d", count, cell[i].cell);
  PUT_COLUMN(json, "count", cell, count, count);
  if (series->of == OF_EVENT) return;
  PUT_COLUMN(json, "sum", cell, count, sum);
  PUT_COLUMN(json, "longest", cell, count, longest);
  if (series->measures_off_cpu) PUT_COLUMN(json, "off_cpu", cell, count, off_cpu);
  if (series->of == OF_SPAN) {
    PUT_COLUMN(json, "own", cell, count, own);
    if (lacks_own(series)) PUT_COLUMN(json, "own_count", cell, count, own_count);
    PUT_COLUMN(json, "suspended", cell, count, suspended);
  }
  if (series->has_no_buckets) return;
  eva_json_key(json, "histogram");
  eva_json_open_array(json);
  for (size_t i = 0; i < count; i++) page_buckets_write(&cell[i].buckets, json);
  eva_json_close_array(json);
}

static void put_durations(const struct eva_histogram *durations, struct eva_json *json) {
  eva_json_uint_at(json, "count", exact(durations->count));
  eva_json_uint_at(json, "sum", exact(durations->total));
  eva_json_uint_at(json, "longest", exact(durations->max));
}

static void put_histogram(const struct eva_histogram *durations, struct eva_json *json) {
  eva_json_key(json, "histogram");
  page_buckets_write_histogram(durations, json);
}

static void put_span_total(const struct series *series, const struct eva_tally_span *span,
                           struct eva_json *json) {
  put_durations(&span->durations, json);
  if (series->of == OF_SPAN) {
    eva_json_uint_at(json, "own", exact(span->own));
    if (lacks_own(series)) eva_json_uint_at(json, "own_count", exact(span->own_count));
    eva_json_uint_at(json, "suspended", exact(span->suspended));
  }
  if (series->measures_off_cpu) eva_json_uint_at(json, "off_cpu", exact(span->off_cpu));
  eva_json_uint_at(json, "torn", exact(span->torn));
  eva_json_uint_at(json, "open", exact(span->open));
  put_histogram(&span->durations, json);
}

static void put_total(const struct series *series, struct eva_json *json) {
  const struct eva_tally_entry *entry = series->entry;
  eva_json_key(json, "total");
  eva_json_open_object(json);
  if (series->of == OF_EVENT) {
    eva_json_uint_at(json, "count", exact(entry->events + entry->lifecycle));
  } else if (series->of == OF_PAUSE) {
    put_durations(series->durations, json);
    if (series->measures_off_cpu) eva_json_uint_at(json, "off_cpu", exact(series->off_cpu));
    put_histogram(series->durations, json);
  } else {
    put_span_total(series, series->of == OF_SPAN ? entry->span : entry->async, json);
  }
  eva_json_close_object(json);
}

static void put_series(const struct page_cells *cells, const struct series *series,
                       struct eva_json *json) {
  eva_json_open_object(json);
  eva_json_string_at(json, "of", names_of[series->of]);
  put_index(json, "name", page_name(cells->run->lists, series->id));
  put_index(json, "domain", page_domain(cells->run->lists, series->slot));
  put_index(json, "reason", page_name(cells->run->lists, series->reason));
  eva_json_uint_at(json, "level", series->level);
  put_columns(series, json);
  put_total(series, json);
  eva_json_close_object(json);
}

static void *begin_cells(struct page_run *run) { return run->events->cells; }

/* Leaves out the histograms of the cells, except those of the first `kept` series, the
   most important ones. */
static void drop_buckets(struct page_cells *cells, size_t kept) {
  for (size_t i = kept; i < cells->series_count; i++) cells->series[i]->has_no_buckets = true;
}

static bool write_series(void *state, struct eva_json *json, unsigned level,
                         struct page_left *left) {
  enum { MOST_BUCKETS = 4096 };
  struct page_cells *cells = state;
  if (!cells->series_count) return false;
  if (level) {
    cells->run->events->status = page_cells_fit_series(cells, cells->series_whole >> level);
    drop_buckets(cells, MOST_BUCKETS >> (2 * level));
  }
  uint64_t rows = 0;
  eva_json_open_object(json);
  eva_json_key(json, "series");
  eva_json_open_array(json);
  for (size_t i = 0; i < cells->series_count; i++) {
    put_series(cells, cells->series[i], json);
    rows += cells->series[i]->count;
  }
  eva_json_close_array(json);
  eva_json_close_object(json);
  if (rows < cells->rows_whole)
    *left = (struct page_left){"cells of series", rows, cells->rows_whole, NULL};
  return true;
}

const struct page_part page_part_series = {
    .name = "series", .levels = LEVELS, .begin = begin_cells, .write = write_series};

/* ---- Section `counters` ----------------------------------------------------------- */

/* Returns the factor by which values are multiplied: 1; for fractions, the largest one
   with which values stay exact. */
static double scale_of(const struct counter *counter) {
  const struct eva_tally_counter *of = counter->entry->counter;
  double scale = 1e6, most = 1;
  if (!of->is_double) return 1;
  for (size_t i = 0; i < counter->count; i++) {
    const struct level *row = &counter->cell[i];
    const double values[] = {row->least.d, row->most.d, row->sum.d};
    for (int v = 0; v < 3; v++)
      if (isfinite(values[v]) && fabs(values[v]) > most) most = fabs(values[v]);
  }
  while (scale > 1 && most * scale > 0x1p52) scale /= 10;
  return scale;
}

static int64_t exact_signed(int64_t value) {
  const int64_t most = (1ll << 53) - 1;
  return value > most ? most : value < -most ? -most : value;
}

static int64_t scaled(double value, double scale) {
  const double product = value * scale;
  if (!isfinite(product)) return 0;
  return product > 0x1p53 ? exact_signed(INT64_MAX)
         : product < -0x1p53 ? exact_signed(INT64_MIN) : llround(product);
}

#define PUT_VALUES(json, key, counter, member, scale)                         \
  PAGE_COLUMN(json, key, (counter)->count,                                    \
              is_double ? scaled((counter)->cell[i].member.d, scale)          \
                        : exact_signed((counter)->cell[i].member.i))

static void put_counter(const struct page_cells *cells, const struct counter *counter,
                        struct eva_json *json) {
  const bool is_double = counter->entry->counter->is_double;
  const double scale = scale_of(counter);
  eva_json_open_object(json);
  put_index(json, "domain", page_domain(cells->run->lists, counter->slot));
  put_index(json, "name", page_name(cells->run->lists, counter->entry->id));
  eva_json_uint_at(json, "level", counter->level);
  eva_json_uint_at(json, "scale", (uint64_t)scale);
  PAGE_DIFFERENCES(json, "cell_d", counter->count, counter->cell[i].cell);
  PUT_VALUES(json, "last", counter, last, scale);
  PUT_VALUES(json, "least", counter, least, scale);
  PUT_VALUES(json, "most", counter, most, scale);
  PUT_VALUES(json, "sum", counter, sum, scale);
  PUT_COLUMN(json, "samples", counter->cell, counter->count, samples);
  eva_json_close_object(json);
}

static bool write_counters(void *state, struct eva_json *json, unsigned level,
                           struct page_left *left) {
  struct page_cells *cells = state;
  if (!cells->counter_count) return false;
  if (level) page_cells_fit_counters(cells, cells->counters_whole >> level);
  const size_t bytes = page_cells_bytes_of_counters(cells);
  if (bytes < cells->counters_whole)
    *left = (struct page_left){"cells of counters", bytes / sizeof(struct level),
                               cells->counters_whole / sizeof(struct level), NULL};
  eva_json_open_object(json);
  eva_json_key(json, "counters");
  eva_json_open_array(json);
  for (size_t i = 0; i < cells->counter_count; i++) put_counter(cells, cells->counters[i], json);
  eva_json_close_array(json);
  eva_json_close_object(json);
  return true;
}

const struct page_part page_part_counters = {
    .name = "counters", .levels = LEVELS, .begin = begin_cells, .write = write_counters};
