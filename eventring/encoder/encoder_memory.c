/* SPDX-License-Identifier: MIT */
/* encoder_memory.c: functions, stacks and heap profiles (encoder.h has the design).
 *
 * Functions and stacks are interned: what agrees in all that a reader sees is one, of
 * whatever recording it came. A heap profile is written as a whole, once: each of its pages
 * and its root has one block, not two. */
#include "eventring/memory.h"

#include <stdlib.h>
#include <string.h>

#include "encoder/encoder.h"
#include "format/array.h"
#include "format/checksum.h"
#include "format/samples.h"
#include "format/sized.h"
#include "format/text.h"

enum {
  LEAST_INDEX = 256,
  MOST_PAGES = 2048, /* of a profile, as readers take it */
  HEAP_BLOCKS = 512, PAGE_BLOCKS = 4096, /* as FORMAT_RECORD_KINDS has it */
  FUNCTION_WORDS = sizeof(struct format_function) / 8,
  NODE_WORDS = sizeof(struct format_stack_node) / 8
};

/* ---- Index ------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t hash, uint64_t more) {
  hash = (hash ^ more) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

typedef uint64_t hash_at(const struct encoder_stacks *s, uint32_t place);

static void put_place(struct encoder_index *index, uint64_t hash, uint32_t place) {
  uint32_t at = (uint32_t)hash & (index->size - 1);
  while (index->places[at]) at = (at + 1) & (index->size - 1);
  index->places[at] = place + 1;
}

/* Makes room for one more than `count`. */
static bool grow_index(struct encoder_index *index, const struct encoder_stacks *s,
                       uint32_t count, hash_at *hash) {
  if (2 * (uint64_t)(count + 1) <= index->size) return true;
  struct encoder_index grown = {.size = index->size ? 2 * index->size : LEAST_INDEX};
  grown.places = calloc(grown.size, sizeof *grown.places);
  if (!grown.places) return false;
  for (uint32_t i = 0; i < count; i++) put_place(&grown, hash(s, i), i);
  free(index->places);
  *index = grown;
  return true;
}

/* ---- Functions -------------------------------------------------------------------------- */

static uint64_t hash_text(const char *text, size_t size, uint64_t hash) {
  for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3;
  return hash;
}

static uint64_t function_hash(const struct encoder_stacks *s, uint32_t place) {
  return s->functions[place].hash;
}

static uint64_t hash_function(const struct eventring_function *f) {
  uint64_t hash = hash_text(f->name, f->name_size, 0xcbf29ce484222325);
  hash = mix(hash_text(f->source, f->source_size, hash), f->name_size);
  return mix(hash, f->line | (uint64_t)f->last_line << 32);
}

static bool is_function(const struct encoder_function *known,
                        const struct eventring_function *f) {
  return known->line == f->line && known->last_line == f->last_line &&
         known->name_bytes == f->name_size && known->source_bytes == f->source_size &&
         !memcmp(known->texts, f->name, f->name_size) &&
         !memcmp(known->texts + f->name_size, f->source, f->source_size);
}

/* UINT32_MAX: it is not there. */
static uint32_t find_function(const struct encoder_stacks *s, const struct eventring_function *f,
                              uint64_t hash) {
  if (!s->by_text.size) return UINT32_MAX;
  uint32_t mask = s->by_text.size - 1;
  for (uint32_t at = (uint32_t)hash & mask; s->by_text.places[at]; at = (at + 1) & mask) {
    uint32_t place = s->by_text.places[at] - 1;
    if (s->functions[place].hash == hash && is_function(&s->functions[place], f)) return place;
  }
  return UINT32_MAX;
}

static bool keep_function(struct encoder_stacks *s, const struct eventring_function *f,
                          uint64_t hash) {
  char *texts = malloc(f->name_size + f->source_size + 1);
  if (!texts || !grow_index(&s->by_text, s, s->function_count, function_hash) ||
      !evr_make_room(&s->functions, &s->function_room, s->function_count, 64,
                     sizeof *s->functions)) {
    free(texts);
    return false;
  }
  memcpy(texts, f->name, f->name_size);
  memcpy(texts + f->name_size, f->source, f->source_size);
  s->functions[s->function_count] = (struct encoder_function){
      f->line, f->last_line, (uint32_t)f->name_size, (uint32_t)f->source_size, hash, texts};
  put_place(&s->by_text, hash, s->function_count++);
  return true;
}

