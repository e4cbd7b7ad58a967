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
  /* when the producer has overtaken the cursor, it goes on this many blocks after the
     oldest */
  uint32_t distance;
  struct eventring_error *damage; /* where the cursor notes damage; owned by the user */
  bool failed;              /* the file can't be read; *damage says why */
  /* the writer of the file has left out the block that was tried last */
  bool left_out;
  struct evr_block *held;   /* one of the rooms */
  uint64_t sequence;        /* sequence of the block held, or 0 if none is held */
  bool complete;            /* it was complete when it was copied */
  bool backwards; /* the block held counts fewer events before it than there were */
  /* the first block that has not been tried, from 1. When searching downwards: the last
     block that has not been tried, or 0 */
  uint64_t next;
  /* number of events of the ring before the block held; the user may add those that it
     has passed */
  uint64_t position;
  uint64_t recounted;       /* events that a damaged file counts again, over all blocks */
  uint64_t gap;             /* events between the former position and the block held */
  /* sequence of the first of the blocks read ahead, which are rooms[0 .. ahead_count-1],
     or the blocks of `piece` */
  uint64_t ahead;
  unsigned ahead_count;
  bool threaded;            /* a thread may read ahead; set by the user */
  /* definitions by which the thread decodes, or NULL if it does not decode; set by the
     user */
  const struct evr_batched *batched;
  unsigned contents;        /* enum eventring_batch_contents; set by the user */
  /* how many decoded parts in a row could not be used completely */
  unsigned declined;
  bool was_threaded;        /* a thread was started, or starting one failed */
  struct evr_ahead *thread; /* the thread that reads ahead, or NULL */
  struct evr_ahead_piece *piece; /* the piece of the thread that is in use, or NULL */
  /* what the thread has decoded of the block held, or NULL */
  struct evr_decoded *decoded;
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
   Returns false if there is no such block now; blocks that were tried are not tried
   again. Each unreadable block takes 1 from *budget; at 0 the search ends. A block that
   the writer of the file has left out takes nothing from it. */
bool evr_block_cursor_next(struct evr_block_cursor *cursor, unsigned *budget);
/* Searches downwards, for a cursor with one room that has held no block: copies the first
   block that can be read, from `next` downwards. Returns false if there is no such block
   (then `next` is 0), or if *budget is 0. */
bool evr_block_cursor_previous(struct evr_block_cursor *cursor, unsigned *budget);
/* Returns what a thread has decoded of the block held, or NULL. */
struct evr_decoded *evr_block_cursor_decoded(const struct evr_block_cursor *cursor);
/* Counts the events between the position and the block held. The caller has found this
   block, number `sequence` of the ring, in another way. */
void evr_block_cursor_count(struct evr_block_cursor *cursor, uint64_t sequence);
/* Copies what was added to the block held. `head` is the number of the newest block now.
   Returns false if the block is gone, not valid or not readable; the former copy
   stays. */
bool evr_block_cursor_more(struct evr_block_cursor *cursor, uint64_t head);
/* Returns false when nothing was added to the block held, true when in doubt. */
bool evr_block_cursor_has_more(const struct evr_block_cursor *cursor);
/* Returns the address of the word that becomes nonzero when something is added to the
   block held, or NULL if the block is not mapped. */
const uint64_t *evr_block_cursor_watch(const struct evr_block_cursor *cursor);
/* Goes on with the last block that begins at `ns` or before, or with the block before it,
   because times may go back a little within a ring. To be called before any block was
   read. */
void evr_block_cursor_seek(struct evr_block_cursor *cursor, uint64_t ns);
/* Returns the number of the last block that begins at `ns` or before. If there is none,
   returns the number of the oldest block minus 1. */
uint64_t evr_block_cursor_last(struct evr_block_cursor *cursor, uint64_t ns);
/* Tells whether the absence of a block is damage. It is no damage if the block was
   overwritten, if the writer of the file has left it out, or if the producer has left it
   out because there was no room. Uses only meta, slot and ring of the cursor. */
bool evr_block_cursor_lacks(const struct evr_block_cursor *cursor, uint64_t sequence);
/* Returns the block to look for after one that is not in its place. Uses only meta, slot
   and ring of the cursor. */
uint64_t evr_block_cursor_after(const struct evr_block_cursor *cursor, uint64_t sequence);
/* Fills in the members that follow from the newest and the oldest block of a ring. Leaves
   it to a poll to report damage. */
void evr_block_cursor_extent(struct evr_metadata *meta, unsigned slot, unsigned ring,
                             struct eventring_ring_info *info);
/* Returns how many words are committed in a block now, or 0 if it is gone. */
uint32_t evr_block_cursor_length(const struct evr_block_cursor *cursor, uint64_t sequence);
/* Notes damage if, after the producer's end, the newest block is held and the file no
   longer has it as it was read. */
void evr_block_cursor_check_end(const struct evr_block_cursor *cursor);

#pragma GCC visibility pop

#endif /* EVENTRING_BLOCK_CURSOR_H */
