/* SPDX-License-Identifier: MIT */
/* mend.h: a damaged file, read as a sound one (mend.c). */
#ifndef EVENTRING_MEND_H
#define EVENTRING_MEND_H

#include "reader/units.h"

#pragma GCC visibility push(hidden)

struct evr_patch { /* of a block of the file */
  uint64_t block;
  uint64_t *words; /* what it has instead; NULL: zeros */
  bool is_doubtful; /* a block of records: what could be kept of one whose checksum is wrong */
};

struct evr_mended {
  struct evr_source file; /* as it is: a copy of the source without this, closed with that */
  uint64_t *front; /* its first FORMAT_FRONT_BYTES, put right */
  struct evr_patch *patches; /* ascending by block */
  uint32_t patch_count, patch_room;
  struct evr_units units; /* where the sound blocks lie, each ring as a stream */
  uint64_t head[EVENTRING_MAX_DOMAINS][EVENTRING_RINGS]; /* newest block that is there */
  bool from_start[EVENTRING_MAX_DOMAINS][EVENTRING_RINGS]; /* no block had been overwritten */
};

/* Reads bytes as they should be; what the file lacks at its end is zeros. 0 or E_SYSTEM. */
int evr_mended_read(const struct evr_mended *mended, uint64_t offset, void *to, size_t size,
                    struct eventring_error *error);
void evr_mended_free(struct evr_mended *mended);

#pragma GCC visibility pop

#endif /* EVENTRING_MEND_H */
