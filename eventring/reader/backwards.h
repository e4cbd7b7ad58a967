/* SPDX-License-Identifier: MIT */
/* backwards.h: a ring read from its newest event to its oldest. */
#ifndef EVENTRING_BACKWARDS_H
#define EVENTRING_BACKWARDS_H

#include "reader/delivery.h"

#pragma GCC visibility push(hidden)

/* Lets a ring reader that has read nothing begin at the end of its ring, or near `ns` if
   that is not 0. */
void evr_backwards_begin(struct evr_ring_reader *reader, uint64_t ns, unsigned *budget);
/* Tells whether there is nothing more to deliver. */
bool evr_backwards_is_over(const struct evr_ring_reader *reader);
/* Reads the newest block, so that its open spans at the end are known. */
void evr_backwards_prepare(struct evr_ring_reader *reader);
void evr_backwards_free(struct evr_ring_reader *reader);

/* Works as evr_ring_reader_look and evr_ring_reader_drain do, but backwards. order_ns is
   UINT64_MAX minus the time, so that the smallest order_ns is next. */
bool evr_backwards_look(struct evr_ring_reader *reader, unsigned *budget);
bool evr_backwards_drain(struct evr_ring_reader *reader, uint64_t until, struct evr_sink *sink);

#pragma GCC visibility pop

#endif /* EVENTRING_BACKWARDS_H */
