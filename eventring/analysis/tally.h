/* SPDX-License-Identifier: MIT */
/* tally.h: statistics over the events of one recording.
 *
 * Feed it what a cursor delivers (eva_tally_callbacks), then call eva_tally_finish once.
 * Everything is kept per domain (slot) and definition:
 * - a span counts when its end is delivered and its begin is known. A torn span (begin or
 *   end lost) counts as torn only and never has a duration. A span whose end has not come
 *   when watching ends counts as open;
 * - an async span counts in the domain that began it. It counts as torn if it lacks its
 *   begin, or if it lacks its end when another one of the same link begins; it counts as
 *   open if its end has not come when watching ends (though it may have been lost);
 * - counters: samples, sum, least, greatest, last. The sum is meaningful if the
 *   definition's measure is a difference or is not given;
 * - events, lifecycle events and the points of flows: how many.
 *
 * How long each of the domains of a slot was watched, and its figures of the collector,
 * are also kept by incarnation (lives). Words allocated and promoted are the sums of the
 * counters of these quantities; a file that has no such counter has no such figures.
 *
 * If only a window of the recording, `since` to `until`, is to be counted, an event
 * counts if it lies in the window. So a span counts with its whole duration if it ended
 * there. An async span counts if it also began there (else it is torn). The time watched
 * and the time in the collector count as far as they lie there. Also feed the events
 * before `since` that are available: they show which spans are open then.
 *
 * Units: times are nanoseconds; moments are of the recording's clock. Errors:
 * EVENTRING_E_MEMORY; from then on nothing more is counted, `status` says so, and what
 * the tally holds can only be freed. Threads: a tally is used by one thread at a time,
 * that of its cursor.
 */
#ifndef EVENTRING_ANALYSIS_TALLY_H
#define EVENTRING_ANALYSIS_TALLY_H

#include "analysis/gc_clock.h"
#include "analysis/histogram.h"
#include "analysis/links.h"
#include "analysis/so_far.h"
#include "analysis/tally_lives.h"
#include "eventring/tools.h"

struct eva_tally_span {
  struct eva_histogram durations; /* ns, of spans whose begin and end are known */
  uint64_t torn, open;
  struct eva_so_far longest_open; /* the longest of the open spans */
  uint64_t suspended; /* ns for which the contexts of these spans were suspended */
  uint64_t off_cpu;   /* ns for which the threads of these spans were not on a processor;
                         known if the entry's measure is OFF_CPU */
  uint64_t interrupted; /* number of these spans that were interrupted */
  uint64_t own;       /* own ns of these spans (without the spans within) */
  uint64_t own_count; /* number of spans in `own`, whose own time is known */
};

struct eva_tally_counter {
  uint64_t samples;
  bool is_double;       /* the values are in the members that begin with d, else in the
                           integers */
  int64_t sum, min, max, last; /* the sum saturates at the ends of its range */
  double dsum, dmin, dmax, dlast;
};

/* The figures of a definition in a domain. */
struct eva_tally_entry {
  uint16_t id;
  uint8_t ring, event_class;
  uint8_t measure; /* enum eventring_measure */
  uint8_t quantity; /* enum eventring_quantity */
  bool is_async;    /* the definition is one of async spans */
  const char *name, *unit; /* valid as long as the cursor */
  struct eva_tally_span *span;       /* NULL: no such event was seen */
  struct eva_tally_span *async;
  struct eva_tally_counter *counter;
  uint64_t events, lifecycle;
};

struct eva_tally_ring {
  bool seen;    /* the domain has such a ring */
  struct eventring_ring_info info;
};

