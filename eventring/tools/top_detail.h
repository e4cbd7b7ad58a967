/* SPDX-License-Identifier: MIT */
/* top_detail.h: shows one process on the screen of `eventring top`: parts, each of them
 * the text of a command (top_child.h) that is run again and again. */
#ifndef EVENTRING_TOOL_TOP_DETAIL_H
#define EVENTRING_TOOL_TOP_DETAIL_H

#include <stdint.h>

#include "top_child.h"

enum { TOP_PARTS = 7, TOP_TARGET = 1024 };

struct top_part {
  struct top_child child;
  char *text;         /* text of the last run; NULL if there is none yet */
  uint64_t due_ns;    /* when the command is run again */
};

struct top_detail {
  char target[TOP_TARGET]; /* PID or FILE, as commands take it; "": none is shown */
  size_t columns;
  int only;                /* number of the part to show alone; -1: show all */
  bool is_over;            /* the process has ended: no more commands are run */
  struct top_part parts[TOP_PARTS];
};

/* Sets the process to show; "": none. */
void top_detail_show(struct top_detail *detail, const char *target);
/* Takes texts that have come, and starts the shown parts that are due. Returns true if
   there is something new to draw. */
bool top_detail_go_on(struct top_detail *detail, uint64_t interval_ns);
/* Returns the latest time for the next call of top_detail_go_on; UINT64_MAX: not before a
   text has come. */
uint64_t top_detail_due(const struct top_detail *detail);
void top_detail_end(struct top_detail *detail);

/* Writes the heading of a part: "1 functions  eventring profile ... 4711". Returns
   `text`. */
enum { TOP_HEADING = 256 };
char *top_detail_heading(char text[TOP_HEADING], const struct top_detail *detail, int part);
/* Returns what to show of a part: its newest text, or why there is none. */
const char *top_detail_text(const struct top_detail *detail, int part);
static inline bool top_detail_shows(const struct top_detail *detail, int part) {
  return detail->only < 0 || detail->only == part;
}

#endif
