/* SPDX-License-Identifier: MIT */
/* so_far.h: for how long a span that is open has lasted so far.
 *
 * In a live process it has lasted until now. In a process that has ended or died, and in
 * a copy, it lasted at least until the last moment at which the process is known to have
 * been running. With a window, the span lasted at least until the end of the window. If
 * the class of a span is off, or was off since its begin, nothing is known
 * (EVENTRING_MAY_BE_OVER): the span may have ended right after it began.
 *
 * Units: nanoseconds of the recording's clock. Errors: none; unreadable parts count as
 * missing. Threads: that of the cursor.
 */
#ifndef EVENTRING_ANALYSIS_SO_FAR_H
#define EVENTRING_ANALYSIS_SO_FAR_H

#include <stdbool.h>

#include "analysis/figures.h"
#include "eventring/read.h"

/* Up to what time each domain is known. */
struct eva_known {
  uint64_t until[EVENTRING_MAX_DOMAINS]; /* by slot; 0: nothing was recorded there */
  uint64_t latest;                       /* the latest time of all domains */
  bool is_now;                           /* the process lives, so open spans count up to
                                            the call of eva_known_find */
};

struct eva_so_far {
  bool known;
  bool at_least; /* the span was open at the last known moment, and may have gone on */
  uint64_t ns;
};

/* Finds up to what time each domain is known. `until`: the end of a window; UINT64_MAX:
   there is no window. */
void eva_known_find(struct eva_known *known, eventring_cursor *cursor, uint64_t until);
/* Returns the last moment that the recording itself knows of: its end, or its newest
   event or stack. A live process goes on after it. */
uint64_t eva_last_known(eventring_cursor *cursor);
/* Returns the moment from which ages count back: now, if the process lives; else
   eva_last_known. */
uint64_t eva_end(eventring_cursor *cursor);
/* Returns the last moment at which a domain is known to have existed: its stop, if it has
   one. */
uint64_t eva_known_until(const struct eva_known *known, eventring_cursor *cursor, unsigned slot,
                         uint32_t incarnation);
/* Returns for how long an open span has lasted so far. `open`: its begin, as
   eventring_open_spans gives it. */
struct eva_so_far eva_so_far(const struct eva_known *known, eventring_cursor *cursor,
                             const struct eventring_event *open);
/* Returns the longer of two times; an unknown time is the shortest. */
struct eva_so_far eva_so_far_longer(struct eva_so_far a, struct eva_so_far b);
/* Makes the begin of a span that was open at `until`, the end of the window. The later
   event `end` ended the span, so it is no longer in the cursor's list. Returns false if
   `end` is no such end. */
bool eva_open_before(const struct eventring_event *end, uint64_t until,
                     struct eventring_event *open);

/* Writes "3.8 s so far", "at least 3.8 s" or "?" into `text`, and returns it. */
enum { EVA_SO_FAR = EVA_FIGURE + 16 };
char *eva_so_far_text(char text[EVA_SO_FAR], const struct eva_so_far *so_far);

#endif
