/* SPDX-License-Identifier: MIT */
/* shares.h: what the time of spans was spent on, and which spans were open at a moment.
 *
 * For each span that ends it says: how long the collector ran in it, how long the program
 * waited (for other domains, for files: spans of the classes domain and io), for how long
 * its context was suspended, and how much of the rest is not in the spans directly within
 * it. The collector and waiting stop all contexts of a domain, so they are read from
 * clocks of the domain, which add up the topmost spans of their class; the time for which
 * the context is suspended is subtracted. (Leaving and resuming a context arrives as
 * eventring_switch. Without these, time in the collector while a context is suspended
 * counts as the context's own.)
 *
 * Feed it what a merged cursor delivers; domains may come one after the other. What the
 * collector did during a loss is unknown. So spans that were open during a loss, or that
 * began before reading, have no such parts.
 *
 * Units: nanoseconds of the recording's clock. Errors: EVENTRING_E_MEMORY; the event is
 * not taken then. Threads: one at a time.
 */
#ifndef EVENTRING_ANALYSIS_SHARES_H
#define EVENTRING_ANALYSIS_SHARES_H

#include <stdbool.h>

#include "eventring/tools.h"

/* The parts of a span's time in which all contexts of a domain are stopped. */
enum eva_part { EVA_COLLECTOR, EVA_WAITING, EVA_PARTS };

/* The times of a span whose begin and end are known. */
struct eva_span_time {
  uint64_t ns;              /* whole duration */
  uint64_t suspended;
  uint64_t own;             /* ns without the time suspended and without spans within */
  uint64_t part[EVA_PARTS]; /* ns of each part, including spans within */
  bool knows_own, knows_parts;
};

struct eva_shares;

/* The order of delivery that is needed, for eventring_cursor_order: what one domain does
   says nothing about the spans of another. */
#define EVA_SHARES_ORDER EVENTRING_ORDER_DOMAINS

/* Makes an analysis that has not seen anything. NULL: no memory. */
struct eva_shares *eva_shares_new(void);
/* Frees `shares`, which may be NULL. */
void eva_shares_free(struct eva_shares *shares);

/* Takes the next event. If it ends a span whose begin is known, fills `time` and sets
 * *ended. */
int eva_shares_event(struct eva_shares *shares, const struct eventring_event *event,
                     struct eva_span_time *time, bool *ended);
/* Takes the events of a batch, if none drives a clock of a part. `times` gets the times
   of each span of batch->ended that began before the batch, in their order. Spans that
   began in the batch have no such parts, and their times are fully known
   (eva_shares_time). Returns 1, or E_MEMORY; 0: nothing was done, and the caller must
   pass each event by itself. */
int eva_shares_batch(struct eva_shares *shares, const struct eventring_batch *batch,
                     struct eva_span_time *times);
static inline struct eva_span_time eva_shares_time(const struct eventring_brief *ended) {
  return (struct eva_span_time){.ns = ended->took, .own = ended->took - ended->within,
                                .knows_own = true, .knows_parts = true};
}
void eva_shares_lost(struct eva_shares *shares, const struct eventring_loss *loss);
void eva_shares_switch(struct eva_shares *shares, const struct eventring_switch *change);

/* Returns the id of the innermost span that runs in this ring of a domain; -1: none is
   known, as between a loss and the next event. */
int eva_shares_running(const struct eva_shares *shares, uint32_t domain, uint8_t ring);
/* Finds the innermost span that runs in this ring of a domain: stores its context, and
   its depth in that context. False: none is known. */
bool eva_shares_innermost(const struct eva_shares *shares, uint32_t domain, uint8_t ring,
                          uint64_t *context, uint32_t *depth);

#endif
