/* SPDX-License-Identifier: MIT */
/* saver.h: turns the rings of a recording into the bytes of a file of layout 2.
 *
 *   saver.c          opening; which ring is copied next; the loop of a fill
 *   saver_stream.c   one ring: copies runs of complete blocks, checks them against the
 *                    producer, gives them blocks of the file, counts what is missing
 *   saver_records.c  blocks of records; when anything was lost
 *   saver_front.c    header, status page, control page, domain table
 *   saver_write.c    writes all that into a file, for users who can wait
 *   saver_strip.c    replaces the texts of the program
 *   saver_merge*.c   make the recording a part of a file of several
 *
 * The saver does no output. It fills buffers of its user, and pieces say which bytes
 * belong at which offset of the file. So the user decides how to write, and may have many
 * buffers in flight.
 *
 * Units. The file grows by units of 16 blocks (FORMAT_UNIT), claimed here by counting. A
 * stream appends to its unit and then claims the next one; records have units of their
 * own. After a gap a stream begins a new unit.
 *
 * A unit is written as one piece if it can wait until it is full. Several pieces of one
 * unit must be written one after the other, and with a slow disk their buffers would be
 * in use until the last piece is written. So a fill leaves blocks that do not fill a unit
 * to a later fill, unless more than a quarter of the ring is waiting; an update copies
 * all blocks.
 *
 * The newest block. The newest block may change until it is copied again. So a sealed
 * copy of it is put where the whole block will lie, and the whole block overwrites the
 * copy later. Even a file that is never finished therefore lacks only the last moments of
 * slow rings.
 *
 * What a file shows. The heads of the front are noted first, then records are copied,
 * then the front is made. If the user writes the front after everything that was handed
 * out before it, the file can be read at any moment: no head announces a missing block,
 * and no event lacks its definition.
 *
 * The next file. The next file begins, for each ring, with the block after the last block
 * copied. The copy of a newest block is taken out of the file that ends, because the
 * whole block will be in the next file. First a front that does not announce the copy is
 * written, then zeros over the copy, then the last front; so the file can be read at any
 * moment. Events lost between the two files are counted in the next one, because `known`
 * goes on; its readers see them in `before` of its first block.
 *
 * What is copied. A ring is copied in the order of its sequences, wherever its blocks
 * lie. So the recording may have rings and streams, and be live, dead or a copy. The user
 * may select domains, or the blocks of a period; records are always copied in full.
 *
 * Accounts of a ring, in events: known = missed + saved + lost, at all times, where
 * `known` is `before` plus the events of the last block copied. (For the copy of a newest
 * block only `before` counts, until the copy is known to stay.) */
#ifndef EVENTRING_SAVER_H
#define EVENTRING_SAVER_H

#include "eventring/saver.h"
#include "reader/totals.h"

#pragma GCC visibility push(hidden)

enum {
  /* intervals of losses that are kept apart, for the union over all rings */
  SAVER_INTERVALS = 256,
  SAVER_UNIT_BYTES = FORMAT_UNIT * FORMAT_BLOCK_BYTES
};

struct saver_newest { /* a copy of a newest block; sequence is 0 if there is none */
  uint64_t sequence, before, events, ticks;
  uint32_t have;
};

struct saver_stream { /* a ring of the recording, and its blocks in the file */
  uint16_t slot, ring;
  uint8_t held_back; /* the end of the last run was left for the next fill */
  uint8_t tries;     /* how often the producer has overtaken a copy in this fill */
  uint64_t next;     /* the sequence to be copied next */
  uint64_t limit;    /* the last block to be saved; valid once the end is set */
  /* the sequence that may follow in the unit; 0 if a new unit is due */
  uint64_t expected;
  uint64_t unit;     /* first block of the unit in the file */
  /* blocks used in the unit; FORMAT_UNIT if it is full, or there is no unit */
  uint32_t used;
  uint64_t copied;      /* sequence of the last block copied whole */
  uint64_t announced;   /* head of the ring that the front shows */
  uint64_t known_ticks; /* ticks of the last known event */
  /* events counted twice, because `before` of a damaged block is less than `known` */
  uint64_t recounted;
  uint64_t passed;      /* blocks overwritten since the last block copied */
  /* first and last block of the latest run that could not be written */
  uint64_t lost_from, lost_to;
  bool begun;           /* a block was copied into this file or an earlier one */
  bool present;         /* a block was copied into this file */
  bool is_moved;        /* for a merge: the next three members are set */
  uint64_t sequence_base, event_base; /* added to sequences and counts of events */
  uint64_t first;             /* the first block that got one of the file */
  struct saver_newest newest; /* the newest block, as it was last copied */
  /* the last copy of a newest block that was counted as saved */
  struct saver_newest kept;
  /* the last two copies that are certainly in the file, the latest first; the older one
     is kept because writing the whole block over it may still fail */
  struct saver_newest copy[2];
  struct eventring_saver_ring account;
};