static int write_function(eventring_encoder *e, const struct eventring_function *f, uint32_t id,
                          bool *dropped, struct eventring_error *error) {
  uint64_t words[FORMAT_BLOCK_WORDS] = {0};
  struct format_function record = {
      .first = format_record(0, 1, id), .line = f->line, .last_line = f->last_line,
      .name_bytes = (uint32_t)f->name_size, .source_bytes = (uint32_t)f->source_size};
  char *texts = (char *)(words + FUNCTION_WORDS);
  memcpy(words, &record, sizeof record);
  memcpy(texts, f->name, f->name_size);
  memcpy(texts + f->name_size, f->source, f->source_size);
  return encoder_record(e, FORMAT_FUNCTIONS, words,
                        FUNCTION_WORDS + format_text_words(f->name_size + f->source_size),
                        dropped, error);
}

static bool is_text(const char *text, size_t size, size_t most) {
  return size <= most && (!size || text) && evr_text_check(size ? text : "", size) == EVR_TEXT_OK;
}

static int new_function(eventring_encoder *e, const struct eventring_function *f, uint64_t hash,
                        struct eventring_error *error) {
  struct encoder_stacks *s = &e->stacks;
  bool dropped = s->functions_full;
  int status = dropped ? EVENTRING_OK
                       : write_function(e, f, s->function_count + 1, &dropped, error);
  if (status != EVENTRING_OK) return status;
  s->functions_full = dropped;
  if (dropped) return 0;
  if (!keep_function(s, f, hash))
    return encoder_fail(e, error, EVENTRING_E_MEMORY, "no memory for a function");
  return (int)s->function_count;
}

int eventring_encoder_function(eventring_encoder *e, const struct eventring_function *function,
                               struct eventring_error *error) {
  int status = encoder_check(e, error);
  if (status != EVENTRING_OK) return status;
  if (!function || !is_text(function->name, function->name_size, EVENTRING_MAX_FUNCTION_NAME) ||
      !is_text(function->source, function->source_size, EVENTRING_MAX_FUNCTION_SOURCE))
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "name or source of a function");
  struct eventring_function f = *function;
  if (!f.name_size) f.name = "";
  if (!f.source_size) f.source = "";
  uint64_t hash = hash_function(&f);
  uint32_t place = find_function(&e->stacks, &f, hash);
  return place != UINT32_MAX ? (int)place + 1 : new_function(e, &f, hash, error);
}

/* ---- Stacks ----------------------------------------------------------------------------- */

static uint64_t hash_frame(const struct encoder_frame *f) {
  return mix(mix(1, f->parent | (uint64_t)f->function << 32), f->line | (uint64_t)f->column << 32);
}

static uint64_t frame_hash(const struct encoder_stacks *s, uint32_t place) {
  return hash_frame(&s->frames[place]);
}

static uint32_t find_frame(const struct encoder_stacks *s, const struct encoder_frame *f) {
  if (!s->by_frame.size) return UINT32_MAX;
  uint32_t mask = s->by_frame.size - 1;
  for (uint32_t at = (uint32_t)hash_frame(f) & mask; s->by_frame.places[at];
       at = (at + 1) & mask) {
    uint32_t place = s->by_frame.places[at] - 1;
    if (!memcmp(&s->frames[place], f, sizeof *f)) return place;
  }
  return UINT32_MAX;
}

static bool keep_frame(struct encoder_stacks *s, const struct encoder_frame *f) {
  if (!grow_index(&s->by_frame, s, s->frame_count, frame_hash) ||
      !evr_make_room(&s->frames, &s->frame_room, s->frame_count, 256, sizeof *s->frames))
    return false;
  s->frames[s->frame_count] = *f;
  put_place(&s->by_frame, hash_frame(f), s->frame_count++);
  return true;
}

static int new_frame(eventring_encoder *e, const struct encoder_frame *f,
                     struct eventring_error *error) {
  struct encoder_stacks *s = &e->stacks;
  struct format_stack_node record = {
      .first = format_record(0, FORMAT_STACK_NODE, s->frame_count + 1), .parent = f->parent,
      .function = f->function, .line = f->line, .column = f->column};
  uint64_t words[NODE_WORDS];
  bool dropped = s->frames_full;
  memcpy(words, &record, sizeof record);
  int status = dropped ? EVENTRING_OK
                       : encoder_record(e, FORMAT_STACKS, words, NODE_WORDS, &dropped, error);
  if (status != EVENTRING_OK) return status;
  s->frames_full = dropped;
  if (dropped) return 0;
  if (!keep_frame(s, f))
    return encoder_fail(e, error, EVENTRING_E_MEMORY, "no memory for a stack");
  return (int)s->frame_count;
}

int eventring_encoder_stack_sized(eventring_encoder *e, const struct eventring_stack_info *stack,
                                  size_t stack_size, struct eventring_error *error) {
  struct eventring_stack_info own = {0};
  int status = encoder_check(e, error);
  if (status != EVENTRING_OK) return status;
  if (stack) evr_copy_sized(&own, sizeof own, stack, stack_size);
  if (!stack || own.parent > e->stacks.frame_count || own.function > e->stacks.function_count)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "the caller or the function of a stack");
  const struct encoder_frame f = {own.parent, own.function, own.line, own.column};
  uint32_t place = find_frame(&e->stacks, &f);
  return place != UINT32_MAX ? (int)place + 1 : new_frame(e, &f, error);
}

