/* SPDX-License-Identifier: MIT */
/* runtime/memprof_sites.h: where the blocks that are tracked now were allocated
 * (memprof_sites.c). Nothing here allocates: it may run in a forked child. */
#ifndef SAROS_RUNTIME_MEMPROF_SITES_H
#define SAROS_RUNTIME_MEMPROF_SITES_H

#include "domain.h"

typedef struct MemprofSited {
  const GCObject *object; /* the block, or the owner of the part */
  uint32_t stack;         /* not 0 */
  uint64_t samples;
} MemprofSited;

typedef struct MemprofSiteFrame {
  const char *name, *source; /* printable, valid as long as the domain */
  uint32_t line;             /* 0 if unknown */
} MemprofSiteFrame;

/* Returns one more than the largest number of a tracked block, or 0 if nothing is
 * sampled. The blocks are those of the recording if it samples, otherwise those of the
 * guest's profile. *rate: samples per word. */
uint32_t memprof_sited(const Domain *d, double *rate);
/* Gets the block of that number. Returns false if no block with that number is alive and
 * has a stack. */
bool memprof_sited_at(const Domain *d, uint32_t number, MemprofSited *sited);
/* Gets the innermost frames of a stack, at most `most`. Returns how many there are. */
uint32_t memprof_site_frames(const Domain *d, uint32_t stack, uint32_t most,
                             MemprofSiteFrame *frames);

#endif
