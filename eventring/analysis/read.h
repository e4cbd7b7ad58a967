/* SPDX-License-Identifier: MIT */
/* read.h: reads a whole recording.
 *
 * One poll may end before it has delivered all that is there (eventring_poll_end). Whoever is to
 * see all of a recording polls through these functions, so that nobody takes a part of it for
 * the whole. They end: a poll that delivers nothing and fails twice is the last one, and of a
 * file that nobody writes any more only as many polls end at unreadable blocks as it has blocks.
 *
 * Threads: as for the cursor.
 */
#ifndef EVENTRING_ANALYSIS_READ_H
#define EVENTRING_ANALYSIS_READ_H

#include <stdbool.h>

#include "eventring/read.h"

struct eva_read { /* all 0 before the first poll */
  unsigned failures; /* polls in succession that failed and delivered nothing */
  bool is_over;      /* the last poll delivered all that was there, or it was the second that
                        failed: there is no point in another one now */
  bool is_stopped;   /* `max`, or the result of a callback, ended it */
};

/* Polls once. Returns what eventring_poll does. */
int eva_read_poll(struct eva_read *read, eventring_cursor *cursor,
                  const struct eventring_callbacks *callbacks, void *context, uint64_t max);

/* Polls until all that is there has been delivered, or a callback returns a value other than 0.
   Returns 0, or the first error; reading has gone on after it where that was possible. */
int eva_read_all(eventring_cursor *cursor, const struct eventring_callbacks *callbacks,
                 void *context);

#endif
