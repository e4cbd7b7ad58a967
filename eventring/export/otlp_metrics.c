/* SPDX-License-Identifier: MIT */
/* otlp_metrics.c: the metrics of a recording in OTLP: those of `eventring metrics`, from
 * the same table (metrics.def), as they are now, or were when the process ended.
 *
 * All metrics cover the whole life of the recording (metrics.h), so counts are
 * cumulative, from its start on. A counter is a monotonic Sum. A histogram has the bounds
 * of the text for Prometheus. A summary, of which only count and sum are known, is a
 * Histogram without bounds. The Resource has what that text has in the labels pid and
 * program. A name ends with its unit, as in Prometheus, and the unit is given, too. So a
 * tool that turns OTLP into metrics of Prometheus makes the same ones as a scrape. */
#include <math.h>
#include <stdlib.h>

#include "analysis/so_far.h"
#include "export/event_formats.h"
#include "export/metrics.h"
#include "export/otlp_batch.h"

enum { CUMULATIVE = 2 }; /* aggregation temporality */

struct otlp_metrics {
  struct export_run *run;
  struct otlp_file file;
  struct otlp_text points[METRICS]; /* for each metric: its points, concatenated */
  uint64_t start_ns, now_ns;        /* ns since 1970 */
  bool failed;
};

/* ---- Points ----------------------------------------------------------------------- */

static void put_labels(struct otlp_text *t, enum otlp_field field,
                       const struct metrics_point *p) {
  if (!p->labels) return;
  otlp_open_list(t, field);
  for (unsigned i = 0; i < p->labels; i++)
    otlp_attribute_string(t, field, p->label[i].name, metrics_label_text(p, i));
  otlp_close_list(t);
}

static double seconds(uint64_t ns) { return (double)ns / 1e9; }

static void put_buckets(struct otlp_text *t, const uint64_t *bucket) {
  uint64_t sum = 0;
  size_t list = otlp_open_packed(t, OTLP_BUCKET_COUNTS);
  for (int i = 0; i <= METRICS_BOUNDS; i++) {
    sum += bucket[i];
    if (i < METRICS_BOUNDS && !metrics_has_bound(i)) continue;
    otlp_pack(t, OTLP_BUCKET_COUNTS, sum);
    sum = 0;
  }
  otlp_close_packed(t, list);
  list = otlp_open_packed(t, OTLP_BOUNDS);
  for (int i = 0; i < METRICS_BOUNDS; i++)
    if (metrics_has_bound(i)) otlp_pack_double(t, seconds(metrics_bounds[i].ns));
  otlp_close_packed(t, list);
}

static void put_value(struct otlp_text *t, const struct metrics_point *p) {
  switch (p->form) {
    case METRICS_DISTRIBUTION:
      otlp_number(t, OTLP_COUNT, p->count);
      otlp_double(t, OTLP_SUM_OF_POINT, seconds(p->value.u));
      if (p->bucket) put_buckets(t, p->bucket);
      break;
    case METRICS_SECONDS: otlp_double(t, OTLP_POINT_DOUBLE, seconds(p->value.u)); break;
    case METRICS_DOUBLE: otlp_double(t, OTLP_POINT_DOUBLE, p->value.d); break;
    case METRICS_UINT:
      if (p->value.u <= INT64_MAX) otlp_number(t, OTLP_POINT_INT, p->value.u);
      else otlp_double(t, OTLP_POINT_DOUBLE, (double)p->value.u);
      break;
  }
}

static int take_point(void *context, const struct metrics_point *p) {
  struct otlp_metrics *m = context;
  struct otlp_text *t = &m->points[p->metric];
  const bool is_distribution = p->form == METRICS_DISTRIBUTION;
  const bool is_gauge = metrics_family(p->metric)->type == METRICS_GAUGE;
  const size_t item = otlp_item(t, OTLP_POINTS);
  put_labels(t, is_distribution ? OTLP_DISTRIBUTION_ATTRIBUTES : OTLP_POINT_ATTRIBUTES, p);
  if (!is_gauge) otlp_number(t, OTLP_POINT_START, m->start_ns);
  otlp_number(t, OTLP_POINT_TIME, m->now_ns);
  put_value(t, p);
  otlp_close(t, item);
  return t->b.failed;
}

/* ---- Metrics ---------------------------------------------------------------------- */

static const char *unit_of(const char *name) {
  static const char seconds_end[] = "_seconds", bytes_end[] = "_bytes";
  const size_t size = strlen(name);
  if (size > sizeof seconds_end && strcmp(name + size - sizeof seconds_end + 1, seconds_end) == 0)
    return "s";
  if (size > sizeof bytes_end && strcmp(name + size - sizeof bytes_end + 1, bytes_end) == 0)
    return "By";
  return "1";
}

