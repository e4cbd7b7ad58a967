/* SPDX-License-Identifier: MIT */
/* links.h: finds the end of each async span and its begin, by definition and link.
 *
 * Begin and end may come from different rings, and in either order: a poll that does not
 * merge delivers one ring after the other. For each definition and link, at most one
 * begin and one end wait. A second begin (or end) replaces the first, which then is torn:
 * the host has used the link again after the span ended, or events were lost.
 *
 * Units: nanoseconds. Errors: EVENTRING_E_MEMORY; the event is not taken then. Threads: a
 * table is used by one thread at a time.
 */
#ifndef EVENTRING_ANALYSIS_LINKS_H
#define EVENTRING_ANALYSIS_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eventring/read.h"

/* One end of an async span. */
struct eva_link_point {
  uint64_t ns;
  uint32_t domain;
  bool there;
};

struct eva_link {
  uint64_t link;
  struct eva_link_point begin, end; /* either may wait for its partner, or both */
  uint16_t id;
  bool is_held;    /* `begin` and `end` are paired, unless an event between them still
                      comes */
  uint32_t queued; /* events of the span that are in a queue */
  uint64_t begin_order, end_order; /* `order` of begin and end, where rings come in no
                                      order */
};

/* A hash table of the spans that wait, which are stored in its entries (linear probing;
   at most half of the entries are used; what is dropped leaves no mark). The table of
   format/table.h, with a pointer and a hash in each entry, takes three times as long for
   spans that wait briefly, as most do. An entry is free if neither a begin nor an end
   waits there and no event of the span is queued. A zeroed struct is an empty table. */
struct eva_links {
  struct eva_link *entries;
  size_t room, used; /* room: number of entries, 0 or a power of two */
  uint64_t seed;     /* seed of the hashes; set with the first room */
};

/* A begin or an end of an async span. */
struct eva_link_event {
  uint64_t link, at_ns; /* at_ns: time of the event */
  uint32_t domain;
  uint16_t id;
  uint8_t role;
  /* Where the events of several rings come in no order: */
  uint64_t ns;    /* at_ns, or the latest time before it in its ring, if later */
  uint64_t order; /* decides among equal times; made of slot, ring and number of earlier
                     events */
};

/* The outcome of an event. */
struct eva_link_outcome {
  bool paired; /* then `begin` and `end` are set */
  struct eva_link_point begin, end;
  struct eva_link_point torn; /* the point that was replaced, if any */
};

/* Takes a begin or an end (`role`) of an async span. Returns 0 or E_MEMORY. */
int eva_links_take(struct eva_links *links, const struct eva_link_event *event,
                   struct eva_link_outcome *outcome);
/* Calls `visit` for each span that still waits. */
void eva_links_each(const struct eva_links *links,
                    void (*visit)(void *context, const struct eva_link *link), void *context);
void eva_links_free(struct eva_links *links);

/* ---- Rings that come in no order --------------------------------------------------- */

/* Pairs begins and ends of several rings, each ring in its own order, with the same
   outcome as if all came in the order of their times (link_order.c). A struct that is
   zeroed but for `found` is empty. */
struct eva_link_order {
  struct eva_links links;
  struct eva_link_event *queue, *other; /* `other`: room for sorting the queue */
  size_t count, room, other_room;
  size_t many;  /* when the queue has more events than this, the settled ones are taken */
  uint64_t seen;
  /* Receives the outcome of an event that was taken earlier. Returns 0 or an error. */
  int (*found)(void *context, uint16_t id, const struct eva_link_outcome *outcome);
  void *context;
};
/* Takes an event of ring number `ring`, counted over all domains. `settled`: the time
   before which no other ring has events left. Returns 0 or an error. */
int eva_link_order_take(struct eva_link_order *order, struct eva_link_event *event, unsigned ring,
                        uint64_t settled, struct eva_link_outcome *outcome);
/* Takes all events that still wait, since no more will come. Returns 0 or an error. */
int eva_link_order_finish(struct eva_link_order *order);
void eva_link_order_free(struct eva_link_order *order);

#endif
