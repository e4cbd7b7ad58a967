/* SPDX-License-Identifier: MIT */
/* encoder_profiles.c: profiles of calls (encoder.h has the design).
 *
 * Times of a profile are in ticks of the clock by which it was taken, as the bounds of its
 * buckets are powers of two of them: so it says how long these are. */
#include <stdlib.h>
#include <string.h>

#include "encoder/encoder.h"
#include "eventring/calls.h"
#include "format/array.h"
#include "format/checksum.h"
#include "format/text.h"

enum {
  HEAD_WORDS = sizeof(struct format_profile) / 8 + 1, /* and the multiplier */
  FUNCTION_WORDS = sizeof(struct format_profile_function) / 8,
  NODE_WORDS = sizeof(struct format_profile_node) / 8,
  MOST_WORDS = 64
};
_Static_assert(FUNCTION_WORDS + 2 * FORMAT_PROFILE_TEXT / 8 + 1 <= MOST_WORDS, "a function");
_Static_assert(NODE_WORDS + FORMAT_NODE_FIGURES + (FORMAT_PROFILE_BUCKETS + 1) / 2 <= MOST_WORDS,
               "a node");

struct parts {
  uint64_t (*words)[FORMAT_BLOCK_WORDS];
  uint32_t *ends;
  uint32_t count, room, end_room;
  bool failed;
};

static void begin_part(struct parts *p) {
  if (p->failed || !evr_make_room(&p->words, &p->room, p->count, 8, sizeof *p->words) ||
      !evr_make_room(&p->ends, &p->end_room, p->count, 8, sizeof *p->ends)) {
    p->failed = true;
    return;
  }
  memset(p->words[p->count], 0, sizeof *p->words);
  p->ends[p->count++] = FORMAT_BLOCK_HEADER_WORDS + HEAD_WORDS;
}

static void add_record(struct parts *p, const uint64_t *record, unsigned words) {
  if (p->failed) return;
  if (p->ends[p->count - 1] + words > FORMAT_BLOCK_WORDS) begin_part(p);
  if (p->failed) return;
  memcpy(p->words[p->count - 1] + p->ends[p->count - 1], record, words * sizeof *record);
  p->ends[p->count - 1] += words;
}

/* The end of a text, if it is too long. */
static size_t add_text(char *to, const char *text) {
  size_t size = text ? strlen(text) : 0;
  if (size > FORMAT_PROFILE_TEXT) {
    text += size - FORMAT_PROFILE_TEXT;
    while (((unsigned char)*text & 0xc0) == 0x80) text++;
    size = strlen(text);
  }
  memcpy(to, text ? text : "", size);
  return size;
}

static void add_function(struct parts *p, uint32_t number,
                         const struct eventring_calls_function *f) {
  uint64_t words[MOST_WORDS] = {0};
  char *texts = (char *)(words + FUNCTION_WORDS);
  struct format_profile_function record = {.line = f->line, .kind = f->kind};
  record.name_bytes = (uint32_t)add_text(texts, f->name);
  record.source_bytes = (uint32_t)add_text(texts + record.name_bytes, f->source);
  unsigned size = FUNCTION_WORDS + format_text_words(record.name_bytes + record.source_bytes);
  record.first = format_record(size, FORMAT_PROFILE_FUNCTION, number);
  memcpy(words, &record, sizeof record);
  add_record(p, words, size);
}

/* The least ticks that a reader takes for so many ns. */
static uint64_t ticks_of(uint64_t ns, uint64_t multiplier) {
  unsigned __int128 ticks = (((unsigned __int128)ns << FORMAT_CLOCK_SHIFT) + multiplier - 1) /
                            multiplier;
  return ticks > UINT64_MAX ? UINT64_MAX : (uint64_t)ticks;
}

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