static void put_metric(struct otlp_text *t, enum metric metric, const struct otlp_text *points) {
  static const enum otlp_field kinds[] = {
      [METRICS_GAUGE] = OTLP_GAUGE, [METRICS_COUNTER] = OTLP_SUM,
      [METRICS_HISTOGRAM] = OTLP_HISTOGRAM, [METRICS_SUMMARY] = OTLP_HISTOGRAM};
  const struct metrics_family *family = metrics_family(metric);
  const char *unit = unit_of(family->name);
  const size_t item = otlp_item(t, OTLP_METRICS);
  otlp_string(t, OTLP_METRIC_NAME, family->name, strlen(family->name));
  otlp_string(t, OTLP_METRIC_DESCRIPTION, family->help, strlen(family->help));
  otlp_string(t, OTLP_METRIC_UNIT, unit, strlen(unit));
  const size_t data = otlp_open(t, kinds[family->type]);
  otlp_open_list(t, OTLP_POINTS);
  otlp_join(t, points->b.data, points->b.size);
  otlp_close_list(t);
  if (family->type != METRICS_GAUGE) otlp_number(t, OTLP_TEMPORALITY, CUMULATIVE);
  if (family->type == METRICS_COUNTER) otlp_number(t, OTLP_IS_MONOTONIC, true);
  otlp_close(t, data);
  otlp_close(t, item);
}

/* ---- The file --------------------------------------------------------------------- */

static void *begin(struct export_run *run, bool is_json) {
  struct otlp_metrics *m = calloc(1, sizeof *m);
  if (!m) return NULL;
  m->run = run;
  for (int i = 0; i < METRICS; i++) m->points[i].is_json = is_json;
  if (otlp_file_open(&m->file, run, is_json, OTLP_RESOURCE_METRICS, OTLP_SCOPE_METRICS,
                     OTLP_METRICS) == 0)
    return m;
  otlp_file_close(&m->file);
  free(m);
  return NULL;
}

static void *begin_protobuf(struct export_run *run) { return begin(run, false); }
static void *begin_json(struct export_run *run) { return begin(run, true); }

/* Takes no event: the metrics come from the totals. Returns whether there was an
   error. */
static int on_event(void *state, const struct eventring_event *e) {
  const struct otlp_metrics *m = state;
  (void)e;
  return m->run->error[0] != '\0';
}

static int on_lost(void *state, const struct eventring_loss *loss) {
  (void)state, (void)loss;
  return 0;
}

/* Adds the metrics of the recording. Returns 0, or -1 when out of memory or with a text
   in run->error. */
static int take_recording(struct otlp_metrics *m) {
  struct eventring_info info = {.size = sizeof info};
  struct metrics *metrics = metrics_new_sink(METRICS_NAMES, take_point, m);
  struct eva_usage usage;
  eventring_cursor *cursor = m->run->cursor;
  if (!metrics) return -1;
  int status = eventring_cursor_info(cursor, &info);
  const pid_t pid = info.process ? info.process : info.pid;
  const bool lives = status == 0 && eventring_cursor_liveness(cursor) == EVENTRING_LIVE;
  m->start_ns = info.start_wall_ns > 0 ? (uint64_t)info.start_wall_ns : 0;
  m->now_ns = otlp_wall_ns(&info, eva_end(cursor));
  if (status == 0)
    status = metrics_add(metrics, cursor, pid, lives && eva_usage_of(pid, &usage) ? &usage : NULL);
  metrics_free(metrics);
  if (status < 0 && status != EVENTRING_E_MEMORY)
    snprintf(m->run->error, sizeof m->run->error, "%s", eventring_cursor_error(cursor)->text);
  return status < 0 ? -1 : 0;
}

static int finish(void *state) {
  struct otlp_metrics *m = state;
  int status = take_recording(m);
  for (int i = 0; i < METRICS; i++) {
    struct otlp_text *items =
        m->points[i].b.size && !status ? otlp_file_items(&m->file, 0) : NULL;
    if (items) put_metric(items, (enum metric)i, &m->points[i]);
    free(m->points[i].b.data);
  }
  if (!status) otlp_file_finish(&m->file);
  if (m->file.failed) status = -1;
  otlp_file_close(&m->file);
  free(m);
  return status;
}

const struct export_events export_events_otlp_metrics = {
    .begin = begin_protobuf, .event = on_event, .lost = on_lost, .open = on_event,
    .finish = finish};
const struct export_events export_events_otlp_metrics_json = {
    .begin = begin_json, .event = on_event, .lost = on_lost, .open = on_event, .finish = finish};
