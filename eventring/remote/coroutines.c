/* SPDX-License-Identifier: MIT */
/* coroutines.c: reads many suspended threads of another process together.
 *
 * A program may have 20,000 of them, so few system calls must do for each. Threads are
 * read in slices: the threads (T); then their frames, level by level, since each frame
 * links to the one below (A); then what they refer to; then all frames again (B) and all
 * threads again (U).
 *
 * A suspended thread changes nothing. It must be suspended in T and in U, in the same
 * frame. If it had run in between, another call would have suspended it, which adds 1 to
 * `entries` of a frame (INTROSPECTION.md). So if all frames are the same in A and B, it
 * did not run, and all that was read of it belongs to one moment. If another thread has
 * taken over its memory in between, that thread has called the same functions and is at
 * the same instructions.
 *
 * A thread that differs is read again; one that keeps differing is counted as torn.
 */
#include "remote/coroutines.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/array.h"
#include "remote/frame_fields.h"
#include "remote/search.h"

enum {
  SLICE = 512,
  TRIES = 3,
  MOST_LEVELS = 256, /* innermost frames of a thread to compare */
  MOST_BYTES = 1 << 30  /* most bytes of a thread's values, or of its frames; more is
                           damage */
};

/* A thread of a slice. */
struct item {
  uint64_t thread;
  bool sound;
  uint64_t frame; /* the next frame to read; 0 if none */
  uint32_t depth; /* depth of that frame, unless it is the first one */
  uint32_t most_depth; /* the greatest possible depth of the first frame */
  struct remote_coroutine is;
};

/* A frame of one of the threads. */
struct level {
  uint32_t item;
  uint64_t address;
};

/* Pieces of equal size that are read at once. */
struct batch {
  struct iovec *ranges;
  unsigned char *bytes;
  bool *read;
  size_t count, size;
};

struct slice {
  struct remote_host *host;
  uint32_t now, looked; /* ticks of the host's clock */
  bool no_memory;
  struct item items[SLICE];
  size_t count;
  struct level *levels;
  size_t level_count, level_room;
  struct batch t, frames, values, objects;
};

/* ---- pieces -------------------------------------------------------------- */

static bool batch_start(struct slice *s, struct batch *b, size_t count, size_t size) {
  b->count = 0;
  b->size = size;
  struct iovec *ranges = realloc(b->ranges, (count + 1) * sizeof *ranges);
  if (ranges != NULL) b->ranges = ranges;
  unsigned char *bytes = realloc(b->bytes, (count + 1) * size);
  if (bytes != NULL) b->bytes = bytes;
  bool *read = realloc(b->read, (count + 1) * sizeof *read);
  if (read != NULL) b->read = read;
  s->no_memory |= ranges == NULL || bytes == NULL || read == NULL;
  return !s->no_memory;
}

static void batch_add(struct batch *b, uint64_t address) {
  b->ranges[b->count++] =
      (struct iovec){.iov_base = (void *)(uintptr_t)address, .iov_len = b->size};
}

/* Reads the pieces at once, or one by one if one of them is unreadable. */
static void batch_read(struct slice *s, struct batch *b) {
  struct remote_memory *memory = &s->host->memory;
  const bool all = b->count == 0 || remote_read_ranges(memory, b->ranges, b->count, b->bytes);
  for (size_t i = 0; i < b->count; i++)
    b->read[i] = all || remote_read(memory, (uint64_t)(uintptr_t)b->ranges[i].iov_base,
                                    b->bytes + i * b->size, b->size);
}

static unsigned char *piece(const struct batch *b, size_t i) {
  return b->read[i] ? b->bytes + i * b->size : NULL;
}

static void batch_free(struct batch *b) {
  free(b->ranges);
  free(b->bytes);
  free(b->read);
}

/* ---- threads ------------------------------------------------------------- */

#define THREAD(bytes, field, size) remote_word((bytes) + at->thread.field, size)
#define COROUTINE(bytes, field, size) remote_word((bytes) + at->coroutine.field, size)