static void add_node(struct parts *p, uint32_t number, const struct eventring_profile_node *n,
                     uint64_t multiplier) {
  const uint64_t figures[FORMAT_NODE_FIGURES] = {
      n->count, ticks_of(n->exclusive, multiplier), ticks_of(n->least, multiplier),
      ticks_of(n->most, multiplier), ticks_of(n->suspended, multiplier), n->lost_calls,
      ticks_of(n->lost_ns, multiplier)};
  uint64_t words[MOST_WORDS] = {0};
  unsigned size = NODE_WORDS;
  struct format_profile_node record = {.parent = n->parent, .function = n->function,
                                       .open = n->open};
  for (unsigned i = 0; i < FORMAT_NODE_FIGURES; i++) {
    if (!figures[i]) continue;
    record.figures |= (uint16_t)(1u << i);
    words[size++] = figures[i];
  }
  size += put_buckets(words + size, &record, n->histogram);
  record.first = format_record(size, FORMAT_PROFILE_NODE, number);
  memcpy(words, &record, sizeof record);
  add_record(p, words, size);
}

/* What comes first in each part, when all are known. */
static void head_parts(struct parts *p, const struct eventring_profile *profile,
                       uint64_t multiplier) {
  struct format_profile head = {
      .slot = profile->slot, .incarnation = profile->incarnation, .written = 1,
      .parts = p->count, .flags = profile->flags, .start_ticks = profile->start_ns,
      .written_ticks = profile->written_ns, .functions = profile->function_count,
      .nodes = profile->node_count, .backwards = profile->backwards};
  for (uint32_t i = 0; i < p->count; i++) {
    uint64_t *to = p->words[i] + FORMAT_BLOCK_HEADER_WORDS;
    head.first = format_record(HEAD_WORDS, FORMAT_PROFILE_PART, i);
    memcpy(to, &head, sizeof head);
    to[HEAD_WORDS - 1] = multiplier;
  }
}

static int put_parts(eventring_encoder *e, struct parts *p, struct eventring_error *error) {
  const struct encoder_records *r = e->records[FORMAT_PROFILES];
  uint64_t before = r ? r->records : 0;
  int status = EVENTRING_OK;
  if (p->failed) return encoder_fail(e, error, EVENTRING_E_MEMORY, "no memory for a profile");
  if (before + p->count > FORMAT_PROFILE_BUDGET) return encoder_drop(e, FORMAT_PROFILES, error);
  for (uint32_t i = 0; status == EVENTRING_OK && i < p->count; i++) {
    struct format_block *b = (struct format_block *)p->words[i];
    *b = (struct format_block){.sequence = before + i + 1, .kind = FORMAT_PROFILES,
                               .before = before + i};
    status = encoder_put_block(e, FORMAT_PROFILES, p->words[i], p->ends[i], error);
  }
  return status;
}

static bool profile_is_valid(const eventring_encoder *e, const struct eventring_profile *p) {
  if (!p || p->slot >= EVENTRING_MAX_DOMAINS || !p->incarnation || !p->node_count ||
      !p->nodes || (p->function_count && !p->functions) ||
      !(p->ns_per_tick > 0 && p->ns_per_tick < 0x1p15) || p->start_ns < e->header.start_ns ||
      p->written_ns > INT64_MAX)
    return false;
  for (uint32_t i = 0; i < p->node_count; i++) {
    const struct eventring_profile_node *n = &p->nodes[i];
    bool is_root = n->parent == UINT32_MAX && n->function == UINT32_MAX;
    if (n->least > n->most ||
        (i == 0 ? !is_root : n->parent >= i || n->function >= p->function_count))
      return false;
  }
  return true;
}

int eventring_encoder_profile(eventring_encoder *e, const struct eventring_profile *profile,
                              struct eventring_error *error) {
  struct parts p = {0};
  int status = encoder_check(e, error);
  if (status != EVENTRING_OK) return status;
  if (!profile_is_valid(e, profile))
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "a profile of calls");
  double exact = profile->ns_per_tick * (double)((uint64_t)1 << FORMAT_CLOCK_SHIFT) + 0.5;
  uint64_t multiplier = exact >= 1 ? (uint64_t)exact : 1;
  begin_part(&p);
  for (uint32_t i = 0; i < profile->function_count; i++)
    add_function(&p, i, &profile->functions[i]);
  for (uint32_t i = 0; i < profile->node_count; i++)
    add_node(&p, i, &profile->nodes[i], multiplier);
  if (!p.failed) head_parts(&p, profile, multiplier);
  status = put_parts(e, &p, error);
  free(p.words);
  free(p.ends);
  return status;
}
