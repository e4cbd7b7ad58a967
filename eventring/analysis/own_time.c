/* SPDX-License-Identifier: MIT */
/* own_time.c: the time of spans without what is suspended, and without the spans within them.
 *
 * Each context has a frame for each depth: the time of the spans at the next depth that have
 * ended since this one began. */
#include "analysis/own_time.h"

#include <stdlib.h>

enum { FIRST_BUCKETS = 16, FIRST_FRAMES = 8, MOST_DEPTH = 1 << 20 };
#define NEVER UINT64_MAX

/* ---- Contexts ------------------------------------------------------------------------ */

static size_t bucket_of(uint64_t context, size_t room) {
  uint64_t hash = context * 0x9e3779b97f4a7c15;
  return (hash ^ hash >> 32) & (room - 1);
}

static int grow_buckets(struct eva_own_time *own) {
  size_t room = own->room ? 2 * own->room : FIRST_BUCKETS;
  struct eva_own_context **buckets = calloc(room, sizeof *buckets);
  if (!buckets) return EVENTRING_E_MEMORY;
  for (size_t i = 0; i < own->room; i++)
    for (struct eva_own_context *c = own->buckets[i], *next; c; c = next) {
      struct eva_own_context **bucket = &buckets[bucket_of(c->context, room)];
      next = c->next;
      c->next = *bucket;
      *bucket = c;
    }
  free(own->buckets);
  own->buckets = buckets;
  own->room = room;
  return EVENTRING_OK;
}

static struct eva_own_context **place_of(const struct eva_own_time *own, uint64_t context) {
  struct eva_own_context **place = &own->buckets[bucket_of(context, own->room)];
  while (*place && (*place)->context != context) place = &(*place)->next;
  return place;
}

static struct eva_own_context *context_at(struct eva_own_time *own, uint64_t context) {
  if (own->last && own->last->context == context) return own->last;
  if (own->used >= own->room && grow_buckets(own) < 0) return NULL;
  struct eva_own_context **place = place_of(own, context);
  if (!*place) {
    *place = calloc(1, sizeof **place);
    if (!*place) return NULL;
    (*place)->context = context;
    own->used++;
  }
  return own->last = *place;
}

static void free_context(struct eva_own_context *context) {
  free(context->frame);
  free(context);
}

static void drop(struct eva_own_time *own, const struct eva_own_context *context) {
  struct eva_own_context **place = place_of(own, context->context), *gone = *place;
  *place = gone->next;
  free_context(gone);
  own->used--;
  if (own->last == gone) own->last = NULL;
}

/* Its last span has ended. The one that did so last is kept: most begin another one soon. */
static void retire(struct eva_own_time *own, struct eva_own_context *context) {
  struct eva_own_context *before = own->idle;
  own->idle = context;
  if (before && before != context && !before->open) drop(own, before);
}

void eva_own_time_free(struct eva_own_time *own) {
  for (size_t i = 0; i < own->room; i++)
    for (struct eva_own_context *c = own->buckets[i], *next; c; c = next) {
      next = c->next;
      free_context(c);
    }
  free(own->buckets);
  *own = (struct eva_own_time){.losses = own->losses};
}

/* All spans end with the domain that another one follows in its slot. */
static void take_incarnation(struct eva_own_time *own, uint32_t incarnation) {
  if (own->incarnation == incarnation) return;
  eva_own_time_free(own);
  own->incarnation = incarnation;
}

/* ---- Events -------------------------------------------------------------------------- */

/* Room for `count` frames; those that are skipped began before they could be seen. */
static int open_frames(struct eva_own_context *c, uint32_t count, bool begins) {
  if (count <= c->room && count <= c->open + begins) { /* a begin fills its own */
    c->open = count;
    return EVENTRING_OK;
  }
  if (count > c->room) {
    uint32_t room = c->room ? 2 * c->room : FIRST_FRAMES;
    if (room < count) room = count;
    struct eva_own_frame *grown = realloc(c->frame, room * sizeof *grown);
    if (!grown) return EVENTRING_E_MEMORY;
    c->frame = grown;
    c->room = room;
  }
  for (; c->open < count; c->open++) c->frame[c->open] = (struct eva_own_frame){0, NEVER};
  c->open = count;
  return EVENTRING_OK;
}

