/* SPDX-License-Identifier: MIT */
/* block_cursor.h: a cursor that goes from block to block of one ring.
 *
 * A block cursor has a position in a ring, copies the next block that can be read, whole
 * and checked, and says how many events lie between that block and the position. It
 * interprets no event: it needs neither definitions nor a stack of spans, and its only
 * limit is the newest block. Its users are ring_reader.c, which delivers events,
 * saver_stream.c, which copies the blocks as they are, and inspect.c, which reads both
 * ends of a ring. */
#ifndef EVENTRING_BLOCK_CURSOR_H
#define EVENTRING_BLOCK_CURSOR_H

#include "reader/ahead.h"
#include "reader/block.h"
#include "reader/decode.h"
#include "reader/metadata.h"

#pragma GCC visibility push(hidden)

struct evr_block_cursor {
  struct evr_metadata *meta;
  unsigned slot, ring;
  struct evr_block *rooms;  /* for copies; owned by the user */
  unsigned room_count;      /* if more than one, blocks of a file are read ahead */
  /* how many blocks after the oldest one it goes on when the producer has overtaken it */
  uint32_t distance;
  struct eventring_error *damage; /* where it notes what is wrong; owned by the user */
  bool failed;              /* the file can't be read; *damage says why */
  /* the writer of the file has left out the block that was tried last */
  bool left_out;
  struct evr_block *held;   /* one of the rooms */
  uint64_t sequence;        /* of the block held; 0: none is */
  bool complete;            /* it was complete when it was copied */
  bool backwards;           /* this block counts fewer events before it than there were */
  /* first block that has not been tried, from 1; downwards: the last one, 0 when all were
     tried */
  uint64_t next;
  /* events of the ring before those of the block held; the user may count on from here */
  uint64_t position;
  uint64_t recounted;       /* events that a damaged file counts again, over all blocks */
  uint64_t gap;             /* events between the position before and the block held */
  /* sequence of the first of the blocks read ahead, which are rooms[0 .. ahead_count-1],
     or the blocks of `piece` */
  uint64_t ahead;
  unsigned ahead_count;
  bool threaded;            /* a thread may read ahead; set by the user */
  /* the thread decodes by these definitions; NULL: it does not decode; set by the user */
  const struct evr_batched *batched;
  unsigned contents;        /* enum eventring_batch_contents; set by the user */
  /* how many decoded parts in a row could not be used completely */
  unsigned declined;
  bool was_threaded;        /* a thread was started, or could not be */
  struct evr_ahead *thread; /* the thread that reads ahead, or NULL */
  struct evr_ahead_piece *piece; /* the piece of the thread that is in use, or NULL */
  struct evr_decoded *decoded; /* of the block held, or NULL */
  uint64_t asking;          /* the first block that the thread was not asked for */
};

/* Initialises a cursor before the first block of a ring, without rooms to copy to. */
void evr_block_cursor_init(struct evr_block_cursor *cursor, struct evr_metadata *meta,
                           unsigned slot, unsigned ring, struct eventring_error *damage);
/* Ends the cursor's thread, if it has one. The user still owns the rooms. */
void evr_block_cursor_end(struct evr_block_cursor *cursor);
/* Returns how many rooms the cursor can use: one if the source is mapped. */
unsigned evr_block_cursor_rooms(const struct evr_block_cursor *cursor);
/* Returns the number of the newest block now, or 0 if there is none. */
uint64_t evr_block_cursor_head(struct evr_block_cursor *cursor);
/* Releases the block held and copies the next one that can be read, from `next` on.
   Returns false if there is none now; what was tried is not tried again. Each unreadable
   block takes 1 from *budget; at 0 the search ends. A block that the writer of the file
   has left out takes nothing. */
bool evr_block_cursor_next(struct evr_block_cursor *cursor, unsigned *budget);
/* Searches downwards, for a cursor with one room that has held no block: copies the last
   block that can be read, from `next` on downwards. Returns false if there is none (then
   `next` is 0), or if *budget is 0. */
bool evr_block_cursor_previous(struct evr_block_cursor *cursor, unsigned *budget);
/* Returns what a thread has decoded of the block held, or NULL. */
struct evr_decoded *evr_block_cursor_decoded(const struct evr_block_cursor *cursor);
/* Counts the events between the position and the block held, which is number `sequence`
   of the ring and was not found by this cursor. */
void evr_block_cursor_count(struct evr_block_cursor *cursor, uint64_t sequence);
/* Copies what was added to the block held; `head`: the newest block at this time. Returns
   false if that fails: the block is gone, not valid or not readable. What was copied
   before stays. */
bool evr_block_cursor_more(struct evr_block_cursor *cursor, uint64_t head);
/* Returns false when nothing was added to the block held, true when in doubt. */
bool evr_block_cursor_has_more(const struct evr_block_cursor *cursor);
/* Returns where the word that becomes nonzero when something is added to the block held
   is mapped, or NULL if it is not. */
const uint64_t *evr_block_cursor_watch(const struct evr_block_cursor *cursor);
/* Goes on with the last block that begins at `ns` or before, or with the one before that:
   times may go back a little within a ring. To be called before a block was read. */
void evr_block_cursor_seek(struct evr_block_cursor *cursor, uint64_t ns);
/* Returns the last block that begins at `ns` or before, or the number before that of the
   oldest block if none does. */
uint64_t evr_block_cursor_last(struct evr_block_cursor *cursor, uint64_t ns);
/* Tells whether the absence of a block is damage. It is not if the block was overwritten,
   or left out by the writer of the file, or by the producer when there was no room. Uses
   only meta, slot and ring of the cursor. */
bool evr_block_cursor_lacks(const struct evr_block_cursor *cursor, uint64_t sequence);
/* Returns the block to look for after one that is not in its place. Uses only meta, slot
   and ring of the cursor. */
uint64_t evr_block_cursor_after(const struct evr_block_cursor *cursor, uint64_t sequence);
/* Fills in what the newest and the oldest block present in a ring say. Leaves it to a
   poll to report damage. */
void evr_block_cursor_extent(struct evr_metadata *meta, unsigned slot, unsigned ring,
                             struct eventring_ring_info *info);
/* Returns how many words are committed in a block now, or 0 if it is gone. */
uint32_t evr_block_cursor_length(const struct evr_block_cursor *cursor, uint64_t sequence);
/* Notes damage, after the producer's end, when the block held is the newest and is no
   longer there as it was read. */
void evr_block_cursor_check_end(const struct evr_block_cursor *cursor);

#pragma GCC visibility pop

#endif /* EVENTRING_BLOCK_CURSOR_H */
