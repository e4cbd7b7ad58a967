/* SPDX-License-Identifier: MIT */
/* live_copy.h: files that were copied while their process wrote into them
   (live_copy.c). */
#ifndef EVENTRING_LIVE_COPY_H
#define EVENTRING_LIVE_COPY_H

#include "reader/metadata.h"

#pragma GCC visibility push(hidden)

/* Finds out whether a file that nobody writes into was copied while its process wrote
   into it. If so, its rings are read like those of a copy with gaps from then on, and
   meta->damage says so. Returns 0, E_MEMORY or E_SYSTEM. */
int evr_live_copy_take(struct evr_metadata *meta, struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_LIVE_COPY_H */
