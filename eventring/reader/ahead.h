/* SPDX-License-Identifier: MIT */
/* ahead.h: a thread that reads and decodes the blocks of a ring in advance (ahead.c). */
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
  /* For decoding: the definitions by id (NULL if nothing is decoded), and the clock. The
     thread copies them. */
  const struct evr_batched *batched;
  unsigned contents;
  const struct evr_conversion *conversion;
};

struct evr_ahead_piece { /* blocks that follow each other in the ring, and in the file */
  uint64_t sequence, offset; /* sequence and offset of the first block */
  unsigned asked;            /* how many are to be read: 1 to EVR_AHEAD */
  unsigned count;            /* how many were read: `asked`, or 0 on failure */
  bool valid[EVR_AHEAD];     /* evr_block_valid of each block */
  bool wanted;               /* the blocks are to be decoded */
  /* number of clock segments when the valid blocks were decoded; 0 if they were not
     decoded */
  uint32_t segments;
  struct evr_block block[EVR_AHEAD];
  struct evr_decoded decoding[EVR_AHEAD];
};

struct evr_ahead;

/* Starts a thread for a ring. Returns NULL if a thread would not help (there is only one
   processor) or cannot be made (no memory, no thread). When out of memory for decoding,
   the thread only reads. */
struct evr_ahead *evr_ahead_start(const struct evr_ahead_ring *ring);
/* Ends the thread. NULL is allowed. */
void evr_ahead_end(struct evr_ahead *ahead);
/* Tells whether the thread belongs to this process. In a child of a fork it does not;
   there only evr_ahead_end may be called. */
bool evr_ahead_is_here(const struct evr_ahead *ahead);

/* The remaining functions are called by the reader of the ring only. */

/* Tells whether there is room to ask for another piece. */
bool evr_ahead_has_room(const struct evr_ahead *ahead);
/* Asks for `count` blocks from `sequence` on, which lie at `offset`. To be called after
   evr_ahead_has_room. If `wanted`, the thread also decodes them when it finds the
   time. */
void evr_ahead_ask(struct evr_ahead *ahead, uint64_t sequence, uint64_t offset, unsigned count,
                   bool wanted);
/* Returns the first block of the next piece that was asked for and not taken, or 0 if
   there is none. */
uint64_t evr_ahead_first(const struct evr_ahead *ahead);
/* Waits for the next piece that was asked for, and takes it. Releases the piece that was
   taken before. */
struct evr_ahead_piece *evr_ahead_take(struct evr_ahead *ahead);
/* Releases all pieces, including those that were not taken. */
void evr_ahead_forget(struct evr_ahead *ahead);

#pragma GCC visibility pop

#endif /* EVENTRING_AHEAD_H */
