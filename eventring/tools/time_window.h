/* SPDX-License-Identifier: MIT */
/* time_window.h: --since, --until and --last: the wanted part of a recording. */
#ifndef EVENTRING_TOOL_TIME_WINDOW_H
#define EVENTRING_TOOL_TIME_WINDOW_H

#include "eventring/read.h"
#include "options.h"

struct time_window {
  struct time_point from, to; /* as given */
  uint64_t last_ns;           /* as given; 0: not given */
  bool backwards;             /* it is read from its end */
  /* on the recording's clock, inclusive; 0 and UINT64_MAX: no bound */
  uint64_t since, until;
};

/* The whole recording, until options change it. */
#define TIME_WINDOW_ALL {.until = UINT64_MAX}

/* The options, in a table of options. */
#define TIME_WINDOW_SPECS(window)                                              \
  {"since", 0, OPTION_TIME, &(window)->from, "TIME",                           \
   "only from TIME on: 12.5, -2 (before the end), or 2026-11-22T10:00:00"},     \
  {"until", 0, OPTION_TIME, &(window)->to, "TIME", "only until TIME"},         \
  {"last", 'l', OPTION_SECONDS, &(window)->last_ns, "N",                       \
   "only the last N seconds of what is recorded"}

/* Tells whether the options restrict the recording. */
bool time_window_is_asked_for(const struct time_window *window);
/* Checks the options. Returns STATUS_GO_ON, or the usage error. */
int time_window_check(const struct command *self, const struct time_window *window);
/* Computes the times for a recording that has not been polled. Makes its cursor begin
   shortly before `since`, or, backwards, shortly after `until`; the caller must leave out
   the rest. Finds the position by bisection, however long the recording is. The end of a
   live recording is its present end. Returns false, after a message, if `until` is before
   `since`. */
bool time_window_apply(struct time_window *window, eventring_cursor *cursor);

#endif
