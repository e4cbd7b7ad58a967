/* SPDX-License-Identifier: MIT */
/* torn_copy.h: files that were copied while their process wrote into them (torn_copy.c). */
#ifndef EVENTRING_TORN_COPY_H
#define EVENTRING_TORN_COPY_H

#include "reader/metadata.h"

#pragma GCC visibility push(hidden)

/* Finds out whether a file that nobody writes into is such a copy. If so, its rings are read as
   those of a copy with gaps from then on, and meta->damage says what it is. E_MEMORY,
   E_SYSTEM. */
int evr_torn_copy_take(struct evr_metadata *meta, struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_TORN_COPY_H */
