/* SPDX-License-Identifier: MIT */
/* top_process.h: reads what `eventring top` shows of one process, refresh by refresh
 * (design: top_process.c). */
#ifndef EVENTRING_TOOL_TOP_PROCESS_H
#define EVENTRING_TOOL_TOP_PROCESS_H

#include "eventring/tools.h"
#include "view.h"

/* The window of figures that come from events: the last 10 s. */
#define TOP_WINDOW_NS UINT64_C(10000000000)

struct top_figures { /* figures of a refresh; each has_... tells whether a figure is
                        known */
  bool has_cpu, has_gc, has_pause, has_rate, has_heap, has_resident;
  double cpu;            /* share of one processor, since the refresh before */
  double gc;             /* share of the collector in the time of the domains, in the
                            window */
  /* the longest step of the collector in the window, ended or not */
  uint64_t pause_ns;
  uint64_t rate;         /* bytes allocated a second, in the window */
  uint64_t heap;         /* bytes in use by the process's domains */
  uint64_t resident;     /* bytes, as the system counts them */
  /* events overwritten before they were read, or dropped for lack of room */
  uint64_t lost;
  uint64_t domains;      /* number of running domains */
  uint64_t of_ns;        /* ns of the window that have events */
};

struct top_reading; /* what was read from a process's events */

struct top_process {
  /* pid that commands on this machine take; 0 if not visible from here */
  pid_t pid;
  bool is_named;         /* named by the user, so it stays in the list after its end */
  uint64_t gone_ns;      /* when the end of the process was noticed; 0 while it lives */
  eventring_cursor *cursor;
  struct eventring_info info;
  struct top_figures figures;
  /* error of the last reading, or "" */
  char error[sizeof((struct eventring_error *)0)->text];
  struct top_reading *reading;
};

/* Returns a new process, which begins with what the recording has in the window. It takes
   ownership of the cursor. */
struct top_process *top_process_new(eventring_cursor *cursor);
void top_process_free(struct top_process *process);
/* Reads what has come since, and computes the present figures. */
void top_process_refresh(struct top_process *process);
/* Reads only the processor time, so that the next refresh has a difference. */
void top_process_clock(struct top_process *process);

/* The row of a process, with the same words as `list` and `show`. */
view_function top_process_view;

#endif
