/* SPDX-License-Identifier: MIT */
/* figures.h: figures as people read them.
 *
 * The name of a parameter is its unit. Errors: none; a date out of range is written as a
 * number. Threads: any; "µs" follows the locale's character set, dates follow the time
 * zone.
 */
#ifndef EVENTRING_ANALYSIS_FIGURES_H
#define EVENTRING_ANALYSIS_FIGURES_H

#include <stddef.h>
#include <stdint.h>

/* Room for any of the texts below. */
enum { EVA_FIGURE = 48 };

/* Writes a figure into `figure` (EVA_FIGURE bytes) and returns `figure`. So do the
   functions below. */
char *eva_duration_text(char *figure, uint64_t ns);   /* "1.234 ms", 4 digits */
char *eva_count_text(char *figure, uint64_t count);   /* "1,234,567" */
char *eva_signed_text(char *figure, int64_t value);   /* "-1,234,567" */
char *eva_double_text(char *figure, double value);    /* "1234.5", 6 digits */
char *eva_bytes_text(char *figure, uint64_t bytes);   /* "1.25 MiB" */
char *eva_percent_text(char *figure, uint64_t part, uint64_t whole); /* "12.34 %" */
char *eva_seconds_text(char *figure, int64_t ns);     /* "12.345678901" */
char *eva_wall_text(char *figure, int64_t ns);        /* "2024-05-01 12:00:00.123" */

/* Returns room for a figure, for arguments of messages. A thread uses 16 such buffers in
   turn, so a text that one of the macros below returns is valid for 16 further calls. */
char *eva_figure(void);
#define eva_duration(ns) eva_duration_text(eva_figure(), ns)
#define eva_count(count) eva_count_text(eva_figure(), count)
#define eva_bytes(bytes) eva_bytes_text(eva_figure(), bytes)
#define eva_percent(part, whole) eva_percent_text(eva_figure(), part, whole)
#define eva_seconds(ns) eva_seconds_text(eva_figure(), ns)
#define eva_wall(ns) eva_wall_text(eva_figure(), ns)

#endif
