/* SPDX-License-Identifier: MIT */
/* ring.h: the rings of a recording: see ring.c. */
#ifndef EVENTRING_RING_H
#define EVENTRING_RING_H

#include "producer/recording.h"

#pragma GCC visibility push(hidden)

/* Returns the writer of a ring; makes the ring if the slot does not have it. Returns
   NULL with *error when out of memory. */
struct evr_writer *evr_ring_writer_locked(struct evr_recording *recording, unsigned slot,
                                          enum eventring_ring ring,
                                          struct eventring_error *error);
/* Returns the bytes of the rings that a slot has. */
uint64_t evr_ring_bytes(const struct evr_recording *recording, unsigned slot);
/* Finishes the present blocks of the rings of a slot. No lane is open on them. */
void evr_ring_finish_slot_locked(struct evr_recording *recording, unsigned slot);
/* Finishes the present blocks of the rings of all slots that have no domain. */
void evr_ring_finish_free_slots_locked(struct evr_recording *recording);
/* Counts all events of rings that have no block in the file, at the end. */
void evr_ring_count_aside_locked(struct evr_recording *recording);
/* Frees the memory of all rings that is not in the file. */
void evr_ring_free_all(struct evr_recording *recording);

#pragma GCC visibility pop

#endif /* EVENTRING_RING_H */
