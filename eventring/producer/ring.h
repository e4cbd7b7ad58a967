/* SPDX-License-Identifier: MIT */
/* ring.h: the rings of a recording: see ring.c. */
#ifndef EVENTRING_RING_H
#define EVENTRING_RING_H

#include "producer/recording.h"

#pragma GCC visibility push(hidden)

/* Returns the writer of a ring, which is made if the slot does not have it. NULL, with
   *error: there is no memory. */
struct evr_writer *evr_ring_writer_locked(struct evr_recording *recording, unsigned slot,
                                          enum eventring_ring ring,
                                          struct eventring_error *error);
/* Returns the bytes of the rings that a slot has. */
uint64_t evr_ring_bytes(const struct evr_recording *recording, unsigned slot);
/* Finishes the present blocks of the rings of a slot, on which no lane is open. */
void evr_ring_finish_slot_locked(struct evr_recording *recording, unsigned slot);
/* Finishes, as evr_ring_finish_slot_locked does, those of all slots that have no
   domain. */
void evr_ring_finish_free_slots_locked(struct evr_recording *recording);
/* Counts, at the end, all events of rings that have no block. */
void evr_ring_count_aside_locked(struct evr_recording *recording);
/* Frees what is not in the file. */
void evr_ring_free_all(struct evr_recording *recording);

#pragma GCC visibility pop

#endif /* EVENTRING_RING_H */
