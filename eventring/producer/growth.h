/* SPDX-License-Identifier: MIT */
/* growth.h: rings that grow until they hold the requested time: see growth.c. */
#ifndef EVENTRING_GROWTH_H
#define EVENTRING_GROWTH_H

#include "producer/recording.h"

#pragma GCC visibility push(hidden)

/* Lets ring `index` of a slot grow. Called after each change of blocks but the first, at
   the time of the change. Owner of the ring, without the mutex; it writes no event. */
void evr_ring_follow(struct evr_ring *ring, unsigned slot, unsigned index, uint64_t ticks);

#pragma GCC visibility pop

#endif /* EVENTRING_GROWTH_H */