/* ---- Names of kinds and origins ------------------------------------------------------------ */

static int put_name(eventring_encoder *e, enum format_string type, char *known, unsigned number,
                    const char *name, struct eventring_error *error) {
  uint64_t words[2 + (EVENTRING_MAX_CLASS_NAME + 8) / 8] = {format_record(0, type, number)};
  size_t size = name ? strlen(name) : 0;
  bool dropped;
  if (!size || !is_text(name, size, EVENTRING_MAX_CLASS_NAME))
    return evr_fail(error, EVENTRING_E_NAME, 0, "the name of a kind or origin of memory");
  if (known[0])
    return strcmp(known, name) == 0
               ? EVENTRING_OK
               : evr_fail(error, EVENTRING_E_CONFLICT, 0, "%s has this number", known);
  words[1] = size;
  memcpy(words + 2, name, size);
  int status = encoder_record(e, FORMAT_STRINGS, words, 2 + format_text_words(size), &dropped,
                              error);
  if (status == EVENTRING_OK && !dropped) memcpy(known, name, size + 1);
  return status;
}

int eventring_encoder_memory_kind(eventring_encoder *e, unsigned kind, const char *name,
                                  struct eventring_error *error) {
  int status = encoder_check(e, error);
  if (status != EVENTRING_OK) return status;
  if (kind >= FORMAT_MEMORY_KINDS)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "kind of memory");
  return put_name(e, FORMAT_MEMORY_KIND, e->stacks.kind[kind], kind, name, error);
}

int eventring_encoder_memory_origin(eventring_encoder *e, unsigned origin, const char *name,
                                    struct eventring_error *error) {
  int status = encoder_check(e, error);
  if (status != EVENTRING_OK) return status;
  if (origin >= FORMAT_MEMORY_ORIGINS)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "origin of memory");
  return put_name(e, FORMAT_MEMORY_ORIGIN, e->stacks.origin[origin], origin, name, error);
}

/* ---- Heap profiles ---------------------------------------------------------------------------- */

static struct format_amount amount(const struct eventring_amount *from) {
  double objects = from->objects * (1u << FORMAT_OBJECTS_SHIFT) + 0.5;
  return (struct format_amount){from->samples, objects >= 0 && objects < 0x1p63
                                                   ? (uint64_t)objects : 0};
}

static void add(struct format_amount *sum, struct format_amount more) {
  sum->samples += more.samples;
  sum->objects += more.objects;
}

static int put_page(eventring_encoder *e, const struct eventring_heap *heap, uint32_t page,
                    const struct eventring_heap_entry *entries, uint32_t count,
                    struct eventring_error *error) {
  uint64_t words[FORMAT_BLOCK_WORDS] = {e->stacks.generation};
  struct format_block *b = (struct format_block *)words;
  uint32_t at = FORMAT_BLOCK_HEADER_WORDS;
  b->kind = FORMAT_HEAP_PAGES;
  b->domain = (uint16_t)heap->domain;
  b->incarnation = e->stacks.heaps;
  b->open_hidden = page;
  for (uint32_t i = 0; i < count; i++, at += FORMAT_HEAP_ENTRY_WORDS) {
    const struct eventring_heap_entry *from = &entries[i];
    const struct format_heap_entry entry = {
        .first = format_record(FORMAT_HEAP_ENTRY_WORDS, 1, from->stack), .span = from->span,
        .kind = from->kind, .origin = from->origin, .live = amount(&from->live),
        .allocated = amount(&from->allocated), .temporary = amount(&from->temporary),
        .peak_samples = from->peak.samples};
    memcpy(words + at, &entry, sizeof entry);
  }
  return encoder_put_block(e, FORMAT_HEAP_PAGES, words, at, error);
}

static int put_root(eventring_encoder *e, const struct eventring_heap *heap, uint32_t entries,
                    const struct format_heap *lost, struct eventring_error *error) {
  uint64_t words[FORMAT_BLOCK_WORDS] = {e->stacks.generation};
  struct format_block *b = (struct format_block *)words;
  struct format_heap root = {
      .first = format_record(sizeof root / 8, 1, e->stacks.heaps), .slot = heap->domain,
      .incarnation = heap->incarnation, .start_ticks = heap->start_ns, .ticks = heap->ns,
      .collections = heap->collections, .entries = entries,
      .pages = (entries + FORMAT_HEAP_PAGE_ENTRIES - 1) / FORMAT_HEAP_PAGE_ENTRIES,
      .words = heap->words, .live_words = heap->live_words,
      .allocated = amount(&heap->allocated), .live = amount(&heap->live),
      .temporary = amount(&heap->temporary), .peak_samples = heap->peak.samples,
      .peak_ticks = heap->peak_ns, .lost_entries = lost->lost_entries,
      .lost_allocated = lost->lost_allocated, .lost_live = lost->lost_live,
      .word_bytes = heap->word_bytes, .over = heap->over};
  memcpy(&root.rate, &heap->rate, sizeof root.rate);
  b->kind = FORMAT_HEAPS;
  b->domain = (uint16_t)heap->domain;
  b->incarnation = e->stacks.heaps;
  memcpy(words + FORMAT_BLOCK_HEADER_WORDS, &root, sizeof root);
  return encoder_put_block(e, FORMAT_HEAPS, words, FORMAT_BLOCK_HEADER_WORDS + sizeof root / 8,
                           error);
}

