/* SPDX-License-Identifier: MIT */
/* block_source.h: where the next block of a lane comes from.
 *
 * A lane (lane.c) makes, fills and finishes blocks. A source says where in memory each
 * block lies. The ring of a recording is a source (ring.c): a run of places used in a
 * circle. A source whose places are never used again is a stream.
 *
 * While a lane is open on a source, only the lane's owner uses the source. The lane keeps
 * `sequence` and `events` in it, so that the next lane goes on where this one stopped.
 */
#ifndef EVENTRING_BLOCK_SOURCE_H
#define EVENTRING_BLOCK_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

struct evr_place {
  struct format_block *block; /* FORMAT_BLOCK_BYTES, present and writable */
  bool used; /* true if the place held a block before, which readers may be reading.
                Otherwise all words are zero */
  uint32_t skipped; /* sequences left out before this block, which have no blocks */
};

struct evr_block_source {
  /* Finds the place of block sequence + 1. Fails with a code when there is no memory or
     disk space for it; the caller may try again later. Owner, without the mutex. Must not
     write an event. */
  int (*next_place)(struct evr_block_source *source, struct evr_place *place,
                    struct eventring_error *error);
  uint64_t *head;    /* where readers find the newest sequence, or NULL */
  uint64_t sequence; /* sequence of the newest block; 0 if there is none yet */
  uint64_t events;   /* number of events in all finished blocks */
};

#endif /* EVENTRING_BLOCK_SOURCE_H */
