/* SPDX-License-Identifier: MIT */
/* saver_merge_memory.c: functions and stacks of a recording, with the numbers of the
 * merged file, and blocks of records that refer to them (saver_merge.h has the
 * design). */
#include <stdlib.h>
#include <string.h>

#include "format/checksum.h"
#include "format/records.h"
#include "reader/saver_merge.h"

enum {
  MOST_FUNCTIONS = 344064, MOST_STACKS = 688128 /* greatest valid numbers */
};

/* ---- Functions and stacks ---------------------------------------------------------- */

/* Returns the entry for a number of the recording in a list of numbers of the merged
   file, or NULL when out of memory. */
static uint32_t *entry_of(eventring_saver *saver, uint32_t **list, uint32_t *room, uint32_t at) {
  if (at < *room) return *list + at;
  uint32_t more = *room ? 2 * *room : 1024;
  if (more <= at) more = at + 1;
  uint32_t *grown = realloc(*list, more * sizeof **list);
  if (!grown) {
    merge_fail(saver, EVENTRING_E_MEMORY, "no memory for functions and stacks");
    return NULL;
  }
  memset(grown + *room, 0, (more - *room) * sizeof **list);
  *list = grown;
  *room = more;
  return grown + at;
}

/* Writes a record with the words of `key`, if the key is new. Returns its number, or 0 if
   that fails. */
static uint32_t write_once(eventring_saver *saver, enum format_kind kind, struct merge_set *set,
                           unsigned type, uint32_t most, const uint64_t *key, unsigned words) {
  bool is_new;
  uint32_t number = merge_number(saver, set, key, words, &is_new);
  if (number > most) return 0;
  uint64_t *record = is_new ? merge_record(saver, kind, words + 1) : NULL;
  if (!record) return number;
  record[0] = format_record(words + 1, type, number);
  memcpy(record + 1, key, words * sizeof *key);
  return number;
}

static uint32_t move_function(eventring_saver *saver, uint32_t id) {
  struct saver_part *part = saver->part;
  struct eventring_function_info f;
  uint64_t key[2 + (EVENTRING_MAX_FUNCTION_NAME + EVENTRING_MAX_FUNCTION_SOURCE + 8) / 8] = {0};
  if (!id || eventring_cursor_function(saver->cursor, id, &f) != 0) return 0;
  uint32_t *to = entry_of(saver, &part->function_to, &part->functions, id);
  if (!to) return 0;
  if (*to) return *to - 1;
  size_t name = strlen(f.name), source = strlen(f.source);
  key[0] = f.line | (uint64_t)f.last_line << 32;
  key[1] = name | (uint64_t)source << 32;
  memcpy(key + 2, f.name, name);
  memcpy((char *)(key + 2) + name, f.source, source);
  uint32_t number = write_once(saver, FORMAT_FUNCTIONS, &saver->merge->functions, 1,
                               MOST_FUNCTIONS, key, 2 + format_text_words(name + source));
  *to = number + 1;
  return number;
}

/* Translates a stack inwards, from the outermost frame that is not translated yet. Ids of
   callers are smaller, so the walk ends. No host writes more than MAX_DEPTH frames. */
uint32_t merge_stack(eventring_saver *saver, uint32_t id) {
  struct saver_part *part = saver->part;
  uint32_t todo[EVENTRING_MAX_DEPTH], count = 0, parent = 0, *to;
  struct eventring_stack_info frame;
  for (uint32_t at = id; at && count < EVENTRING_MAX_DEPTH; at = frame.parent) {
    if (eventring_cursor_stack(saver->cursor, at, &frame) != 0) break;
    to = entry_of(saver, &part->stack_to, &part->stacks, at);
    if (!to) return 0;
    if (*to) {
      parent = *to - 1;
      break;
    }
    todo[count++] = at;
  }
  while (count > 0) {
    uint32_t at = todo[--count];
    eventring_cursor_stack(saver->cursor, at, &frame);
    uint64_t key[2] = {parent | (uint64_t)move_function(saver, frame.function) << 32,
                       frame.line | (uint64_t)frame.column << 32};
    parent = write_once(saver, FORMAT_STACKS, &saver->merge->frames, FORMAT_STACK_NODE,
                        MOST_STACKS, key, 2);
    part->stack_to[at] = parent + 1;
  }
  return parent;
}

