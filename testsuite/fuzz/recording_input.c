/* SPDX-License-Identifier: MIT */
/* recording_input.c: packed recordings, and everything that is done with a recording
   (recording_input.h). */
#include "recording_input.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eventring/tools.h"
#include "eventring/calls.h"
#include "eventring/footprint.h"
#include "eventring/memory.h"

#define REQUIRE(condition) \
  ((condition) ? (void)0 \
               : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), abort()))

/* ---- Packing --------------------------------------------------------------------- */

static uint32_t get32(const uint8_t *at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static bool write_pages(int fd, uint32_t length, const uint8_t *at, size_t left) {
  while (left > 4) {
    uint64_t offset = (uint64_t)get32(at) * INPUT_PAGE;
    size_t size = left - 4 < INPUT_PAGE ? left - 4 : INPUT_PAGE;
    if (offset < length) {
      size_t fits = length - offset < size ? (size_t)(length - offset) : size;
      if (pwrite(fd, at + 4, fits, (off_t)offset) != (ssize_t)fits) return false;
    }
    at += 4 + size;
    left -= 4 + size;
  }
  return true;
}

bool input_unpack(const char *path, const uint8_t *packed, size_t size) {
  uint32_t length = size >= 4 ? get32(packed) : 0;
  if (length > INPUT_MAX) length = INPUT_MAX;
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) return false;
  bool done = ftruncate(fd, (off_t)length) == 0 &&
              (size < 4 || write_pages(fd, length, packed + 4, size - 4));
  return close(fd) == 0 && done;
}

static bool is_empty(const uint8_t *page) {
  static const uint8_t zeros[INPUT_PAGE];
  return memcmp(page, zeros, INPUT_PAGE) == 0;
}

static size_t pack_pages(int fd, uint32_t length, uint8_t *packed) {
  size_t size = 4;
  memcpy(packed, &length, 4);
  for (uint32_t number = 0; number * (uint64_t)INPUT_PAGE < length; number++) {
    uint8_t page[INPUT_PAGE] = {0};
    if (pread(fd, page, sizeof page, (off_t)number * INPUT_PAGE) <= 0) break;
    if (is_empty(page)) continue;
    memcpy(packed + size, &number, 4);
    memcpy(packed + size + 4, page, sizeof page);
    size += 4 + sizeof page;
  }
  return size;
}

uint8_t *input_pack(const char *path, size_t *size) {
  struct stat st;
  uint8_t *packed = NULL;
  int fd = open(path, O_RDONLY);
  if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size <= INPUT_MAX)
    packed = malloc(8 + (size_t)st.st_size / INPUT_PAGE * (INPUT_PAGE + 4) + INPUT_PAGE);
  if (packed) *size = pack_pages(fd, (uint32_t)st.st_size, packed);
  if (fd >= 0) close(fd);
  return packed;
}

/* ---- Reading ---------------------------------------------------------------------- */

static uint64_t sink; /* uses the results, which otherwise would not be computed */

static void use_values(const struct eventring_event *event) {
  struct eventring_value values[EVENTRING_MAX_VALUES];
  size_t count = eventring_event_values(event, values, EVENTRING_MAX_VALUES);
  REQUIRE(count <= EVENTRING_MAX_VALUES);
  for (size_t n = 0; n < count; n++) {
    REQUIRE(values[n].size <= EVENTRING_MAX_PAYLOAD);
    for (size_t i = 0; i < values[n].size; i++) sink += ((const uint8_t *)values[n].bytes)[i];
  }
}

static int use_event(void *context, const struct eventring_event *event) {
  (void)context;
  for (size_t i = 0; i < event->size; i++) sink += ((const uint8_t *)event->bytes)[i];
  sink += strlen(event->name) + event->value.u + event->depth;
  REQUIRE(event->domain < EVENTRING_MAX_DOMAINS && event->ring < EVENTRING_RINGS);
  REQUIRE(event->id < EVENTRING_MAX_EVENTS);
  REQUIRE(event->size <= EVENTRING_MAX_PAYLOAD + 8);
  for (size_t i = 0; i < event->size; i++) sink += ((const uint8_t *)event->bytes)[i];
  if (event->def) sink += strlen(event->def->name) + strlen(event->def->unit) +
                          strlen(event->def->fields);
  use_values(event);
  if (event->flags & EVENTRING_MATCHED) REQUIRE(event->ns >= event->begin_ns);
  return 0;
}

