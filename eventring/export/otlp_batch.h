/* SPDX-License-Identifier: MIT */
/* otlp_batch.h: the file of OTLP: messages TracesData (or MetricsData, ProfilesData),
 * each with the items of one process.
 *
 * In protocol buffers, messages that follow each other add up to one. So the file is one
 * message, in the form that is sent to a collector. In JSON each message is a line. A
 * message has about OTLP_BATCH bytes, so that a line is less than the 1 MiB at which the
 * collector's receiver of files cuts lines.
 */
#ifndef EVENTRING_EXPORT_OTLP_BATCH_H
#define EVENTRING_EXPORT_OTLP_BATCH_H

#include "export/event_formats.h"
#include "export/otlp_resource.h"
#include "export/processes.h"

enum { OTLP_BATCH = 384 << 10, OTLP_MOST_BATCHES = 64 };

/* Counts of what lies outside all spans. */
struct otlp_counts {
  uint64_t missed, lost;           /* events, before and after reading began */
  uint64_t steps, events;          /* steps of the runtime, events of the program, outside
                                      all spans */
};

struct otlp_batch {
  uint32_t process;
  struct otlp_text resource; /* attributes of the process */
  struct otlp_text items;    /* spans, or metrics */
};

struct otlp_file {
  struct export_run *run;
  bool is_json;
  struct otlp_said said;
  struct otlp_counts counts;
  enum otlp_field data, of_scope, item; /* fields of a message, its scopes, their items */
  struct otlp_batch *batches;
  uint32_t count, room;
  bool failed; /* no memory */
  bool has_written;
};

/* Opens the file. Returns 0, or -1 when out of memory or with a text in run->error. */
int otlp_file_open(struct otlp_file *file, struct export_run *run, bool is_json,
                   enum otlp_field data, enum otlp_field of_scope, enum otlp_field item);
/* Returns the text to which the caller adds the items of a process
   (eventring_cursor_process; 0: the recording's own). The text is valid until the next
   call. Returns NULL when out of memory. */
struct otlp_text *otlp_file_items(struct otlp_file *file, uint32_t process);
/* Writes what is left. */
void otlp_file_finish(struct otlp_file *file);
void otlp_file_close(struct otlp_file *file);

/* Returns a time of the recording in nanoseconds since 1970. */
uint64_t otlp_wall_ns(const struct eventring_info *info, uint64_t ns);

#endif
