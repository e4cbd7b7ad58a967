/* SPDX-License-Identifier: MIT */
/* read.h: reads a whole recording.
 *
 * One poll may end before it has delivered all that is there (eventring_poll_end). Code
 * that must see all of a recording polls through these functions, so that it never takes
 * a part of it for the whole. They come to an end: the second poll in succession that
 * fails and delivers nothing is the last one, and in a file that nobody writes any more
 * at most as many polls end at unreadable blocks as the file has blocks.
 *
 * Threads: as for the cursor.
 */
#ifndef EVENTRING_ANALYSIS_READ_H
#define EVENTRING_ANALYSIS_READ_H

#include <stdbool.h>

#include "eventring/read.h"

struct eva_read { /* all 0 before the first poll */
  unsigned failures; /* polls in succession that failed and delivered nothing */
  bool is_over;      /* the last poll delivered all that was there, or was the second in
                        succession that failed: another one is of no use now */
  bool is_stopped;   /* `max` or the result of a callback ended it */
};

/* Polls once. Returns what eventring_poll does. */
int eva_read_poll(struct eva_read *read, eventring_cursor *cursor,
                  const struct eventring_callbacks *callbacks, void *context, uint64_t max);

/* Polls until all that is there has been delivered, or a callback returns a value other
   than 0. Returns 0, or the first error; where it was possible, reading has gone on after
   that. */
int eva_read_all(eventring_cursor *cursor, const struct eventring_callbacks *callbacks,
                 void *context);

#endif
