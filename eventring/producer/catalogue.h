/* SPDX-License-Identifier: MIT */
/* catalogue.h: the event definitions of this process: see catalogue.c. */
#ifndef EVENTRING_CATALOGUE_H
#define EVENTRING_CATALOGUE_H

#include "producer/recording.h"

#pragma GCC visibility push(hidden)

/* Defines all of `count` events at consecutive ids, or none. Each definition has
   `def_size` bytes (format/sized.h). Returns the first id or an error. */
int evr_catalogue_define_locked(const struct eventring_def *defs, size_t def_size,
                                size_t count, struct eventring_error *error);
/* Checks whether a host may define a table of events now. If `asks` is false, the host
   relies on constant ids, and may not define a table after others have defined events. */
int evr_catalogue_check_base_locked(bool asks, struct eventring_error *error);
/* Returns the id of the definition of this kind and name; EVENTRING_E_NOT_FOUND, without
   a text, when it could be defined; or another error. */
int evr_catalogue_find_locked(const struct eventring_def *def,
                              struct eventring_error *error);
/* Returns the name of a definition, or NULL if no definition has this id. */
const char *evr_catalogue_name_locked(unsigned id);
/* Passes all definitions to evr_watch_define_locked. */
void evr_catalogue_watch_locked(void);
/* Counts, at the end, the definitions that never found room. */
void evr_catalogue_finish_locked(struct evr_recording *recording);
/* Counts a definition that found no room in the table. */
void evr_catalogue_drop_locked(struct evr_recording *recording);
/* Writes the definitions that the recording does not have yet. Counts a definition that
   finds no room: its events have no name for readers. Fails only with E_MEMORY. */
int evr_catalogue_publish_locked(struct evr_recording *recording,
                                 struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_CATALOGUE_H */
