/* SPDX-License-Identifier: MIT */
/* record_blocks.c: appending records to blocks of their kind.
 *
 * Each kind fills one block after the other, claimed from the counter of the file. The
 * payload of a record is stored first, its first word with release, and then the number
 * of records in the status page, with release: a reader that sees the number finds the
 * records, and one that only sees a block walks up to the first word that is 0.
 *
 * A kind has a budget (FORMAT_RECORD_KINDS), so that a process that runs for years keeps
 * within a stated size. When the budget is used up, records are dropped and counted; or,
 * for kinds whose newest records matter most, the oldest block is rewritten by the steps
 * W1 to W4 of a ring's block (lane.c). A stream rewrites only blocks of endings and last
 * stacks; its budget for lives is larger, and records beyond it are dropped and counted.
 */
#include "producer/record_blocks.h"

#include <string.h>

#include "format/atomics.h"
#include "format/checksum.h"

#define STORE(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

static unsigned budget_of(enum format_kind kind) {
  switch (kind) {
#define BUDGET(name, number, budget, full) \
    case FORMAT_##name: \
      return budget;
      FORMAT_RECORD_KINDS(BUDGET)
#undef BUDGET
    default:
      return 0;
  }
}

/* Returns the blocks of a kind that are rewritten in turn, or NULL if records of this
   kind are dropped when the budget is used up. */
static struct evr_turning *turning_of(struct evr_records *records, enum format_kind kind) {
  switch (kind) {
    case FORMAT_LIVES:
      return &records->lives;
    case FORMAT_ENDINGS:
      return &records->endings;
    case FORMAT_LAST_STACKS:
      return &records->last_stacks;
    default:
      return NULL;
  }
}

/* Returns the blocks of this kind if they are rewritten when its budget is used up. In a
   stream these are only endings, for which two blocks were set aside, and last stacks, of
   which the newest matter. */
static struct evr_turning *turning_in(struct evr_records *records, enum format_kind kind) {
  bool always = kind == FORMAT_ENDINGS || kind == FORMAT_LAST_STACKS;
  return records->keeps_all && !always ? NULL : turning_of(records, kind);
}

static unsigned budget_in(const struct evr_records *records, enum format_kind kind) {
  struct evr_records *r = (struct evr_records *)records; /* only read */
  return turning_of(r, kind) && !turning_in(r, kind) ? EVR_STREAM_BUDGET : budget_of(kind);
}

static void publish_counts(struct evr_records *records, enum format_kind kind) {
  const struct evr_record_kind *k = &records->kind[kind];
  struct format_count *count = &records->status->kind[kind];
  STORE(count->dropped, k->dropped);
  /* release: pairs with the acquire fence of readers in read_status (reader/metadata.c),
     which then look for the records */
  __atomic_store_n(&count->records, k->records, __ATOMIC_RELEASE);
}

static enum evr_appended drop(struct evr_records *records, enum format_kind kind) {
  records->kind[kind].dropped++;
  publish_counts(records, kind);
  return EVR_DROPPED;
}

static void finish_block(struct evr_record_kind *k) {
  if (!k->block) return;
  const uint64_t *words = (const uint64_t *)k->block;
  uint64_t seal = evr_seal(k->at, evr_checksum(words, k->at));
  /* release: pairs with the acquire fence behind the header in mapped_records
     (reader/block.c): a reader that sees the length sees the words */
  __atomic_store_n((uint64_t *)k->block + FORMAT_SEAL_WORD, seal, __ATOMIC_RELEASE);
}

/* Stores a checksum up to the newest record. A killed process leaves its last block of
   each kind unfinished; with this checksum a reader can check that block, too. Records
   are few, so it costs little. */
static void vouch_for(const struct evr_record_kind *k) {
  uint64_t *words = (uint64_t *)k->block;
  uint64_t so_far = evr_seal(k->at, evr_sums_checksum(&k->sums));
  /* release: pairs with the acquire fence behind the header in mapped_records
     (reader/block.c): a reader that sees the length sees the words */
  __atomic_store_n(&words[FORMAT_SO_FAR_WORD], so_far, __ATOMIC_RELEASE);
}

/* Returns the place of the next block of a kind, or NULL. Sets *used if the place holds
   the oldest block. */
static struct format_block *next_place(struct evr_records *records, enum format_kind kind,
                                       bool *used) {
  struct evr_record_kind *k = &records->kind[kind];
  struct evr_turning *turning = turning_in(records, kind);
  unsigned budget = budget_in(records, kind), place = (unsigned)(k->sequence % budget);
  *used = k->sequence >= budget;
  if (*used && !turning) return NULL;
  struct format_block *block =
      *used ? turning->block[place] : records->claim(records->owner, kind);
  if (!block || !turning) return block;
  k->dropped += turning->records[place];
  turning->block[place] = block;
  turning->records[place] = 0;
  return block;
}

