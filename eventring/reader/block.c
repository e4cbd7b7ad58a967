/* SPDX-License-Identifier: MIT */
/* block.c: copies blocks that their producer may be overwriting.
 *
 * The steps of the reader (those of the producer, W1 .. W6, are in producer/lane.c):
 *
 *   R0  the caller has loaded the ring's head, acquire, and found the block's number or
 *       more: W4 of this block has happened (pairs with W5)
 *   R1  load the sequence, acquire: it must be the wanted one (pairs with W4)
 *   R2  walk: load each event word, acquire (pairs with the release in W6: a
 *       reader that sees an event word sees its payload); stop at the first zero
 *   R3  copy words, relaxed
 *   R4  acquire fence (pairs with W2: if R3 had seen any store of a later W3, R5 would
 *       see W1 or a later sequence)
 *   R5  load the sequence again, relaxed: still the wanted one, else discard the copy
 *
 * The proof is testsuite/model/block_transition.pml: one writer, two readers, all orders
 * that the memory model allows.
 *
 * Nothing is interpreted before R5 (the walk uses only lengths, bounded by the block). A
 * complete block (the head is beyond it) needs no walk: its committed length and all its
 * words were stored before that head (R0 pairs with W5). Its copy is walked after R5, to
 * check it. What was added to a block since it was copied is copied in the same way, from
 * R2 on.
 *
 * Through pread the order of loads within one call is unknown, so each step is a separate
 * call, with acquire fences between them: a call to learn the committed length (R1, R2),
 * a call to copy (R3), a call to check (R5). A complete block does not need the first
 * call. The kernel copies aligned 64-bit words whole.
 *
 * Several complete blocks of a file are read at once, and one load of the head serves as
 * R5 for all of them. Before W1 of the block that takes the place of block s, the
 * producer has done W5 of the preceding block, s + N - 1, and W1 is a release store. So
 * if R3 had seen W1 or a store of a later W3, R5 would see (R4) a head of s + N - 1 or
 * more, where N is the number of the ring's blocks. If the head is less, all blocks from
 * s on are whole. Otherwise they are read one by one. In the same way block_cursor.c
 * distinguishes a block that is gone from one that damage destroyed.
 *
 * Blocks of records are written in the same steps by producer/record_blocks.c, and
 * replaced by producer/replace.c. For them R1 pairs with W4 of these two files, R2 with
 * the release store of a record's first word, and R4 with W2 of these files. R4 also
 * pairs with the release fence in producer/heap_profile.c that follows when a profile is
 * taken out of the file.
 */
#include "reader/block.h"

#include <string.h>

#include "format/atomics.h"
#include "format/checksum.h"

uint32_t evr_first_event(const uint64_t *words) {
  const struct format_block *h = (const struct format_block *)words;
  uint32_t brief = h->open_brief, open = h->open;
  if (open + brief > FORMAT_MAX_OPEN) open = FORMAT_MAX_OPEN, brief = 0;
  return FORMAT_BLOCK_HEADER_WORDS + open * FORMAT_OPEN_WORDS + brief;
}

enum {
  RUN = 16,  /* words checked together */
  FEW = 8,   /* after this many events of one word in a row, runs are looked for */
  MIXED = 24 /* events walked one by one where lengths are mixed */
};

typedef uint64_t words2 __attribute__((vector_size(16), aligned(8), may_alias));

/* Tells whether the next RUN words are events of one word each, without a branch for each
   word. */
static inline bool is_run(const uint64_t *words) {
  words2 lengths = {0}, no_kind = {0};
#pragma GCC unroll 8
  for (int i = 0; i < RUN; i += 2) {
    words2 two = *(const words2 *)(words + i);
    lengths |= two;
    no_kind |= (two & 7) - 1; /* bit 63 is set: kind 0 */
  }
  return !((lengths[0] | lengths[1]) & FORMAT_LENGTH_MASK) &&
         !((no_kind[0] | no_kind[1]) >> 63);
}

/* Keeps the compiler from using what it knows of a value, for example that it equals
   another value. */
static inline void forget_value(uint32_t *value) { __asm__("" : "+r"(*value)); }