struct eva_tally_domain {
  bool used;
  struct eventring_domain_info info; /* the newest domain in the slot */
  struct eva_lives lives; /* one entry for each domain of the slot, in ascending order
                             after eva_tally_finish */
  struct eva_tally_entry **entries; /* by id, EVENTRING_MAX_EVENTS; NULL: unused */
  size_t end;                       /* no entry has this id or a greater one */
  struct eva_tally_span **spans;    /* the spans of the entries, without async ones */
  struct eva_tally_counter **counters; /* the counters for which a batch had numbers */
  struct eva_gc_clock clock; /* clock of the runtime ring, which has the collector's
                                spans */
  struct eva_tally_ring rings[EVENTRING_RINGS];
  uint32_t counted[EVENTRING_RINGS]; /* by ring: incarnation of the newest event; 0 if
                                        none came */
  /* set by eva_tally_finish */
  uint64_t watched;
  struct eva_gc_times times;
  int64_t allocated, promoted; /* -1: no counter gives them */
};

struct eva_tally {
  uint64_t since, until; /* set by the user before the first event; 0 and UINT64_MAX, the
                            initial values, take the whole recording. Of the events after
                            `until`, feed only the first */
  struct eva_tally_domain domains[EVENTRING_MAX_DOMAINS];
  struct eva_tally_domain all; /* the sums over the domains, set by eva_tally_finish;
                                  borrows from the domains' histograms */
  unsigned domains_used;
  struct eventring_info info;
  struct eventring_totals totals;
  uint64_t first_ns, last_ns; /* of the events seen */
  struct eventring_event late; /* the first event after `until`; zeroed: none came */
  eventring_cursor *cursor; /* the cursor given to eva_tally_finish */
  const char *ring_names[EVENTRING_RINGS]; /* valid as long as the cursor */
  struct eva_known known; /* set by eva_tally_finish */
  const eventring_cursor *apart; /* the cursor given to eva_tally_apart; NULL if events
                                    come in the order of their times */
  struct eva_link_order async;   /* async spans of which only the begin or only the end
                                    has come */
  uint64_t async_ns[EVENTRING_MAX_DOMAINS * EVENTRING_RINGS]; /* time of the latest event
                                                                 of async spans in each
                                                                 ring */
  int status; /* 0, or the error that ended counting */
};

/* Makes an empty tally. NULL: no memory. */
struct eva_tally *eva_tally_new(void);
/* Frees a tally, which may be NULL. */
void eva_tally_free(struct eva_tally *tally);

/* Begins watching now, even where nothing has been recorded yet. Call it right after a
   cursor with EVENTRING_OPEN_NOW was opened; without this call, watching begins with the
   first event. */
void eva_tally_begin(struct eva_tally *tally, eventring_cursor *cursor);

/* For eventring_poll, with the tally as context. After an error, they end every poll. */
extern const struct eventring_callbacks eva_tally_callbacks;

/* Sets a cursor to deliver one block of a ring at a time. Only async spans depend on
   events of other rings, and the tally keeps async events until it has the earlier events
   of all rings. Not for a tally with `until`, which needs the events in the order of
   their times. Returns what eventring_cursor_order does. */
int eva_tally_apart(struct eva_tally *tally, eventring_cursor *cursor);

/* Takes a batch: the callback for eventring_cursor_batches, with the tally as context. */
int eva_tally_batch(void *tally, const struct eventring_batch *batch);

/* Ends watching: takes the open spans, the rings and the domains from the cursor, stops
   the clocks and adds up. The cursor must stay open as long as the tally is used. Returns
   `status`. */
int eva_tally_finish(struct eva_tally *tally, eventring_cursor *cursor);

/* Calls `visit` for each entry of a domain in the order of the catalogue. */
void eva_tally_each(const struct eva_tally_domain *domain,
                void (*visit)(void *context, const struct eva_tally_entry *entry),
                void *context);

/* Returns the mean of the values of a counter; 0 if there is none. */
double eva_tally_mean(const struct eva_tally_counter *counter);
/* Tells whether the sum of the counter's values is meaningful. */
bool eva_tally_has_sum(const struct eva_tally_entry *entry);

#endif