static int use_loss(void *context, const struct eventring_loss *loss) {
  (void)context;
  REQUIRE(loss->domain < EVENTRING_MAX_DOMAINS && loss->ring < EVENTRING_RINGS);
  sink += loss->count;
  return 0;
}

static int poll_to_the_end(eventring_cursor *cursor) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, use_event, use_loss};
  int first = EVENTRING_OK;
  for (int polls = 0; polls < 20; polls++) {
    int status = eventring_poll(cursor, &callbacks, NULL, polls ? 0 : 7);
    if (status < 0) {
      REQUIRE(eventring_cursor_error(cursor)->text[0]);
      if (first == EVENTRING_OK) first = status;
    }
    if (status == 0 || (status < 0 && eventring_finished(cursor))) break;
  }
  return first;
}

/* ---- Stacks, profiles, footprints ------------------------------------------------- */

static int use_heap(void *context, const struct eventring_heap *heap) {
  (void)context;
  REQUIRE(heap->domain < EVENTRING_MAX_DOMAINS && heap->rate > 0 && heap->rate <= 1);
  sink += heap->allocated.samples + heap->entries;
  return 0;
}

static int use_entry(void *context, const struct eventring_heap *heap,
                     const struct eventring_heap_entry *entry) {
  eventring_cursor *cursor = context;
  struct eventring_stack_info stack;
  (void)heap;
  REQUIRE(entry->kind < 64 && entry->origin < 16);
  sink += eventring_cursor_stack(cursor, entry->stack, &stack) == 0 ? stack.depth : 0;
  return 0;
}

static int use_footprint(void *context, const struct eventring_footprint *footprint,
                         const struct eventring_footprint_row *rows) {
  (void)context;
  REQUIRE(footprint->domain < EVENTRING_MAX_DOMAINS);
  for (size_t i = 0; i < footprint->rows; i++) {
    REQUIRE(rows[i].name[0] && strlen(rows[i].name) <= EVENTRING_MAX_FOOTPRINT_NAME);
    REQUIRE(strlen(rows[i].doc) <= EVENTRING_MAX_FOOTPRINT_DOC);
    REQUIRE(rows[i].resident <= rows[i].reserved);
  }
  return 0;
}

/* Checks that callers have smaller numbers than their callees, so that each walk ends. */
static void use_stacks(eventring_cursor *cursor) {
  struct eventring_stack_info stack, caller;
  struct eventring_function_info function;
  struct eventring_info info = {.size = sizeof info};
  eventring_cursor_info(cursor, &info);
  for (uint32_t id = 1; id < info.stack_end; id++) {
    if (eventring_cursor_stack(cursor, id, &stack) != 0) continue;
    REQUIRE(stack.parent < id);
    if (stack.parent && eventring_cursor_stack(cursor, stack.parent, &caller) == 0)
      REQUIRE(caller.depth + 1 == stack.depth);
    if (eventring_cursor_function(cursor, stack.function, &function) == 0)
      sink += strlen(function.name) + strlen(function.source);
  }
  for (unsigned i = 0; i < 64; i++) {
    const char *name = eventring_cursor_name(cursor, EVENTRING_NAME_MEMORY_KIND, i);
    if (name) sink += strlen(name);
  }
}

static void use_profiles(eventring_cursor *cursor) {
  struct eventring_profiles profiles;
  if (eventring_cursor_profiles(cursor, &profiles, NULL) != EVENTRING_OK) return;
  for (size_t i = 0; i < profiles.count; i++) {
    const struct eventring_profile *p = &profiles.list[i];
    REQUIRE(p->slot < EVENTRING_MAX_DOMAINS && p->node_count > 0);
    for (uint32_t n = 1; n < p->node_count; n++) {
      REQUIRE(p->nodes[n].parent < n && p->nodes[n].function < p->function_count);
      REQUIRE(p->nodes[n].least <= p->nodes[n].most);
    }
    for (uint32_t f = 0; f < p->function_count; f++) sink += strlen(p->functions[f].name);
  }
  eventring_profiles_free(&profiles);
}