struct saver_block { /* a block of records */
  uint32_t block;    /* block of the recording */
  uint32_t copy;     /* block of the file; valid if sequence is not 0 */
  /* the previous copy of a profile of calls; valid if has_former */
  uint32_t former;
  bool has_former;
  uint64_t sequence; /* the sequence that was copied; 0 if nothing was copied yet */
  uint16_t kind;
  bool sealed;
  bool unwritten;    /* it has to be copied again */
  uint32_t end;      /* words that were copied */
  uint32_t records;  /* records in the words that were copied */
};

struct saver_interval { uint64_t from, to; }; /* ns */

enum saver_stage { /* the stage of an update */
  SAVER_IDLE,
  SAVER_WHOLE,   /* whole blocks that were left for a later fill are being copied */
  SAVER_NEWEST,  /* the newest blocks are being copied */
  SAVER_RECORDS, /* the blocks of records are being copied */
  SAVER_TOTALS,  /* at the end: the totals of all rings are being put into the file */
  SAVER_LAST     /* what is left of a merge is being put into the file */
};

enum saver_write_stage { SAVER_WRITE_EVENTS, SAVER_WRITE_RECORDS, SAVER_WRITE_FRONT };
enum { SAVER_WRITE_PIECES = 128 };

struct eventring_saver {
  eventring_cursor *cursor;
  struct evr_metadata *meta;
  uint64_t claimed;     /* blocks claimed in the file */
  uint64_t most;        /* most blocks that the file may have */
  bool ending, over;    /* the end is set; the producer has ended */
  bool flushing;        /* units are begun and continued even for few blocks */
  bool handed_on;       /* another file continues where this one ends */
  /* the file is handed on, and its front shows no copies of newest blocks any more */
  bool withdrawn;
  bool cut_short;       /* until_ns is before the end of the recording */
  struct eventring_saver_options options;
  struct saver_strip *strip; /* NULL if texts are kept */
  /* the merged file, or NULL if the file is of one recording */
  struct saver_merge *merge;
  struct saver_part *part;   /* the part of the merged file that is being saved */
  /* number of domains of this recording that are in the merged file; number of its
     classes that found no number there */
  uint32_t domains, classes_lost;
  bool full;            /* a block found no room below `most` */
  uint64_t end_ticks;

  struct saver_stream *stream[EVR_ALL_RINGS]; /* by slot * EVENTRING_RINGS + ring */
  uint16_t made[EVR_ALL_RINGS];
  unsigned made_count, taken; /* number of streams; rings of meta->made that were seen */

  int failed; /* the status that the next update returns; `failure` has its text */
  struct eventring_error failure;
  enum saver_stage stage;
  unsigned at;          /* the next stream or block of records in this stage */
  uint32_t slots;       /* slots of the front that is being made */

  struct saver_block *records;
  uint32_t record_count, record_room;
  /* first block of the recording that is not in `records`; in a file with streams, index
     of the first unit in meta->units.records that is not */
  uint64_t record_next;
  unsigned record_runs; /* meta->run_count when `records` was last cleared of blocks
                           that turned out to be of rings */
  uint64_t record_unit; /* block of the file where the next records go */
  uint32_t record_used; /* used blocks of that unit */
  uint64_t record_counts[FORMAT_KINDS];      /* records in the file */
  /* counts of the status page when the blocks of records were last copied */
  uint64_t record_seen[FORMAT_KINDS];

  struct evr_totals_table *totals; /* NULL if not collected yet */
  uint32_t totals_put;   /* rows of `totals` that were handed out */

  struct saver_interval interval[SAVER_INTERVALS]; /* ascending, not touching */
  unsigned intervals;
  /* total length, in ns, of the oldest intervals, which were counted and dropped; end of
     the last of them */
  uint64_t loss_ns, loss_floor;

  struct evr_block room; /* room for one block */
  uint8_t *buffer; /* buffer of eventring_saver_write; NULL if that was not called */
  enum saver_write_stage write_stage;
};

/* The output of one call: where its bytes go. */
struct saver_output {
  uint8_t *buffer;
  size_t size, used;
  struct eventring_piece *pieces;
  size_t room, count;
};
static inline size_t saver_room(const struct saver_output *out) {
  return out->count + 2 < out->room ? (out->size - out->used) / FORMAT_BLOCK_BYTES : 0;
}
/* Appends a piece, or lengthens the last one: `size` bytes at `from` of the buffer. A
   piece is lengthened only if it begins where a unit begins. */
void saver_add_piece(struct saver_output *out, uint64_t offset, size_t from, size_t size,
                     unsigned what);
/* Claims a unit. Returns false if the file would become larger than allowed. `reserved`
   is the number of units that must be left free. */
bool saver_claim(eventring_saver *saver, unsigned reserved, uint64_t *unit);

/* Makes streams for new rings. Returns 0 or E_MEMORY. */
int saver_take_rings(eventring_saver *saver, struct eventring_error *error);
/* Ends a stream, and begins the stream of the next file, which continues with the
   following block. */
