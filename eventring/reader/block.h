/* SPDX-License-Identifier: MIT */
/* block.h: copies of blocks. */
#ifndef EVENTRING_BLOCK_H
#define EVENTRING_BLOCK_H

#include "reader/source.h"

#pragma GCC visibility push(hidden)

enum evr_read {
  EVR_READ_OK,
  EVR_READ_GONE,    /* another block is, or is being written, in its place */
  EVR_READ_CORRUPT, /* this block, but not a valid one */
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

/* First event word of a block that was not checked, as far as its header can be believed. */
uint32_t evr_first_event(const uint64_t *words);

/* Copies block `sequence`, which lies at `offset`, and checks its structure (header
   against slot, ring and start of the recording, lengths of events, checksum). The caller
   has seen, with acquire, that the ring's head is `sequence` or more; `complete`: that it
   is more. `over`: nobody writes into the file any more. `*block` is undefined unless the
   result is OK. */
enum evr_read evr_block_copy(const struct evr_source *source, uint64_t offset,
                             uint64_t sequence, unsigned slot, unsigned ring,
                             uint64_t start_ticks, bool complete, bool over,
                             struct evr_block *block, struct eventring_error *error);
/* Copies what was added to a block since it was copied and found valid; checks that.
   `*block` stays as it was unless the result is OK. */
enum evr_read evr_block_copy_more(const struct evr_source *source, uint64_t offset,
                                  uint64_t sequence, bool complete,
                                  struct evr_block *block,
                                  struct eventring_error *error);

enum { EVR_AHEAD = 16 /* blocks of a file that are read at once with pread */ };
/* Copies `count` complete blocks of a file from block `sequence` on, which follow each
   other in the file. Returns `count`, or 0 on failure and when the producer may have come
   near them. They are not checked: see evr_block_valid. `head_offset`: where the ring's
   head lies. */
unsigned evr_blocks_copy(const struct evr_source *source, uint64_t offset,
                         uint64_t sequence, uint64_t head_offset,
                         uint32_t ring_blocks, struct evr_block *block,
                         unsigned count);
/* The committed length of a complete block that was copied with all that lies behind; 0: the
   events do not end there. */
uint32_t evr_block_whole_length(const uint64_t *words);
/* Is it valid, with this length? */
bool evr_block_valid(const struct evr_block *block, uint64_t sequence, unsigned slot,
                     unsigned ring, uint64_t start_ticks);

/* Copies the block at `offset`, which holds records or nothing yet, into words, as far as
   its records are whole: *end is where that is, 0 when there is no block. *sound is false
   when a record follows that is not. Fails with what reading the file fails with. */
int evr_records_copy(const struct evr_source *source, uint64_t offset, uint64_t *words,
                     uint32_t *end, bool *sound, struct eventring_error *error);
/* The same of words that nobody writes into. */
uint32_t evr_records_walk(const uint64_t *words, bool *sound);
/* Is the block copied in this way valid? In a block that is being filled, the records
   before a damaged one are. */
bool evr_records_valid(const uint64_t *words, uint32_t end, bool sound);
/* Is the checksum right that a block says of its words while it is being filled, if it says
   one? */
bool evr_records_vouched_for(const uint64_t *words, uint32_t end);

/* Words that are committed in block `sequence`, 0 when it is gone. */
uint32_t evr_block_length(const struct evr_source *source, uint64_t offset,
                          uint64_t sequence);
/* For polls that find nothing. evr_block_word: where word number `word` of a block is
   mapped (it becomes other than 0 when an event is added), NULL if it is not.
   evr_block_has_more: whether an event was added, for a file that is not mapped; true
   when in doubt. */
const uint64_t *evr_block_word(const struct evr_source *source, uint64_t offset,
                               uint32_t word);
bool evr_block_has_more(const struct evr_source *source, uint64_t offset,
                        uint32_t have);

/* What holds for the first event of a block, until a remark says otherwise. */
static inline struct format_position evr_block_start(const struct evr_block *block) {
  const struct format_block *h = evr_block_header(block);
  return (struct format_position){h->base_ticks, h->context, h->incarnation};
}

/* A walk over the events of a block. */
struct evr_block_walk {
  const struct evr_block *block;
  uint32_t at; /* the word after what was passed over */
  struct format_position position; /* of the last event */
};
static inline struct evr_block_walk evr_block_walk(const struct evr_block *block) {
  return (struct evr_block_walk){block, evr_block_first(block), evr_block_start(block)};
}
/* Word of the next event, 0 at the end. Remarks are passed over. */
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
/* Events in a block. */
uint64_t evr_block_events(const struct evr_block *block);
/* Time of the last event of a block; of one without events, the base of its times. */
uint64_t evr_block_newest_ticks(const struct evr_block *block);

#pragma GCC visibility pop

#endif /* EVENTRING_BLOCK_H */
