/* SPDX-License-Identifier: MIT */
/* block_cursor.h: from block to block of one ring.
 *
 * A block cursor has a position in a ring, copies the next block that can be read, whole
 * and checked, and says how many events lie between that block and the position. It
 * interprets no event: it needs neither definitions nor a stack of spans, and its only
 * limit is the newest block. Its users are ring_reader.c, which delivers events,
 * saver_stream.c, which copies the blocks as they are, and inspect.c, which reads both ends
 * of a ring. */
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
  struct evr_block *rooms;  /* for copies, of the user; */
  unsigned room_count;      /* with more than one, blocks of a file are read ahead */
  uint32_t distance;        /* blocks between the oldest one and where it goes on when the
                               producer has overtaken it */
  struct eventring_error *damage; /* where it notes what is wrong; the user's */
  bool failed;              /* the file can't be read; *damage says why */
  bool left_out;            /* the block that was tried last: whoever wrote the file has left it out */
  struct evr_block *held;   /* one of the rooms */
  uint64_t sequence;        /* of the block held; 0: none is */
  bool complete;            /* it was complete when it was copied */
  bool backwards;           /* it counts fewer events before it than there were */
  uint64_t next;            /* first block that has not been tried, from 1; downwards the last
                               one, 0: all were */
  uint64_t position;        /* events of the ring before those of the block held; its user
                               may count on from here */
  uint64_t recounted;       /* events that a damaged file counts again, over all blocks */
  uint64_t gap;             /* events between the position before and the block held */
  uint64_t ahead;           /* sequence of the first of those read ahead, which are
                               rooms[0 .. ahead_count-1], or the blocks of `piece` */
  unsigned ahead_count;
  bool threaded;            /* a thread may read ahead; set by the user */
  const struct evr_batched *batched; /* and decodes by these definitions; NULL: it does not.
                               Set by the user, as */
  unsigned contents;        /* what batches may have; */
  unsigned declined;        /* in a row: decoded parts that could not be taken as a whole */
  bool was_threaded;        /* one was started, or could not be */
  struct evr_ahead *thread; /* that does so, or NULL */
  struct evr_ahead_piece *piece; /* that it has read, or NULL */
  struct evr_decoded *decoded; /* of the block held, or NULL */
  uint64_t asking;          /* the first block that it was not asked for */
};

/* Stands before the first block of a ring, with nowhere to copy to yet. */
void evr_block_cursor_init(struct evr_block_cursor *cursor, struct evr_metadata *meta,
                           unsigned slot, unsigned ring, struct eventring_error *damage);
/* Ends its thread, if it has one. The rooms stay the user's. */
void evr_block_cursor_end(struct evr_block_cursor *cursor);
/* How many rooms are of use: one where the source is mapped. */
unsigned evr_block_cursor_rooms(const struct evr_block_cursor *cursor);
/* Number of the newest block now; 0: there is none. */
uint64_t evr_block_cursor_head(struct evr_block_cursor *cursor);
/* Releases the block held and copies the next one that can be read, from `next` on.
   False: there is none now; what was tried is not tried again. Each unreadable block
   takes 1 from *budget; at 0 the search ends. A block that whoever wrote the file has left
   out takes nothing. */
bool evr_block_cursor_next(struct evr_block_cursor *cursor, unsigned *budget);
/* The same downwards, of a cursor with one room that has held no block: copies the last one that
   can be read, from `next` on downwards. False: there is none (then `next` is 0), or *budget is
   0. */
bool evr_block_cursor_previous(struct evr_block_cursor *cursor, unsigned *budget);
/* What a thread has decoded of the block held; NULL: nothing. */
struct evr_decoded *evr_block_cursor_decoded(const struct evr_block_cursor *cursor);
/* Counts what lies between the position and the block held, which is number `sequence` of the
   ring and was not found by this cursor. */
void evr_block_cursor_count(struct evr_block_cursor *cursor, uint64_t sequence);
/* Copies what was added to the block held; `head`: the newest block by then. False: it is
   gone; what was copied before stays. */
bool evr_block_cursor_more(struct evr_block_cursor *cursor, uint64_t head);
/* False when nothing was added to the block held; true when in doubt. */
bool evr_block_cursor_has_more(const struct evr_block_cursor *cursor);
/* Where the word is mapped that is not 0 any more when something was added; or NULL. */
const uint64_t *evr_block_cursor_watch(const struct evr_block_cursor *cursor);
/* Goes on with the last block that begins at `ns` or before, or the one before that: times
   may go back a little within a ring. Before a block was read. */
void evr_block_cursor_seek(struct evr_block_cursor *cursor, uint64_t ns);
/* The last block that begins at `ns` or before; the one before the oldest: none does. */
uint64_t evr_block_cursor_last(struct evr_block_cursor *cursor, uint64_t ns);
/* Of a block that is not in its place: is that damage? Else it was overwritten, or left out by
   whoever wrote the file, or by the producer where there was no room. Only meta, slot and ring of the cursor are used. */
bool evr_block_cursor_lacks(const struct evr_block_cursor *cursor, uint64_t sequence);
/* The block to look for after one that is not in its place. Only the same are used. */
uint64_t evr_block_cursor_after(const struct evr_block_cursor *cursor, uint64_t sequence);
/* Fills in what the newest and the oldest block of a ring that are there say. A poll reports
   damage. */
void evr_block_cursor_extent(struct evr_metadata *meta, unsigned slot, unsigned ring,
                             struct eventring_ring_info *info);
/* Words that are committed in a block now; 0: it is gone. */
uint32_t evr_block_cursor_length(const struct evr_block_cursor *cursor, uint64_t sequence);
/* After the producer's end: notes damage when the block held is the newest and is no
   longer there as it was read. */
void evr_block_cursor_check_end(const struct evr_block_cursor *cursor);

#pragma GCC visibility pop

#endif /* EVENTRING_BLOCK_CURSOR_H */
