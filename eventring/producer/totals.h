/* SPDX-License-Identifier: MIT */
/* totals.h: what all events of a ring add up to, whatever becomes of its blocks. */
#ifndef EVENTRING_PRODUCER_TOTALS_H
#define EVENTRING_PRODUCER_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

#pragma GCC visibility push(hidden)

enum {
  EVR_TOTAL_PAGES = (EVENTRING_MAX_EVENTS + FORMAT_TOTAL_ROWS - 1) / FORMAT_TOTAL_ROWS
};

/* Of a ring. Zeroed except for the first three, it is empty. It is large; parts that are not used
   are not touched. Owner of the ring. */
struct evr_totals {
  /* Gives a block of the file, zeroed; NULL: no room. Without the mutex. */
  struct format_block *(*claim)(void *owner);
  void *owner;
  uint16_t slot, ring;
  bool is_full; /* there was no room for a page */
  uint32_t rows;
  uint64_t block;           /* that is being folded in */
  struct format_sums *last; /* that were found last, of id `last_id`; NULL: none in this block */
  unsigned last_id;
  struct format_block *page[EVR_TOTAL_PAGES];
  struct format_total *row[EVENTRING_MAX_EVENTS]; /* by id */
};

/* Before and after the events of block `block` of the ring; 0: of one that readers do not find. */
void evr_totals_begin(struct evr_totals *totals, uint64_t block);
void evr_totals_end(struct evr_totals *totals);
/* A span that has ended. */
void evr_totals_span(struct evr_totals *totals, unsigned id, uint64_t ticks);
/* The leaf spans (leaf_spans.h) that words .. end consist of. */
void evr_totals_leaf_spans(struct evr_totals *totals, const uint64_t *words, const uint64_t *end);
/* The event at `words`, which is whole and neither begins nor ends a span, and those that follow
   it and are alike: of its definition, kind and length. Returns where these stop. */
const uint64_t *evr_totals_events(struct evr_totals *totals, const uint64_t *words,
                                  const uint64_t *end);
/* Nothing is added any more: the pages are sealed. */
void evr_totals_finish(struct evr_totals *totals);

#pragma GCC visibility pop

#endif /* EVENTRING_PRODUCER_TOTALS_H */
