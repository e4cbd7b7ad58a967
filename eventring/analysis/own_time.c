/* SPDX-License-Identifier: MIT */
/* own_time.c: the time of spans without that of the spans within them.
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
  if (context->frame) free(context->frame - 1);
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
    struct eva_own_frame *all = c->frame ? c->frame - 1 : NULL;
    all = realloc(all, ((size_t)room + 1) * sizeof *all);
    if (!all) return EVENTRING_E_MEMORY;
    all->within = 0;
    c->frame = all + 1;
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
  bool matched = event->flags & EVENTRING_MATCHED && !(event->flags & EVENTRING_TORN);
  uint64_t whole = matched && event->ns > event->begin_ns ? event->ns - event->begin_ns : 0;
  if (matched && frame->losses == own->losses && frame->within <= whole)
    *own_ns = (int64_t)(whole - frame->within);
  c->open = event->depth;
  if (!c->open) {
    retire(own, c);
    return EVENTRING_OK;
  }
  struct eva_own_frame *outer = &c->frame[c->open - 1];
  outer->within += whole;
  if (!matched) outer->losses = NEVER;
  return EVENTRING_OK;
}

int eva_own_time_event(struct eva_own_time *own, const struct eventring_event *event,
                       int64_t *own_ns) {
  *own_ns = -1;
  if (event->depth > MOST_DEPTH) return EVENTRING_OK; /* damage */
  if (event->kind == EVENTRING_BEGIN) return begin(own, event);
  return event->kind == EVENTRING_END ? end(own, event, own_ns) : EVENTRING_OK;
}

bool eva_own_run_start(struct eva_own_run *run, struct eva_own_time *own, uint64_t context) {
  struct eva_own_context *c = own->last;
  if (!c || c->context != context) c = own->room ? *place_of(own, context) : NULL;
  if (!c || !c->frame) return false;
  own->last = c;
  /* the end of its last span is to be noted once: then the context is idle */
  *run = (struct eva_own_run){.context = c, .frame = c->frame, .losses = own->losses,
                              .open = c->open, .room = c->room, .least = own->idle != c};
  return true;
}

void eva_own_run_stop(const struct eva_own_run *run) { run->context->open = run->open; }

void eva_own_time_lost(struct eva_own_time *own) { own->losses++; }

void eva_own_time_clear(struct eva_own_time *own) {
  for (size_t i = 0; i < own->room; i++)
    for (struct eva_own_context *c = own->buckets[i], *next; c; c = next) {
      next = c->next;
      free_context(c);
    }
  free(own->buckets);
  *own = (struct eva_own_time){.losses = own->losses};
}

void eva_own_time_free(struct eva_own_time *own) { eva_own_time_clear(own); }
