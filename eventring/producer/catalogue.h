/* SPDX-License-Identifier: MIT */
/* catalogue.h: the event definitions of this process: see catalogue.c. */
#ifndef EVENTRING_CATALOGUE_H
#define EVENTRING_CATALOGUE_H

#include "producer/recording.h"

#pragma GCC visibility push(hidden)

/* Defines `count` events, of `def_size` bytes each (format/sized.h), at consecutive ids, all or none; returns the first id, or why
   not. */
int evr_catalogue_define_locked(const struct eventring_def *defs, size_t def_size,
                                size_t count, struct eventring_error *error);
/* Takes the last `count` definitions back, which no recording has. */
void evr_catalogue_retract_locked(size_t count);
/* Id of the definition of this kind and name; EVENTRING_E_NOT_FOUND, without a text, when
   it could be defined; or why it can not be. */
int evr_catalogue_find_locked(const struct eventring_def *def,
                              struct eventring_error *error);
/* Writes the definitions that the recording does not have yet. */
int evr_catalogue_publish_locked(struct evr_recording *recording,
                                 struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_CATALOGUE_H */
