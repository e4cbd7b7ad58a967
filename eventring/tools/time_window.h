/* SPDX-License-Identifier: MIT */
/* time_window.h: --since and --until, the part of a recording that is wanted. */
#ifndef EVENTRING_TOOL_TIME_WINDOW_H
#define EVENTRING_TOOL_TIME_WINDOW_H

#include "options.h"

struct time_window {
  uint64_t after_start, end_after_start; /* as given, ns from the start of the recording */
  uint64_t since, until; /* the same times of its clock: both are in the window */
};

/* The whole recording, until options change it. */
#define TIME_WINDOW_ALL {.end_after_start = UINT64_MAX, .until = UINT64_MAX}

/* The options, in a table of options. */
#define TIME_WINDOW_SPECS(window)                                              \
  {"since", 0, OPTION_SECONDS, &(window)->after_start, "N",                    \
   "only from N seconds after the start of the recording on"},                 \
  {"until", 0, OPTION_SECONDS, &(window)->end_after_start, "N",                \
   "only until N seconds after the start"}

/* Are there any? */
bool time_window_is_asked_for(const struct time_window *window);
/* -1, or the usage error. */
int time_window_check(const struct command *self, const struct time_window *window);
/* Computes the times for a recording that has not been polled, and lets its cursor begin
   shortly before `since`: whoever reads leaves out the rest. */
void time_window_apply(struct time_window *window, eventring_cursor *cursor);

#endif
