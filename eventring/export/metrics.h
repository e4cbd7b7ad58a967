/* SPDX-License-Identifier: MIT */
/* metrics.h: the metrics of recordings at one moment, as text for Prometheus and other
 * readers of OpenMetrics, or as points for another format.
 *
 * All figures of events come from the totals that the producer keeps in the file
 * (eventring_cursor_recorded). So they cover the whole life of the recording, whoever
 * reads it and when: they include events that were overwritten, and a count never
 * decreases while the process lives, even if this reader is restarted.
 *
 * Series. The collector and memory have a series for each domain. The program's levels
 * do, too, but not its spans, other counters and events, as there may be many. If a
 * process has more than `most_names` names, the ones that it defined first have series of
 * their own, so the choice is always the same. All other names are added up as "(other)".
 */
#ifndef EVENTRING_EXPORT_METRICS_H
#define EVENTRING_EXPORT_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/usage.h"
#include "eventring/tools.h"

/* Upper bounds of histograms: those of struct eventring_histogram, with their
   text for Prometheus. */
enum { METRICS_BOUNDS = EVENTRING_HISTOGRAM_BUCKETS - 1 };
extern const struct metrics_bound { uint64_t ns; const char *text; } metrics_bounds[METRICS_BOUNDS];

/* ---- Points ----------------------------------------------------------------------- */

enum metric {
#define METRIC(id, name, type, help) METRIC_##id,
#include "export/metrics.def"
  METRICS
};
enum metrics_type { METRICS_GAUGE, METRICS_COUNTER, METRICS_HISTOGRAM, METRICS_SUMMARY };
struct metrics_family { const char *name; enum metrics_type type; const char *help; };
const struct metrics_family *metrics_family(enum metric metric);

/* The form of a value: a number; nanoseconds, which are shown as seconds; or a
   distribution of times, with their sum in nanoseconds (value.u) and their number. */
enum metrics_form { METRICS_UINT, METRICS_DOUBLE, METRICS_SECONDS, METRICS_DISTRIBUTION };
enum { METRICS_MOST_LABELS = 4 };
struct metrics_label { const char *name, *text; }; /* if `text` is NULL, the domain's
                                                      name */
struct metrics_point {
  enum metric metric;
  enum metrics_form form;
  union { uint64_t u; double d; } value;
  uint64_t count;
  const uint64_t *bucket; /* METRICS_BOUNDS + 1 counts, not cumulative; NULL if not
                             known */
  unsigned labels;
  struct metrics_label label[METRICS_MOST_LABELS];
  char domain[12];
};
static inline const char *metrics_label_text(const struct metrics_point *point, unsigned i) {
  return point->label[i].text ? point->label[i].text : point->domain;
}
/* Tells whether this bound is shown. */
bool metrics_has_bound(int i);

/* Takes a point, whose texts are valid during the call. Returns 0, or another number when
   out of memory. */
typedef int metrics_sink(void *context, const struct metrics_point *point);

/* ---- Recordings ------------------------------------------------------------------- */

enum metrics_format { METRICS_PROMETHEUS, METRICS_OPENMETRICS };

enum { METRICS_NAMES = 1000 }; /* the usual value of `most_names` */

struct metrics; /* the text made so far; used by one thread at a time */

/* Makes empty metrics for text. Returns NULL when out of memory. */
struct metrics *metrics_new(unsigned most_names);
/* Makes metrics whose points go to `sink` as each recording is added; there is no text.
   Returns NULL when out of memory. */
struct metrics *metrics_new_sink(unsigned most_names, metrics_sink *sink, void *context);
void metrics_free(struct metrics *metrics);
/* Adds the metrics that the recording of a process has now, or had at its end. `usage` is
   that of the process, or NULL if not known; `pid` is for the label. Returns 0, or the
   error of reading (eventring_cursor_error), after which some of the metrics are
   missing. */
int metrics_add(struct metrics *metrics, eventring_cursor *cursor, pid_t pid,
                const struct eva_usage *usage);
/* Writes all that was added, and forgets it. Returns 0 or E_MEMORY; the stream keeps its
   own errors (ferror). */
int metrics_write(struct metrics *metrics, FILE *out, enum metrics_format format);

#endif
