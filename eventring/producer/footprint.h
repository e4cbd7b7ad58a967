/* SPDX-License-Identifier: MIT */
/* footprint.h: the blocks of a recording that say what memory is used for
   (footprint.c). */
#ifndef EVENTRING_PRODUCER_FOOTPRINT_H
#define EVENTRING_PRODUCER_FOOTPRINT_H

#include "format/format.h"

struct evr_footprints {
  uint64_t generation; /* atomic: number of the last footprint that was written */
  unsigned claimed;    /* blocks; under the mutex */
  /* each atomic: what the C library last reported of its heap: used, free, mapped;
     malloc_asked 0: nothing yet */
  uint64_t malloc_asked, malloc[3];
  struct {             /* for the owner of the slot */
    struct format_block *block[2];
    unsigned next;     /* the older block */
  } slot[EVENTRING_MAX_DOMAINS];
};

#endif /* EVENTRING_PRODUCER_FOOTPRINT_H */
