/* SPDX-License-Identifier: MIT */
/* top_process.h: reads what `eventring top` shows of one process, refresh by refresh
 * (design: top_process.c). */
#ifndef EVENTRING_TOOL_TOP_PROCESS_H
#define EVENTRING_TOOL_TOP_PROCESS_H

#include "eventring/tools.h"
#include "view.h"

/* The window of figures that come from events: the last 10 s. */
#define TOP_WINDOW_NS UINT64_C(10000000000)

struct top_figures { /* of a refresh; has_...: the figure is known */
  bool has_cpu, has_gc, has_pause, has_rate, has_heap, has_resident;
  double cpu;            /* of one processor, since the refresh before */
  double gc;             /* share of the time of its domains, in the window */
  /* the longest step of the collector in the window, ended or not */
  uint64_t pause_ns;
  uint64_t rate;         /* bytes allocated a second, in the window */
  uint64_t heap;         /* bytes in use by its domains */
  uint64_t resident;     /* bytes, as the system counts them */
  /* events overwritten before they were read, or dropped for lack of room */
  uint64_t lost;
  uint64_t domains;      /* number of running domains */
  uint64_t of_ns;        /* the part of the window that has events */
};

struct top_reading; /* what was read from its events */

struct top_process {
  /* as commands on this machine take it; 0: not visible from here */
  pid_t pid;
  bool is_named;         /* by the user: it stays after its end */
  uint64_t gone_ns;      /* when its end was noticed; 0: it lives */
  eventring_cursor *cursor;
  struct eventring_info info;
  struct top_figures figures;
  /* of the last reading; "": none */
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

/* The row of a process, in the words of `list` and `show`. */
view_function top_process_view;

#endif
