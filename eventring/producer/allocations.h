/* SPDX-License-Identifier: MIT */
/* allocations.h: what a recording has about allocations from its start on. */
#ifndef EVENTRING_PRODUCER_ALLOCATIONS_H
#define EVENTRING_PRODUCER_ALLOCATIONS_H

#include "producer/recording.h"

#pragma GCC visibility push(hidden)

/* Writes all known stacks, and the names of kinds and origins. */
void evr_memory_publish_locked(struct evr_recording *recording);

#pragma GCC visibility pop

#endif /* EVENTRING_PRODUCER_ALLOCATIONS_H */
