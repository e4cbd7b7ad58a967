/* SPDX-License-Identifier: MIT */
/* saver.h: turns the rings of a recording into the bytes of a file of layout 2.
 *
 *   saver.c          opening; which ring is copied next; the loop of a fill
 *   saver_stream.c   one ring: copies runs of complete blocks, checks them against the
 *                    producer, gives them places in the file, counts what is missing
 *   saver_records.c  blocks of records; when anything was lost
 *   saver_front.c    header, status page, control page, domain table
 *   saver_write.c    writes all that into a file, for those who have time
 *   saver_strip.c    takes the texts of the program out of all that
 *   saver_merge*.c   make it a part of a file of several recordings
 *
 * The saver does no output. It fills buffers of its user and says, in pieces, at which
 * offset of the file which bytes belong. So the user decides how to write, and may have
 * many buffers under way.
 *
 * Places. The file grows by units of 16 blocks (FORMAT_UNIT), claimed here by counting. A
 * stream appends to its unit and then claims the next one; records have units of their
 * own. After a gap a stream begins a new unit.
 *
 * Units are written whole where that can wait: pieces of one unit must be written one after
 * the other, which on a slow disk would keep their buffers for as many writes. A fill leaves
 * the begin of a unit to a later one, unless its ring is a quarter full; an update copies
 * them all.
 *
 * The newest block. It changes while it is copied next time: its copy, sealed, is put
 * where the whole block will lie, and the whole block overwrites it. So a file that is
 * never finished has all but the last moments of slow rings, too.
 *
 * What a file shows. The heads of the front are noted first, then records are copied,
 * then the front is made. Whoever writes the front after everything that was handed out
 * before it has a file that can be read at any moment: no head announces a block that is
 * not there, no event lacks its definition.
 *
 * The next file. It begins with the block after the last one copied, of each ring. The copy
 * of a newest block is taken out of the file that ends: a front that does not announce it is
 * written first, then zeros, then the last front, so that the file can be read in between. The
 * whole block will be in the next one. What is lost between the two is counted there, as
 * `known` goes on; a reader of the next file sees it in `before` of its first block.
 *
 * What is copied. A ring is copied in the order of its sequences, wherever its blocks lie, so
 * the recording may have rings and streams, and be live, dead or a copy. It may be a part of
 * it: some domains, or the blocks of a time. The records are always all there.
 *
 * Accounts of a ring, in events: known = missed + saved + lost, at all times, where `known`
 * is what `before` and the events of the last block copied say. (Of a copy of a newest block only
 * `before` counts, until it is known to stay.) */
#ifndef EVENTRING_SAVER_H
#define EVENTRING_SAVER_H

#include "eventring/saver.h"
#include "reader/totals.h"

#pragma GCC visibility push(hidden)

enum {
  SAVER_INTERVALS = 256, /* of losses that are kept apart for the union over all rings */
  SAVER_UNIT_BYTES = FORMAT_UNIT * FORMAT_BLOCK_BYTES
};

struct saver_newest { /* a copy of a newest block; sequence 0: none */
  uint64_t sequence, before, events, ticks;
  uint32_t have;
};

struct saver_stream { /* a ring of the recording, and its blocks in the file */
  uint16_t slot, ring;
  uint8_t held_back; /* the end of its run was left for the next fill */
  uint8_t tries;     /* copies that were overtaken, in this fill */
  uint64_t next;     /* sequence that is copied next */
  uint64_t limit;    /* at the end: the block up to which it is saved */
  uint64_t expected; /* sequence that would go on in the unit; 0: it begins a new one */
  uint64_t unit;     /* block of the file at which its unit begins */
  uint32_t used;     /* blocks of that; FORMAT_UNIT: it is full, or there is none */
  uint64_t copied;      /* sequence of the last block copied whole */
  uint64_t announced;   /* head that the front shows */
  uint64_t known_ticks; /* time of the last event known */
  uint64_t recounted;   /* events that damaged blocks count again: `before` is less than known */
  uint64_t passed;      /* blocks that were gone since the last one copied */
  uint64_t lost_from, lost_to; /* blocks that could not be written, the latest run */
  bool begun;           /* a block was copied, into this file or one before it */
  bool present;         /* into this one */
  bool is_moved;        /* merging: the following are known */
  uint64_t sequence_base, event_base; /* added to sequences and counts of events */
  uint64_t first;       /* the first block that was given a place in it */
  struct saver_newest newest; /* the newest block, as it was copied last */
  struct saver_newest kept;   /* of those that were counted as saved, the last one */
  struct saver_newest copy[2]; /* those that are in the file for sure, the latest first: when the
                                  next one is, the block of the one before may still be lost */
  struct eventring_saver_ring account;
};

