/* SPDX-License-Identifier: MIT */
/* heap.h: what was allocated and what is alive, by stack, from a recording.
 *
 * There are two sources: the heap profiles of the file, which have all since they began,
 * up to the last collection; and the events of class ALLOC, which have what lies within a
 * time, as far as the ring still holds it. Errors: those of the functions of the reader.
 * Threads: one at a time.
 */
#ifndef EVENTRING_ANALYSIS_HEAP_H
#define EVENTRING_ANALYSIS_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eventring/memory.h"
#include "eventring/read.h"

enum eva_measure { EVA_LIVE, EVA_ALLOCATED, EVA_PEAK, EVA_TEMPORARY, EVA_MEASURES };

struct eva_amount { /* may be added up */
  double samples, bytes, objects, variance; /* of the bytes */
};

struct eva_heap_row {
  uint32_t stack, domain;
  uint16_t span; /* id, plus 1; 0: none */
  uint8_t kind, origin;
  struct eva_amount amount[EVA_MEASURES];
};

struct eva_heap; /* a collection of rows */

/* Makes an empty collection of rows. NULL: no memory. */
struct eva_heap *eva_heap_new(void);
void eva_heap_free(struct eva_heap *heap);
/* Sets the only domain of which anything is taken; UINT64_MAX: all are. */
void eva_heap_only_domain(struct eva_heap *heap, uint64_t domain);

struct eva_heap_state {
  uint64_t profiles, running; /* profiles that were read; those that have not ended */
  uint64_t torn, dropped;     /* profiles that changed while they were read; that later
                                 ones overwrote */
  uint64_t lost_entries;      /* entries that found no room in the file */
  struct eva_amount lost[EVA_MEASURES];
  uint64_t words, live_words; /* words counted; live_words UINT64_MAX: not known */
  uint64_t collections;
  double least_rate, most_rate; /* 0: none was seen */
  uint64_t start_ns, ns;      /* of the profiles; from events, `ns` alone: that of the
                                 last one */
  uint64_t over;              /* last profiles of their domains that have ended: what is
                                 alive of them is what was alive when they ended */
  uint64_t over_ns;           /* when the last one of these ended */
  uint64_t unknown_frees;     /* events: frees of blocks whose allocation was not seen */
  bool from_events;
};
const struct eva_heap_state *eva_heap_state(const struct eva_heap *heap);

/* Takes the profiles of the file. */
int eva_heap_read(struct eva_heap *heap, eventring_cursor *cursor);

/* Makes the rows those of events: allocations count from `since` (ns) on. `survived`: if
   not 0, only blocks that lived through that many collections count; eva_heap_settle
   counts those that are still alive. */
void eva_heap_window(struct eva_heap *heap, uint64_t since, uint64_t survived);
/* Takes the rates of the last profiles of all domains, for rings that no longer have
   their beginning. */
int eva_heap_rates(struct eva_heap *heap, eventring_cursor *cursor);
int eva_heap_event(struct eva_heap *heap, const struct eventring_event *event);
/* Concludes the rows; to be called after the last event. */
int eva_heap_settle(struct eva_heap *heap);
/* Tells whether the event is an allocation whose rate is known, for callers that add up
 * events themselves; to be called after eva_heap_rates. If so, *row gets its site and
 * what it stands for, in EVA_ALLOCATED alone. */
bool eva_heap_allocation(struct eva_heap *heap, const struct eventring_event *event,
                         struct eva_heap_row *row);

size_t eva_heap_rows(const struct eva_heap *heap, const struct eva_heap_row **rows);
void eva_amount_add(struct eva_amount *sum, const struct eva_amount *more);

/* Returns the standard error of the bytes. sqrt(variance) is too small when few words
 * were sampled by chance: if 18 were expected, 8 are 2.4 deviations below, but 3.5 of
 * their own. This is the distance to the largest truth of which the estimate is one
 * deviation below, the upper bound of the score interval. It is 0 at the rate 1. */
double eva_amount_error(const struct eva_amount *amount);

#endif