/* ---- Kinds and origins ------------------------------------------------------------- */

typedef char memory_name[EVENTRING_MAX_CLASS_NAME + 1];

static bool take_name(eventring_saver *saver, memory_name *known, unsigned number,
                      enum format_string type, const char *name) {
  if (known[number][0]) return strcmp(known[number], name) == 0;
  size_t size = strlen(name);
  unsigned words = 2 + format_text_words(size);
  uint64_t *record = merge_record(saver, FORMAT_STRINGS, words);
  if (!record) return true;
  record[0] = format_record(words, type, number);
  record[1] = size;
  memcpy(record + 2, name, size);
  memcpy(known[number], name, size + 1);
  return true;
}

/* Gives kinds or origins of memory their numbers by their names. If no number is left, a
   kind or origin keeps its own. */
static void move_names(eventring_saver *saver, const memory_name *names, memory_name *known,
                       unsigned count, enum format_string type, uint8_t *to) {
  for (unsigned i = 0; i < count; i++) {
    unsigned n = count;
    to[i] = (uint8_t)i;
    if (!names[i][0] || take_name(saver, known, i, type, names[i])) continue;
    while (n > 0 && !take_name(saver, known, n - 1, type, names[i])) n--;
    if (n > 0) to[i] = (uint8_t)(n - 1);
  }
}

void merge_memory_names(eventring_saver *saver) {
  const struct evr_stacks *from = &saver->cursor->definitions.stacks;
  struct saver_merge *m = saver->merge;
  move_names(saver, from->kind, m->kind, FORMAT_MEMORY_KINDS, FORMAT_MEMORY_KIND,
             saver->part->kind_to);
  move_names(saver, from->origin, m->origin, FORMAT_MEMORY_ORIGINS, FORMAT_MEMORY_ORIGIN,
             saver->part->origin_to);
}

/* ---- Blocks that are copied -------------------------------------------------------- */

/* Adds to the sequence of a block the sequences used by all earlier parts. */
static void move_sequence(struct merge_records *r, struct format_block *h) {
  h->sequence += r->base;
  if (h->sequence > r->most) r->most = h->sequence;
}

/* Translates the domain and the times of a record. Returns false if the record is not
   valid, or its domain has no number. */
static bool move_record(eventring_saver *saver, unsigned kind, uint64_t *record) {
  const struct format_form *form = evr_record_form(kind, record_type(*record));
  if (!form || !evr_record_fits(form, record, record_words(*record))) return false;
  for (unsigned i = 0; i < 3 && form->times[i]; i++)
    if (record[form->times[i]])
      record[form->times[i]] = merge_ticks(saver, record[form->times[i]]);
  if (!form->domain) return true;
  uint32_t slot = (uint32_t)record[form->domain], incarnation = record[form->domain] >> 32;
  bool has_number = merge_domain(saver, &slot, &incarnation);
  record[form->domain] = slot | (uint64_t)incarnation << 32;
  return has_number;
}

static bool move_heap(eventring_saver *saver, struct format_block *h, uint64_t *record) {
  struct saver_merge *m = saver->merge;
  if (!move_record(saver, FORMAT_HEAPS, record)) return false;
  h->domain = (uint16_t)record[1];
  h->incarnation += m->heap_base;
  if (h->incarnation > m->heaps) m->heaps = h->incarnation;
  *record = format_record(record_words(*record), 1, h->incarnation);
  return true;
}

static bool move_page(eventring_saver *saver, struct format_block *h, uint64_t *words,
                      uint32_t end) {
  uint32_t slot = h->domain, incarnation = 1;
  const struct saver_part *part = saver->part;
  if (!merge_domain(saver, &slot, &incarnation)) return false;
  h->domain = (uint16_t)slot;
  h->incarnation += saver->merge->heap_base;
  for (uint32_t at = FORMAT_BLOCK_HEADER_WORDS; at < end; at += record_words(words[at])) {
    struct format_heap_entry *entry = (struct format_heap_entry *)(words + at);
    if (record_words(words[at]) < FORMAT_HEAP_ENTRY_WORDS || record_type(words[at]) != 1) continue;
    uint32_t stack = record_number(entry->first);
    if (stack != UINT32_MAX) stack = merge_stack(saver, stack);
    entry->first = format_record(record_words(words[at]), 1, stack);
    entry->span = merge_span(saver, entry->span);
    if (entry->kind < FORMAT_MEMORY_KINDS) entry->kind = part->kind_to[entry->kind];
    if (entry->origin < FORMAT_MEMORY_ORIGINS) entry->origin = part->origin_to[entry->origin];
  }
  return true;
}

