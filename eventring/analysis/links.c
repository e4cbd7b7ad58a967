/* SPDX-License-Identifier: MIT */
/* links.c: finds the end of each async span and its begin. */
#include "analysis/links.h"
#include "eventring.h"

#include <stdlib.h>
#include <string.h>

#include "format/array.h"

static bool is_link(const void *context, uintptr_t value, const void *key) {
  const struct eva_link *link = (const struct eva_link *)value;
  const struct eventring_event *event = key;
  (void)context;
  return link->link == event->link && link->id == event->id;
}

/* Joins the point to the one that waits for it, or leaves it waiting. */
static void meet(struct eva_link *link, bool is_begin, struct eva_link_point point,
                 struct eva_link_outcome *outcome) {
  struct eva_link_point *own = is_begin ? &link->begin : &link->end;
  struct eva_link_point *other = is_begin ? &link->end : &link->begin;
  const struct eva_link_point *begin = is_begin ? &point : other;
  const struct eva_link_point *end = is_begin ? other : &point;
  if (other->there && begin->ns <= end->ns) {
    *outcome = (struct eva_link_outcome){.paired = true, .begin = *begin, .end = *end};
    other->there = false;
  } else {
    outcome->torn = *own;
    *own = point;
  }
}

int eva_links_take(struct eva_links *links, const struct eventring_event *event,
                   struct eva_link_outcome *outcome) {
  *outcome = (struct eva_link_outcome){0};
  const uint64_t hash = evr_hash_word(evr_hash_word(evr_hash_seed(), event->id), event->link);
  uintptr_t *value = evr_table_take(&links->table, hash, is_link, NULL, event);
  if (!value) return EVENTRING_E_MEMORY;
  struct eva_link *link = (struct eva_link *)*value;
  if (!link) {
    link = links->spare ? links->spare : malloc(sizeof *link);
    if (!link) return EVENTRING_E_MEMORY;
    *link = (struct eva_link){0};
    links->spare = NULL;
    link->link = event->link;
    link->id = event->id;
    *value = (uintptr_t)link;
  }
  struct eva_link_point point = {event->ns, event->domain, true};
  meet(link, event->role == EVENTRING_ROLE_BEGIN, point, outcome);
  if (!link->begin.there && !link->end.there) {
    evr_table_drop(&links->table, hash, (uintptr_t)link);
    free(links->spare);
    links->spare = link;
  }
  return EVENTRING_OK;
}

void eva_links_each(const struct eva_links *links,
                    void (*visit)(void *context, const struct eva_link *link), void *context) {
  for (size_t i = 0; i < links->table.room; i++)
    if (links->table.places[i].value) visit(context, (void *)links->table.places[i].value);
}

void eva_links_free(struct eva_links *links) {
  for (size_t i = 0; i < links->table.room; i++) free((void *)links->table.places[i].value);
  free(links->spare);
  links->spare = NULL;
  evr_table_free(&links->table);
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