/* Skips events of the same length as the one at `at`. The processor predicts that one
   more follows; without this prediction it would wait for each word before it could fetch
   the next. */
static inline uint32_t pass_alike(const uint64_t *words, uint32_t at, uint32_t bound) {
  uint64_t length_bits = words[at] & FORMAT_LENGTH_MASK;
  uint32_t length = 1 + word_length(words[at]);
  do {
    forget_value(&length);
    at += length;
  } while (at < bound && (words[at] & FORMAT_LENGTH_MASK) == length_bits &&
           word_kind(words[at]));
  return at;
}

/* Skips at most MIXED events of any length. Each step waits for the word of the previous
   step, which takes less time than a misprediction. */
static inline uint32_t pass_mixed(const uint64_t *words, uint32_t at, uint32_t bound) {
  for (int i = 0; i < MIXED && at < bound && word_kind(words[at]); i++)
    at += 1 + word_length(words[at]);
  return at;
}

/* Walks copied words from `at` up to `bound` and returns where the events end. Sets
   *sound to false when an event would reach beyond the block or has no kind. */
static uint32_t walk_events(const uint64_t *words, uint32_t at, uint32_t bound, bool *sound) {
  uint32_t run = at; /* all events from here on had one word */
  while (at < bound) {
    uint64_t word = words[at];
    if (!word_kind(word)) {
      if (word) *sound = false;
      break;
    }
    if (!(word & FORMAT_LENGTH_MASK)) {
      if (++at - run < FEW) continue;
      while (at + RUN <= bound && is_run(words + at)) at += RUN;
    } else {
      bool mixed = at - run < FEW;
      uint32_t from = at;
      at = pass_alike(words, at, bound);
      if (mixed && at - from < 4 * (1 + word_length(word))) at = pass_mixed(words, at, bound);
    }
    run = at;
  }
  if (at > FORMAT_BLOCK_WORDS) *sound = false;
  return at;
}

/* Tells whether the length and checksum in a block are right for words that end at
   `have`. A block that is being filled has no length and no checksum. */
static bool seal_is_right(const uint64_t *words, uint64_t seal, uint32_t have, bool complete) {
  if (!(uint32_t)seal) return !complete;
  return seal == evr_seal(have, evr_checksum(words, have));
}

/* Checks the structure of a block whose copy is known to be consistent. */
static bool is_valid(const struct evr_block *block, unsigned slot, unsigned ring,
                     uint64_t start_ticks, bool complete) {
  const struct format_block *h = evr_block_header(block);
  bool sound = true;
  return h->kind == FORMAT_EVENTS && h->domain == slot && h->ring == ring &&
         h->incarnation > 0 && h->open + h->open_brief <= FORMAT_MAX_OPEN &&
         h->before < FORMAT_MAX_SEQUENCE && h->base_ticks >= start_ticks &&
         block->have <= FORMAT_BLOCK_WORDS &&
         block->have >= evr_block_first(block) &&
         walk_events(block->words, evr_block_first(block), block->have, &sound) ==
             block->have && sound &&
         seal_is_right(block->words, block->words[FORMAT_SEAL_WORD], block->have, complete);
}

/* Performs R2 and R3 through the mapping, from words[at] on, of a block that may grow.
   Returns where the committed words end, or where they stop making sense. */
static uint32_t copy_committed(uint64_t *to, const uint64_t *from, uint32_t at) {
  while (at < FORMAT_BLOCK_WORDS) {
    uint64_t word = __atomic_load_n(&from[at], __ATOMIC_ACQUIRE);        /* R2 */
    if (!word) break;
    to[at] = word;
    uint32_t next = at + 1 + word_length(word);
    if (next > FORMAT_BLOCK_WORDS) return FORMAT_BLOCK_WORDS + 1;
    evr_testpoint(R3);
    evr_copy_words(to + at + 1, from + at + 1, next - at - 1);               /* R3 */
    at = next;
  }
  return at;
}

/* Copies a complete block up to the length in its header (which is checked afterwards).
   Returns this length, or 0 if it is impossible. All of the block was written before the
   head that the caller has seen. */
