/* SPDX-License-Identifier: MIT */
/* links.h: finds the end of each async span and its begin, by definition and link.
 *
 * The two may come from different rings and in either order, as a poll that does not
 * merge delivers one ring after the other. For each definition and link at most one begin
 * and one end wait: a second one takes the place of the first, which is torn then (the
 * host uses a link again after the span has ended, or events were lost).
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
  struct eva_link_point begin, end; /* each waits for the other */
  uint16_t id;
  bool is_held;    /* the two belong together, unless an event between them comes later */
  uint32_t queued; /* events of the span that are in a queue */
  uint64_t begin_order, end_order; /* `order` of these, where rings come in no order */
};

/* A hash table of the spans that wait, which lie in its places themselves. A search
   begins at the place that the hash says and goes on from there, at most half of the
   places are used, and what is dropped leaves no mark. (The table of format/table.h,
   which has a pointer and a hash in each place, takes three times as long for spans that
   wait as briefly as most do.) A place is free if neither end waits and none is queued. A
   zeroed struct is an empty table. */
struct eva_links {
  struct eva_link *places;
  size_t room, used; /* room: 0 or a power of two */
  uint64_t seed;     /* of hashes; set with the first room */
};

/* A begin or an end of an async span. */
struct eva_link_event {
  uint64_t link, at_ns; /* its time */
  uint32_t domain;
  uint16_t id;
  uint8_t role;
  /* Where the events of several rings come in no order: */
  uint64_t ns;    /* at_ns, or that of a later event before it in its ring */
  uint64_t order; /* among equal times: slot, ring, and how many came before */
};

/* What an event has brought about. */
struct eva_link_outcome {
  bool paired; /* then `begin` and `end` are set */
  struct eva_link_point begin, end;
  struct eva_link_point torn; /* if it is there: the one that was replaced */
};

/* Takes a begin or an end (`role`) of an async span. Returns 0 or E_MEMORY. */
int eva_links_take(struct eva_links *links, const struct eva_link_event *event,
                   struct eva_link_outcome *outcome);
/* Calls `visit` for each span that still waits. */
void eva_links_each(const struct eva_links *links,
                    void (*visit)(void *context, const struct eva_link *link), void *context);
void eva_links_free(struct eva_links *links);

/* ---- Rings that come in no order --------------------------------------------------- */

/* Begins and ends of several rings, each ring in its order, taken with the outcome that
   they have in the order of their times (link_order.c). A zeroed struct with `found` is
   empty. */
struct eva_link_order {
  struct eva_links links;
  struct eva_link_event *queue, *other; /* `other`: where the queue is sorted into */
  size_t count, room, other_room;
  size_t many;  /* with more events than this in the queue, those settled are taken */
  uint64_t seen;
  /* Gets what an event that was taken earlier has brought about. Returns 0 or an
     error. */
  int (*found)(void *context, uint16_t id, const struct eva_link_outcome *outcome);
  void *context;
};
/* Takes an event of ring number `ring`, counted over all domains. `settled`: no other
   ring has an event before that time any more. Returns 0 or an error. */
int eva_link_order_take(struct eva_link_order *order, struct eva_link_event *event, unsigned ring,
                        uint64_t settled, struct eva_link_outcome *outcome);
/* Takes all that still waits, as nothing more comes. Returns 0 or an error. */
int eva_link_order_finish(struct eva_link_order *order);
void eva_link_order_free(struct eva_link_order *order);

#endif
