/* SPDX-License-Identifier: MIT */
/* metrics.h: what recordings say at one moment, as text for Prometheus and whoever reads
 * OpenMetrics, or as points for another format.
 *
 * All figures of events are from the totals that the producer keeps in the file
 * (eventring_cursor_recorded). So they cover the whole life of the recording, whoever reads it and
 * when: what was overwritten before has been counted, and what counts never gets less while the
 * process lives, also if this reader is restarted.
 *
 * Series. Those of the collector and of memory are by domain; the names of the program's spans,
 * counters and events, of which there may be many, are not, but for levels. Of a process with more
 * than `most_names` names, those that it defined first have series of their own, always the same
 * ones; the others are added up as "(other)".
 */
#ifndef EVENTRING_EXPORT_METRICS_H
#define EVENTRING_EXPORT_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/usage.h"
#include "eventring/tools.h"

/* Upper bounds of histograms, those of struct eventring_histogram, as text of Prometheus. */
enum { METRICS_BOUNDS = EVENTRING_HISTOGRAM_BUCKETS - 1 };
extern const struct metrics_bound { uint64_t ns; const char *text; } metrics_bounds[METRICS_BOUNDS];

/* ---- Points -------------------------------------------------------------------------------- */

enum metric {
#define METRIC(id, name, type, help) METRIC_##id,
#include "export/metrics.def"
  METRICS
};
enum metrics_type { METRICS_GAUGE, METRICS_COUNTER, METRICS_HISTOGRAM, METRICS_SUMMARY };
struct metrics_family { const char *name; enum metrics_type type; const char *help; };
const struct metrics_family *metrics_family(enum metric metric);

/* What a value is: a number; nanoseconds, which are shown as seconds; how long things took, in
   nanoseconds together (value.u), and how many there were. */
enum metrics_form { METRICS_UINT, METRICS_DOUBLE, METRICS_SECONDS, METRICS_DISTRIBUTION };
enum { METRICS_MOST_LABELS = 4 };
struct metrics_label { const char *name, *text; }; /* NULL: that of the domain */
struct metrics_point {
  enum metric metric;
  enum metrics_form form;
  union { uint64_t u; double d; } value;
  uint64_t count;
  const uint64_t *bucket; /* METRICS_BOUNDS + 1, not added up; NULL: not known */
  unsigned labels;
  struct metrics_label label[METRICS_MOST_LABELS];
  char domain[12];
};
static inline const char *metrics_label_text(const struct metrics_point *point, unsigned i) {
  return point->label[i].text ? point->label[i].text : point->domain;
}
/* Of the bounds of buckets, those that are shown. */
bool metrics_has_bound(int i);

/* Takes a point, whose texts are valid as long as the call. A result other than 0: no memory. */
typedef int metrics_sink(void *context, const struct metrics_point *point);

/* ---- Recordings ---------------------------------------------------------------------------- */

enum metrics_format { METRICS_PROMETHEUS, METRICS_OPENMETRICS };

enum { METRICS_NAMES = 1000 }; /* `most_names` where nobody says */

struct metrics; /* the text that was made so far. One thread at a time */

/* NULL: no memory. */
struct metrics *metrics_new(unsigned most_names);
/* The same, but the points of each recording go to `sink`; there is no text. */
struct metrics *metrics_new_sink(unsigned most_names, metrics_sink *sink, void *context);
void metrics_free(struct metrics *metrics);
/* Adds what the recording of a process says now, or said at its end. `usage`: of the process; NULL: not known.
   `pid`: for the label. Returns 0, or what reading fails with (eventring_cursor_error): then some
   of its metrics are missing. */
int metrics_add(struct metrics *metrics, eventring_cursor *cursor, pid_t pid,
                const struct eva_usage *usage);
/* Writes all that was added, and forgets it. Returns 0, or E_MEMORY; errors of the stream it
   keeps (ferror). */
int metrics_write(struct metrics *metrics, FILE *out, enum metrics_format format);

#endif