static void ask_what_was_sampled(eventring_cursor *cursor) {
  static const struct eventring_heap_callbacks callbacks = {use_heap, use_entry};
  eventring_cursor_heaps(cursor, &callbacks, cursor);
  eventring_cursor_footprints(cursor, use_footprint, NULL);
  use_stacks(cursor);
  use_profiles(cursor);
}

static void ask_for_everything(eventring_cursor *cursor) {
  struct eventring_info info = {.size = sizeof info};
  struct eventring_totals totals = {.size = sizeof totals};
  if (eventring_cursor_info(cursor, &info) == EVENTRING_OK) sink += strlen(info.program);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    struct eventring_domain_info domain = {.size = sizeof domain};
    struct eventring_ring_info ring = {.size = sizeof ring};
    if (eventring_cursor_domain(cursor, slot, &domain) == EVENTRING_OK)
      sink += strlen(domain.name);
    if (eventring_cursor_life(cursor, slot, 1, &domain) == EVENTRING_OK)
      sink += strlen(domain.name);
    for (unsigned r = 0; r < EVENTRING_RINGS; r++)
      if (eventring_cursor_ring(cursor, slot, (enum eventring_ring)r, &ring) == EVENTRING_OK)
        sink += ring.emitted;
  }
  for (unsigned r = 0; r < EVENTRING_RINGS; r++) {
    const char *name = eventring_cursor_name(cursor, EVENTRING_NAME_RING, r);
    if (name) sink += strlen(name);
  }
  for (unsigned id = 0; id < EVENTRING_MAX_EVENTS; id += 1 + id / 64) {
    const struct eventring_def *def = eventring_cursor_def(cursor, id);
    if (def) sink += strlen(def->name) + strlen(def->doc);
  }
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++) {
    const char *name = eventring_cursor_name(cursor, EVENTRING_NAME_CLASS, i);
    if (name) sink += strlen(name);
  }
  eventring_cursor_totals(cursor, &totals);
  eventring_open_spans(cursor, use_event, NULL);
  sink += totals.lost;
  ask_what_was_sampled(cursor);
}

/* Reads backwards, with the last events first. An undamaged file must have as many events
   as forwards. */
static void read_backwards(const char *path, unsigned flags, int status,
                           const struct eventring_totals *forwards) {
  struct eventring_totals totals = {.size = sizeof totals};
  eventring_cursor *cursor;
  if (eventring_open_path(&cursor, path, flags | EVENTRING_OPEN_BACKWARDS, NULL) != EVENTRING_OK)
    return;
  eventring_open_spans(cursor, use_event, NULL);
  bool is_sound = poll_to_the_end(cursor) == EVENTRING_OK && status == EVENTRING_OK;
  ask_for_everything(cursor);
  eventring_cursor_totals(cursor, &totals);
  if (is_sound) REQUIRE(totals.delivered == forwards->delivered);
  if (is_sound) REQUIRE(totals.missed + totals.lost == forwards->missed + forwards->lost);
  eventring_close(cursor);
}

/* ---- Batches ---------------------------------------------------------------------- */

/* Adds a value to a hash, a number that depends on all that was delivered, and on its
   order. */
static void mix(uint64_t *hash, uint64_t value) { *hash = (*hash ^ value) * 0x100000001b3u; }

static int mix_event(void *context, const struct eventring_event *e) {
  uint64_t *hash = context;
  const uint64_t fields[] = {e->ns, e->begin_ns, e->domain, e->incarnation, e->id, e->ring,
                             e->kind, e->event_class, e->payload, e->flags, e->depth, e->value.u,
                             e->size, e->context, e->suspended_ns, e->within_ns, e->link, e->role,
                             (uint64_t)(e->def != NULL)};
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) mix(hash, fields[i]);
  for (size_t i = 0; i < e->size; i++) mix(hash, ((const uint8_t *)e->bytes)[i]);
  for (const char *name = e->name; *name; name++) mix(hash, (uint8_t)*name);
  return 0;
}

