/* SPDX-License-Identifier: MIT */
/* saver_merge_events.c: numbers and times in blocks of events; definitions (saver_merge.h
 * has the design). */
#include <stdio.h>
#include <string.h>

#include "format/builtins.h"
#include "format/checksum.h"
#include "format/text.h"
#include "reader/saver_merge.h"

enum { MOST_NAMESAKES = 99, LINK_SHIFT = 48, LINK_WORDS = 2 };

/* ---- Definitions ------------------------------------------------------------------- */

/* Puts texts into a record, each right after the other. */
static void put_texts(uint64_t *record, struct format_definition *d, const char *const *texts) {
  uint16_t *bytes[] = {&d->name_bytes, &d->unit_bytes, &d->doc_bytes, &d->fields_bytes};
  char *to = (char *)record + sizeof *d;
  for (unsigned i = 0; i < 4; to += *bytes[i++]) memcpy(to, texts[i], *bytes[i]);
  memcpy(record, d, sizeof *d);
}

static uint16_t size_of(const char *text) { return text ? (uint16_t)strlen(text) : 0; }

static void write_definition(eventring_saver *saver, const struct eventring_def *def,
                             const char *name, unsigned id) {
  const char *texts[] = {name, def->unit, def->doc, def->fields};
  struct format_definition d = {
      .kind = def->kind, .event_class = def->event_class, .ring = def->ring,
      .payload = def->payload, .measure = def->measure, .quantity = def->quantity,
      .name_bytes = size_of(name),
      .unit_bytes = size_of(def->unit), .doc_bytes = size_of(def->doc),
      .fields_bytes = size_of(def->fields)};
  unsigned words = sizeof d / 8 + format_text_words((size_t)d.name_bytes + d.unit_bytes +
                                                    d.doc_bytes + d.fields_bytes);
  uint64_t *record = merge_record(saver, FORMAT_DEFINITIONS, words);
  d.first = format_record(words, 1, id);
  for (unsigned i = 0; i < 4; i++)
    if (!texts[i]) texts[i] = "";
  if (record) put_texts(record, &d, texts);
}

static uint64_t meaning_of(const struct eventring_def *def) {
  uint64_t numbers = def->payload | (uint64_t)def->measure << 8 | (uint64_t)def->quantity << 16;
  uint64_t hash = evr_hash_word(evr_hash_seed(), numbers);
  hash = evr_hash_text(hash, def->unit ? def->unit : "");
  return evr_hash_text(hash, def->fields ? def->fields : "");
}

static unsigned next_id(eventring_saver *saver) {
  struct saver_merge *m = saver->merge;
  struct merge_records *r = merge_records(saver, FORMAT_DEFINITIONS);
  if (m->ids < EVENTRING_MAX_EVENTS) return m->ids++;
  if (r) r->dropped++;
  return EVENTRING_ID_OTHER;
}

/* Returns the id of this name, kind and class, or MAX_EVENTS if the name belongs to a
   definition that differs, or to another definition of this recording. */
static unsigned id_of(eventring_saver *saver, const struct eventring_def *def, const char *name) {
  struct saver_merge *m = saver->merge;
  uint64_t key[1 + (EVENTRING_MAX_NAME + 8) / 8] = {def->kind | (uint64_t)def->event_class << 8};
  bool is_new;
  memcpy(key + 1, name, strlen(name));
  uint32_t number = merge_number(saver, &m->definition_keys, key,
                                 1 + format_text_words(strlen(name)), &is_new);
  if (!number || number > EVENTRING_MAX_EVENTS) return EVENTRING_ID_OTHER;
  struct merge_definition *d = &m->definitions[number - 1];
  if (is_new) {
    *d = (struct merge_definition){meaning_of(def), (uint16_t)next_id(saver)};
    if (d->id != EVENTRING_ID_OTHER) write_definition(saver, def, name, d->id);
    return d->id;
  }
  bool is_taken = saver->part->taken[d->id] && d->id != EVENTRING_ID_OTHER;
  return d->meaning == meaning_of(def) && !is_taken ? d->id : EVENTRING_MAX_EVENTS;
}

/* Defines an event. If its name belongs to another definition, appends a number to it. */
static unsigned define(eventring_saver *saver, const struct eventring_def *from) {
  struct eventring_def def = *from;
  char name[EVENTRING_MAX_NAME + 1];
  def.event_class = saver->part->class_to[from->event_class];
  unsigned id = id_of(saver, &def, def.name);
  for (unsigned n = 2; id == EVENTRING_MAX_EVENTS && n <= MOST_NAMESAKES; n++) {
    size_t kept = eventring_text_fit(from->name, strlen(from->name), EVENTRING_MAX_NAME - 5);
    snprintf(name, sizeof name, "%.*s (%u)", (int)kept, from->name, n);
    id = id_of(saver, &def, name);
  }
  return id < EVENTRING_MAX_EVENTS ? id : EVENTRING_ID_OTHER;
}