static bool move_footprint(eventring_saver *saver, struct format_block *h, uint64_t *record) {
  if (!move_record(saver, FORMAT_FOOTPRINTS, record)) return false;
  h->domain = (uint16_t)record[1];
  h->incarnation = record[1] >> 32;
  return true;
}

/* Translates the times of a profile of calls. Its figures stay in ticks of its own clock,
   on which its buckets are based. */
static bool move_profile(eventring_saver *saver, uint64_t *record) {
  enum { WRITTEN = 5, MULTIPLIER = 8 };
  if (record_words(*record) <= MULTIPLIER || record_type(*record) != FORMAT_PROFILE_PART)
    return false;
  evr_metadata_use_segment(saver->meta, record[WRITTEN]);
  if (!record[MULTIPLIER]) record[MULTIPLIER] = saver->meta->segment.multiplier;
  return move_record(saver, FORMAT_PROFILES, record);
}

static bool move_block(eventring_saver *saver, uint64_t *words, uint32_t end) {
  struct format_block *h = (struct format_block *)words;
  uint64_t *record = words + FORMAT_BLOCK_HEADER_WORDS;
  switch (h->kind) {
    case FORMAT_HEAPS: return move_heap(saver, h, record);
    case FORMAT_HEAP_PAGES: return move_page(saver, h, words, end);
    case FORMAT_FOOTPRINTS: return saver->options.part->alone && move_footprint(saver, h, record);
    case FORMAT_PROFILES: return move_profile(saver, record);
    default: return false;
  }
}

/* Writes the last stacks of a block again, into blocks that they share with the last
   stacks of other recordings. */
static void move_last_stacks(eventring_saver *saver, uint64_t *words, uint32_t end) {
  for (uint32_t at = FORMAT_BLOCK_HEADER_WORDS, count; at < end; at += count) {
    struct format_last_stack s;
    count = record_words(words[at]);
    if (!evr_record_is_valid(FORMAT_LAST_STACKS, words + at, count)) continue;
    move_record(saver, FORMAT_LAST_STACKS, words + at);
    memcpy(&s, words + at, sizeof s);
    uint32_t slot = record_number(s.first);
    if (!merge_domain(saver, &slot, &s.incarnation)) continue;
    uint64_t *record = merge_record(saver, FORMAT_LAST_STACKS, count);
    if (!record) return;
    s.first = format_record(count, 1, slot);
    memcpy(record, words + at, count * sizeof *record);
    memcpy(record, &s, sizeof s);
  }
}

void saver_merge_records(eventring_saver *saver, uint64_t *words, uint32_t end, bool valid,
                         struct saver_output *out) {
  struct format_block *h = (struct format_block *)words;
  bool is_copied = format_is_in_place(h->kind) || h->kind == FORMAT_PROFILES;
  uint64_t block;
  if (h->kind == FORMAT_LAST_STACKS && valid) move_last_stacks(saver, words, end);
  if (!is_copied || !valid || end <= FORMAT_BLOCK_HEADER_WORDS) return;
  struct merge_records *r = merge_records(saver, (enum format_kind)h->kind);
  if (!r || !move_block(saver, words, end)) return;
  move_sequence(r, h);
  if (r->records >= merge_budget((enum format_kind)h->kind) || !saver_claim_block(saver, &block)) {
    r->dropped++;
    return;
  }
  if (h->kind == FORMAT_PROFILES) h->before = r->records;
  r->records++;
  words[FORMAT_SEAL_WORD] = evr_seal(end, evr_checksum(words, end));
  saver_put_block(out, words, end, block);
}
