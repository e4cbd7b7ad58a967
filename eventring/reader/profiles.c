/* SPDX-License-Identifier: MIT */
/* profiles.c: reading profiles of calls.
 *
 * The reader looks for parts of profiles (FORMAT.md, section 5, kind 10) in all blocks
 * that are in no ring. It sorts the parts of each life of a domain and takes the newest
 * profile that is whole and valid. Other profiles of the same life are older, or
 * incomplete because the producer was killed, is still writing, or was writing when the
 * file was copied. An incomplete profile is no damage. If a live producer overwrites the
 * profile that was found, an older profile is taken; if there is none, everything is read
 * again.
 *
 * Nothing in a file is trusted: arrays grow only with the data found, a parent must have
 * a smaller number than its child (so there is no cycle), and sums must not overflow.
 */
#include <stdlib.h>
#include <string.h>

#include "eventring/calls.h"
#include "format/array.h"
#include "format/error.h"
#include "reader/block.h"
#include "reader/cursor.h"
#include "reader/record_scan.h"

enum {
  TRIES = 4,
  PART_WORDS = sizeof(struct format_profile) / 8,
  LEAST_PART_WORDS = 8, /* the words after these are 0 where a record lacks them */
  MULTIPLIER_BITS = 56
};

struct part {
  struct format_profile head;
  uint32_t block;
};

struct parts {
  struct part *list;
  uint32_t count, room;
  uint64_t damaged;
};

/* ---- Finding parts ----------------------------------------------------------------- */

static int compare_parts(const void *left, const void *right) {
  const struct format_profile *a = &((const struct part *)left)->head;
  const struct format_profile *b = &((const struct part *)right)->head;
  if (a->slot != b->slot) return a->slot < b->slot ? -1 : 1;
  if (a->incarnation != b->incarnation) return a->incarnation < b->incarnation ? -1 : 1;
  /* the newest profile first */
  if (a->written != b->written) return a->written > b->written ? -1 : 1;
  uint32_t m = record_number(a->first), n = record_number(b->first);
  return (m > n) - (m < n);
}

static bool head_is_valid(const struct format_profile *h) {
  return record_type(h->first) == FORMAT_PROFILE_PART &&
         record_words(h->first) >= LEAST_PART_WORDS &&
         h->slot < EVENTRING_MAX_DOMAINS && h->incarnation && h->written &&
         h->parts && record_number(h->first) < h->parts && h->nodes;
}

/* Returns the size in bytes of the words of a head that this reader knows. Words that the
   record lacks count as 0. */
static size_t head_bytes(uint64_t first) {
  size_t words = record_words(first);
  return (words < PART_WORDS ? words : (size_t)PART_WORDS) * sizeof first;
}

static int look_at(eventring_cursor *c, struct parts *parts, uint64_t block,
                   struct eventring_error *error) {
  uint64_t words[FORMAT_BLOCK_HEADER_WORDS + PART_WORDS];
  struct part part = {.block = (uint32_t)block};
  int status = evr_source_read(&c->meta.source, format_block_offset(block), words,
                               sizeof words, error);
  if (status != EVENTRING_OK) return status;
  const struct format_block *h = (const struct format_block *)words;
  if (!h->sequence || h->kind != FORMAT_PROFILES) return EVENTRING_OK;
  memcpy(&part.head, words + FORMAT_BLOCK_HEADER_WORDS,
         head_bytes(words[FORMAT_BLOCK_HEADER_WORDS]));
  if (!head_is_valid(&part.head)) {
    parts->damaged++;
    return EVENTRING_OK;
  }
  if (!EVR_MAKE_ROOM(parts->list, parts->room, parts->count, 64))
    return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for profiles");
  parts->list[parts->count++] = part;
  return EVENTRING_OK;
}

static int find_in_units(eventring_cursor *c, struct parts *parts,
                         struct eventring_error *error) {
  const struct evr_unit_list *units = &c->meta.units.records;
  int status = EVENTRING_OK;
  for (uint32_t i = 0; i < units->count; i++)
    for (uint32_t k = 0; status == EVENTRING_OK && k < FORMAT_UNIT; k++)
      if (units->block[i] + k < c->meta.status.claimed)
        status = look_at(c, parts, units->block[i] + k, error);
  return status;
}

static int find_parts(eventring_cursor *c, struct parts *parts, struct eventring_error *error) {
  int status = EVENTRING_OK;
  unsigned left = EVR_MOST_LOOSE_BLOCKS;
  parts->count = 0;
  parts->damaged = 0;
  if (evr_metadata_has_streams(&c->meta)) status = find_in_units(c, parts, error);
  else
    for (uint64_t at = 0; status == EVENTRING_OK && at < c->meta.status.claimed && left;) {
      uint64_t end = evr_metadata_run_end(&c->meta, at);
      if (!end) status = look_at(c, parts, at, error);
      left -= !end;
      at = end ? end : at + 1;
    }
  if (parts->count) qsort(parts->list, parts->count, sizeof *parts->list, compare_parts);
  return status;
}

