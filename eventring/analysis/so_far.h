/* SPDX-License-Identifier: MIT */
/* so_far.h: for how long a span that is open has lasted so far.
 *
 * Of a live process that is up to now. Of one that has ended or died, and in a copy, it is up to
 * the last moment at which the process is known to have been there: the span lasted at least so
 * long. Up to the end of a window it lasted at least until then. Of a span whose class is off, or
 * was, nothing is known (EVENTRING_MAY_BE_OVER): it may have ended right after its begin.
 *
 * Units: nanoseconds of the recording's clock. Errors: none; what cannot be read is taken for not
 * there. Threads: that of the cursor.
 */
#ifndef EVENTRING_ANALYSIS_SO_FAR_H
#define EVENTRING_ANALYSIS_SO_FAR_H

#include <stdbool.h>

#include "analysis/units.h"
#include "eventring/read.h"

/* How far what is known of each domain reaches. */
struct eva_known {
  uint64_t until[EVENTRING_MAX_DOMAINS]; /* by slot; 0: nothing was recorded there */
  uint64_t latest;                       /* of all */
  bool is_now;                           /* until the moment of eva_known_find */
};

struct eva_so_far {
  bool known;
  bool at_least; /* it was open at the end of what is known, and may have gone on */
  uint64_t ns;
};

/* `until`: the end of a window; UINT64_MAX: there is none. */
void eva_known_find(struct eva_known *known, eventring_cursor *cursor, uint64_t until);
/* The last moment that the recording itself knows of: its end, its newest event or stack. Of a
   live process that is no end. */
uint64_t eva_last_known(eventring_cursor *cursor);
/* What ages count back from: now, of a process that lives; else eva_last_known. */
uint64_t eva_end(eventring_cursor *cursor);
/* Until when a domain is known to have been there: its stop, if it has one. */
uint64_t eva_known_until(const struct eva_known *known, eventring_cursor *cursor, unsigned slot,
                         uint32_t incarnation);
/* `open`: a begin as eventring_open_spans gives it. */
struct eva_so_far eva_so_far(const struct eva_known *known, eventring_cursor *cursor,
                             const struct eventring_event *open);
/* The longer one; one that is not known is the shortest. */
struct eva_so_far eva_so_far_longer(struct eva_so_far a, struct eva_so_far b);
/* The begin of a span that an `end` after a window ends: it was open then, and is not in the
   cursor's list any more. False: it is no such end. */
bool eva_open_before(const struct eventring_event *end, uint64_t until,
                     struct eventring_event *open);

/* "3.8 s so far", "at least 3.8 s", "?". Returns `text`. */
enum { EVA_SO_FAR = EVA_FIGURE + 16 };
char *eva_so_far_text(char text[EVA_SO_FAR], const struct eva_so_far *so_far);

#endif
