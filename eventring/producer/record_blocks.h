/* SPDX-License-Identifier: MIT */
/* record_blocks.h: blocks of records, which stay while rings turn over. */
#ifndef EVENTRING_PRODUCER_RECORD_BLOCKS_H
#define EVENTRING_PRODUCER_RECORD_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/checksum.h"
#include "format/format.h"

#pragma GCC visibility push(hidden)

enum {
  EVR_RECORD_KINDS = 22,    /* greater than all kinds of blocks of records */
  EVR_TURNING_BLOCKS = 64,  /* largest budget of a kind whose oldest block is rewritten */
  EVR_STREAM_BUDGET = 8192  /* budget of a kind that a stream does not rewrite: a million
                               domains */
};

#define EVR_ASSERT_KIND(name, kind, budget, full) \
  _Static_assert(kind < EVR_RECORD_KINDS, "a kind of records is beyond the table");
FORMAT_RECORD_KINDS(EVR_ASSERT_KIND)
#undef EVR_ASSERT_KIND

struct evr_record_kind {
  struct format_block *block; /* the block that is being filled, or NULL */
  uint32_t at;                /* index of the next word to write in it */
  uint64_t sequence;          /* sequence of the block */
  uint64_t records, before, dropped; /* number of records: in all, before this block,
                                        dropped */
  struct evr_sums sums;       /* sums of the words of the block so far */
};

struct evr_turning { /* the blocks of a kind whose oldest block is rewritten */
  struct format_block *block[EVR_TURNING_BLOCKS];
  uint16_t records[EVR_TURNING_BLOCKS];
};

/* Records of a recording. Guarded by the producer's mutex. Empty when all but the first
   four members are zero. */
struct evr_records {
  struct format_status *status; /* where the numbers of records are published */
  /* Returns the next block of the file, zeroed and ready to be written, for records of
     this kind, or NULL if there is no room. */
  struct format_block *(*claim)(void *owner, enum format_kind kind);
  void *owner;
  bool keeps_all; /* set in a stream, where lives are not rewritten; see
                     EVR_STREAM_BUDGET */
  struct evr_record_kind kind[EVR_RECORD_KINDS];
  struct evr_turning lives, endings, last_stacks;
};

enum evr_appended {
  EVR_APPENDED,
  EVR_DROPPED /* the budget of its kind is used up, or there is no room; counted */
};

/* Appends a record of `words` words, at most FORMAT_BLOCK_WORDS less the header. Sets the
   low 16 bits of its first word. */
enum evr_appended evr_records_append_locked(struct evr_records *records, enum format_kind kind,
                                            const uint64_t *record, unsigned words);
/* Appends a record as evr_records_append_locked does, but begins a new block if less than
   `spare` words would be left in this one. */
enum evr_appended evr_records_append_sparing_locked(struct evr_records *records,
                                                    enum format_kind kind, const uint64_t *record,
                                                    unsigned words, unsigned spare);
/* Tells whether a record of this many words will be appended, or be dropped because the
   budget of its kind is used up. Returns false when there is no room on the disk at
   present. */
bool evr_records_have_block_locked(struct evr_records *records, enum format_kind kind,
                                   unsigned words);
/* Counts a record that was not made. */
void evr_records_drop_locked(struct evr_records *records, enum format_kind kind);
/* Tells whether the present block of this kind has room for `words` more words. */
bool evr_records_have_room_here_locked(const struct evr_records *records, enum format_kind kind,
                                       unsigned words);
/* Tells whether this kind has room for `count` more records of `words` words each. */
bool evr_records_have_room_locked(const struct evr_records *records, enum format_kind kind,
                                  unsigned count, unsigned words);
/* Completes the blocks that are being filled. */
void evr_records_finish_locked(struct evr_records *records);

/* Appends a life of a domain: FORMAT_LIFE_START (tid, name), STOP or RENAME (name). */
void evr_records_life_locked(struct evr_records *records, enum format_life type, unsigned slot,
                             uint32_t incarnation, int32_t tid, uint64_t ticks,
                             const char *name);

#pragma GCC visibility pop

#endif /* EVENTRING_PRODUCER_RECORD_BLOCKS_H */
