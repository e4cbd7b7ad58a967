/* SPDX-License-Identifier: MIT */
/* ring.h: the rings of a recording: see ring.c. */
#ifndef EVENTRING_RING_H
#define EVENTRING_RING_H

#include "producer/recording.h"

#pragma GCC visibility push(hidden)

/* Makes sure that a slot has rings. No place of them is ready yet. */
int evr_ring_lay_out_locked(struct evr_recording *recording, unsigned slot,
                            struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_RING_H */