static void mix(uint64_t *key, uint64_t word) {
  *key = (*key ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  *key ^= *key >> 29;
}

static uint64_t ticks_ns(const struct slice *s, uint32_t ticks) {
  return (uint64_t)ticks * 1000000000u / s->host->at.coroutine.ticks;
}

/* Sets for how long a thread has not run. The host's clock is some milliseconds late, and
   its ticks may be off by one. */
static void take_age(const struct slice *s, const unsigned char *bytes,
                     struct remote_coroutine *is) {
  const struct eventring_introspection *at = &s->host->at;
  const bool settled = COROUTINE(bytes, state, 1) & at->coroutine.settled_mask;
  uint32_t after = settled ? (uint32_t)COROUTINE(bytes, ran_after, 4) : s->looked;
  uint32_t least = s->now - (uint32_t)COROUTINE(bytes, ran_before, 4), most = s->now - after;
  if (!settled || least > INT32_MAX) least = 0;
  if (most > INT32_MAX || most < least) most = least;
  is->least_ns = ticks_ns(s, least > 1 ? least - 1 : 0);
  is->most_ns = ticks_ns(s, most + 2);
}

static uint64_t bytes_of(const struct eventring_introspection *at, const unsigned char *bytes) {
  const uint64_t values = THREAD(bytes, stack_end, 8) - THREAD(bytes, stack, 8);
  const uint64_t frames = COROUTINE(bytes, frames, 4) * at->frame.size;
  return at->coroutine.bytes + (values < MOST_BYTES ? values : 0) +
         (frames < MOST_BYTES ? frames : 0) +
         (uint64_t)at->coroutine.spare_values * at->value.size;
}

static void take_thread(const struct slice *s, struct item *item, const unsigned char *bytes) {
  const struct eventring_introspection *at = &s->host->at;
  struct remote_coroutine *is = &item->is;
  *is = (struct remote_coroutine){.address = item->thread};
  item->sound = bytes != NULL && remote_waits(at, item->thread, bytes);
  item->frame = 0;
  if (!item->sound) return;
  is->is_new = remote_is_new(at, item->thread, bytes);
  is->created_in = COROUTINE(bytes, created_in, 8);
  is->created_at = (uint32_t)COROUTINE(bytes, created_at, 4);
  is->resumed_in = COROUTINE(bytes, resumed_in, 8);
  is->resumed_at = (uint32_t)COROUTINE(bytes, resumed_at, 4);
  is->bytes = bytes_of(at, bytes);
  take_age(s, bytes, is);
  item->depth = 0;
  item->most_depth = (uint32_t)COROUTINE(bytes, frames, 4);
  if (!is->is_new) item->frame = THREAD(bytes, frame, 8);
}

static bool read_threads(struct slice *s, struct batch *b) {
  if (!batch_start(s, b, s->count, s->host->at.coroutine.size)) return false;
  for (size_t i = 0; i < s->count; i++) batch_add(b, s->items[i].thread);
  batch_read(s, b);
  return true;
}

/* ---- frames -------------------------------------------------------------- */

/* Adds a frame to the key of its item, and notes the frame below. */
static void take_frame(struct slice *s, const struct level *l, const unsigned char *frame) {
  const struct eventring_introspection *at = &s->host->at;
  struct item *item = &s->items[l->item];
  item->sound = frame != NULL;
  item->frame = 0;
  if (!item->sound) return;
  const uint64_t below = FRAME(frame, previous, 8);
  const bool is_last = below == item->thread + at->thread.first_frame;
  const uint32_t depth = (uint32_t)FRAME(frame, depth, 4);
  item->sound = depth <= item->most_depth && (item->depth == 0 || depth == item->depth) &&
                is_last == (depth == 1);
  item->depth = depth - 1;
  const bool is_c = remote_frame_is_c(at, frame);
  mix(&item->is.key, is_c ? 1 : FRAME(frame, identity, 8));
  if (!is_c) mix(&item->is.key, FRAME(frame, pc, 8));
  if (!is_last) item->frame = below;
}

static bool add_level(struct slice *s, uint32_t item) {
  if (!EVR_MAKE_ROOM(s->levels, s->level_room, s->level_count, 1024)) {
    s->no_memory = true;
    return false;
  }
  s->levels[s->level_count++] = (struct level){item, s->items[item].frame};
  return true;
}

/* Reads the next frame of each thread. Returns false if there are no more. */
static bool read_level(struct slice *s) {
  const size_t from = s->level_count;
  for (uint32_t i = 0; i < s->count; i++)
    if (s->items[i].sound && s->items[i].frame != 0 && !add_level(s, i)) return false;
  if (s->level_count == from ||
      !batch_start(s, &s->frames, s->level_count - from, s->host->at.frame.size))
    return false;
  for (size_t i = from; i < s->level_count; i++) batch_add(&s->frames, s->levels[i].address);
  batch_read(s, &s->frames);
  return true;
}

/* Performs step A: reads all frames, and keeps them until they are read again. Returns
   NULL if there are no frames, or when out of memory. */
static unsigned char *read_frames(struct slice *s) {
  const size_t size = s->host->at.frame.size;
  unsigned char *all = NULL;
  s->level_count = 0;
  for (int n = 0; n < MOST_LEVELS; n++) {
    const size_t from = s->level_count;
    if (!read_level(s)) break;
    unsigned char *more = realloc(all, s->level_count * size);
    s->no_memory |= more == NULL;
    if (more == NULL) break;
    all = more;
    for (size_t i = from; i < s->level_count; i++) {
      const unsigned char *frame = piece(&s->frames, i - from);
      if (frame != NULL) memcpy(all + i * size, frame, size);
      else memset(all + i * size, 0, size);
      take_frame(s, &s->levels[i], frame);
    }
  }
  return all;
}

/* Adds C functions to the keys. Their values distinguish them, since the word in their
   frames may be a continuation. */
static bool read_functions(struct slice *s, const unsigned char *all) {
  const struct eventring_introspection *at = &s->host->at;
  if (!batch_start(s, &s->values, s->level_count, at->value.size)) return false;
  for (size_t i = 0; i < s->level_count; i++)
    batch_add(&s->values, FRAME(all + i * at->frame.size, function, 8));
  batch_read(s, &s->values);
  for (size_t i = 0; i < s->level_count; i++) {
    const unsigned char *frame = all + i * at->frame.size, *value = piece(&s->values, i);
    if (!remote_frame_is_c(at, frame) || value == NULL) continue;
    const uint8_t kind = s->host->kinds[value[at->value.tag]];
    mix(&s->items[s->levels[i].item].is.key,
        kind == EVENTRING_VALUE_CFUNCTION ? remote_word(value + at->value.payload, 8)
                                          : FRAME(frame, c_function, 8));
  }
  return true;
}

/* Tells whether two copies of a frame show the same activation at the same
   instruction. */
static bool same_frame(const struct eventring_introspection *at, const unsigned char *a,
                       const unsigned char *b) {
  return remote_frame_stays(at, a, b) &&
         (remote_frame_is_c(at, a) || FRAME(a, pc, 8) == FRAME(b, pc, 8));
}

/* Performs step B: reads all frames again, and compares them. */
static bool read_again(struct slice *s, const unsigned char *all) {
  const struct eventring_introspection *at = &s->host->at;
  if (!batch_start(s, &s->frames, s->level_count, at->frame.size)) return false;
  for (size_t i = 0; i < s->level_count; i++) batch_add(&s->frames, s->levels[i].address);
  batch_read(s, &s->frames);
  for (size_t i = 0; i < s->level_count; i++) {
    const unsigned char *again = piece(&s->frames, i);
    if (again == NULL || !same_frame(at, all + i * at->frame.size, again))
      s->items[s->levels[i].item].sound = false;
  }
  return true;
}

/* ---- the first and second value ------------------------------------------- */

static void take_spans(const struct slice *s, struct remote_coroutine *is,
                       const unsigned char *object) {
  const struct eventring_introspection *at = &s->host->at;
  if (object == NULL) return;
  const uint64_t known = remote_word(object + at->spans.count, 2);
  is->has_context = true;
  is->context = remote_word(object + at->spans.id, 8);
  is->spans = (uint32_t)(known + remote_word(object + at->spans.hidden, 4));
  is->span_count = known < REMOTE_SPANS ? (uint32_t)known : REMOTE_SPANS;
}

/* Reads the ids of the innermost open spans, which are the last in memory. */
static void read_span_ids(const struct slice *s, struct remote_coroutine *is, uint64_t object,
                          uint64_t known) {
  const uint64_t from = object + s->host->at.spans.open + 2 * (known - is->span_count);
  if (is->span_count > 0 &&
      !remote_read(&s->host->memory, from, is->span, is->span_count * sizeof *is->span))
    is->span_count = 0;
}

static uint32_t span_object_size(const struct eventring_introspection *at) {
  uint32_t size = at->spans.id + 8;
  if (at->spans.count + 2 > size) size = at->spans.count + 2;
  return at->spans.hidden + 4 > size ? at->spans.hidden + 4 : size;
}

/* Reads the contexts and open spans of the threads. A thread has them in the object of
   its first value. */
static bool read_contexts(struct slice *s) {
  const struct eventring_introspection *at = &s->host->at;
  size_t n = 0;
  if (!batch_start(s, &s->objects, s->count, span_object_size(at))) return false;
  for (size_t i = 0; i < s->count; i++) {
    const unsigned char *value = piece(&s->values, 2 * i);
    if (s->items[i].sound && value != NULL && value[at->value.tag] == at->spans.tag)
      batch_add(&s->objects, remote_word(value + at->value.payload, 8));
  }
  batch_read(s, &s->objects);
  for (size_t i = 0; i < s->count; i++) {
    const unsigned char *value = piece(&s->values, 2 * i);
    if (!s->items[i].sound || value == NULL || value[at->value.tag] != at->spans.tag) continue;
    const unsigned char *object = piece(&s->objects, n++);
    take_spans(s, &s->items[i].is, object);
    if (object != NULL)
      read_span_ids(s, &s->items[i].is, remote_word(value + at->value.payload, 8),
                    remote_word(object + at->spans.count, 2));
  }
  return true;
}

/* Takes the function that a thread which has not begun will run. */
static void take_new(const struct slice *s, struct item *item, const unsigned char *value) {
  const struct eventring_introspection *at = &s->host->at;
  struct remote_coroutine *is = &item->is;
  const uint8_t kind = value != NULL ? s->host->kinds[value[at->value.tag]] : 0;
  const bool is_closure = kind == EVENTRING_VALUE_FUNCTION || kind == EVENTRING_VALUE_CCLOSURE;
  item->sound = is_closure || kind == EVENTRING_VALUE_CFUNCTION;
  if (!item->sound) return; /* a thread in which the host keeps values */
  is->is_c = kind != EVENTRING_VALUE_FUNCTION;
  is->function = remote_word(value + at->value.payload, 8);
  const uint32_t offset = is->is_c ? at->closure.c_function : at->closure.prototype;
  if (is_closure &&
      !remote_read_pointer(&s->host->memory, is->function + offset, &is->function))
    is->function = 0;
  mix(&is->key, 2);
  mix(&is->key, is->function);
}

static bool read_values(struct slice *s) {
  const struct eventring_introspection *at = &s->host->at;
  if (!batch_start(s, &s->values, 2 * s->count, at->value.size)) return false;
  for (size_t i = 0; i < s->count; i++) {
    const unsigned char *bytes = piece(&s->t, i);
    const uint64_t stack = bytes != NULL ? THREAD(bytes, stack, 8) : 0;
    batch_add(&s->values, stack);
    batch_add(&s->values, stack + at->value.size);
  }
  batch_read(s, &s->values);
  for (size_t i = 0; i < s->count; i++)
    if (s->items[i].sound && s->items[i].is.is_new)
      take_new(s, &s->items[i], piece(&s->values, 2 * i + 1));
  return read_contexts(s);
}

/* ---- slices -------------------------------------------------------------- */

/* Performs step U: reads the threads again; those that changed since T are not sound. */
static bool compare_threads(struct slice *s) {
  const struct eventring_introspection *at = &s->host->at;
  struct batch u = {0};
  if (read_threads(s, &u))
    for (size_t i = 0; i < s->count; i++) {
      const unsigned char *a = piece(&s->t, i), *b = piece(&u, i);
      if (a == NULL || b == NULL || !remote_waits(at, s->items[i].thread, b) ||
          THREAD(a, frame, 8) != THREAD(b, frame, 8) ||
          THREAD(a, stack, 8) != THREAD(b, stack, 8) ||
          COROUTINE(a, top, 8) != COROUTINE(b, top, 8) ||
          COROUTINE(a, created_in, 8) != COROUTINE(b, created_in, 8) ||
          COROUTINE(a, resumed_in, 8) != COROUTINE(b, resumed_in, 8) ||
          COROUTINE(a, resumed_at, 4) != COROUTINE(b, resumed_at, 4))
        s->items[i].sound = false;
    }
  batch_free(&u);
  return !s->no_memory;
}

static uint32_t ticks_now(const struct eventring_introspection *at) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint32_t)((uint64_t)now.tv_sec * at->coroutine.ticks +
                    (uint64_t)now.tv_nsec * at->coroutine.ticks / 1000000000u);
}