static uint32_t copy_complete(uint64_t *to, const uint64_t *from) {
  uint32_t have = ((struct format_block *)to)->committed;
  if (have < FORMAT_BLOCK_HEADER_WORDS || have > FORMAT_BLOCK_WORDS) return 0;
  evr_testpoint(R3);
  evr_copy_many_words(to + FORMAT_BLOCK_HEADER_WORDS, from + FORMAT_BLOCK_HEADER_WORDS,
                  have - FORMAT_BLOCK_HEADER_WORDS);                     /* R3 */
  /* no checksum covers the word after the events; it must be 0 */
  if (have < FORMAT_BLOCK_WORDS && __atomic_load_n(&from[have], __ATOMIC_RELAXED)) return 0;
  return have;
}

uint32_t evr_block_whole_length(const uint64_t *words) {
  uint32_t have = ((const struct format_block *)words)->committed;
  return have < FORMAT_BLOCK_WORDS && words[have] ? 0 : have;
}

static enum evr_read mapped_block(const struct evr_source *source, uint64_t offset,
                                  uint64_t sequence, bool complete,
                                  struct evr_block *block) {
  const uint64_t *from = evr_source_words(source, offset, FORMAT_BLOCK_BYTES);
  uint64_t *to = block->words;
  if (!from) return EVR_READ_GONE;
  evr_testpoint(R1);
  if (__atomic_load_n(from, __ATOMIC_ACQUIRE) != sequence)               /* R1 */
    return EVR_READ_GONE;
  evr_testpoint(R2);
  evr_copy_words(to, from, FORMAT_BLOCK_HEADER_WORDS);
  if (complete) {
    block->have = copy_complete(to, from);
  } else {
    uint32_t first = evr_first_event(to);
    evr_copy_words(to + FORMAT_BLOCK_HEADER_WORDS, from + FORMAT_BLOCK_HEADER_WORDS,
                   first - FORMAT_BLOCK_HEADER_WORDS);
    block->have = copy_committed(to, from, first);
  }
  evr_testpoint(R4);
  evr_fence_acquire();                               /* R4 */
  evr_testpoint(R5);
  return __atomic_load_n(from, __ATOMIC_RELAXED) == sequence             /* R5 */
             ? EVR_READ_OK : EVR_READ_GONE;
}

static enum evr_read file_block(const struct evr_source *source, uint64_t offset,
                                uint64_t sequence, bool complete,
                                struct evr_block *block,
                                struct eventring_error *error) {
  uint64_t again;
  bool sound = true;
  evr_testpoint(R1);
  if (evr_source_read_file(source, offset, block->words, FORMAT_BLOCK_BYTES, error) != 0)
    return EVR_READ_FAILED;
  if (block->words[0] != sequence) return EVR_READ_GONE;                 /* R1 */
  uint32_t first = evr_first_event(block->words);
  block->have = complete ? evr_block_whole_length(block->words)
                         : walk_events(block->words, first, FORMAT_BLOCK_WORDS,
                                       &sound);                                 /* R2 */
  if (!sound) block->have = FORMAT_BLOCK_WORDS + 1;
  /* pairs with the release in W6: payloads are copied (R3) after their event words were
     seen (R2); for a complete block this is R4 */
  evr_fence_acquire();
  evr_testpoint(R3);
  if (!complete && sound && block->have > first) {
    if (evr_source_read_file(source, offset, block->words, (size_t)block->have * 8, error) != 0)
      return EVR_READ_FAILED;                                            /* R3 */
    evr_fence_acquire();                             /* R4 */
  }
  evr_testpoint(R5);
  if (evr_source_read_file(source, offset, &again, sizeof again, error) != 0)
    return EVR_READ_FAILED;
  return again == sequence ? EVR_READ_OK : EVR_READ_GONE;                /* R5 */
}

enum evr_read evr_block_copy(const struct evr_source *source, uint64_t offset,
                             uint64_t sequence, unsigned slot, unsigned ring,
                             uint64_t start_ticks, bool complete, bool over,
                             struct evr_block *block, struct eventring_error *error) {
  enum evr_read status = EVR_READ_GONE;
  bool mapped = evr_source_mapped(source);
  if (mapped) status = mapped_block(source, offset, sequence, complete, block);
  /* or the mapping is lost, and reads as zeros */
  if (!mapped || !evr_source_mapped(source))
    status = file_block(source, offset, sequence, complete, block, error);
  if (status != EVR_READ_OK) return status;
  /* in a block that is being filled, the seal may be seen before the last event */
  if (!complete && !over) block->words[FORMAT_SEAL_WORD] = 0;
  return is_valid(block, slot, ring, start_ticks, complete) ? EVR_READ_OK : EVR_READ_CORRUPT;
}

