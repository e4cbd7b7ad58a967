/* SPDX-License-Identifier: MIT */
/* metrics.h: what live recordings say at one moment, as text for Prometheus and whoever reads
 * OpenMetrics.
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

enum metrics_format { METRICS_PROMETHEUS, METRICS_OPENMETRICS };

enum { METRICS_NAMES = 1000 }; /* `most_names` where nobody says */

struct metrics; /* the text that was made so far. One thread at a time */

/* NULL: no memory. */
struct metrics *metrics_new(unsigned most_names);
void metrics_free(struct metrics *metrics);
/* Adds what the recording of a live process says now. `usage`: of the process; NULL: not known.
   `pid`: for the label. Returns 0, or what reading fails with (eventring_cursor_error): then some
   of its metrics are missing. */
int metrics_add(struct metrics *metrics, eventring_cursor *cursor, pid_t pid,
                const struct eva_usage *usage);
/* Writes all that was added, and forgets it. Returns 0, or E_MEMORY; errors of the stream it
   keeps (ferror). */
int metrics_write(struct metrics *metrics, FILE *out, enum metrics_format format);

#endif
