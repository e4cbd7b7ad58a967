/* SPDX-License-Identifier: MIT */
/* extents.h: the blocks of a recording, claimed from one counter.
 *
 * The producer lengthens the file by *extents*: runs of blocks that are claimed, reserved
 * and mapped together. Rings and blocks of records are taken from extents. An extent
 * stays as it is until the recording is destroyed.
 */
#ifndef EVENTRING_EXTENTS_H
#define EVENTRING_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"
#include "producer/descriptor.h"

#pragma GCC visibility push(hidden)

enum {
  EVR_EXTENT_UNIT = 16, /* blocks: extents are multiples of this, so that each begins at a
                           page boundary, also with pages of 64 KiB */
  EVR_MAX_EXTENTS = 2048,
  EVR_READY_RUNS = 12   /* the rings of a slot, and the two kinds of blocks of records */
};

/* Blocks of an extent that were made ready. They belong to one ring, or have records.
   They are made ready in ascending order. */
struct evr_ready_run {
  uint32_t at, count; /* atomic */
};

struct evr_extent {
  uint32_t first;  /* number of its first block in the file */
  uint32_t blocks;
  bool later; /* its space is reserved when its blocks are made ready */
  uint32_t ready_runs; /* entries of `ready` in use; atomic; written by the thread that
                          makes blocks ready */
  struct evr_ready_run ready[EVR_READY_RUNS]; /* used if space is reserved later */
  uint8_t *map;
};

struct evr_extents { /* written under the mutex; read by cursors of this process */
  struct evr_descriptor file; /* the file, with its lock; none in a forked child */
  bool in_memory;      /* the file lies on tmpfs */
  const char *path;    /* for messages */
  const void *together; /* argument of evr_space_map */
  uint64_t *claimed;   /* number of claimed blocks, in the status page for readers */
  uint64_t next;       /* the first block that nobody has claimed; atomic */
  uint64_t most;       /* most blocks that the file may have */
  bool has_streams;    /* several threads lengthen the file at the same time */
  uint32_t count;      /* number of extents; release: evr_extents_claim_locked */
  struct evr_extent extent[EVR_MAX_EXTENTS];
};

/* Claims `blocks` blocks, a multiple of EVR_EXTENT_UNIT, for good. Returns false when the
   file may have no more. Any thread, without the mutex. */
bool evr_extents_take(struct evr_extents *extents, uint32_t blocks, uint32_t *first);
/* Lets readers look for blocks before `end`, when the file is that long. Any thread,
   without the mutex. */
void evr_extents_publish(struct evr_extents *extents, uint64_t end);
enum evr_claim {
  EVR_CLAIM_NOW,   /* reserve their space on a disk; on tmpfs, where reserving is most of
                      the cost, only check that there is space */
  EVR_CLAIM_LATER, /* only check that there is space, on any file system */
  EVR_CLAIM_BARE   /* do not even check */
};
/* Claims at least `blocks` blocks. evr_extents_make_ready reserves the space that this
   function does not reserve. */
int evr_extents_claim_locked(struct evr_extents *extents, uint32_t blocks, enum evr_claim how,
                             const struct evr_extent **extent, struct eventring_error *error);
/* Makes blocks of an extent, from `at` on, present and writable. Without the mutex. */
int evr_extents_make_ready(struct evr_extents *extents, const struct evr_extent *extent,
                           uint32_t at, uint32_t count, struct eventring_error *error);
/* Returns where these bytes of the file, within one extent, are mapped, or NULL. For a
   block that was not made ready, returns the address of zeros, which is what the file has
   there. (On a tmpfs that is full even a load from its page raises SIGBUS.) Any thread
   that holds the recording. */
const uint64_t *evr_extents_words(const struct evr_extents *extents, uint64_t offset,
                                  size_t size);
/* Makes the extents read-only from here on. */
void evr_extents_protect(const struct evr_extents *extents);
void evr_extents_unmap(struct evr_extents *extents);

#pragma GCC visibility pop

#endif /* EVENTRING_EXTENTS_H */