static int begin(struct eva_own_time *own, const struct eventring_event *event) {
  struct eva_own_context *c = context_at(own, event->context);
  if (!c || open_frames(c, event->depth + 1, true) < 0) return EVENTRING_E_MEMORY;
  bool seen = !(event->flags & EVENTRING_SYNTHETIC);
  c->frame[event->depth] = (struct eva_own_frame){0, seen ? own->losses : NEVER};
  return EVENTRING_OK;
}

static int end(struct eva_own_time *own, const struct eventring_event *event, int64_t *own_ns) {
  struct eva_own_context *c = context_at(own, event->context);
  if (!c || open_frames(c, event->depth + 1, false) < 0) return EVENTRING_E_MEMORY;
  const struct eva_own_frame *frame = &c->frame[event->depth];
  bool whole = eva_is_whole_span(event);
  uint64_t ran = whole ? event->ns - event->begin_ns - event->suspended_ns : 0;
  if (whole && frame->losses == own->losses && frame->within <= ran)
    *own_ns = (int64_t)(ran - frame->within);
  c->open = event->depth;
  if (!c->open) {
    retire(own, c);
    return EVENTRING_OK;
  }
  struct eva_own_frame *outer = &c->frame[c->open - 1];
  outer->within += ran;
  if (!whole) outer->losses = NEVER;
  return EVENTRING_OK;
}

int eva_own_time_event(struct eva_own_time *own, const struct eventring_event *event,
                       int64_t *own_ns) {
  *own_ns = -1;
  if (event->depth > MOST_DEPTH) return EVENTRING_OK; /* damage */
  take_incarnation(own, event->incarnation);
  if (event->kind == EVENTRING_BEGIN) return begin(own, event);
  return event->kind == EVENTRING_END ? end(own, event, own_ns) : EVENTRING_OK;
}

/* ---- Batches ------------------------------------------------------------------------- */

/* The end of a span that began before the batch. */
static int end_outer(struct eva_own_time *own, struct eva_own_context *c, uint32_t depth,
                     const struct eventring_outer *outer, int64_t *own_ns) {
  if (open_frames(c, depth + 1, false) < 0) return EVENTRING_E_MEMORY;
  const struct eva_own_frame *frame = &c->frame[depth];
  uint64_t within = frame->within + outer->within;
  bool known = frame->losses == own->losses && within <= outer->took;
  *own_ns = known ? (int64_t)(outer->took - within) : -1;
  return EVENTRING_OK;
}

int eva_own_time_batch(struct eva_own_time *own, const struct eventring_batch *batch,
                       int64_t *own_ns) {
  take_incarnation(own, batch->incarnation);
  struct eva_own_context *c = context_at(own, batch->context);
  if (!c) return EVENTRING_E_MEMORY;
  uint32_t depth = batch->depth;
  for (const struct eventring_outer *outer = batch->outer; depth > batch->depth_around; outer++)
    if (end_outer(own, c, --depth, outer, own_ns++) < 0) return EVENTRING_E_MEMORY;
  if (open_frames(c, depth, false) < 0) return EVENTRING_E_MEMORY;
  if (depth) c->frame[depth - 1].within += batch->within;
  if (open_frames(c, depth + (uint32_t)batch->opened_count, false) < 0) return EVENTRING_E_MEMORY;
  for (size_t i = 0; i < batch->opened_count; i++)
    c->frame[depth + i] = (struct eva_own_frame){batch->opened[i].within, own->losses};
  if (!c->open) retire(own, c);
  return EVENTRING_OK;
}

void eva_own_time_lost(struct eva_own_time *own) { own->losses++; }
