/* SPDX-License-Identifier: MIT */
/* helper.h: the thread that helps a recording (helper.c), and the making of a copy. */
#ifndef EVENTRING_HELPER_H
#define EVENTRING_HELPER_H

#include "producer/domains.h"
#include "producer/producer.h"
#include "producer/triggers.h"
#include "producer/watch.h"

#pragma GCC visibility push(hidden)

extern const struct evr_helper evr_helper; /* helper.c */

/* Makes the copy of a job (save.c). Stores in *bytes what the copy takes on the disk.
   Returns 0, E_STATE when nothing is recorded any more, or an error that says what could
   not be done. */
int evr_save(const struct evr_watch_job *job, uint64_t *bytes, struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_HELPER_H */
