/* SPDX-License-Identifier: MIT */
/* read_all.h: reads a whole recording.
 *
 * A poll may end before it has delivered everything (eventring_poll_end). Code that must
 * see a whole recording polls through these functions, so that it never takes a part for
 * the whole. They always come to an end: they stop after two polls in succession that
 * fail and deliver nothing; and in a file that nobody writes any more, no more polls end
 * at unreadable blocks than the file has blocks.
 *
 * Threads: as for the cursor.
 */
#ifndef EVENTRING_ANALYSIS_READ_ALL_H
#define EVENTRING_ANALYSIS_READ_ALL_H

#include <stdbool.h>

#include "eventring/read.h"

struct eva_read { /* all 0 before the first poll */
  unsigned failures; /* polls in succession that failed and delivered nothing */
  bool is_over;      /* another poll is useless: the last one delivered all that was
                        there, or was the second failure in succession */
  bool is_stopped;   /* `max` or the result of a callback ended the reading */
};

/* Polls once. Returns what eventring_poll does. */
int eva_read_poll(struct eva_read *read, eventring_cursor *cursor,
                  const struct eventring_callbacks *callbacks, void *context, uint64_t max);

/* Polls until all that is there has been delivered, or a callback returns a value other
   than 0. Returns 0, or the first error; reading goes on after an error where that is
   possible. */
int eva_read_all(eventring_cursor *cursor, const struct eventring_callbacks *callbacks,
                 void *context);

#endif
