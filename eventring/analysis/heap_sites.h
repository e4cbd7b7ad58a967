/* SPDX-License-Identifier: MIT */
/* heap_sites.h: what was allocated and what is alive, by stack, from a recording.
 *
 * There are two sources. The heap profiles of the file have everything from their start
 * to the last collection. The events of class ALLOC have what lies in a window of time,
 * as far as the ring still holds it. Errors: those of the functions of the reader.
 * Threads: one at a time.
 */
#ifndef EVENTRING_ANALYSIS_HEAP_SITES_H
#define EVENTRING_ANALYSIS_HEAP_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eventring/memory.h"
#include "eventring/read.h"

enum eva_measure { EVA_LIVE, EVA_ALLOCATED, EVA_PEAK, EVA_TEMPORARY, EVA_MEASURES };

struct eva_amount { /* amounts may be added up */
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
/* Restricts the collection to one domain; UINT64_MAX: takes all domains. */
void eva_heap_only_domain(struct eva_heap *heap, uint64_t domain);

struct eva_heap_state {
  uint64_t profiles, running; /* number of profiles that were read, and of those that have
                                 not ended */
  uint64_t torn, dropped;     /* number of profiles that changed while they were read, and
                                 that later profiles overwrote */
  uint64_t lost_entries;      /* entries that found no room in the file */
  struct eva_amount lost[EVA_MEASURES];
  uint64_t words, live_words; /* words counted; live_words is UINT64_MAX if not known */
  uint64_t collections;
  double least_rate, most_rate; /* 0: no rate was seen */
  uint64_t start_ns, ns;      /* start and time of the profiles; from events, only `ns` is
                                 set, to the time of the last event */
  uint64_t over;              /* number of domains whose last profile has ended; what was
                                 alive at its end counts as alive */
  uint64_t over_ns;           /* when the last of these profiles ended */
  uint64_t unknown_frees;     /* with events, number of frees of blocks whose allocation
                                 was not seen */
  bool from_events;
};
const struct eva_heap_state *eva_heap_state(const struct eva_heap *heap);

/* Takes the profiles of the file. */
int eva_heap_read(struct eva_heap *heap, eventring_cursor *cursor);

/* Makes rows from events: allocations count from `since` (ns) on. If `survived` is not 0,
   only blocks that lived through that many collections count. eva_heap_settle adds the
   blocks that are still alive. */
void eva_heap_window(struct eva_heap *heap, uint64_t since, uint64_t survived);
/* Takes the rates of the last profiles of all domains, for rings whose beginning was
   overwritten. */
int eva_heap_rates(struct eva_heap *heap, eventring_cursor *cursor);
int eva_heap_event(struct eva_heap *heap, const struct eventring_event *event);
/* Concludes the rows; to be called after the last event. */
int eva_heap_settle(struct eva_heap *heap);
/* Tells whether the event is an allocation whose rate is known, for callers that add up
 * events themselves; to be called after eva_heap_rates. If so, *row gets its site and, in
 * EVA_ALLOCATED alone, the amount that it stands for. */
bool eva_heap_allocation(struct eva_heap *heap, const struct eventring_event *event,
                         struct eva_heap_row *row);

size_t eva_heap_rows(const struct eva_heap *heap, const struct eva_heap_row **rows);
void eva_amount_add(struct eva_amount *sum, const struct eva_amount *more);

/* Returns the standard error of the bytes. sqrt(variance) is too small when by chance few
 * words were sampled: where 18 are expected, 8 are 2.4 standard deviations of 18 too few,
 * but 3.5 standard deviations of 8. So this is the distance to the upper bound of the
 * score interval: the largest true value that the estimate lies one of its deviations
 * below. It is 0 at the rate 1. */
double eva_amount_error(const struct eva_amount *amount);

#endif
