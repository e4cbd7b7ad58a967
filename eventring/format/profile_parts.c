/* SPDX-License-Identifier: MIT */
/* profile_parts.c: the parts of a profile of calls. */
#include "format/profile_parts.h"

#include <stdlib.h>
#include <string.h>

#include "format/array.h"
#include "format/text.h"

enum {
  FUNCTION_WORDS = sizeof(struct format_profile_function) / 8,
  NODE_WORDS = sizeof(struct format_profile_node) / 8,
  MOST_FUNCTION_WORDS = FUNCTION_WORDS + (2 * FORMAT_PROFILE_TEXT + 7) / 8,
  MOST_NODE_WORDS = NODE_WORDS + FORMAT_NODE_FIGURES + (FORMAT_PROFILE_BUCKETS + 1) / 2
};

static void begin_part(struct evr_profile_parts *p) {
  if (!EVR_MAKE_ROOM(p->words, p->room, p->count, 16) ||
      !EVR_MAKE_ROOM(p->ends, p->end_room, p->count, 16)) {
    p->failed = true;
    return;
  }
  memset(p->words[p->count], 0, sizeof *p->words);
  p->ends[p->count++] = FORMAT_BLOCK_HEADER_WORDS + p->head_words;
}

void evr_profile_parts_begin(struct evr_profile_parts *p, unsigned head_words) {
  *p = (struct evr_profile_parts){.head_words = head_words};
  begin_part(p);
}

static void add_record(struct evr_profile_parts *p, const uint64_t *record, unsigned words) {
  if (p->failed) return;
  if (p->ends[p->count - 1] + words > FORMAT_BLOCK_WORDS) begin_part(p);
  if (p->failed) return;
  memcpy(p->words[p->count - 1] + p->ends[p->count - 1], record, words * sizeof *record);
  p->ends[p->count - 1] += words;
}

static size_t add_text(char *to, const char *text) {
  size_t size = text ? strlen(text) : 0;
  if (size > FORMAT_PROFILE_TEXT) {
    text += size - FORMAT_PROFILE_TEXT;
    /* skips bytes within a character */
    while (((unsigned char)*text & 0xc0) == 0x80) text++;
    size = strlen(text);
  }
  memcpy(to, text ? text : "", size);
  return size;
}

void evr_profile_parts_function(struct evr_profile_parts *p, uint32_t number,
                                const struct eventring_calls_function *f) {
  uint64_t words[MOST_FUNCTION_WORDS] = {0};
  char *texts = (char *)(words + FUNCTION_WORDS);
  struct format_profile_function record = {.line = f->line, .kind = f->kind};
  record.name_bytes = (uint32_t)add_text(texts, f->name);
  record.source_bytes = (uint32_t)add_text(texts + record.name_bytes, f->source);
  unsigned size = FUNCTION_WORDS + format_text_words(record.name_bytes + record.source_bytes);
  record.first = format_record(size, FORMAT_PROFILE_FUNCTION, number);
  memcpy(words, &record, sizeof record);
  add_record(p, words, size);
}

/* Appends the buckets, without the zeros at the beginning and the end. */
static unsigned put_buckets(uint64_t *to, struct format_profile_node *record,
                            const uint32_t *histogram) {
  unsigned first = 0, last = FORMAT_PROFILE_BUCKETS;
  while (last > 0 && histogram[last - 1] == 0) last--;
  while (first < last && histogram[first] == 0) first++;
  record->first_bucket = (uint8_t)first;
  record->buckets = (uint8_t)(last - first);
  memcpy(to, histogram + first, (last - first) * sizeof *histogram);
  return (last - first + 1) / 2;
}

void evr_profile_parts_node(struct evr_profile_parts *p, unsigned type, uint32_t number,
                            const struct evr_profile_node *n) {
  uint64_t words[MOST_NODE_WORDS] = {0};
  unsigned size = NODE_WORDS;
  struct format_profile_node record = {.parent = n->parent, .function = n->function,
                                       .open = n->open};
  for (unsigned i = 0; i < FORMAT_NODE_FIGURES; i++) {
    if (!n->figures[i]) continue;
    record.figures |= (uint16_t)(1u << i);
    words[size++] = n->figures[i];
  }
  size += put_buckets(words + size, &record, n->histogram);
  record.first = format_record(size, type, number);
  memcpy(words, &record, sizeof record);
  add_record(p, words, size);
}

void evr_profile_parts_free(struct evr_profile_parts *p) {
  free(p->words);
  free(p->ends);
  *p = (struct evr_profile_parts){0};
}
