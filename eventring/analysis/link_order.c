/* SPDX-License-Identifier: MIT */
/* link_order.c: pairs begins and ends of async spans when events come ring by ring, not
 * in the order of their times.
 *
 * What becomes of a begin or an end (its *outcome*: it is paired, or found to be torn)
 * also depends on the events of its span that were written earlier in other rings. A span
 * nearly always has one begin and one end, which may come in either order: they belong
 * together if the end is not earlier. So the two are paired in the table at once, and
 * nothing is sorted. The pair is held in its entry as long as an event of the span that
 * is earlier than the pair's end may still come. It is reported when its entry is needed
 * again or the table is full, provided that nothing earlier can come any more.
 *
 * The events of a span wait in a sorted queue in two cases only: a third event of the
 * span comes before the outcome of the others is known, or an event has an earlier time
 * than the event before it in its ring. An event that stays in the entry of such a span
 * is earlier than all events of the span in the queue. */
#include "analysis/links_table.h"

#include <stdlib.h>
#include <string.h>

#include "format/array.h"

static uint64_t lesser(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* ---- The queue --------------------------------------------------------------------- */

static int queue_event(struct eva_link_order *order, const struct eva_link_event *event) {
  if (!EVR_MAKE_ROOM(order->queue, order->room, order->count, 256)) return EVENTRING_E_MEMORY;
  order->queue[order->count++] = *event;
  return EVENTRING_OK;
}

static bool is_earlier(const struct eva_link_event *a, const struct eva_link_event *b) {
  return a->ns != b->ns ? a->ns < b->ns : a->order < b->order;
}

/* Returns the end of the run that begins at `from`: a run is a stretch of events in
   order. */
static size_t end_of_run(const struct eva_link_order *order, size_t from) {
  size_t end = from + 1;
  while (end < order->count && !is_earlier(&order->queue[end], &order->queue[end - 1])) end++;
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

/* Sorts the queue by merging its runs. (A batch of one ring is a run, so there are
   few.) */
static int sort_queue(struct eva_link_order *order) {
  while (order->count && end_of_run(order, 0) < order->count) {
    if (order->other_room < order->room) {
      struct eva_link_event *other = reallocarray(order->other, order->room, sizeof *other);
      if (!other) return EVENTRING_E_MEMORY;
      order->other = other;
      order->other_room = order->room;
    }
    for (size_t from = 0, end; from < order->count; from = end) {
      const size_t middle = end_of_run(order, from);
      end = middle < order->count ? end_of_run(order, middle) : middle;
      merge_runs(order->queue, order->other, from, middle, end);
    }
    struct eva_link_event *sorted = order->other;
    const size_t room = order->other_room;
    order->other = order->queue;
    order->other_room = order->room;
    order->queue = sorted;
    order->room = room;
  }
  return EVENTRING_OK;
}

static int tell(struct eva_link_order *order, uint16_t id, const struct eva_link_outcome *outcome) {
  if (!outcome->paired && !outcome->torn.there) return EVENTRING_OK;
  return order->found(order->context, id, outcome);
}

/* Takes the events of the queue that are earlier than `before`. */
static int settle_queue(struct eva_link_order *order, uint64_t before) {
  struct eva_links *links = &order->links;
  size_t taken = 0;
  int status = sort_queue(order);
  for (; status == EVENTRING_OK && taken < order->count; taken++) {
    if (order->queue[taken].ns >= before) break;
    const struct eva_link_event *event = &order->queue[taken];
    struct eva_link *entry = eva_link_entry(links, event->id, event->link);
    struct eva_link_outcome outcome;
    eva_link_take(links, entry, event, &outcome);
    entry->queued--;
    if (eva_link_is_free(entry)) eva_link_close(links, entry);
    status = tell(order, event->id, &outcome);
  }
  order->count -= taken;
  if (order->count)
    memmove(order->queue, order->queue + taken, order->count * sizeof *order->queue);
  return status;
}

/* ---- Pairs that are held ----------------------------------------------------------- */

static uint64_t latest_of(const struct eva_link *entry) {
  const uint64_t begin = entry->begin.there ? entry->begin.ns : 0;
  const uint64_t end = entry->end.there ? entry->end.ns : 0;
  return begin > end ? begin : end;
}

/* Reports the pair that the entry holds; after that neither begin nor end waits there. */
static int tell_held(struct eva_link_order *order, struct eva_link *entry) {
  const struct eva_link_outcome outcome = {.paired = true, .begin = entry->begin,
                                           .end = entry->end};
  entry->begin.there = entry->end.there = entry->is_held = false;
  return order->found(order->context, entry->id, &outcome);
}

/* Reports all pairs that end before `before`. (Closing an entry may move another span
   into it; so the same entry is checked again.) */
static int settle_held(struct eva_link_order *order, uint64_t before) {
  struct eva_links *links = &order->links;
  for (size_t i = 0; i < links->room; i++) {
    struct eva_link *entry = &links->entries[i];
    while (entry->is_held && entry->end.ns < before) {
      int status = tell_held(order, entry);
      eva_link_close(links, entry);
      if (status != EVENTRING_OK) return status;
    }
  }
  return EVENTRING_OK;
}

/* Makes room for another span: reports the pairs that can be reported. If at least a
   quarter of the entries are in use even then, enlarges the table. (It counts as full
   when half of its entries are in use, so it would soon be full and searched again.) */
static __attribute__((noinline)) int make_room(struct eva_link_order *order, uint64_t before) {
  struct eva_links *links = &order->links;
  int status = settle_held(order, before);
  if (status != EVENTRING_OK || (links->room && 4 * links->used < links->room)) return status;
  return eva_links_make_room(links) ? EVENTRING_OK : EVENTRING_E_MEMORY;
}

/* ---- Taking ------------------------------------------------------------------------ */

/* Moves the begin or the end (`role`) that waits in an entry into the queue, unless it is
   earlier than `before`. */
static int queue_point(struct eva_link_order *order, struct eva_link *entry, uint8_t role,
                       uint64_t before) {
  const bool is_begin = role == EVENTRING_ROLE_BEGIN;
  struct eva_link_point *point = is_begin ? &entry->begin : &entry->end;
  if (!point->there || point->ns < before) return EVENTRING_OK;
  const struct eva_link_event event = {
      .link = entry->link, .at_ns = point->ns, .domain = point->domain, .id = entry->id,
      .role = role, .ns = point->ns, .order = is_begin ? entry->begin_order : entry->end_order};
  point->there = false;
  entry->queued++;
  return queue_event(order, &event);
}

/* Puts an event into the queue, and with it the begin and the end that wait in the entry
   of its span. A begin or an end that is earlier than `before` stays in the entry: all
   events still to come are later. */
static __attribute__((noinline)) int wait_for_others(struct eva_link_order *order,
                                                     struct eva_link *entry,
                                                     const struct eva_link_event *event,
                                                     uint64_t before) {
  enum { MANY = 4096 };
  int status = EVENTRING_OK;
  if (eva_link_is_free(entry)) eva_link_use(&order->links, entry, event->id, event->link);
  if (entry->is_held && latest_of(entry) < before) status = tell_held(order, entry);
  entry->is_held = false;
  entry->queued++;
  if (status == EVENTRING_OK) status = queue_event(order, event);
  if (status == EVENTRING_OK) status = queue_point(order, entry, EVENTRING_ROLE_BEGIN, before);
  if (status == EVENTRING_OK) status = queue_point(order, entry, EVENTRING_ROLE_END, before);
  if (status != EVENTRING_OK || order->count <= order->many) return status;
  status = settle_queue(order, before);
  order->many = 2 * order->count + MANY;
  return status;
}

/* Takes an event that eva_link_order_meet did not take: its span has more than one begin
   or end, or the event has an earlier time than the event before it in its ring. */
static int take_further(struct eva_link_order *order, struct eva_link *entry,
                        const struct eva_link_event *event, uint64_t settled,
                        struct eva_link_outcome *outcome) {
  const uint64_t before = lesser(event->ns, settled);
  const bool is_last = latest_of(entry) < before;
  if (entry->queued || event->ns != event->at_ns || !is_last)
    return wait_for_others(order, entry, event, before);
  if (entry->is_held) {
    *outcome = (struct eva_link_outcome){.paired = true, .begin = entry->begin,
                                         .end = entry->end};
    entry->begin.there = entry->end.there = entry->is_held = false;
    eva_link_put(entry, event->role != EVENTRING_ROLE_BEGIN,
                 (struct eva_link_point){event->at_ns, event->domain, true}, event->order);
    return EVENTRING_OK;
  }
  if (event->ns >= settled) return wait_for_others(order, entry, event, before);
  eva_link_take(&order->links, entry, event, outcome);
  return EVENTRING_OK;
}

int eva_link_order_take(struct eva_link_order *order, struct eva_link_event *event, unsigned ring,
                        uint64_t settled, struct eva_link_outcome *outcome) {
  const bool is_end = event->role != EVENTRING_ROLE_BEGIN;
  outcome->paired = outcome->torn.there = false;
  if (eva_links_are_full(&order->links)) {
    int status = make_room(order, lesser(event->ns, settled));
    if (status != EVENTRING_OK) return status;
  }
  if (event->ns == event->at_ns) {
    const struct eva_link_point point = {event->at_ns, event->domain, true};
    enum eva_link_met met = eva_link_order_meet(order, event->id, event->link, is_end, point, ring,
                                                settled, &outcome->begin);
    if (met == EVA_LINK_WAITS) return EVENTRING_OK;
    if (met == EVA_LINK_PAIRED) {
      outcome->end = point;
      outcome->paired = true;
      return EVENTRING_OK;
    }
  }
  event->order = eva_link_order_next(order, ring);
  return take_further(order, eva_link_entry(&order->links, event->id, event->link), event, settled,
                      outcome);
}

int eva_link_order_finish(struct eva_link_order *order) {
  int status = settle_queue(order, UINT64_MAX);
  return status == EVENTRING_OK ? settle_held(order, UINT64_MAX) : status;
}

void eva_link_order_free(struct eva_link_order *order) {
  eva_links_free(&order->links);
  free(order->queue);
  free(order->other);
  *order = (struct eva_link_order){0};
}