static int mix_loss(void *context, const struct eventring_loss *loss) {
  const uint64_t fields[] = {loss->ns, loss->count, loss->domain, loss->incarnation, loss->ring,
                             loss->flags};
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) mix(context, fields[i]);
  return 0;
}

static int mix_switch(void *context, const struct eventring_switch *change) {
  mix(context, change->ns);
  mix(context, change->context);
  mix(context, (uint64_t)change->resumed << 8 | change->ring);
  return 0;
}

/* The contents of a batch, computed again from its events. */
struct batch_check {
  const struct eventring_batch *batch;
  uint64_t *hash;
  uint64_t before_ns;
  size_t count, ended, outer, began, points;
  struct { /* the open spans; the first is the innermost span that began before the
              batch */
    uint64_t ns, within;
    uint16_t id;
  } open[EVENTRING_BATCH + 1];
};

static void check_end(struct batch_check *check, const struct eventring_event *event) {
  const struct eventring_brief *brief = &check->batch->ended[check->ended++];
  const bool one_context = check->batch->depth_around != UINT32_MAX;
  bool outer = one_context ? check->began == 0 : brief->began_before;
  uint64_t ns = event->ns - event->begin_ns, took = brief->took, within = brief->within;
  uint64_t suspended = 0;
  REQUIRE(brief->began_before == outer);
  if (outer) {
    took = check->batch->outer[check->outer].took;
    suspended = check->batch->outer[check->outer].suspended;
    within = check->batch->outer[check->outer++].within;
  }
  REQUIRE(check->batch->earliest_ns + brief->after == event->ns && took == ns);
  REQUIRE(brief->id == event->id && within == event->within_ns);
  REQUIRE(suspended == event->suspended_ns);
  if (!one_context) {
    check->began -= !outer;
    return;
  }
  REQUIRE(brief->depth == (outer ? 0 : check->began - 1));
  if (outer) return;
  REQUIRE(within == check->open[check->began].within);
  REQUIRE(check->open[check->began].ns == event->begin_ns && within <= ns);
  check->open[--check->began].within += ns;
}

/* Checks an event that is no begin. */
static void check_point(struct batch_check *check, const struct eventring_event *event) {
  const struct eventring_point *point = &check->batch->points[check->points++];
  REQUIRE(check->points <= check->batch->point_count);
  REQUIRE(check->batch->earliest_ns + point->after == event->ns);
  REQUIRE(point->kind == event->kind && point->id == event->id);
  switch (event->kind) {
    case EVENTRING_COUNTER: REQUIRE(point->payload == event->payload); /* fall through */
    case EVENTRING_END: REQUIRE(point->value == event->value.u); break;
    case EVENTRING_LINKED:
      REQUIRE(point->value == event->link && point->payload == event->role);
      break;
    default: REQUIRE(event->kind == EVENTRING_INSTANT);
  }
}

static int check_event(void *context, const struct eventring_event *event) {
  struct batch_check *check = context;
  const struct eventring_batch *batch = check->batch;
  const bool is_span = event->kind <= EVENTRING_END;
  REQUIRE(check->count++ < batch->count && event->ns >= check->before_ns);
  REQUIRE(!is_span || batch->classes >> event->event_class & 1);
  check->before_ns = event->ns;
  mix_event(check->hash, event);
  if (!is_span || (event->kind == EVENTRING_END && event->payload)) check_point(check, event);
  if (!is_span) return 0;
  if (event->kind == EVENTRING_END) {
    check_end(check, event);
  } else {
    check->began++;
    check->open[check->began].ns = event->ns;
    check->open[check->began].within = 0;
    check->open[check->began].id = event->id;
  }
  return 0;
}