/* ---- What was added to a block --------------------------------------------------- */

static enum evr_read mapped_more(const struct evr_source *source, uint64_t offset,
                                 uint64_t sequence, bool complete,
                                 struct evr_block *block, uint32_t *have) {
  const uint64_t *from = evr_source_words(source, offset, FORMAT_BLOCK_BYTES);
  if (!from) return EVR_READ_GONE;
  evr_testpoint(R2);
  *have = copy_committed(block->words, from, block->have);
  uint64_t seal = __atomic_load_n(&from[FORMAT_SEAL_WORD], __ATOMIC_RELAXED); /* R3 */
  evr_testpoint(R4);
  evr_fence_acquire();                               /* R4 */
  evr_testpoint(R5);
  if (__atomic_load_n(from, __ATOMIC_RELAXED) != sequence)               /* R5 */
    return EVR_READ_GONE;
  if (complete && *have <= FORMAT_BLOCK_WORDS && !seal_is_right(block->words, seal, *have, true))
    return EVR_READ_CORRUPT;
  return EVR_READ_OK;
}

static enum evr_read file_more(const struct evr_source *source, uint64_t offset,
                               uint64_t sequence, bool complete,
                               struct evr_block *block, uint32_t *have,
                               struct eventring_error *error) {
  uint64_t *to = block->words + block->have, again;
  uint64_t at = offset + block->have * sizeof *to;
  uint64_t seal = 0;
  bool sound = true;
  evr_testpoint(R2);
  if (evr_source_read_file(source, at, to, (FORMAT_BLOCK_WORDS - block->have) * sizeof *to,
                           error) != 0)
    return EVR_READ_FAILED;
  *have = walk_events(block->words, block->have, FORMAT_BLOCK_WORDS, &sound);   /* R2 */
  /* pairs with the release in W6: payloads are copied (R3) after their event words were
     seen (R2) */
  evr_fence_acquire();
  evr_testpoint(R3);
  if (!complete && sound && *have > block->have) {
    if (evr_source_read_file(source, at, to, (*have - block->have) * sizeof *to, error) != 0)
      return EVR_READ_FAILED;                                            /* R3 */
    evr_fence_acquire();                             /* R4 */
  }
  if (complete) {
    if (evr_source_read_file(source, offset + FORMAT_SEAL_WORD * sizeof seal, &seal,
                             sizeof seal, error) != 0)
      return EVR_READ_FAILED;                                            /* R3 */
    evr_fence_acquire();                             /* R4 */
  }
  evr_testpoint(R5);
  if (evr_source_read_file(source, offset, &again, sizeof again, error) != 0)
    return EVR_READ_FAILED;
  if (again != sequence) return EVR_READ_GONE;                           /* R5 */
  if (!sound || (complete && !seal_is_right(block->words, seal, *have, true)))
    return EVR_READ_CORRUPT;
  return EVR_READ_OK;
}

enum evr_read evr_block_copy_more(const struct evr_source *source, uint64_t offset,
                                  uint64_t sequence, bool complete,
                                  struct evr_block *block,
                                  struct eventring_error *error) {
  uint32_t have = block->have;
  bool sound = true, mapped = evr_source_mapped(source);
  enum evr_read status = EVR_READ_GONE;
  if (mapped) status = mapped_more(source, offset, sequence, complete, block, &have);
  if (!mapped || !evr_source_mapped(source))
    status = file_more(source, offset, sequence, complete, block, &have, error);
  if (status != EVR_READ_OK) return status;
  if (have > FORMAT_BLOCK_WORDS ||
      walk_events(block->words, block->have, have, &sound) != have || !sound)
    return EVR_READ_CORRUPT;
  block->have = have;
  return EVR_READ_OK;
}

/* ---- Several blocks at once ------------------------------------------------------ */

