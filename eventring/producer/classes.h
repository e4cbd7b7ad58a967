/* SPDX-License-Identifier: MIT */
/* classes.h: the classes of this process. */
#ifndef EVENTRING_CLASSES_H
#define EVENTRING_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eventring/types.h"

#pragma GCC visibility push(hidden)

extern char evr_class_names[EVENTRING_MAX_CLASSES][EVENTRING_MAX_CLASS_NAME + 1];
/* Names of the rings. */
extern char evr_ring_names[EVENTRING_RINGS][EVENTRING_MAX_CLASS_NAME + 1];
/* Class of each event id (USER while the id is not defined). An entry is written before
   the host gets the id. */
extern uint8_t evr_class_of[EVENTRING_MAX_EVENTS];
/* Payload of each event id. */
extern uint8_t evr_payload_of[EVENTRING_MAX_EVENTS];
/* For each event id: whether it is a span with a reason, which is the value of its begin
   and the id of another definition. Such spans have histograms (totals.h). */
extern bool evr_has_reason[EVENTRING_MAX_EVENTS];
uint64_t evr_default_classes(void);
/* Returns the classes (bits) of events with this name; NULL while no events are defined.
   The catalogue sets it, because it is initialised after the settings. */
extern uint64_t (*evr_classes_of_events)(const char *name, size_t size);
/* Defines a class or a ring, for eventring_define_class and eventring_define_ring.
   `may_rename`: no recording is present. */
int evr_class_define(unsigned index, const char *name, bool on, bool may_rename);
int evr_ring_define(unsigned index, const char *name, bool may_rename);
/* Tells whether the library has a class of this name, even if this process does not use
   the class. */
bool evr_class_is_standard(const char *name, size_t size);
/* Returns the index of the class, or of the ring, of this name, or
   EVENTRING_E_NOT_FOUND. */
int evr_class_by_bytes(const char *name, size_t size);
int evr_ring_by_bytes(const char *name, size_t size);

/* Bit n: events of ring n are watched (watch.h) and take the slow path. Atomic; changed
   under the mutex. */
extern uint32_t evr_watched_rings;
static inline bool evr_watch_covers(unsigned ring) {
  return __atomic_load_n(&evr_watched_rings, __ATOMIC_RELAXED) >> ring & 1;
}

#pragma GCC visibility pop

#endif /* EVENTRING_CLASSES_H */