static void read_slice(struct slice *s) {
  s->now = ticks_now(&s->host->at);
  if (!read_threads(s, &s->t)) return;
  for (size_t i = 0; i < s->count; i++) take_thread(s, &s->items[i], piece(&s->t, i));
  unsigned char *all = read_frames(s);
  if (!s->no_memory && read_functions(s, all) && read_values(s) && read_again(s, all))
    compare_threads(s);
  free(all);
}

/* Moves out the sound threads; those that must be read again stay in the slice. */
static size_t take_slice(struct slice *s, struct remote_coroutine *out) {
  size_t taken = 0, left = 0;
  for (size_t i = 0; i < s->count; i++) {
    if (s->items[i].sound) out[taken++] = s->items[i].is;
    else s->items[left++].thread = s->items[i].thread;
  }
  s->count = left;
  return taken;
}

size_t remote_coroutines_read(struct remote_host *host, uint64_t domain, const uint64_t *threads,
                              size_t count, struct remote_coroutine *out, uint64_t *torn) {
  struct slice *s = calloc(1, sizeof *s);
  uint64_t looked;
  size_t taken = 0;
  *torn = count;
  if (s == NULL) return 0;
  s->host = host;
  if (remote_locate(host, domain, host->at.coroutine.looked, &looked))
    remote_read_u32(&host->memory, looked, &s->looked);
  for (size_t from = 0; from < count && !s->no_memory; from += SLICE) {
    s->count = count - from < SLICE ? count - from : SLICE;
    for (size_t i = 0; i < s->count; i++) s->items[i].thread = threads[from + i];
    for (int n = 0; n < TRIES && s->count > 0 && !s->no_memory; n++) {
      read_slice(s);
      if (!s->no_memory) taken += take_slice(s, out + taken);
    }
  }
  *torn = count - taken;
  batch_free(&s->t);
  batch_free(&s->frames);
  batch_free(&s->values);
  batch_free(&s->objects);
  free(s->levels);
  free(s);
  return taken;
}
