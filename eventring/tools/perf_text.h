/* SPDX-License-Identifier: MIT */
/* perf_text.h: reads the samples in the text of `perf script`.
 *
 * A sample is a line and its frames, innermost first, until an empty line:
 *
 *   saros 4711/4712 [001] 12345.123456789:    5000000 cpu-clock:pppH:
 *             5a8f0 vm_execute+0x2e (/usr/bin/saros)
 *
 * The number of the process, the processor, the period and the event may be missing.
 * Without a chain of calls the frame follows the event on its line, and no empty line
 * follows. Anything else is skipped and counted. The text is foreign input, limited only
 * by its size and by memory.
 */
#ifndef EVENTRING_TOOL_PERF_TEXT_H
#define EVENTRING_TOOL_PERF_TEXT_H

#include "sample_tree.h"

struct perf_sample {
  uint64_t ns;
  int64_t pid; /* -1: not in the text */
  int64_t tid;
  size_t first; /* index of the sample's first frame */
  uint32_t count;
};

struct perf_event {
  char name[64];  /* cut if it is too long */
  bool wanted;
};
enum { PERF_MOST_EVENTS = 64 };

struct perf_text { /* {0} at first, except `wanted` */
  /* only samples of this event, with or without its modifiers; NULL for all */
  const char *wanted;
  struct perf_sample *samples; /* by time */
  size_t count;
  const struct remote_function **frames; /* innermost first; a perf_text's user owns the
                                            names */
  size_t frame_count;
  uint64_t passed_over; /* number of lines that are no sample where a sample was
                           expected */
  struct perf_event events[PERF_MOST_EVENTS]; /* in the order of their first samples */
  size_t event_count;
  size_t latest;        /* the index of the last sample's event */
  uint64_t further;     /* number of samples of events for which the table has no room */
  uint64_t unwanted;    /* number of samples of unwanted events, or without an event */
  uint64_t timed;       /* number of samples of cpu-clock or task-clock, whose period is
                           time */
  double timed_ns;      /* the sum of these periods */
};

/* Reads the whole text. `path`: "-" is standard input. Returns false after a message. */
bool perf_text_read(struct perf_text *text, struct sample_names *names, const char *path);
void perf_text_free(struct perf_text *text);

#endif