static enum merge_payload payload_of(const struct eventring_def *def) {
  bool is_number = def->payload == EVENTRING_INT || def->payload == EVENTRING_UINT;
  if (def->payload == EVENTRING_SAMPLE) return MERGE_SAMPLE;
  if (def->payload == EVENTRING_STACK_ID) return MERGE_STACK;
  if (!is_number) return MERGE_VERBATIM;
  if (strcmp(def->unit, EVENTRING_UNIT_ID) == 0) return MERGE_ID;
  bool is_incarnation = def->kind == EVENTRING_DEF_LIFECYCLE &&
                        strcmp(def->unit, "incarnation") == 0;
  return is_incarnation ? MERGE_INCARNATION : MERGE_VERBATIM;
}

static unsigned new_id(eventring_saver *saver, unsigned id, bool is_known) {
  struct saver_part *part = saver->part;
  if (!is_known) {
    unsigned made = next_id(saver);
    part->unknown[id] = (uint16_t)(made + 1);
    return made;
  }
  const struct eventring_def *def = &saver->cursor->definitions.definition[id]->def;
  unsigned made = define(saver, def);
  part->known[id] = (uint16_t)(made + 1);
  part->taken[made] = true;
  part->payload[id] = (uint8_t)payload_of(def);
  return made;
}

unsigned merge_id(eventring_saver *saver, unsigned id, bool is_known) {
  uint16_t to = (is_known ? saver->part->known : saver->part->unknown)[id];
  return __builtin_expect(to != 0, 1) ? to - 1u : new_id(saver, id, is_known);
}

bool merge_define_builtins(eventring_saver *saver) {
  for (unsigned id = 0; id < EVR_BUILTINS; id++) id_of(saver, &evr_builtins[id],
                                                       evr_builtins[id].name);
  saver->merge->ids = EVENTRING_ID_HOST;
  return !saver->part->failure.code;
}

uint16_t merge_span(eventring_saver *saver, uint16_t span) {
  if (!span || span > EVENTRING_MAX_EVENTS ||
      !saver->cursor->definitions.definition[span - 1u])
    return 0;
  return (uint16_t)(merge_id(saver, span - 1u, true) + 1);
}

/* ---- Payloads ---------------------------------------------------------------------- */

static void move_sample(eventring_saver *saver, uint64_t *words) {
  const struct saver_part *part = saver->part;
  uint64_t block;
  struct eventring_sample sample = format_sample(words, &block);
  sample.stack = merge_stack(saver, sample.stack);
  sample.span = merge_span(saver, sample.span);
  sample.kind = part->kind_to[sample.kind];
  sample.origin = part->origin_to[sample.origin];
  format_put_sample(words, &sample, block);
}

static void move_number(eventring_saver *saver, enum merge_payload payload, unsigned slot,
                        uint64_t *number) {
  const struct evr_definitions *definitions = &saver->cursor->definitions;
  if (payload == MERGE_INCARNATION) *number += saver->part->slot[slot].before;
  else if (payload == MERGE_STACK) *number = *number <= UINT32_MAX
                                                 ? merge_stack(saver, (uint32_t)*number) : 0;
  else if (*number < EVENTRING_MAX_EVENTS)
    *number = merge_id(saver, (unsigned)*number, definitions->definition[*number] != NULL);
}

/* Translates the recording's numbers in a payload that matches its definition. */
static void move_payload(eventring_saver *saver, const struct evr_definition *d, unsigned slot,
                         uint64_t *word) {
  enum merge_payload payload = d ? (enum merge_payload)saver->part->payload[d->def.id]
                                 : MERGE_VERBATIM;
  unsigned kind = word_kind(*word), count = word_length(*word);
  uint64_t *from = word + 1;
  if (kind == EVENTRING_LINKED && count >= LINK_WORDS) {
    if (!saver->options.part->shared_links)
      *from += (uint64_t)saver->part->first_process << LINK_SHIFT;
    from += LINK_WORDS, count -= LINK_WORDS;
  }
  /* the payload of an end is a time, whatever the definition says of payloads */
  if (payload == MERGE_VERBATIM || kind == EVENTRING_END || !evr_definition_explains(d, kind))
    return;
  if (payload == MERGE_SAMPLE && count == FORMAT_SAMPLE_WORDS) move_sample(saver, from);
  else if (payload != MERGE_SAMPLE && count == 1) move_number(saver, payload, slot, from);
}

/* ---- Words ------------------------------------------------------------------------- */

static uint64_t moved_word(uint64_t word, unsigned id, uint64_t ticks) {
  return (word & FORMAT_WHAT_MASK) | (uint64_t)id << EVENTRING_WORD_ID_SHIFT |
         ticks << EVENTRING_WORD_TIME_SHIFT;
}

static void move_event(eventring_saver *saver, unsigned slot, uint64_t base, uint64_t *word) {
  const struct evr_definition *d = saver->cursor->definitions.definition[word_id(*word)];
  uint64_t ticks = word_ticks(*word, base);
  if (d && d->since_ticks > ticks) d = NULL;
  unsigned id = merge_id(saver, word_id(*word), d != NULL);
  if (word_length(*word)) move_payload(saver, d, slot, word);
  *word = moved_word(*word, id, merge_ticks(saver, ticks));
}