void saver_hand_on(struct saver_stream *stream, struct saver_stream *next);
/* Sets the present head as the block up to which a ring is saved. */
void saver_end_ring(eventring_saver *saver, struct saver_stream *stream);
/* Returns the number of complete blocks of a ring that were not copied yet. */
uint64_t saver_backlog(const eventring_saver *saver, const struct saver_stream *stream);
/* Copies complete blocks of a ring, as many as follow one another and fit. Returns 0 or
   an error of reading. */
int saver_copy_run(eventring_saver *saver, struct saver_stream *stream,
                   struct saver_output *out, struct eventring_error *error);
/* Takes back the heads of streams whose last blocks could not be written. */
void saver_withdraw(eventring_saver *saver);
/* Copies the newest block of a ring, if it has changed. */
int saver_copy_newest(eventring_saver *saver, struct saver_stream *stream,
                      struct saver_output *out, struct eventring_error *error);
/* Notes that the copy of a newest block is in the file. */
void saver_confirm_newest(eventring_saver *saver, const uint8_t *block, uint64_t offset);
/* Counts as lost the blocks of the part of a piece that was not written. The part lies at
   `offset` of the file; `in_part` says that its first block was written in part. */
void saver_lose_blocks(eventring_saver *saver, const uint8_t *blocks, uint64_t offset,
                       size_t size, bool newest, bool in_part);

/* Lists newly claimed blocks of records. Returns 0 or E_MEMORY. */
int saver_list_records(eventring_saver *saver, struct eventring_error *error);
/* Puts the totals into a file that ends, as far as they fit. Goes on to the next stage
   when all are in it. */
int saver_copy_totals(eventring_saver *saver, struct saver_output *out,
                      struct eventring_error *error);
/* Copies the changed blocks of records from saver->at on, as far as they fit. */
int saver_copy_records(eventring_saver *saver, struct saver_output *out,
                       struct eventring_error *error);
/* Claims a block of the file for records. Returns false if there is none. */
bool saver_claim_block(eventring_saver *saver, uint64_t *block);
void saver_put_block(struct saver_output *out, const uint64_t *words, uint32_t end,
                     uint64_t block);
/* Notes that a part of a piece with blocks of records was not written: they are copied
   again. */
void saver_records_unwritten(eventring_saver *saver, uint64_t offset, size_t size);
/* Returns the number of records of a kind that the front counts and that may be missing
   in the file. */
uint64_t saver_missing_records(const eventring_saver *saver, unsigned kind);
/* Notes when events of a ring were lost, in ticks. */
void saver_note_loss(eventring_saver *saver, struct saver_stream *stream, uint64_t from,
                     uint64_t to);
/* Begins to replace texts, if the options ask for that. */
int saver_strip_begin(eventring_saver *saver, struct eventring_error *error);
void saver_strip_end(eventring_saver *saver);
/* Replaces the texts in a block of events of `have` words, and seals it again. */
void saver_strip_events(eventring_saver *saver, uint64_t *words, uint32_t have);
/* Replaces the texts in a block of records. Returns false if the block is to be left
   out. */
bool saver_strip_records(eventring_saver *saver, uint64_t *words, uint32_t end, bool valid);
/* Replaces the texts in the front. To be called before the checksum of its tables is
   computed. */
void saver_strip_front(eventring_saver *saver, uint8_t *front);
/* Begins this part of a merged file. The next two functions give its domains slots when
   all rings are known, and write what is left at the end. Each returns 0 or an error. */
int saver_merge_begin(eventring_saver *saver, struct eventring_error *error);
int saver_merge_slots(eventring_saver *saver, struct eventring_error *error);
int saver_merge_end(eventring_saver *saver, struct eventring_error *error);
/* Returns the error with which adding to the merged file has failed, or 0. */
int saver_merge_status(const eventring_saver *saver, struct eventring_error *error);
void saver_merge_close(eventring_saver *saver);
/* Turns a block of events into a block of the merged file, and seals it again. */
void saver_merge_events(eventring_saver *saver, struct saver_stream *stream, uint64_t *words,
                        uint32_t have);
/* Puts a block without events, as block `block` of the file, in front of the block with
   this header. */
void saver_merge_lost(eventring_saver *saver, struct saver_stream *stream,
                      const struct format_block *next, uint64_t block);
/* Puts the records of a block that are kept into the output, now or later. */
void saver_merge_records(eventring_saver *saver, uint64_t *words, uint32_t end, bool valid,
                         struct saver_output *out);
/* Puts waiting blocks into the output. Returns true if none is left. */
bool saver_merge_flush(eventring_saver *saver, struct saver_output *out);
void saver_merge_front(const eventring_saver *saver, uint8_t *front);
/* Returns the time in which anything was lost, in ns. */
uint64_t saver_loss_ns(const eventring_saver *saver);

#pragma GCC visibility pop

#endif /* EVENTRING_SAVER_H */
