/* SPDX-License-Identifier: MIT */
/* links_table.h: the entries of a struct eva_links, for the code that works on them
 * (links.c, link_order.c).
 *
 * Units, errors, threads: links.h. */
#ifndef EVENTRING_ANALYSIS_LINKS_TABLE_H
#define EVENTRING_ANALYSIS_LINKS_TABLE_H

#include "analysis/links.h"
#include "format/table.h"

static inline size_t eva_link_home(const struct eva_links *links, uint16_t id, uint64_t link) {
  return evr_hash_word(evr_hash_word(links->seed, id), link) & (links->room - 1);
}

static inline bool eva_link_is_free(const struct eva_link *entry) {
  return !entry->begin.there && !entry->end.there && !entry->queued;
}

/* Returns the entry of a span, or the free one where it belongs. */
static inline struct eva_link *eva_link_entry(const struct eva_links *links, uint16_t id,
                                              uint64_t link) {
  for (size_t at = eva_link_home(links, id, link);; at = (at + 1) & (links->room - 1)) {
    struct eva_link *entry = &links->entries[at];
    if ((entry->link == link && entry->id == id) || eva_link_is_free(entry)) return entry;
  }
}

/* Tells whether the table needs more room before another span is put in. */
static inline bool eva_links_are_full(const struct eva_links *links) {
  return 2 * links->used >= links->room;
}
/* Makes room for more spans. Returns false, with nothing changed, if there is no
   memory. */
bool eva_links_make_room(struct eva_links *links);

/* Gives a free entry to a span. */
static inline void eva_link_use(struct eva_links *links, struct eva_link *entry, uint16_t id,
                                uint64_t link) {
  entry->link = link;
  entry->id = id;
  links->used++;
}

/* Closes the hole of an entry that has become free: spans that follow move up, unless
   their home lies behind the hole. */
static inline void eva_link_close(struct eva_links *links, struct eva_link *entry) {
  const size_t mask = links->room - 1;
  struct eva_link *entries = links->entries;
  size_t hole = (size_t)(entry - entries);
  for (size_t at = (hole + 1) & mask; !eva_link_is_free(&entries[at]); at = (at + 1) & mask) {
    const size_t home = eva_link_home(links, entries[at].id, entries[at].link);
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    entries[hole] = entries[at];
    hole = at;
  }
  entries[hole].begin.there = entries[hole].end.there = entries[hole].is_held = false;
  entries[hole].queued = 0;
  links->used--;
}

/* Takes the next event of a span, whose entry this is. */
static inline void eva_link_take(struct eva_links *links, struct eva_link *entry,
                                 const struct eva_link_event *event,
                                 struct eva_link_outcome *outcome) {
  const bool is_begin = event->role == EVENTRING_ROLE_BEGIN;
  struct eva_link_point *own = is_begin ? &entry->begin : &entry->end;
  struct eva_link_point *other = is_begin ? &entry->end : &entry->begin;
  const struct eva_link_point point = {event->at_ns, event->domain, true};
  const bool in_order = is_begin ? point.ns <= other->ns : other->ns <= point.ns;
  outcome->paired = other->there && in_order;
  outcome->torn.there = false;
  if (outcome->paired) {
    outcome->begin = is_begin ? point : *other;
    outcome->end = is_begin ? *other : point;
    other->there = false;
    if (eva_link_is_free(entry)) eva_link_close(links, entry);
    return;
  }
  if (eva_link_is_free(entry)) eva_link_use(links, entry, event->id, event->link);
  else if (own->there) outcome->torn = *own;
  *own = point;
  *(is_begin ? &entry->begin_order : &entry->end_order) = event->order;
}

/* ---- Rings that come in no order (link_order.c) ------------------------------------ */

static inline uint64_t eva_link_order_next(struct eva_link_order *order, unsigned ring) {
  return (uint64_t)ring << 48 | order->seen++;
}

static inline void eva_link_put(struct eva_link *entry, bool is_end, struct eva_link_point point,
                                uint64_t order) {
  *(is_end ? &entry->end : &entry->begin) = point;
  *(is_end ? &entry->end_order : &entry->begin_order) = order;
}

enum eva_link_met {
  EVA_LINK_OTHER, /* nothing was done: eva_link_order_take has to take the event */
  EVA_LINK_WAITS,
  EVA_LINK_PAIRED /* *begin is set */
};
/* Takes the first event of a span, or the second if the two are a begin and an end. Its
   time must not be before the time of an earlier event of its ring. (Nearly all events
   come here.) */
static inline __attribute__((always_inline)) enum eva_link_met
eva_link_order_meet(struct eva_link_order *order, uint16_t id, uint64_t link, bool is_end,
                    struct eva_link_point point, unsigned ring, uint64_t settled,
                    struct eva_link_point *begin) {
  struct eva_links *links = &order->links;
  if (__builtin_expect(eva_links_are_full(links), 0)) return EVA_LINK_OTHER;
  struct eva_link *entry = eva_link_entry(links, id, link);
  if (eva_link_is_free(entry)) {
    eva_link_use(links, entry, id, link);
    eva_link_put(entry, is_end, point, eva_link_order_next(order, ring));
    return EVA_LINK_WAITS;
  }
  if (entry->is_held || entry->queued || (is_end ? entry->end.there : entry->begin.there))
    return EVA_LINK_OTHER;
  if (is_end && entry->begin.ns < point.ns && point.ns < settled) {
    *begin = entry->begin;
    entry->begin.there = false;
    eva_link_close(links, entry);
    return EVA_LINK_PAIRED;
  }
  eva_link_put(entry, is_end, point, eva_link_order_next(order, ring));
  entry->is_held = entry->begin.ns <= entry->end.ns;
  return EVA_LINK_WAITS;
}

#endif