/* Converts a duration of `passed` ticks that ends at `ticks` of the recording to ticks of
   the merged file. */
static uint64_t moved_duration(eventring_saver *saver, uint64_t passed, uint64_t ticks) {
  uint64_t from = passed < ticks ? ticks - passed : 0;
  return merge_ticks(saver, ticks) - merge_ticks(saver, from);
}

/* Translates the times and numbers in an entry of the list of open spans. */
static void move_open(eventring_saver *saver, struct format_open *open, uint64_t now) {
  const struct evr_definition *d = saver->cursor->definitions.definition[word_id(open->tail)];
  unsigned id = merge_id(saver, word_id(open->tail), d && d->since_ticks <= open->ticks);
  uint64_t suspended = open->suspended & ~FORMAT_OPEN_SUSPENDED;
  open->tail = moved_word(open->tail, id, 0);
  open->ticks = merge_ticks(saver, open->ticks);
  open->suspended = moved_duration(saver, suspended, now) |
                    (open->suspended & FORMAT_OPEN_SUSPENDED);
}

/* Translates a remark. The word of a rebase has only the low bits of its time, which need
   not be near the old base, so its payload is used as the time. */
static void move_remark(eventring_saver *saver, unsigned slot, uint64_t ticks, uint64_t *word) {
  unsigned what = word_id(*word);
  bool has_value = word_length(*word) > 0;
  if (what == FORMAT_REMARK_REBASE && has_value) word[1] = merge_ticks(saver, ticks = word[1]);
  if (what == FORMAT_REMARK_INCARNATION && has_value) word[1] += saver->part->slot[slot].before;
  *word = moved_word(*word, what, merge_ticks(saver, ticks));
}

/* ---- Blocks ------------------------------------------------------------------------ */

static void move_list(eventring_saver *saver, uint64_t *words, uint64_t base) {
  const struct format_block *h = (const struct format_block *)words;
  uint32_t at = FORMAT_BLOCK_HEADER_WORDS;
  for (unsigned i = 0; i < h->open; i++, at += FORMAT_OPEN_WORDS)
    move_open(saver, (struct format_open *)(words + at), base);
  for (unsigned i = 0; i < h->open_brief; i++, at++)
    move_event(saver, h->domain, base, words + at);
}

/* Begins a ring in the merged file, where it continues the ring of the previous
   recording. `in_front` is the number of blocks that this recording already has in the
   merged ring. */
static void begin_stream(const eventring_saver *saver, struct saver_stream *stream,
                         const struct format_block *first, uint64_t in_front) {
  const struct merge_ring *ring =
      &saver->merge->ring[saver->part->slot[stream->slot].to][stream->ring];
  stream->is_moved = true;
  stream->sequence_base = ring->head + 1 + in_front - first->sequence;
  stream->event_base = ring->events;
}

static void move_header(eventring_saver *saver, struct saver_stream *stream,
                        struct format_block *h) {
  const struct saver_part *part = saver->part;
  if (!stream->is_moved) begin_stream(saver, stream, h, 0);
  h->sequence += stream->sequence_base;
  h->before += stream->event_base;
  h->base_ticks = merge_ticks(saver, h->base_ticks);
  h->incarnation += part->slot[h->domain].before;
  h->process = merge_process(saver, h->process);
  h->reserved2 = 0;
  h->domain = part->slot[h->domain].to;
}

void saver_merge_lost(eventring_saver *saver, struct saver_stream *stream,
                      const struct format_block *next, uint64_t block) {
  struct format_block h = {.sequence = next->sequence - 1, .kind = FORMAT_EVENTS,
                           .domain = next->domain, .ring = next->ring,
                           .base_ticks = next->base_ticks, .context = next->context,
                           .incarnation = next->incarnation, .process = next->process};
  if (stream->is_moved) return;
  begin_stream(saver, stream, next, 1);
  move_header(saver, stream, &h);
  merge_put(saver, (const uint64_t *)&h, FORMAT_BLOCK_HEADER_WORDS, block);
}

void saver_merge_events(eventring_saver *saver, struct saver_stream *stream, uint64_t *words,
                        uint32_t have) {
  struct format_block *h = (struct format_block *)words;
  struct format_position position = {h->base_ticks, h->context, h->incarnation};
  const unsigned slot = h->domain;
  if (!saver->merge) return;
  uint32_t at = evr_first_event(words);
  move_list(saver, words, position.base);
  move_header(saver, stream, h);
  for (; at < have; at += 1 + word_length(words[at])) {
    if (word_is_event(words[at])) {
      move_event(saver, slot, position.base, words + at);
      continue;
    }
    uint64_t ticks = word_ticks(words[at], position.base);
    format_apply_remark(words + at, words + have, &position);
    move_remark(saver, slot, ticks, words + at);
  }
  words[FORMAT_SEAL_WORD] = evr_seal(have, evr_checksum(words, have));
}
