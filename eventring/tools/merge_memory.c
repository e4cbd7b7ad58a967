/* SPDX-License-Identifier: MIT */
/* merge_memory.c: functions, stacks and profiles of one recording, with the numbers of the
 * merged one (merge.h has the design). They are translated when something refers to them. */
#include <stdlib.h>
#include <string.h>

#include "eventring/calls.h"
#include "merge_inside.h"

enum { KINDS = 64, ORIGINS = 16 };

/* ---- Functions and stacks -------------------------------------------------------------- */

static bool reach(uint32_t **list, uint32_t *room, uint32_t at) {
  if (at < *room) return true;
  uint32_t more = *room ? 2 * *room : 1024;
  if (more <= at) more = at + 1;
  *list = need_resized(*list, more, sizeof **list);
  memset(*list + *room, 0, (more - *room) * sizeof **list);
  *room = more;
  return true;
}

/* What the encoder returned: an id, or an error. */
static uint32_t taken(struct translation *t, int id) {
  if (id < 0) return 0;
  t->error.code = 0;
  return (uint32_t)id;
}

static uint32_t translate_function(struct translation *t, uint32_t id) {
  struct merge_memory *m = &t->memory;
  struct eventring_function_info info;
  if (!id || eventring_cursor_function(t->cursor, id, &info) != 0) return 0;
  reach(&m->function_to, &m->functions, id);
  if (m->function_to[id]) return m->function_to[id] - 1;
  const struct eventring_function f = {.name = info.name, .name_size = strlen(info.name),
                                       .source = info.source, .line = info.line,
                                       .source_size = strlen(info.source),
                                       .last_line = info.last_line};
  uint32_t to = taken(t, eventring_encoder_function(t->merge->encoder, &f, &t->error));
  m->function_to[id] = to + 1;
  return to;
}

/* `parent` is that of the merged recording. */
static uint32_t translate_frame(struct translation *t, struct eventring_stack_info frame,
                                uint32_t parent) {
  frame.parent = parent;
  frame.function = translate_function(t, frame.function);
  if (t->error.code) return 0;
  return taken(t, eventring_encoder_stack(t->merge->encoder, &frame, &t->error));
}

/* From the outermost frame that is not translated yet, inwards: ids of callers are less, so
   the list of those that are to be done ends. */
uint32_t merge_stack(struct translation *t, uint64_t id) {
  struct merge_memory *m = &t->memory;
  uint32_t todo[EVENTRING_MAX_DEPTH], count = 0, parent = 0;
  struct eventring_stack_info frame;
  if (id > UINT32_MAX) return 0;
  for (uint32_t at = (uint32_t)id; at; at = frame.parent) {
    if (eventring_cursor_stack(t->cursor, at, &frame) != 0) break;
    reach(&m->stack_to, &m->stacks, at);
    if (m->stack_to[at]) {
      parent = m->stack_to[at] - 1;
      break;
    }
    if (count == EVENTRING_MAX_DEPTH) break; /* no host writes more: the rest is left out */
    todo[count++] = at;
  }
  while (count > 0 && !t->error.code) {
    uint32_t at = todo[--count];
    eventring_cursor_stack(t->cursor, at, &frame);
    parent = translate_frame(t, frame, parent);
    m->stack_to[at] = parent + 1;
  }
  return t->error.code ? 0 : parent;
}

/* ---- Kinds and origins ----------------------------------------------------------------- */

typedef int encode_name(eventring_encoder *encoder, unsigned number, const char *name,
                        struct eventring_error *error);

/* They go by their names; if there is no number left, by the one that they have. */
static unsigned number_for(struct translation *t, unsigned index, const char *name,
                           unsigned count, encode_name *encode) {
  eventring_encoder *encoder = t->merge->encoder;
  if (!name || encode(encoder, index, name, NULL) == EVENTRING_OK) return index;
  for (unsigned i = count; i-- > 0;)
    if (encode(encoder, i, name, NULL) == EVENTRING_OK) return i;
  return index;
}

static void translate_names(struct translation *t) {
  struct merge_memory *m = &t->memory;
  if (m->has_names) return;
  m->has_names = true;
  for (unsigned i = 0; i < KINDS; i++)
    m->kind_to[i] = (uint8_t)number_for(t, i, eventring_cursor_memory_kind(t->cursor, i), KINDS,
                                        eventring_encoder_memory_kind);
  for (unsigned i = 0; i < ORIGINS; i++)
    m->origin_to[i] = (uint8_t)number_for(t, i, eventring_cursor_memory_origin(t->cursor, i),
                                          ORIGINS, eventring_encoder_memory_origin);
}

/* Of the definition of a span, plus 1. */
static uint16_t translate_span(struct translation *t, uint16_t span) {
  const struct eventring_def *def = span ? eventring_cursor_def(t->cursor, span - 1u) : NULL;
  int id = def ? merge_id(t, def) : -1;
  return id < 0 ? 0 : (uint16_t)(id + 1);
}

