/* SPDX-License-Identifier: MIT */
/* own_time.h: how much of a span's time is its own: its duration, without the time for which its
 * context was suspended, and without that of the spans directly within it.
 *
 * Spans nest by context, in a ring; those of another ring or context are not within. The own
 * time is known if all of the span was seen: not of one that began before reading did, that was
 * open across a loss, or in which a span was torn; torn and open spans have none. All commands
 * that show own time take it from here.
 *
 * One struct for each ring of a slot, {0} at first. Feed it all events that are at hand, also
 * those before a window, so that the answer does not depend on who asks. Errors:
 * EVENTRING_E_MEMORY. Threads: one at a time. */
#ifndef EVENTRING_ANALYSIS_OWN_TIME_H
#define EVENTRING_ANALYSIS_OWN_TIME_H

#include <stdbool.h>

#include "eventring.h"

struct eva_own_frame {
  uint64_t within; /* ns of the spans directly within that have ended, without what they were
                      suspended for */
  uint64_t losses; /* when it began; UINT64_MAX: its own time is not known */
};

struct eva_own_context {
  struct eva_own_context *next; /* of the bucket */
  uint64_t context;
  uint32_t open, room;
  struct eva_own_frame *frame;
};

struct eva_own_time {
  struct eva_own_context **buckets; /* contexts that have spans open */
  struct eva_own_context *last;     /* the one of the last event, if it is still there */
  struct eva_own_context *idle;     /* the one whose last span ended last, or NULL */
  size_t room, used;
  uint64_t losses;                  /* so far */
  uint32_t incarnation;             /* of the domain; all spans end with it */
};

/* Is it the end of a span of which both ends are known? Others have no times. */
static inline bool eva_is_whole_span(const struct eventring_event *event) {
  return event->kind == EVENTRING_END && event->flags & EVENTRING_MATCHED &&
         !(event->flags & EVENTRING_TORN) && event->begin_ns <= event->ns &&
         event->suspended_ns <= event->ns - event->begin_ns;
}
/* Takes a begin or an end; other events are passed over. *own_ns: of the end of a span that is
   known, else -1. */
int eva_own_time_event(struct eva_own_time *own, const struct eventring_event *event,
                       int64_t *own_ns);
/* Takes the begins and ends of a batch. `own_ns`: as above, of each of batch->ended that began
   before the batch, in their order; of the others it is what is not `within`. */
int eva_own_time_batch(struct eva_own_time *own, const struct eventring_batch *batch,
                       int64_t *own_ns);
/* Events were lost: what is open is not known any more. */
void eva_own_time_lost(struct eva_own_time *own);
void eva_own_time_free(struct eva_own_time *own);

#endif
