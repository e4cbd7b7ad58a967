/* SPDX-License-Identifier: MIT */
/* record_summary.h: prints the summary of `eventring record` for one process. */
#ifndef EVENTRING_TOOL_RECORD_SUMMARY_H
#define EVENTRING_TOOL_RECORD_SUMMARY_H

#include "recorder.h"
#include "view.h"

/* Prints on standard error: events, time, bytes, why it ended; what each ring lost, and
   the size that the ring would have needed. */
void print_record_summary(const eventring_cursor *cursor, struct recorder *recorder,
                          const struct recorder_result *result);
/* The summary for programs: a JSON object on one line. For all rings and for each: events
   emitted = missed + saved + lost; times in ns. */
view_function record_summary_view;
void put_record_summary(eventring_cursor *cursor, struct recorder *recorder,
                        const struct recorder_result *result, FILE *out);

#endif /* EVENTRING_TOOL_RECORD_SUMMARY_H */
