/* SPDX-License-Identifier: MIT */
/* heap.h: what was allocated and what is alive, by stack, out of a recording.
 *
 * Two sources: the heap profiles of the file, which have all since they began, to the last
 * collection; and the events of class ALLOC, which have what is within a time, as far as the
 * ring still holds it. Errors: as the functions of the reader. Threads: one at a time.
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

/* NULL: no memory. */
struct eva_heap *eva_heap_new(void);
void eva_heap_free(struct eva_heap *heap);
/* Of domains other than this one nothing is taken; UINT64_MAX: of all. */
void eva_heap_only_domain(struct eva_heap *heap, uint64_t domain);

struct eva_heap_state {
  uint64_t profiles, running; /* that were read; of those, not ended */
  uint64_t torn, dropped;     /* changed while they were read; overwritten by later ones */
  uint64_t lost_entries;      /* that found no room in the file */
  struct eva_amount lost[EVA_MEASURES];
  uint64_t words, live_words; /* counted; live_words UINT64_MAX: not known */
  uint64_t collections;
  double least_rate, most_rate; /* 0: none was seen */
  uint64_t start_ns, ns;      /* of the profiles, of events `ns` alone: the last one */
  uint64_t over;              /* profiles, the last ones of their domains, that have ended: what
                                 is alive of them is what was when they ended */
  uint64_t over_ns;           /* when the last one of these ended */
  uint64_t unknown_frees;     /* events: of blocks whose allocation was not seen */
  bool from_events;
};
const struct eva_heap_state *eva_heap_state(const struct eva_heap *heap);

/* Takes the profiles of the file. */
int eva_heap_read(struct eva_heap *heap, eventring_cursor *cursor);

/* Takes an event; of allocations those from `since` on. `survived`: only blocks that lived
   through that many collections are counted, by eva_heap_settle. */
void eva_heap_window(struct eva_heap *heap, uint64_t since, uint64_t survived);
/* The rates of the last profiles of all domains, for rings that do not have their beginning
   any more. */
int eva_heap_rates(struct eva_heap *heap, eventring_cursor *cursor);
int eva_heap_event(struct eva_heap *heap, const struct eventring_event *event);
/* After the last event. */
int eva_heap_settle(struct eva_heap *heap);
/* For who adds up events alone, after eva_heap_rates: is it an allocation whose rate is known?
   *row: its site, and what it stands for, EVA_ALLOCATED alone. */
bool eva_heap_allocation(struct eva_heap *heap, const struct eventring_event *event,
                         struct eva_heap_row *row);

size_t eva_heap_rows(const struct eva_heap *heap, const struct eva_heap_row **rows);
void eva_amount_add(struct eva_amount *sum, const struct eva_amount *more);

/* The standard error of the bytes. sqrt(variance) is too small when few words were sampled
 * by chance: of 18 expected, 8 are 2.4 deviations below, but 3.5 of their own. This is the
 * distance to the largest truth of which the estimate is one deviation below, the upper
 * bound of the score interval. 0 at the rate 1. */
double eva_amount_error(const struct eva_amount *amount);

#endif
