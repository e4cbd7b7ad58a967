/* SPDX-License-Identifier: MIT */
/* saver_merge_records.c: blocks of records that a merge makes (saver_merge.h has the
   design). */
#include <stdlib.h>
#include <string.h>

#include "format/array.h"
#include "format/checksum.h"
#include "reader/saver_merge.h"

enum { LIVES_BUDGET = 8192 };

/* ---- Blocks that wait -------------------------------------------------------------- */

void merge_put(eventring_saver *saver, const uint64_t *words, uint32_t end, uint64_t block) {
  struct saver_merge *m = saver->merge;
  if (!EVR_MAKE_ROOM(m->waiting, m->waiting_room, m->waiting_count, 8)) {
    merge_fail(saver, EVENTRING_E_MEMORY, "no memory for records");
    return;
  }
  struct merge_block *waiting = &m->waiting[m->waiting_count++];
  waiting->block = block;
  memcpy(waiting->words, words, end * sizeof *words);
  memset(waiting->words + end, 0, (FORMAT_BLOCK_WORDS - end) * sizeof *words);
  waiting->words[FORMAT_SEAL_WORD] = evr_seal(end, evr_checksum(waiting->words, end));
}

static void put_records(eventring_saver *saver, struct merge_records *r) {
  r->changed = false;
  merge_put(saver, r->words, r->at, r->block);
}

bool saver_merge_flush(eventring_saver *saver, struct saver_output *out) {
  struct saver_merge *m = saver->merge;
  if (!m) return true;
  for (; m->waiting_at < m->waiting_count && saver_room(out); m->waiting_at++)
    saver_put_block(out, m->waiting[m->waiting_at].words, FORMAT_BLOCK_WORDS,
                    m->waiting[m->waiting_at].block);
  if (m->waiting_at < m->waiting_count) return false;
  m->waiting_at = m->waiting_count = 0;
  return true;
}

void merge_put_unfinished(eventring_saver *saver) {
  for (unsigned kind = 0; kind < FORMAT_KINDS; kind++) {
    struct merge_records *r = saver->merge->records[kind];
    if (r && r->changed) put_records(saver, r);
  }
}

/* ---- Records ----------------------------------------------------------------------- */

uint64_t merge_budget(enum format_kind kind) {
  switch (kind) {
#define BUDGET(name, number, budget, full) \
    case number: \
      return number == FORMAT_LIVES ? LIVES_BUDGET : (budget);
      FORMAT_RECORD_KINDS(BUDGET)
#undef BUDGET
    default:
      return 0;
  }
}

struct merge_records *merge_records(eventring_saver *saver, enum format_kind kind) {
  struct merge_records **r = &saver->merge->records[kind];
  if (!*r && !(*r = calloc(1, sizeof **r)))
    merge_fail(saver, EVENTRING_E_MEMORY, "no memory for records");
  return *r;
}

static bool begin_block(eventring_saver *saver, struct merge_records *r, enum format_kind kind) {
  uint64_t block;
  if (r->sequence >= merge_budget(kind) || !saver_claim_block(saver, &block)) return false;
  if (r->changed) put_records(saver, r);
  struct format_block *h = (struct format_block *)r->words;
  *h = (struct format_block){.sequence = ++r->sequence, .kind = (uint16_t)kind,
                             .before = r->records};
  r->block = block;
  r->at = FORMAT_BLOCK_HEADER_WORDS;
  return true;
}

uint64_t *merge_record(eventring_saver *saver, enum format_kind kind, unsigned words) {
  struct merge_records *r = merge_records(saver, kind);
  if (!r) return NULL;
  if ((!r->at || r->at + words > FORMAT_BLOCK_WORDS) && !begin_block(saver, r, kind)) {
    r->dropped++;
    return NULL;
  }
  uint64_t *record = r->words + r->at;
  memset(record, 0, words * sizeof *record);
  r->at += words;
  r->records++;
  r->changed = true;
  return record;
}

/* ---- Sets of keys ------------------------------------------------------------------ */

static bool has_words(const void *context, uintptr_t value, const void *key) {
  const struct merge_set *set = context;
  const uint64_t *known = set->words + set->start[value - 1], *words = key;
  return *known == *words && !memcmp(known + 1, words + 1, *words * sizeof *words);
}

static bool have_room(struct merge_set *set, uint32_t words) {
  while (set->room - set->used < words + 1)
    if (!EVR_MAKE_ROOM(set->words, set->room, set->room, 1024)) return false;
  return EVR_MAKE_ROOM(set->start, set->start_room, set->count, 256) &&
         evr_table_make_room(&set->numbers);
}

uint32_t merge_number(eventring_saver *saver, struct merge_set *set, const uint64_t *key,
                      uint32_t words, bool *is_new) {
  *is_new = false;
  if (!have_room(set, words)) {
    merge_fail(saver, EVENTRING_E_MEMORY, "no memory for what events refer to");
    return 0;
  }
  uint64_t *candidate = set->words + set->used, hash = evr_hash_seed();
  candidate[0] = words;
  memcpy(candidate + 1, key, words * sizeof *key);
  for (uint32_t i = 0; i <= words; i++) hash = evr_hash_word(hash, candidate[i]);
  uintptr_t *number = evr_table_take(&set->numbers, hash, has_words, set, candidate);
  *is_new = *number == 0;
  if (!*is_new) return (uint32_t)*number;
  set->start[set->count++] = set->used;
  set->used += words + 1;
  *number = set->count;
  return set->count;
}

static void free_set(struct merge_set *set) {
  free(set->words);
  free(set->start);
  evr_table_free(&set->numbers);
}

void merge_free(struct saver_merge *m) {
  if (!m) return;
  for (unsigned kind = 0; kind < FORMAT_KINDS; kind++) free(m->records[kind]);
  free_set(&m->definition_keys);
  free_set(&m->functions);
  free_set(&m->frames);
  free(m->waiting);
  free(m);
}
