/* SPDX-License-Identifier: MIT */
/* links.c: finds the end of each async span and its begin. */
#include "analysis/links.h"
#include "eventring.h"

#include <stdlib.h>

enum { FIRST_BUCKETS = 64 };

static size_t bucket_of(const struct eva_links *links, size_t room, uint64_t link,
                        uint16_t id) {
  uint64_t hash = (link ^ links->seed) + (uint64_t)id * 0x9e3779b97f4a7c15;
  hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccd;
  hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53;
  return (hash ^ hash >> 33) & (room - 1);
}

/* Doubles the buckets. */
static int grow_buckets(struct eva_links *links) {
  size_t room = links->room ? 2 * links->room : FIRST_BUCKETS;
  struct eva_link **buckets = calloc(room, sizeof *buckets);
  if (!buckets) return EVENTRING_E_MEMORY;
  if (!links->room) links->seed = eventring_now() * 0x9e3779b97f4a7c15 ^ (uintptr_t)buckets;
  for (size_t i = 0; i < links->room; i++)
    for (struct eva_link *link = links->buckets[i], *next; link; link = next) {
      struct eva_link **bucket = &buckets[bucket_of(links, room, link->link, link->id)];
      next = link->next;
      link->next = *bucket;
      *bucket = link;
    }
  free(links->buckets);
  links->buckets = buckets;
  links->room = room;
  return EVENTRING_OK;
}

/* Where the span is, or is to be, linked in. */
static struct eva_link **place_of(const struct eva_links *links, uint64_t link, uint16_t id) {
  struct eva_link **place = &links->buckets[bucket_of(links, links->room, link, id)];
  while (*place && ((*place)->link != link || (*place)->id != id)) place = &(*place)->next;
  return place;
}

static void drop_if_idle(struct eva_links *links, struct eva_link **place) {
  struct eva_link *link = *place;
  if (link->begin.there || link->end.there) return;
  *place = link->next;
  free(link);
  links->used--;
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
  if (links->used >= links->room && grow_buckets(links) < 0) return EVENTRING_E_MEMORY;
  struct eva_link **place = place_of(links, event->link, event->id);
  if (!*place) {
    struct eva_link *link = calloc(1, sizeof *link);
    if (!link) return EVENTRING_E_MEMORY;
    link->link = event->link;
    link->id = event->id;
    *place = link;
    links->used++;
  }
  struct eva_link_point point = {event->ns, event->domain, true};
  meet(*place, event->role == EVENTRING_ROLE_BEGIN, point, outcome);
  drop_if_idle(links, place);
  return EVENTRING_OK;
}

void eva_links_each(const struct eva_links *links,
                    void (*visit)(void *context, const struct eva_link *link), void *context) {
  for (size_t i = 0; i < links->room; i++)
    for (const struct eva_link *link = links->buckets[i]; link; link = link->next)
      visit(context, link);
}

void eva_links_free(struct eva_links *links) {
  for (size_t i = 0; i < links->room; i++)
    for (struct eva_link *link = links->buckets[i], *next; link; link = next) {
      next = link->next;
      free(link);
    }
  free(links->buckets);
  *links = (struct eva_links){0};
}