static bool heap_is_valid(const eventring_encoder *e, const struct eventring_heap *h) {
  return h->domain < EVENTRING_MAX_DOMAINS && h->incarnation && h->rate > 0 && h->rate <= 1 &&
         h->word_bytes >= 1 && h->word_bytes <= 64 && h->start_ns >= e->header.start_ns &&
         h->ns >= h->start_ns && h->ns <= INT64_MAX;
}

static bool entry_is_valid(const eventring_encoder *e, const struct eventring_heap_entry *entry) {
  return (entry->stack <= e->stacks.frame_count || entry->stack == UINT32_MAX) &&
         entry->kind < FORMAT_MEMORY_KINDS && entry->origin < FORMAT_MEMORY_ORIGINS &&
         entry->span <= EVENTRING_MAX_EVENTS;
}

static uint32_t pages_left(const eventring_encoder *e) {
  const struct encoder_records *r = e->records[FORMAT_HEAP_PAGES];
  uint64_t left = r ? PAGE_BLOCKS - r->records : PAGE_BLOCKS;
  return left < MOST_PAGES ? (uint32_t)left : MOST_PAGES;
}

int eventring_encoder_heap_sized(eventring_encoder *e, const struct eventring_heap *heap,
                                 size_t heap_size, const struct eventring_heap_entry *entries,
                                 size_t count, struct eventring_error *error) {
  struct eventring_heap own = {0};
  int status = encoder_check(e, error);
  if (status != EVENTRING_OK) return status;
  if (heap) evr_copy_sized(&own, sizeof own, heap, heap_size);
  if (!heap || !heap_is_valid(e, &own) || (count && !entries))
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "a heap profile");
  for (size_t i = 0; i < count; i++)
    if (!entry_is_valid(e, &entries[i]))
      return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "an entry of a heap profile");
  if (e->stacks.heaps == HEAP_BLOCKS) return encoder_drop(e, FORMAT_HEAPS, error);
  struct format_heap lost = {.lost_entries = own.lost_entries,
                             .lost_allocated = amount(&own.lost_allocated),
                             .lost_live = amount(&own.lost_live)};
  size_t most = (size_t)pages_left(e) * FORMAT_HEAP_PAGE_ENTRIES, kept = count < most ? count : most;
  e->stacks.heaps++;
  e->stacks.generation++;
  for (size_t i = kept; i < count; i++) {
    lost.lost_entries++;
    add(&lost.lost_allocated, amount(&entries[i].allocated));
    add(&lost.lost_live, amount(&entries[i].live));
  }
  for (size_t i = 0; status == EVENTRING_OK && i < kept; i += FORMAT_HEAP_PAGE_ENTRIES) {
    size_t n = kept - i < FORMAT_HEAP_PAGE_ENTRIES ? kept - i : FORMAT_HEAP_PAGE_ENTRIES;
    status = put_page(e, &own, (uint32_t)(i / FORMAT_HEAP_PAGE_ENTRIES), entries + i, (uint32_t)n,
                      error);
  }
  return status == EVENTRING_OK ? put_root(e, &own, (uint32_t)kept, &lost, error) : status;
}

/* ---- Samples ----------------------------------------------------------------------------------- */

void eventring_event_put_sample(struct eventring_event *event,
                                const struct eventring_sample *sample, uint64_t block,
                                uint64_t words[EVENTRING_SAMPLE_WORDS]) {
  _Static_assert((int)EVENTRING_SAMPLE_WORDS == (int)FORMAT_SAMPLE_WORDS, "sample");
  format_put_sample(words, sample, block);
  event->payload = EVENTRING_SAMPLE;
  event->bytes = words;
  event->size = FORMAT_SAMPLE_WORDS * sizeof *words;
}

void encoder_stacks_free(struct encoder_stacks *s) {
  for (uint32_t i = 0; i < s->function_count; i++) free(s->functions[i].texts);
  free(s->functions);
  free(s->by_text.places);
  free(s->frames);
  free(s->by_frame.places);
}