static bool same_life(const struct format_profile *a, const struct format_profile *b) {
  return a->slot == b->slot && a->incarnation == b->incarnation;
}

/* ---- Reading one ------------------------------------------------------------------- */

struct reading {
  struct eventring_profile *p;
  const struct format_profile *head;
  /* room for the first record of part 0 */
  uint64_t record[FORMAT_BLOCK_WORDS - FORMAT_BLOCK_HEADER_WORDS];
  uint64_t multiplier;
  uint32_t function_room, node_room, flat_room;
  bool no_memory;
};

static uint64_t to_ns(const struct reading *r, uint64_t ticks) {
  unsigned __int128 ns = (unsigned __int128)ticks * r->multiplier >> FORMAT_CLOCK_SHIFT;
  return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

/* Copies a text unchanged; code that shows the text makes it printable. */
static char *copy_text(const char *from, size_t size) {
  char *text = malloc(size + 1);
  if (!text) return NULL;
  memcpy(text, from, size);
  text[size] = '\0';
  return text;
}

static bool take_function(struct reading *r, const uint64_t *words, unsigned count) {
  struct eventring_profile *p = r->p;
  struct format_profile_function f;
  size_t room = (count - sizeof f / 8) * 8;
  if (count < sizeof f / 8 || record_number(*words) != p->function_count ||
      p->function_count == r->head->functions)
    return false;
  memcpy(&f, words, sizeof f);
  if (f.name_bytes > FORMAT_PROFILE_TEXT || f.source_bytes > FORMAT_PROFILE_TEXT ||
      f.name_bytes + f.source_bytes > room)
    return false;
  r->no_memory = !EVR_MAKE_ROOM(p->functions, r->function_room, p->function_count, 64);
  if (r->no_memory) return false;
  const char *texts = (const char *)(words + sizeof f / 8);
  struct eventring_calls_function *to = &p->functions[p->function_count];
  *to = (struct eventring_calls_function){.line = f.line, .kind = f.kind,
                                    .name = copy_text(texts, f.name_bytes),
                                    .source = copy_text(texts + f.name_bytes, f.source_bytes)};
  p->function_count++;
  r->no_memory = !to->name || !to->source;
  return !r->no_memory;
}

/* Tells whether the parent and the function of a record of flat calls are valid. Flat
   calls have no parent, and their function may be unknown. */
static bool flat_is_valid(const struct reading *r, const struct format_profile_node *n) {
  return n->parent == UINT32_MAX &&
         (n->function == UINT32_MAX || n->function < r->p->function_count);
}

/* Tells whether the parent and the function of a node are valid. The parent must come
   before the node. */
static bool links_are_valid(const struct reading *r, const struct format_profile_node *n) {
  uint32_t number = record_number(n->first);
  if (number == 0) return n->parent == UINT32_MAX && n->function == UINT32_MAX;
  return n->parent < number && n->function < r->p->function_count;
}

/* Takes the figures of a node, or of flat calls, which have fewer figures. */
static bool take_figures(const struct reading *r, struct eventring_profile_node *to,
                         const struct format_profile_node *n, const uint64_t *words,
                         unsigned count, unsigned most_figures) {
  unsigned at = sizeof *n / 8;
  uint64_t figures[FORMAT_NODE_FIGURES] = {0};
  unsigned size = at + (unsigned)__builtin_popcount(n->figures) + (n->buckets + 1u) / 2;
  if (n->figures >> most_figures || size > count ||
      n->first_bucket + n->buckets > FORMAT_PROFILE_BUCKETS)
    return false;
  for (unsigned i = 0; i < FORMAT_NODE_FIGURES; i++)
    if (n->figures >> i & 1) figures[i] = words[at++];
  if (figures[FORMAT_NODE_LEAST] > figures[FORMAT_NODE_MOST]) return false;
  *to = (struct eventring_profile_node){
      .parent = n->parent, .function = n->function, .open = n->open,
      .count = figures[FORMAT_NODE_COUNT], .exclusive = to_ns(r, figures[FORMAT_NODE_EXCLUSIVE]),
      .least = to_ns(r, figures[FORMAT_NODE_LEAST]), .most = to_ns(r, figures[FORMAT_NODE_MOST]),
      .suspended = to_ns(r, figures[FORMAT_NODE_SUSPENDED]),
      .lost_calls = figures[FORMAT_NODE_LOST_CALLS],
      .lost_ns = to_ns(r, figures[FORMAT_NODE_LOST_TICKS])};
  memcpy(to->histogram + n->first_bucket, words + at, n->buckets * sizeof *to->histogram);
  return true;
}

/* Appends a record of a node or of flat calls to its list. Returns false if it is not
   valid, or when out of memory. */
static bool take_node(struct reading *r, const uint64_t *words, unsigned count, bool is_flat) {
  struct eventring_profile *p = r->p;
  struct eventring_profile_node **list = is_flat ? &p->flat : &p->nodes;
  uint32_t *have = is_flat ? &p->flat_count : &p->node_count;
  uint32_t *room = is_flat ? &r->flat_room : &r->node_room;
  const uint32_t most = is_flat ? r->head->flat : r->head->nodes;
  struct format_profile_node n;
  if (count < sizeof n / 8) return false;
  memcpy(&n, words, sizeof n);
  if (record_number(n.first) != *have || *have >= most ||
      !(is_flat ? flat_is_valid : links_are_valid)(r, &n))
    return false;
  r->no_memory = !EVR_MAKE_ROOM(*list, *room, *have, 256);
  return !r->no_memory && take_figures(r, &(*list)[(*have)++], &n, words, count,
                                       is_flat ? FORMAT_NODE_LOST_CALLS : FORMAT_NODE_FIGURES);
}

/* Takes the first record of a part. It must equal the record that was found by the scan
   and, apart from the number, the first record of part 0, also in words that this reader
   does not know. A profile that was taken with another clock than the file's has the
   length of its ticks in this record. */
static bool take_head(struct reading *r, const uint64_t *record, uint32_t part) {
  size_t size = record_words(*record) * sizeof *record;
  /* the record was rewritten */
  if (memcmp(record, r->head, head_bytes(*record))) return false;
  if (record_number(*record) != part) return false;
  if (part > 0)
    return record_words(*record) == record_words(*r->record) &&
           !memcmp(record + 1, r->record + 1, size - sizeof *record);
  memcpy(r->record, record, size);
  uint64_t own = r->head->multiplier;
  if (own && own < (uint64_t)1 << MULTIPLIER_BITS) r->multiplier = own;
  return true;
}

static bool take_part(struct reading *r, const uint64_t *words, uint32_t end, uint32_t part) {
  uint32_t at = FORMAT_BLOCK_HEADER_WORDS;
  if (!take_head(r, words + at, part)) return false;
  for (at += record_words(words[at]); at < end; at += record_words(words[at])) {
    unsigned type = record_type(words[at]), count = record_words(words[at]);
    if (type == FORMAT_PROFILE_FUNCTION && !take_function(r, words + at, count)) return false;
    bool is_flat = type == FORMAT_PROFILE_FLAT;
    if ((type == FORMAT_PROFILE_NODE || is_flat) && !take_node(r, words + at, count, is_flat))
      return false;
  }
  return true;
}

static uint64_t add(uint64_t a, uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }

static void sum_up(struct eventring_profile *p) {
  for (uint32_t i = p->node_count; i-- > 0;) {
    struct eventring_profile_node *n = &p->nodes[i];
    n->inclusive = add(n->inclusive, add(n->exclusive, n->lost_ns));
    if (i > 0) p->nodes[n->parent].inclusive = add(p->nodes[n->parent].inclusive, n->inclusive);
  }
  for (uint32_t i = 0; i < p->flat_count; i++) p->flat[i].inclusive = p->flat[i].exclusive;
}

static void free_profile(struct eventring_profile *p) {
  for (uint32_t i = 0; i < p->function_count; i++) {
    free((char *)p->functions[i].name);
    free((char *)p->functions[i].source);
  }
  free(p->functions);
  free(p->nodes);
  free(p->flat);
}

static void fill_in(eventring_cursor *c, struct eventring_profile *p,
                    const struct format_profile *h) {
  const struct evr_life *life = evr_definitions_life(&c->definitions, h->slot, h->incarnation);
  p->slot = h->slot;
  p->incarnation = h->incarnation;
  if (life) memcpy(p->domain, life->name, sizeof p->domain);
  p->flags = h->flags;
  p->number = h->written;
  p->start_ns = evr_metadata_ns(&c->meta, h->start_ticks);
  p->written_ns = evr_metadata_ns(&c->meta, h->written_ticks);
  p->backwards = h->backwards;
}

/* Reads the profile whose first part is `part`. Sets *valid to whether it is whole and
   valid. */
static int read_profile(eventring_cursor *c, const struct part *part, uint32_t count,
                        struct eventring_profile *p, bool *valid,
                        struct eventring_error *error) {
  uint64_t words[FORMAT_BLOCK_WORDS];
  struct reading r;
  int status = EVENTRING_OK;
  memset(p, 0, sizeof *p);
  memset(&r, 0, sizeof r);
  r.p = p;
  evr_metadata_use_segment(&c->meta, part->head.written_ticks);
  r.multiplier = c->meta.segment.multiplier;
  *valid = count == part->head.parts;
  for (uint32_t i = 0; *valid && status == EVENTRING_OK && i < count; i++) {
    uint32_t end;
    bool sound;
    r.head = &part[i].head;
    status = evr_records_copy(&c->meta.source, format_block_offset(part[i].block), words, &end,
                              &sound, error);
    *valid = status == EVENTRING_OK && end && (uint32_t)words[FORMAT_SEAL_WORD] &&
             evr_records_valid(words, end, sound) && take_part(&r, words, end, i);
  }
  *valid = *valid && p->function_count == part->head.functions &&
           p->node_count == part->head.nodes && p->flat_count == part->head.flat;
  if (r.no_memory) status = evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a profile");
  p->ns_per_tick = (double)r.multiplier / (double)((uint64_t)1 << FORMAT_CLOCK_SHIFT);
  if (*valid) {
    sum_up(p);
    fill_in(c, p, &part->head);
  } else {
    free_profile(p);
  }
  return status;
}

/* ---- All of them ------------------------------------------------------------------- */

/* Tells whether the file may have only the first parts of a profile. A file that its
   producer has ended has all parts. */
static bool may_lack_parts(const eventring_cursor *c) {
  return c->meta.status.state != FORMAT_ENDED || c->meta.header.flags & FORMAT_INCOMPLETE;
}

/* Takes the newest whole profile of the life whose parts begin at *at, and moves *at
   behind them. If there is no whole profile, sets *begun if the first one may have been
   incomplete because it was being written. */
static int take_life(eventring_cursor *c, const struct parts *parts, uint32_t *at,
                     struct eventring_profile *p, bool *valid, bool *begun,
                     struct eventring_error *error) {
  const struct part *list = parts->list;
  uint32_t first = *at, next;
  int status = EVENTRING_OK;
  *valid = false;
  *begun = list[first].head.written == 1 && may_lack_parts(c);
  for (; *at < parts->count && same_life(&list[*at].head, &list[first].head); *at = next) {
    for (next = *at + 1; next < parts->count && same_life(&list[next].head, &list[*at].head) &&
                         list[next].head.written == list[*at].head.written;
         next++) {}
    *begun = *begun && next - *at < list[*at].head.parts;
    if (!*valid && status == EVENTRING_OK)
      status = read_profile(c, &list[*at], next - *at, p, valid, error);
  }
  return status;
}

static int take_all(eventring_cursor *c, const struct parts *parts,
                    struct eventring_profiles *profiles, bool *whole,
                    struct eventring_error *error) {
  uint32_t room = 0, at = 0;
  int status = EVENTRING_OK;
  *profiles = (struct eventring_profiles){.damaged = parts->damaged};
  *whole = true;
  while (status == EVENTRING_OK && at < parts->count) {
    bool valid, begun = false;
    if (!EVR_MAKE_ROOM(profiles->list, room, (uint32_t)profiles->count, 8))
      status = evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for profiles");
    else
      status = take_life(c, parts, &at, &profiles->list[profiles->count], &valid, &begun,
                         error);
    if (status != EVENTRING_OK) break;
    profiles->count += valid;
    profiles->damaged += !valid && !begun;
    *whole = *whole && valid;
  }
  return status;
}

int eventring_cursor_profiles(eventring_cursor *c, struct eventring_profiles *profiles,
                              struct eventring_error *error) {
  struct parts parts = {0};
  bool whole = false;
  int status = EVENTRING_OK;
  *profiles = (struct eventring_profiles){0};
  for (int i = 0; status == EVENTRING_OK && !whole && i < TRIES; i++) {
    bool last = c->meta.over;
    eventring_profiles_free(profiles);
    status = evr_metadata_refresh(&c->meta, error);
    if (status == EVENTRING_OK) status = evr_definitions_catch_up(&c->definitions, &c->meta, error);
    if (status == EVENTRING_OK) status = find_parts(c, &parts, error);
    if (status == EVENTRING_OK) status = take_all(c, &parts, profiles, &whole, error);
    if (last) break;
  }
  free(parts.list);
  if (status != EVENTRING_OK) eventring_profiles_free(profiles);
  return status;
}

void eventring_profiles_free(struct eventring_profiles *profiles) {
  for (size_t i = 0; i < profiles->count; i++) free_profile(&profiles->list[i]);
  free(profiles->list);
  *profiles = (struct eventring_profiles){0};
}
