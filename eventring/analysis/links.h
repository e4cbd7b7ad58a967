/* SPDX-License-Identifier: MIT */
/* links.h: finds the end of each async span and its begin, by definition and link.
 *
 * They may come from different rings and in either order, for a poll that does not merge
 * delivers one ring after the other. For each definition and link one begin and one end
 * wait at most: a second one takes the place of the first, which is torn then (the host
 * uses a link again after the span has ended, or events were lost).
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
  struct eva_link_point begin, end; /* that wait for each other's */
  uint16_t id;
};

/* A hash table of the spans that wait, themselves in its places: a search begins at the place
   that the hash says and goes on, at most half of the places are used, and what is dropped leaves
   no mark (format/table.h, whose table has a pointer and a hash in each place, takes three times
   as long for spans that wait as briefly as most do). A place is free where neither end waits. A
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
  /* Of one in a queue: */
  uint64_t ns;    /* at_ns, or that of a later one that was written before it in its ring */
  uint64_t order; /* of those with the same time: slot, ring, and how many came before */
};
/* Those that came before it was known what other rings have earlier. */
struct eva_link_queue {
  struct eva_link_event *event, *other; /* `other`: where they are sorted to */
  size_t count, room, other_room;
};
/* Puts one in. 0 or E_MEMORY. */
int eva_link_queue_add(struct eva_link_queue *queue, const struct eva_link_event *event);
/* Sorts them by time. 0 or E_MEMORY. */
int eva_link_queue_sort(struct eva_link_queue *queue);
void eva_link_queue_free(struct eva_link_queue *queue);
/* Drops the first `count`. */
void eva_link_queue_drop(struct eva_link_queue *queue, size_t count);

/* What an event has brought about. */
struct eva_link_outcome {
  bool paired; /* with `begin` and `end` */
  struct eva_link_point begin, end;
  struct eva_link_point torn; /* when there: the one that was replaced */
};

/* Takes a begin or an end (`role`) of an async span. 0 or E_MEMORY. */
int eva_links_take(struct eva_links *links, const struct eva_link_event *event,
                   struct eva_link_outcome *outcome);
/* Calls `visit` for each that still waits. */
void eva_links_each(const struct eva_links *links,
                    void (*visit)(void *context, const struct eva_link *link), void *context);
void eva_links_free(struct eva_links *links);

#endif