unsigned evr_blocks_copy(const struct evr_source *source, uint64_t offset,
                         uint64_t sequence, uint64_t head_offset, uint32_t ring_blocks,
                         struct evr_block *block, unsigned count) {
  struct iovec piece[EVR_AHEAD];
  uint64_t head;
  for (unsigned i = 0; i < count; i++)
    piece[i] = (struct iovec){block[i].words, FORMAT_BLOCK_BYTES};
  evr_testpoint(R3);
  if (!evr_source_read_pieces(source, offset, piece, count)) return 0;   /* R3 */
  evr_testpoint(R4);
  evr_fence_acquire();                               /* R4 */
  evr_testpoint(R5);
  if (evr_source_read_file(source, head_offset, &head, sizeof head, NULL) != 0 ||
      head - sequence >= ring_blocks - 1)                                /* R5 */
    return 0;
  for (unsigned i = 0; i < count; i++) block[i].have = evr_block_whole_length(block[i].words);
  return count;
}

bool evr_block_valid(const struct evr_block *block, uint64_t sequence, unsigned slot,
                     unsigned ring, uint64_t start_ticks) {
  return block->words[0] == sequence && is_valid(block, slot, ring, start_ticks, true);
}

/* ---- Blocks of records ----------------------------------------------------------- */

/* Returns where the whole records end. Sets *sound to false when a damaged record
   follows. */
uint32_t evr_records_walk(const uint64_t *words, bool *sound) {
  uint32_t at = FORMAT_BLOCK_HEADER_WORDS;
  while (at < FORMAT_BLOCK_WORDS && words[at]) {
    uint32_t size = record_words(words[at]);
    if (!size || at + size > FORMAT_BLOCK_WORDS) {
      *sound = false;
      break;
    }
    at += size;
  }
  return at;
}

static uint32_t mapped_records(const uint64_t *from, uint64_t *to, bool *sound) {
  uint32_t at = FORMAT_BLOCK_HEADER_WORDS;
  uint64_t sequence = __atomic_load_n(from, __ATOMIC_ACQUIRE);           /* R1 */
  evr_copy_words(to, from, FORMAT_BLOCK_HEADER_WORDS);
  /* pairs with the release stores of the two checksums (finish_block and vouch_for in
     producer/record_blocks.c): the words that they cover are read from here on */
  evr_fence_acquire();
  while (at < FORMAT_BLOCK_WORDS) {
    uint64_t first = __atomic_load_n(&from[at], __ATOMIC_ACQUIRE);       /* R2 */
    if (!first) break;
    to[at] = first;
    uint32_t next = at + record_words(first);
    if (next == at || next > FORMAT_BLOCK_WORDS) {
      *sound = false;
      break;
    }
    evr_copy_words(to + at + 1, from + at + 1, next - at - 1);           /* R3 */
    at = next;
  }
  evr_fence_acquire();                                                   /* R4 */
  /* R5 */
  return sequence && __atomic_load_n(from, __ATOMIC_RELAXED) == sequence ? at : 0;
}

static int file_records(const struct evr_source *source, uint64_t offset, uint64_t *words,
                        uint32_t *end, bool *sound, struct eventring_error *error) {
  uint64_t again;
  int status = evr_source_read_file(source, offset, words, FORMAT_BLOCK_BYTES, error);
  uint64_t sequence = words[0], seal = words[FORMAT_SEAL_WORD];
  uint64_t so_far = words[FORMAT_SO_FAR_WORD];
  if (status != EVENTRING_OK || !sequence) return status;
  uint32_t at = evr_records_walk(words, sound);                              /* R2 */
  /* pairs with the release stores of the checksums and of a record's first word
     (producer/record_blocks.c): what they cover is copied (R3) after they were seen */
  evr_fence_acquire();
  evr_testpoint(RECORDS);
  /* R3 */
  status = evr_source_read_file(source, offset, words, FORMAT_BLOCK_BYTES, error);
  evr_fence_acquire();                                                   /* R4 */
  /* a seal that was stored in between covers records that were not seen yet */
  words[FORMAT_SEAL_WORD] = seal;
  if (seal) {
    *sound = true;
    at = evr_records_walk(words, sound);
  } else {
    words[FORMAT_SO_FAR_WORD] = so_far;
  }
  if (status == EVENTRING_OK)
    status = evr_source_read_file(source, offset, &again, sizeof again, error);
  if (status == EVENTRING_OK && again == sequence) *end = at;            /* R5 */
  return status;
}

