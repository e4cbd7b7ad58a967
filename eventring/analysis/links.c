/* SPDX-License-Identifier: MIT */
/* links.c: finds the end of each async span and its begin. */
#include "analysis/links.h"
#include "eventring.h"

#include <stdlib.h>
#include <string.h>

#include "format/array.h"
#include "format/table.h"

/* ---- The table ------------------------------------------------------------------------------- */

static inline size_t home_of(const struct eva_links *links, uint16_t id, uint64_t link) {
  return evr_hash_word(evr_hash_word(links->seed, id), link) & (links->room - 1);
}

static inline bool is_free(const struct eva_link *place) {
  return !place->begin.there && !place->end.there;
}

/* The place of a span, or the free one where it would be. */
static inline struct eva_link *place_of(const struct eva_links *links, uint16_t id,
                                        uint64_t link) {
  for (size_t at = home_of(links, id, link);; at = (at + 1) & (links->room - 1)) {
    struct eva_link *place = &links->places[at];
    if ((place->link == link && place->id == id) || is_free(place)) return place;
  }
}

/* False, with nothing changed: no memory. */
static __attribute__((noinline)) bool make_room(struct eva_links *links) {
  const struct eva_links before = *links;
  const size_t room = before.room ? 2 * before.room : 32;
  struct eva_link *places = calloc(room, sizeof *places);
  if (!places) return false;
  *links = (struct eva_links){places, room, before.used, evr_hash_seed()};
  for (size_t i = 0; i < before.room; i++)
    if (!is_free(&before.places[i]))
      *place_of(links, before.places[i].id, before.places[i].link) = before.places[i];
  free(before.places);
  return true;
}

/* A place became free. What follows it moves up, unless it is at home behind it. */
static inline void close_hole(struct eva_links *links, size_t hole) {
  const size_t mask = links->room - 1;
  struct eva_link *places = links->places;
  for (size_t at = (hole + 1) & mask; !is_free(&places[at]); at = (at + 1) & mask) {
    const size_t home = home_of(links, places[at].id, places[at].link);
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    places[hole] = places[at];
    hole = at;
  }
  places[hole].begin.there = places[hole].end.there = false;
  links->used--;
}

int eva_links_take(struct eva_links *links, const struct eva_link_event *event,
                   struct eva_link_outcome *outcome) {
  if (2 * links->used >= links->room && !make_room(links)) return EVENTRING_E_MEMORY;
  const bool is_begin = event->role == EVENTRING_ROLE_BEGIN;
  struct eva_link *place = place_of(links, event->id, event->link);
  struct eva_link_point *own = is_begin ? &place->begin : &place->end;
  struct eva_link_point *other = is_begin ? &place->end : &place->begin;
  const struct eva_link_point point = {event->at_ns, event->domain, true};
  const bool in_order = is_begin ? point.ns <= other->ns : other->ns <= point.ns;
  outcome->paired = other->there && in_order;
  outcome->torn.there = false;
  if (outcome->paired) {
    outcome->begin = is_begin ? point : *other;
    outcome->end = is_begin ? *other : point;
    other->there = false;
    if (!own->there) close_hole(links, (size_t)(place - links->places));
    return EVENTRING_OK;
  }
  if (is_free(place)) {
    place->link = event->link;
    place->id = event->id;
    links->used++;
  } else if (own->there) {
    outcome->torn = *own;
  }
  *own = point;
  return EVENTRING_OK;
}

void eva_links_each(const struct eva_links *links,
                    void (*visit)(void *context, const struct eva_link *link), void *context) {
  for (size_t i = 0; i < links->room; i++)
    if (!is_free(&links->places[i])) visit(context, &links->places[i]);
}

void eva_links_free(struct eva_links *links) {
  free(links->places);
  *links = (struct eva_links){0};
}

/* ---- Those that wait for earlier ones -------------------------------------------------------- */

int eva_link_queue_add(struct eva_link_queue *queue, const struct eva_link_event *event) {
  if (!EVR_MAKE_ROOM(queue->event, queue->room, queue->count, 256)) return EVENTRING_E_MEMORY;
  queue->event[queue->count++] = *event;
  return EVENTRING_OK;
}

static bool is_earlier(const struct eva_link_event *a, const struct eva_link_event *b) {
  return a->ns != b->ns ? a->ns < b->ns : a->order < b->order;
}

/* Where the run ends that begins at `from`: events in their order. */
static size_t end_of_run(const struct eva_link_queue *queue, size_t from) {
  size_t end = from + 1;
  while (end < queue->count && !is_earlier(&queue->event[end], &queue->event[end - 1])) end++;
  return end;
}

/* Merges two runs that follow each other: [from, middle) and [middle, end). */
static void merge_runs(const struct eva_link_event *event, struct eva_link_event *to, size_t from,
                       size_t middle, size_t end) {
  size_t left = from, right = middle;
  for (size_t at = from; at < end; at++) {
    const bool is_right =
        left == middle || (right < end && is_earlier(&event[right], &event[left]));
    to[at] = event[is_right ? right++ : left++];
  }
}

/* (A batch of one ring is a run, so there are few.) */
int eva_link_queue_sort(struct eva_link_queue *queue) {
  while (queue->count && end_of_run(queue, 0) < queue->count) {
    if (queue->other_room < queue->room) {
      struct eva_link_event *other = reallocarray(queue->other, queue->room, sizeof *other);
      if (!other) return EVENTRING_E_MEMORY;
      queue->other = other;
      queue->other_room = queue->room;
    }
    for (size_t from = 0, end; from < queue->count; from = end) {
      const size_t middle = end_of_run(queue, from);
      end = middle < queue->count ? end_of_run(queue, middle) : middle;
      merge_runs(queue->event, queue->other, from, middle, end);
    }
    struct eva_link_event *sorted = queue->other;
    const size_t room = queue->other_room;
    queue->other = queue->event;
    queue->other_room = queue->room;
    queue->event = sorted;
    queue->room = room;
  }
  return EVENTRING_OK;
}

void eva_link_queue_drop(struct eva_link_queue *queue, size_t count) {
  queue->count -= count;
  if (queue->count)
    memmove(queue->event, queue->event + count, queue->count * sizeof *queue->event);
}

void eva_link_queue_free(struct eva_link_queue *queue) {
  free(queue->event);
  free(queue->other);
}