struct saver_block { /* a block of records */
  uint32_t block;    /* of the recording */
  uint32_t place;    /* block of the file; valid if sequence is not 0 */
  uint32_t former;   /* of a profile of calls, if has_former: that of the copy before */
  bool has_former;
  uint64_t sequence; /* of what was copied; 0: nothing yet */
  uint16_t kind;
  bool sealed;
  bool unwritten;    /* it has to be copied again */
  uint32_t end;      /* words that were copied */
  uint32_t records;  /* in these */
};

struct saver_interval { uint64_t from, to; }; /* ns */

enum saver_stage { /* of an update */
  SAVER_IDLE,
  SAVER_WHOLE,   /* whole blocks that were left for a later fill are being copied */
  SAVER_NEWEST,  /* the newest blocks are being copied */
  SAVER_RECORDS, /* the blocks of records */
  SAVER_TOTALS,  /* at the end: of all rings */
  SAVER_LAST     /* what is left of a merge */
};

enum saver_write_stage { SAVER_WRITE_EVENTS, SAVER_WRITE_RECORDS, SAVER_WRITE_FRONT };
enum { SAVER_WRITE_PIECES = 128 };

struct eventring_saver {
  eventring_cursor *cursor;
  struct evr_metadata *meta;
  uint64_t claimed;     /* blocks of the file */
  uint64_t most;        /* blocks that it may have */
  bool ending, over;    /* the end is set; the producer has ended */
  bool flushing;        /* units are begun and gone on with, however few blocks there are */
  bool handed_on;       /* another file goes on where this one ends */
  bool withdrawn;       /* and the front shows no copies of newest blocks any more */
  bool cut_short;       /* until_ns is before the end of the recording */
  struct eventring_saver_options options;
  struct saver_strip *strip; /* NULL: texts stay */
  struct saver_merge *merge; /* the file that is merged; NULL: none is */
  struct saver_part *part;   /* what is saved, in it */
  uint32_t domains, classes_lost; /* that it had; its classes without a number there */
  bool full;            /* a block found no room below `most` */
  uint64_t end_ticks;

  struct saver_stream *stream[EVR_ALL_RINGS]; /* by slot * EVENTRING_RINGS + ring */
  uint16_t made[EVR_ALL_RINGS];
  unsigned made_count, taken; /* streams; rings of meta->made that were seen */

  int failed;           /* what the next update returns, with its text */
  struct eventring_error failure;
  enum saver_stage stage;
  unsigned at;          /* stream or block of records that is next in this stage */
  uint32_t slots;       /* of the front that is being made */

  struct saver_block *records;
  uint32_t record_count, record_room;
  uint64_t record_next; /* block of the recording that is not among them; where there are
                           streams, first of meta->units.records */
  unsigned record_runs; /* of rings, when blocks of rings were last removed */
  uint64_t record_unit; /* block of the file where records go on */
  uint32_t record_used; /* blocks of that unit */
  uint64_t record_counts[FORMAT_KINDS];      /* records in the file */
  uint64_t record_seen[FORMAT_KINDS];        /* status when they were last copied */

  struct evr_totals_table *totals; /* NULL: not collected yet */
  uint32_t totals_put;   /* rows of these that were handed out */

  struct saver_interval interval[SAVER_INTERVALS]; /* ascending, apart */
  unsigned intervals;
  uint64_t loss_ns, loss_floor; /* of intervals that were merged; up to when */

  struct evr_block room; /* for one block */
  uint8_t *buffer;       /* of eventring_saver_write; NULL: it was not called */
  enum saver_write_stage write_stage;
};

/* Where the bytes of one call go. */
struct saver_output {
  uint8_t *buffer;
  size_t size, used;
  struct eventring_piece *pieces;
  size_t room, count;
};
static inline size_t saver_room(const struct saver_output *out) {
  return out->count + 2 < out->room ? (out->size - out->used) / FORMAT_BLOCK_BYTES : 0;
}
/* Appends a piece, or lengthens the last one: `size` bytes at `from` of the buffer. A piece
   that begins within a unit ends with it. */
void saver_add_piece(struct saver_output *out, uint64_t offset, size_t from, size_t size,
                     unsigned what);
/* Claims a unit. False: the file would become larger than it may. `reserved`: units that
   must be left. */
bool saver_claim(eventring_saver *saver, unsigned reserved, uint64_t *unit);