bool evr_records_valid(const uint64_t *words, uint32_t end, bool sound) {
  uint64_t seal = words[FORMAT_SEAL_WORD];
  return !(uint32_t)seal || (sound && seal == evr_seal(end, evr_checksum(words, end)));
}

bool evr_records_vouched_for(const uint64_t *words, uint32_t end) {
  uint64_t so_far = words[FORMAT_SO_FAR_WORD];
  uint32_t count = (uint32_t)so_far;
  return !so_far || (uint32_t)words[FORMAT_SEAL_WORD] ||
         (count >= FORMAT_BLOCK_HEADER_WORDS && count <= end &&
          so_far == evr_seal(count, evr_checksum_so_far(words, count)));
}

int evr_records_copy(const struct evr_source *source, uint64_t offset, uint64_t *words,
                     uint32_t *end, bool *sound, struct eventring_error *error) {
  const uint64_t *from = evr_source_words(source, offset, FORMAT_BLOCK_BYTES);
  *end = 0;
  *sound = true;
  if (from && evr_source_mapped(source)) {
    *end = mapped_records(from, words, sound);
    if (evr_source_mapped(source)) return EVENTRING_OK;
  }
  *end = 0;
  *sound = true;
  return file_records(source, offset, words, end, sound, error);
}

/* ---- How far a block has come ---------------------------------------------------- */

static uint32_t mapped_length(const struct evr_source *source, uint64_t offset,
                              uint64_t sequence) {
  uint64_t copy[FORMAT_BLOCK_WORDS];
  const uint64_t *from = evr_source_words(source, offset, FORMAT_BLOCK_BYTES);
  /* R1: pairs with W4 (producer/lane.c): the header of this block is seen */
  if (!from || __atomic_load_n(from, __ATOMIC_ACQUIRE) != sequence) return 0;
  evr_copy_words(copy, from, FORMAT_BLOCK_HEADER_WORDS);
  return copy_committed(copy, from, evr_first_event(copy));
}

uint32_t evr_block_length(const struct evr_source *source, uint64_t offset,
                          uint64_t sequence) {
  uint64_t copy[FORMAT_BLOCK_WORDS];
  bool sound = true;
  if (evr_source_mapped(source)) {
    uint32_t length = mapped_length(source, offset, sequence);
    if (evr_source_mapped(source)) return length;
  }
  if (evr_source_read_file(source, offset, copy, sizeof copy, NULL) != 0 || copy[0] != sequence)
    return 0;
  return walk_events(copy, evr_first_event(copy), FORMAT_BLOCK_WORDS, &sound);
}

const uint64_t *evr_block_word(const struct evr_source *source, uint64_t offset,
                               uint32_t word) {
  static const uint64_t none; /* for a full block: nothing is added to it */
  if (!evr_source_mapped(source)) return NULL;
  const uint64_t *from = evr_source_words(source, offset, FORMAT_BLOCK_BYTES);
  return from && word >= FORMAT_BLOCK_WORDS ? &none : from ? from + word : NULL;
}

bool evr_block_has_more(const struct evr_source *source, uint64_t offset,
                        uint32_t have) {
  uint64_t word = 0;
  if (evr_source_mapped(source)) return true;
  if (have >= FORMAT_BLOCK_WORDS) return false;
  if (evr_source_read_file(source, offset + have * sizeof word, &word, sizeof word, NULL) != 0)
    return true;
  return word != 0;
}

uint64_t evr_block_events(const struct evr_block *block) {
  struct evr_block_walk walk = evr_block_walk(block);
  uint64_t events = 0;
  while (evr_block_next_event(&walk)) events++;
  return events;
}

uint64_t evr_block_newest_ticks(const struct evr_block *block) {
  struct evr_block_walk walk = evr_block_walk(block);
  uint64_t ticks = walk.position.base, word;
  while ((word = evr_block_next_event(&walk)) != 0)
    ticks = word_ticks(word, walk.position.base);
  return ticks;
}
