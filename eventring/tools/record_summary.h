/* SPDX-License-Identifier: MIT */
/* record_summary.h: what `eventring record` says of one process at the end. */
#ifndef EVENTRING_TOOL_RECORD_SUMMARY_H
#define EVENTRING_TOOL_RECORD_SUMMARY_H

#include "recorder.h"
#include "view.h"

/* Events, time, bytes, why it ended; what was lost, of each ring, and the ring size that
   would have been enough. On standard error. */
void print_record_summary(const eventring_cursor *cursor, struct recorder *recorder,
                          const struct recorder_result *result);
/* The same for programs: a JSON object on a line. For all rings and for each: events
   emitted = missed + saved + lost; times in ns. */
view_function record_summary_view;
void put_record_summary(eventring_cursor *cursor, struct recorder *recorder,
                        const struct recorder_result *result, FILE *out);

#endif /* EVENTRING_TOOL_RECORD_SUMMARY_H */
