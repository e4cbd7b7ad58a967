/* SPDX-License-Identifier: MIT */
/* room.h: what a recording does and reports when there is no room for more blocks.
 *
 * A lane whose next block finds no room goes on in the blocks that it has (ring.c,
 * stream.c). It tries again at a change of blocks, EVR_ROOM_RETRY_MS after the last
 * attempt or later; a failing attempt takes microseconds, so probes are hardly delayed.
 * The status page says how many lanes have no room and since when, and the host is warned
 * once. The status page also counts the events of lanes that have no block at all yet and
 * write outside the file: the first block of such a lane will have them in `before`, but
 * until then nothing else in the file has them. */
#ifndef EVENTRING_ROOM_H
#define EVENTRING_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "eventring.h"

#pragma GCC visibility push(hidden)

enum { EVR_ROOM_RETRY_MS = 20 };

struct evr_recording;

struct evr_room { /* the room of one lane, used by its owner, or of a domain, under the
                     mutex */
  bool is_short;     /* no room for its next block; atomic: read without the mutex */
  int failure;       /* errno of the last attempt if it failed; else 0 */
  uint64_t retry_at; /* when to try again, in ticks */
  uint64_t aside;    /* events of the lane that the status page counts; atomic */
};

struct evr_room_news { /* what the host of a recording is to learn of its room; atomic */
  bool said;   /* it was noted that there is no room */
  bool is_new; /* the host is to be warned */
  int failure; /* errno; EFBIG: the file is as large as it may be */
};

static inline bool evr_room_is_short(const struct evr_room *room) {
  return __atomic_load_n(&room->is_short, __ATOMIC_RELAXED);
}
/* Resets the state for another recording. */
void evr_room_reset(struct evr_room *room);
/* Tells whether it is too early to try again. If not, the time of the next attempt counts
   from now. */
bool evr_room_is_hopeless(const struct evr_recording *recording, struct evr_room *room);
/* Notes that an attempt has failed and the lane goes on without room. */
void evr_room_lacks(struct evr_recording *recording, struct evr_room *room, int failure);
/* Notes that the lane has room again. */
void evr_room_found(struct evr_recording *recording, struct evr_room *room);
/* Counts the events that a lane without a block has written so far. Called by its owner,
   or at the end. */
void evr_room_count_aside(struct evr_recording *recording, struct evr_room *room, uint64_t events);
/* Tells whether the host is to be warned that there is no room: once for each
   recording. */
bool evr_room_is_news(struct evr_recording *recording, struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_ROOM_H */
