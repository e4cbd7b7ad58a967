/* SPDX-License-Identifier: MIT */
/* totals.h: sums over all events of a ring, also over those that were overwritten. */
#ifndef EVENTRING_PRODUCER_TOTALS_H
#define EVENTRING_PRODUCER_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

#pragma GCC visibility push(hidden)

enum {
  EVR_TOTAL_PAGES = (EVENTRING_MAX_EVENTS + FORMAT_TOTAL_ROWS - 1) / FORMAT_TOTAL_ROWS,
  EVR_HISTOGRAM_PAGES = FORMAT_HISTOGRAMS_BUDGET / EVENTRING_MAX_DOMAINS,
  EVR_HISTOGRAMS = EVR_HISTOGRAM_PAGES * FORMAT_TOTAL_ROWS
};

/* The totals of a ring, used by the ring's owner. Empty when all but the first five
   members are zero. The structure is large; unused parts are not touched. */
struct evr_totals {
  /* Returns a zeroed block of the file of this kind, or NULL if there is no room. Without
     the mutex. */
  struct format_block *(*claim)(void *owner, enum format_kind kind);
  /* Returns the time between two moments in ns, as readers compute it. Without the
     mutex. */
  uint64_t (*took)(void *owner, uint64_t from_ticks, uint64_t to_ticks);
  void *owner;
  uint16_t slot, ring;
  bool is_full; /* there was no room for a page */
  uint32_t rows;
  uint64_t block;           /* the block that is being folded in */
  struct format_sums *last; /* the sums that were found last, of id `last_id`; NULL if
                               none in this block */
  unsigned last_id;
  struct format_block *page[EVR_TOTAL_PAGES];
  struct format_total *row[EVENTRING_MAX_EVENTS]; /* rows by id */
  bool histograms_full;
  uint32_t histograms;
  struct format_block *histogram_page[EVR_HISTOGRAM_PAGES];
  struct format_total *histogram[EVR_HISTOGRAMS]; /* histograms in the order of first
                                                     use */
};

/* Begins, or ends, adding the events of block `block` of the ring; 0 is a block that
   readers do not find. */
void evr_totals_begin(struct evr_totals *totals, uint64_t block);
void evr_totals_end(struct evr_totals *totals);
/* Adds a span that has ended. */
void evr_totals_span(struct evr_totals *totals, unsigned id, uint64_t ticks);
/* Adds a span that has ended, whose begin had `reason` as its value (evr_has_reason). */
void evr_totals_reasoned_span(struct evr_totals *totals, unsigned id, uint64_t reason,
                              uint64_t from_ticks, uint64_t to_ticks);
/* Adds the leaf spans (leaf_spans.h) in words .. end. */
void evr_totals_leaf_spans(struct evr_totals *totals, const uint64_t *words, const uint64_t *end);
/* Adds the event at `words`, which is whole and neither begins nor ends a span, and the
   events that follow it with the same definition, kind and length. `base` is the base of
   their times. Returns where these events stop. */
const uint64_t *evr_totals_events(struct evr_totals *totals, const uint64_t *words,
                                  const uint64_t *end, uint64_t base);
/* Seals the pages: nothing is added any more. */
void evr_totals_finish(struct evr_totals *totals);

#pragma GCC visibility pop

#endif /* EVENTRING_PRODUCER_TOTALS_H */
