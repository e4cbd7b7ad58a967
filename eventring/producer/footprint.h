/* SPDX-License-Identifier: MIT */
/* footprint.h: the blocks of a recording that say what memory is used for
   (footprint.c). */
#ifndef EVENTRING_PRODUCER_FOOTPRINT_H
#define EVENTRING_PRODUCER_FOOTPRINT_H

#include "format/format.h"

struct evr_footprints {
  uint64_t generation; /* atomic: number of the last footprint that was written */
  unsigned claimed;    /* number of blocks claimed; under the mutex */
  /* amounts of the C library's heap by its last report: used, free, mapped; malloc_asked
     is 0 before the first report; all atomic */
  uint64_t malloc_asked, malloc[3];
  struct {             /* blocks of a slot, used by its owner */
    struct format_block *block[2];
    unsigned next;     /* index of the older block */
  } slot[EVENTRING_MAX_DOMAINS];
};

#endif /* EVENTRING_PRODUCER_FOOTPRINT_H */
