/* SPDX-License-Identifier: MIT */
/* ahead.h: a thread that reads the blocks of a ring, and decodes them, before they are needed
 * (ahead.c). */
#ifndef EVENTRING_AHEAD_H
#define EVENTRING_AHEAD_H

#include "reader/decode.h"

#pragma GCC visibility push(hidden)

/* A ring of a plain file into which nobody writes any more. */
struct evr_ahead_ring {
  const struct evr_source *source; /* outlives the thread, and does not change */
  unsigned slot, ring;
  uint32_t ring_blocks;
  uint64_t head_offset, start_ticks;
  /* For decoding, both copied: definitions by id, NULL: nothing is decoded; and the clock. */
  const struct evr_batched *batched;
  unsigned contents;
  const struct evr_conversion *conversion;
};

struct evr_ahead_piece { /* blocks that follow each other in the ring, and in the file */
  uint64_t sequence, offset; /* of the first one */
  unsigned asked;            /* how many are to be read: 1 to EVR_AHEAD */
  unsigned count;            /* how many were: asked, or 0 */
  bool valid[EVR_AHEAD];     /* evr_block_valid of each */
  bool wanted;               /* they are to be decoded */
  uint32_t segments;         /* they were, those that are valid, with so many segments of the
                                clock; 0: they were not */
  struct evr_block block[EVR_AHEAD];
  struct evr_decoded decoding[EVR_AHEAD];
};

struct evr_ahead;

/* Starts a thread for a ring. NULL where this is of no use or fails: there is one processor
   only, or no memory, or no thread. (Without memory for what decoding needs, it only reads.) */
struct evr_ahead *evr_ahead_start(const struct evr_ahead_ring *ring);
/* Ends the thread; NULL is allowed. */
void evr_ahead_end(struct evr_ahead *ahead);
/* Is the thread one of this process? In a child of a fork it is not, and all that may be done
   there is to end it. */
bool evr_ahead_is_here(const struct evr_ahead *ahead);

/* The following are for the thread that reads the ring. */

/* Is there room for another piece to be asked for? */
bool evr_ahead_has_room(const struct evr_ahead *ahead);
/* Asks for `count` blocks from `sequence` on, which lie at `offset`; after evr_ahead_has_room.
   `wanted`: they are to be decoded, if the thread comes to it. */
void evr_ahead_ask(struct evr_ahead *ahead, uint64_t sequence, uint64_t offset, unsigned count,
                   bool wanted);
/* The first block of the next piece that was asked for and not taken; 0: none is. */
uint64_t evr_ahead_first(const struct evr_ahead *ahead);
/* Waits for this piece and takes it. The piece that was taken before is released. */
struct evr_ahead_piece *evr_ahead_take(struct evr_ahead *ahead);
/* Releases all pieces, also those that were not taken. */
void evr_ahead_forget(struct evr_ahead *ahead);

#pragma GCC visibility pop

#endif /* EVENTRING_AHEAD_H */