/* Begins a block; returns false when there is no room. */
static bool begin_block(struct evr_records *records, enum format_kind kind) {
  struct evr_record_kind *k = &records->kind[kind];
  bool used;
  struct format_block *block = next_place(records, kind, &used);
  if (!block) return false;
  finish_block(k);
  if (used) {
    __atomic_store_n(&block->sequence, 0, __ATOMIC_RELEASE); /* W1 */
    evr_fence_release();                                     /* W2 */
    evr_store_zeros((uint64_t *)block + 1, FORMAT_BLOCK_WORDS - 1);
  }
  STORE(block->kind, (uint16_t)kind);
  STORE(block->before, k->records);
  /* release, W4: pairs with the acquire load R1 in mapped_records (reader/block.c) */
  __atomic_store_n(&block->sequence, ++k->sequence, __ATOMIC_RELEASE);
  k->block = block;
  k->before = k->records;
  k->at = FORMAT_BLOCK_HEADER_WORDS;
  k->sums = (struct evr_sums){0, 0};
  evr_sums_add(&k->sums, (const uint64_t *)block, FORMAT_BLOCK_HEADER_WORDS);
  return true;
}

static void count_record(struct evr_records *records, enum format_kind kind) {
  struct evr_record_kind *k = &records->kind[kind];
  struct evr_turning *turning = turning_in(records, kind);
  if (turning) turning->records[(k->sequence - 1) % budget_of(kind)]++;
  k->records++;
}

enum evr_appended evr_records_append_sparing_locked(struct evr_records *records,
                                                    enum format_kind kind, const uint64_t *record,
                                                    unsigned words, unsigned spare) {
  struct evr_record_kind *k = &records->kind[kind];
  if (!k->block || words + spare > FORMAT_BLOCK_WORDS - k->at)
    if (!begin_block(records, kind)) return drop(records, kind);
  uint64_t *to = (uint64_t *)k->block + k->at;
  for (unsigned i = 1; i < words; i++) STORE(to[i], record[i]);
  /* release: pairs with the acquire load R2 in mapped_records (reader/block.c), which
     then sees the rest of the record */
  __atomic_store_n(to, (record[0] & ~(uint64_t)0xffff) | words, __ATOMIC_RELEASE);
  k->at += words;
  evr_sums_add(&k->sums, to, words);
  vouch_for(k);
  count_record(records, kind);
  publish_counts(records, kind);
  return EVR_APPENDED;
}

enum evr_appended evr_records_append_locked(struct evr_records *records, enum format_kind kind,
                                            const uint64_t *record, unsigned words) {
  return evr_records_append_sparing_locked(records, kind, record, words, 0);
}

bool evr_records_have_room_here_locked(const struct evr_records *records, enum format_kind kind,
                                       unsigned words) {
  const struct evr_record_kind *k = &records->kind[kind];
  return k->block && words <= FORMAT_BLOCK_WORDS - k->at;
}

bool evr_records_have_block_locked(struct evr_records *records, enum format_kind kind,
                                   unsigned words) {
  bool is_used_up = records->kind[kind].sequence >= budget_in(records, kind);
  return evr_records_have_room_here_locked(records, kind, words) || is_used_up ||
         begin_block(records, kind);
}

void evr_records_drop_locked(struct evr_records *records, enum format_kind kind) {
  drop(records, kind);
}

bool evr_records_have_room_locked(const struct evr_records *records, enum format_kind kind,
                                  unsigned count, unsigned words) {
  const struct evr_record_kind *k = &records->kind[kind];
  unsigned per_block = (FORMAT_BLOCK_WORDS - FORMAT_BLOCK_HEADER_WORDS) / words;
  unsigned here = k->block ? (FORMAT_BLOCK_WORDS - k->at) / words : 0;
  return here + (budget_in(records, kind) - k->sequence) * per_block >= count;
}

void evr_records_finish_locked(struct evr_records *records) {
  for (int kind = 0; kind < EVR_RECORD_KINDS; kind++) finish_block(&records->kind[kind]);
}

/* ---- Lives ------------------------------------------------------------------------- */

enum { NAME_WORDS = (EVENTRING_MAX_DOMAIN_NAME + 7) / 8 };

void evr_records_life_locked(struct evr_records *records, enum format_life type, unsigned slot,
                             uint32_t incarnation, int32_t tid, uint64_t ticks,
                             const char *name) {
  struct {
    struct format_life_record record;
    uint64_t name[NAME_WORDS];
  } life = {.record = {.first = format_record(0, type, slot), .incarnation = incarnation,
                       .tid = tid, .ticks = ticks}};
  unsigned words = sizeof life.record / 8;
  if (type == FORMAT_LIFE_STOP) {
    words--;
  } else {
    size_t bytes = strnlen(name, EVENTRING_MAX_DOMAIN_NAME);
    life.record.name_bytes = bytes;
    memcpy(life.name, name, bytes);
    words += format_text_words(bytes);
  }
  uint64_t copy[sizeof life / 8];
  memcpy(copy, &life, sizeof life);
  evr_records_append_locked(records, FORMAT_LIVES, copy, words);
}
