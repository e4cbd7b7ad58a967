/* SPDX-License-Identifier: MIT */
/* block.h: copies of blocks. */
#ifndef EVENTRING_BLOCK_H
#define EVENTRING_BLOCK_H

#include "reader/source.h"

#pragma GCC visibility push(hidden)

enum evr_read {
  EVR_READ_OK,
  EVR_READ_GONE,    /* another block is in its place or is being written there */
  EVR_READ_CORRUPT, /* it is this block, but it is not valid */
  EVR_READ_FAILED   /* *error says why */
};

struct evr_block {
  uint64_t words[FORMAT_BLOCK_WORDS]; /* header included */
  uint32_t have;                      /* words committed; the rest is undefined */
};
static inline const struct format_block *
evr_block_header(const struct evr_block *block) {
  return (const struct format_block *)block->words;
}
static inline uint32_t evr_block_first(const struct evr_block *block) {
  const struct format_block *h = evr_block_header(block);
  return FORMAT_BLOCK_HEADER_WORDS + h->open * (uint32_t)FORMAT_OPEN_WORDS + h->open_brief;
}

/* Returns the index of the first event word of an unchecked block. If the header claims
   more open spans than a block can list, returns the index of the word after the largest
   possible list. */
uint32_t evr_first_event(const uint64_t *words);

/* Copies block `sequence`, which lies at `offset`, and checks its structure: the header
   against slot, ring and start of the recording; the lengths of events; the checksum. The
   caller has loaded the ring's head, with acquire, and found it to be at least
   `sequence`, or greater if `complete`. `over` says that nobody writes into the file any
   more. `*block` is undefined unless the result is OK. */
enum evr_read evr_block_copy(const struct evr_source *source, uint64_t offset,
                             uint64_t sequence, unsigned slot, unsigned ring,
                             uint64_t start_ticks, bool complete, bool over,
                             struct evr_block *block, struct eventring_error *error);
/* Copies and checks what was added to a block since it was copied and found valid.
   `*block` stays as it was unless the result is OK. */
enum evr_read evr_block_copy_more(const struct evr_source *source, uint64_t offset,
                                  uint64_t sequence, bool complete,
                                  struct evr_block *block,
                                  struct eventring_error *error);

enum { EVR_AHEAD = 16 /* blocks of a file that are read at once with pread */ };
/* Copies `count` complete blocks of a file, from block `sequence` on, which follow each
   other in the file. Returns `count`, or 0 on failure or if the producer may have begun
   to overwrite them. The blocks are not checked (see evr_block_valid). `head_offset`:
   where the ring's head lies. */
unsigned evr_blocks_copy(const struct evr_source *source, uint64_t offset,
                         uint64_t sequence, uint64_t head_offset,
                         uint32_t ring_blocks, struct evr_block *block,
                         unsigned count);
/* Returns the committed length of a complete block that was copied as a whole, or 0 if
   its events do not end at this length. */
uint32_t evr_block_whole_length(const uint64_t *words);
/* Tells whether a complete block is valid, with its length in `have`. */
bool evr_block_valid(const struct evr_block *block, uint64_t sequence, unsigned slot,
                     unsigned ring, uint64_t start_ticks);

/* Copies a block that holds records, or nothing yet, from `offset` into words, up to the
   end of its last whole record. Sets *end to where that record ends, or to 0 when there
   is no block. *sound is set to false when a damaged record follows. Fails as reading the
   file does. */
int evr_records_copy(const struct evr_source *source, uint64_t offset, uint64_t *words,
                     uint32_t *end, bool *sound, struct eventring_error *error);
/* Returns where the whole records end in the words of a block that nobody writes into.
   Sets *sound to false when a damaged record follows. */
uint32_t evr_records_walk(const uint64_t *words, bool *sound);
/* Tells whether a block copied by evr_records_copy is valid. In a block that is being
   filled, the records before a damaged one are valid. */
bool evr_records_valid(const uint64_t *words, uint32_t end, bool sound);
/* Tells whether the checksum of the words so far in an unfinished block is right. Returns
   true if the block has no such checksum. */
bool evr_records_vouched_for(const uint64_t *words, uint32_t end);

/* Returns the number of committed words of block `sequence`, or 0 when it is gone. */
uint32_t evr_block_length(const struct evr_source *source, uint64_t offset,
                          uint64_t sequence);
/* Lets a poll see that nothing is new. evr_block_word returns where word number
   `word` of a block is mapped, or NULL if the block is not mapped; the word becomes
   nonzero when an event is added. For a file that is not mapped, evr_block_has_more tells
   whether an event was added, and returns true when in doubt. */
const uint64_t *evr_block_word(const struct evr_source *source, uint64_t offset,
                               uint32_t word);
bool evr_block_has_more(const struct evr_source *source, uint64_t offset,
                        uint32_t have);

/* Returns the position of the first event of a block, which remarks may change. */
static inline struct format_position evr_block_start(const struct evr_block *block) {
  const struct format_block *h = evr_block_header(block);
  return (struct format_position){h->base_ticks, h->context, h->incarnation};
}

/* A walk over the events of a block. */
struct evr_block_walk {
  const struct evr_block *block;
  uint32_t at; /* the next word */
  struct format_position position; /* position of the last event */
};
static inline struct evr_block_walk evr_block_walk(const struct evr_block *block) {
  return (struct evr_block_walk){block, evr_block_first(block), evr_block_start(block)};
}
/* Returns the word of the next event, or 0 at the end. Applies the remarks before it. */
static inline uint64_t evr_block_next_event(struct evr_block_walk *walk) {
  const struct evr_block *block = walk->block;
  while (walk->at < block->have) {
    const uint64_t *words = block->words + walk->at;
    walk->at += 1 + word_length(*words);
    if (word_is_event(*words)) return *words;
    format_apply_remark(words, block->words + walk->at, &walk->position);
  }
  return 0;
}
/* Counts the events in a block. */
uint64_t evr_block_events(const struct evr_block *block);
/* Returns the time of the last event of a block, or the base of its times if it has no
   events. */
uint64_t evr_block_newest_ticks(const struct evr_block *block);

#pragma GCC visibility pop

#endif /* EVENTRING_BLOCK_H */