/* Makes the streams of the rings that were made since. 0 or E_MEMORY. */
int saver_take_rings(eventring_saver *saver, struct eventring_error *error);
/* Ends a stream where it is; makes the one of the next file, which goes on there. */
void saver_hand_on(struct saver_stream *stream, struct saver_stream *next);
/* Sets the block up to which a ring is saved, as it is now. */
void saver_end_ring(eventring_saver *saver, struct saver_stream *stream);
/* Complete blocks of a ring that were not copied yet. */
uint64_t saver_backlog(const eventring_saver *saver, const struct saver_stream *stream);
/* Copies as many of them as follow each other and find room. 0 or an error of reading. */
int saver_copy_run(eventring_saver *saver, struct saver_stream *stream,
                   struct saver_output *out, struct eventring_error *error);
/* Takes back the heads of streams whose last blocks could not be written. */
void saver_withdraw(eventring_saver *saver);
/* Copies the newest block of a ring, if it has changed. */
int saver_copy_newest(eventring_saver *saver, struct saver_stream *stream,
                      struct saver_output *out, struct eventring_error *error);
/* The copy of a newest block is in the file. */
void saver_confirm_newest(eventring_saver *saver, const uint8_t *block, uint64_t offset);
/* Counts the blocks of a part of a piece as lost, which is at `offset` of the file. `torn`: of
   the first of them a part was written. */
void saver_lose_blocks(eventring_saver *saver, const uint8_t *blocks, uint64_t offset,
                       size_t size, bool newest, bool torn);

/* Lists the blocks of records that were claimed since. 0 or E_MEMORY. */
int saver_list_records(eventring_saver *saver, struct eventring_error *error);
/* Puts the totals into a file that ends, as far as there is room; the next stage: all are. */
int saver_copy_totals(eventring_saver *saver, struct saver_output *out,
                      struct eventring_error *error);
/* Copies the changed ones from saver->at on, as far as there is room. */
int saver_copy_records(eventring_saver *saver, struct saver_output *out,
                       struct eventring_error *error);
/* A place for a block of records. False: there is none. */
bool saver_claim_place(eventring_saver *saver, uint64_t *place);
void saver_put_block(struct saver_output *out, const uint64_t *words, uint32_t end,
                     uint64_t place);
/* A part of a piece with blocks of records was not written: they are copied again. */
void saver_records_unwritten(eventring_saver *saver, uint64_t offset, size_t size);
/* Of the records that the front counts, those of a kind that may not be in the file. */
uint64_t saver_missing_records(const eventring_saver *saver, unsigned kind);
/* Notes when events of a ring were lost, in ticks. */
void saver_note_loss(eventring_saver *saver, struct saver_stream *stream, uint64_t from,
                     uint64_t to);
/* If texts are to be taken out: */
int saver_strip_begin(eventring_saver *saver, struct eventring_error *error);
void saver_strip_end(eventring_saver *saver);
/* Out of a block of events of `have` words, which is sealed again. */
void saver_strip_events(eventring_saver *saver, uint64_t *words, uint32_t have);
/* Out of a block of records. False: the block is to be left out. */
bool saver_strip_records(eventring_saver *saver, uint64_t *words, uint32_t end, bool valid);
/* Out of the front, before the checksum of its tables. */
void saver_strip_front(eventring_saver *saver, uint8_t *front);
/* If the file is merged: begins this part; gives its domains places, when all rings are known; at
   its end puts together what is left. 0 or an error. */
int saver_merge_begin(eventring_saver *saver, struct eventring_error *error);
int saver_merge_place(eventring_saver *saver, struct eventring_error *error);
int saver_merge_end(eventring_saver *saver, struct eventring_error *error);
/* What has failed since. */
int saver_merge_status(const eventring_saver *saver, struct eventring_error *error);
void saver_merge_close(eventring_saver *saver);
/* Makes a block of events one of the merged file, which is sealed again. */
void saver_merge_events(eventring_saver *saver, struct saver_stream *stream, uint64_t *words,
                        uint32_t have);
/* Puts a block without events in front of the one with this header, at a place of the file. */
void saver_merge_lost(eventring_saver *saver, struct saver_stream *stream,
                      const struct format_block *next, uint64_t place);
/* Puts what is kept of a block of records into the output, now or later. */
void saver_merge_records(eventring_saver *saver, uint64_t *words, uint32_t end, bool valid,
                         struct saver_output *out);
/* Puts blocks that wait into the output. True: all of them. */
bool saver_merge_flush(eventring_saver *saver, struct saver_output *out);
void saver_merge_front(const eventring_saver *saver, uint8_t *front);
/* The time in which anything was lost. */
uint64_t saver_loss_ns(const eventring_saver *saver);

#pragma GCC visibility pop

#endif /* EVENTRING_SAVER_H */
