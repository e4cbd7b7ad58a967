/* SPDX-License-Identifier: MIT */
/* so_far.h: for how long a span that is open has lasted so far.
 *
 * In a live process that is up to now. In one that has ended or died, and in a copy, it
 * is up to the last moment at which the process is known to have been there: the span
 * lasted at least so long. With a window, the span lasted at least until the end of the
 * window. If the class of a span is off, or was, nothing is known
 * (EVENTRING_MAY_BE_OVER): the span may have ended right after its begin.
 *
 * Units: nanoseconds of the recording's clock. Errors: none; what cannot be read counts
 * as not there. Threads: that of the cursor.
 */
#ifndef EVENTRING_ANALYSIS_SO_FAR_H
#define EVENTRING_ANALYSIS_SO_FAR_H

#include <stdbool.h>

#include "analysis/units.h"
#include "eventring/read.h"

/* How far the knowledge of each domain reaches. */
struct eva_known {
  uint64_t until[EVENTRING_MAX_DOMAINS]; /* by slot; 0: nothing was recorded there */
  uint64_t latest;                       /* the latest of all */
  bool is_now;                           /* the end is the moment of eva_known_find */
};

struct eva_so_far {
  bool known;
  bool at_least; /* it was open at the end of what is known, and may have gone on */
  uint64_t ns;
};

/* Finds how far the knowledge of each domain reaches. `until`: the end of a window;
   UINT64_MAX: there is none. */
void eva_known_find(struct eva_known *known, eventring_cursor *cursor, uint64_t until);
/* Returns the last moment that the recording itself knows of: its end, or its newest
   event or stack. A live process goes on after it. */
uint64_t eva_last_known(eventring_cursor *cursor);
/* Returns the moment from which ages count back: now, if the process lives; else
   eva_last_known. */
uint64_t eva_end(eventring_cursor *cursor);
/* Returns until when a domain is known to have been there: until its stop, if it has
   one. */
uint64_t eva_known_until(const struct eva_known *known, eventring_cursor *cursor, unsigned slot,
                         uint32_t incarnation);
/* Returns for how long an open span has lasted so far. `open`: its begin, as
   eventring_open_spans gives it. */
struct eva_so_far eva_so_far(const struct eva_known *known, eventring_cursor *cursor,
                             const struct eventring_event *open);
/* Returns the longer one; one that is not known is the shortest. */
struct eva_so_far eva_so_far_longer(struct eva_so_far a, struct eva_so_far b);
/* Makes the begin of a span that `end` ends after the window: the span was open at
   `until`, and is no longer in the cursor's list. False: it is no such end. */
bool eva_open_before(const struct eventring_event *end, uint64_t until,
                     struct eventring_event *open);

/* Writes "3.8 s so far", "at least 3.8 s" or "?" into `text`, and returns it. */
enum { EVA_SO_FAR = EVA_FIGURE + 16 };
char *eva_so_far_text(char text[EVA_SO_FAR], const struct eva_so_far *so_far);

#endif