void merge_sample(struct translation *t, const struct eventring_event *from,
                  struct eventring_event *to, uint64_t words[EVENTRING_SAMPLE_WORDS]) {
  struct eventring_sample sample;
  uint64_t block = eventring_event_sample(from, &sample);
  translate_names(t);
  sample.stack = merge_stack(t, sample.stack);
  sample.span = translate_span(t, sample.span);
  sample.kind = t->memory.kind_to[sample.kind & (KINDS - 1)];
  sample.origin = t->memory.origin_to[sample.origin & (ORIGINS - 1)];
  eventring_event_put_sample(to, &sample, block, words);
}

/* ---- Heap profiles ----------------------------------------------------------------------- */

struct heap_reading {
  struct translation *t;
  bool has_heap;
  struct eventring_heap heap; /* that the entries are of */
  struct eventring_heap_entry *entries;
  size_t count, room;
};

static bool put_heap(struct heap_reading *r) {
  struct translation *t = r->t;
  if (!r->has_heap) return true;
  int status = eventring_encoder_heap(t->merge->encoder, &r->heap, r->entries, r->count,
                                      &t->error);
  if (status == EVENTRING_OK) t->error.code = 0;
  r->has_heap = false;
  r->count = 0;
  return status == EVENTRING_OK;
}

/* The domain as the merged recording numbers it; false: it has no number. */
static bool translate_domain(struct translation *t, uint32_t *slot, uint32_t *incarnation) {
  if (!merge_slot_is_placed(t, *slot)) return false;
  const struct merge_slot *to = &t->source->slot[*slot];
  if (!*incarnation || *incarnation > UINT32_MAX - to->before) return false;
  *slot = to->to;
  *incarnation += to->before;
  return true;
}

static int on_heap(void *context, const struct eventring_heap *heap) {
  struct heap_reading *r = context;
  struct translation *t = r->t;
  if (!put_heap(r)) return 1;
  r->heap = *heap;
  r->has_heap = translate_domain(t, &r->heap.domain, &r->heap.incarnation);
  r->heap.start_ns = merge_time(t->merge, t->source, heap->start_ns);
  r->heap.ns = merge_time(t->merge, t->source, heap->ns);
  if (r->heap.ns < r->heap.start_ns) r->heap.ns = r->heap.start_ns;
  if (heap->peak_ns) r->heap.peak_ns = merge_time(t->merge, t->source, heap->peak_ns);
  return t->stopped;
}

static int on_entry(void *context, const struct eventring_heap *heap,
                    const struct eventring_heap_entry *entry) {
  struct heap_reading *r = context;
  struct translation *t = r->t;
  struct eventring_heap_entry to = *entry;
  (void)heap;
  if (!r->has_heap) return 0;
  to.stack = entry->stack == UINT32_MAX ? UINT32_MAX : merge_stack(t, entry->stack);
  to.span = translate_span(t, entry->span);
  to.kind = t->memory.kind_to[entry->kind & (KINDS - 1)];
  to.origin = t->memory.origin_to[entry->origin & (ORIGINS - 1)];
  if (r->count == r->room) {
    r->room = r->room ? 2 * r->room : 256;
    r->entries = need_resized(r->entries, r->room, sizeof *r->entries);
  }
  r->entries[r->count++] = to;
  return t->error.code != 0;
}

static void merge_heaps(struct translation *t) {
  static const struct eventring_heap_callbacks callbacks = {on_heap, on_entry};
  struct heap_reading r = {.t = t};
  translate_names(t);
  int status = eventring_cursor_heaps(t->cursor, &callbacks, &r);
  if (status == EVENTRING_OK && !t->error.code) put_heap(&r);
  if (status < 0 && !t->error.code) t->error = *eventring_cursor_error(t->cursor);
  free(r.entries);
}

/* ---- Profiles of calls --------------------------------------------------------------------- */

static void merge_calls(struct translation *t) {
  struct eventring_profiles profiles;
  if (eventring_cursor_profiles(t->cursor, &profiles, &t->error) != EVENTRING_OK) return;
  t->error.code = 0;
  for (size_t i = 0; i < profiles.count && !t->error.code && !t->stopped; i++) {
    struct eventring_profile p = profiles.list[i];
    uint32_t slot = p.slot;
    if (!translate_domain(t, &slot, &p.incarnation)) continue;
    p.slot = slot;
    p.start_ns = merge_time(t->merge, t->source, p.start_ns);
    p.written_ns = merge_time(t->merge, t->source, p.written_ns);
    if (eventring_encoder_profile(t->merge->encoder, &p, &t->error) == EVENTRING_OK)
      t->error.code = 0;
  }
  eventring_profiles_free(&profiles);
}

void merge_profiles(struct translation *t) {
  merge_heaps(t);
  if (!t->error.code && !t->stopped) merge_calls(t);
}

void merge_memory_free(struct translation *t) {
  free(t->memory.function_to);
  free(t->memory.stack_to);
}