static int mix_batch(void *context, const struct eventring_batch *batch) {
  struct batch_check check; /* (not cleared, because it is large) */
  check.batch = batch, check.hash = context;
  check.before_ns = batch->earliest_ns;
  check.count = check.ended = check.outer = check.began = check.points = 0;
  check.open[0].within = 0;
  REQUIRE(batch->count > 0 && batch->count <= EVENTRING_BATCH);
  REQUIRE(eventring_batch_each(batch, check_event, &check) == 0);
  REQUIRE(check.count == batch->count && check.before_ns == batch->latest_ns);
  REQUIRE(check.ended == batch->ended_count && check.began == batch->opened_count);
  REQUIRE(check.points == batch->point_count);
  /* with several contexts it is not known where the depths of each begin */
  if (batch->depth_around == UINT32_MAX) return 0;
  for (size_t i = 0; i < check.began; i++) {
    const struct eventring_brief *brief = &batch->opened[i];
    REQUIRE(batch->earliest_ns + brief->after == check.open[i + 1].ns);
    REQUIRE(brief->within == check.open[i + 1].within && brief->took == 0);
    REQUIRE(brief->id == check.open[i + 1].id && !brief->began_before && brief->depth == i);
  }
  REQUIRE(batch->depth - check.outer == batch->depth_around);
  return 0;
}

enum { ONE_BY_ONE = -1 };
/* Returns the hash of what is delivered in batches with these contents, or without
   batches. It covers only what these two ways have in common. */
static uint64_t mix_all(const char *path, unsigned flags, int contents, int *status,
                        struct eventring_totals *totals) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, mix_event, mix_loss};
  uint64_t hash = 0xcbf29ce484222325u;
  eventring_cursor *cursor;
  *status = eventring_open_path(&cursor, path, flags, NULL);
  if (*status != EVENTRING_OK) return 0;
  eventring_cursor_switches(cursor, mix_switch, &hash);
  if (contents != ONE_BY_ONE)
    REQUIRE(eventring_cursor_batches(cursor, (unsigned)contents, mix_batch, &hash) == EVENTRING_OK);
  *status = eventring_poll(cursor, &callbacks, &hash, 100);
  for (int polls = 0; polls < 20 && !eventring_finished(cursor); polls++) {
    int result = eventring_poll(cursor, &callbacks, &hash, 0);
    if (result < 0) *status = result;
  }
  eventring_open_spans(cursor, mix_event, &hash);
  eventring_cursor_totals(cursor, totals);
  eventring_close(cursor);
  return hash;
}

static void compare_batches(const char *path, unsigned flags) {
  struct eventring_totals one_by_one = {.size = sizeof one_by_one};
  struct eventring_totals in_batches = {.size = sizeof in_batches};
  int status, status_in_batches;
  uint64_t hash = mix_all(path, flags, ONE_BY_ONE, &status, &one_by_one);
  /* tests only one of these, because each opens a file that may be large */
  static const int some[] = {0, EVENTRING_BATCH_ALL & ~EVENTRING_BATCH_CONTEXTS,
                             EVENTRING_BATCH_ALL};
  const int contents = some[hash % 3];
  REQUIRE(mix_all(path, flags, contents, &status_in_batches, &in_batches) == hash);
  REQUIRE(status == status_in_batches);
  REQUIRE(in_batches.delivered == one_by_one.delivered && in_batches.lost == one_by_one.lost &&
          in_batches.missed == one_by_one.missed && in_batches.torn == one_by_one.torn);
}

int input_read_everything(const char *path, unsigned flags, const char *copy) {
  struct eventring_error error = {0};
  eventring_cursor *cursor;
  int status = eventring_open_path(&cursor, path, flags, &error);
  if (status != EVENTRING_OK) {
    REQUIRE(status < 0 && error.code == status && error.text[0]);
    return status;
  }
  eventring_open_spans(cursor, use_event, NULL);
  status = poll_to_the_end(cursor);
  ask_for_everything(cursor);
  struct eventring_totals totals = {.size = sizeof totals};
  eventring_cursor_totals(cursor, &totals);
  read_backwards(path, flags, status, &totals);
  compare_batches(path, flags);
  if (copy) {
    unlink(copy);
    if (eventring_snapshot(cursor, copy, &error) == EVENTRING_OK)
      input_read_everything(copy, flags, NULL);
    unlink(copy);
  }
  eventring_close(cursor);
  return status;
}
