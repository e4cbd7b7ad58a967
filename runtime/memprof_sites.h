/* SPDX-License-Identifier: MIT */
/* runtime/memprof_sites.h: where the blocks were allocated that are tracked now
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
  uint32_t line;             /* 0: unknown */
} MemprofSiteFrame;

/* Blocks of the recording if that samples, else those of the guest's profile: one more than
 * the largest number of one; 0: nothing is sampled. *rate: samples a word. */
uint32_t memprof_sited(const Domain *d, double *rate);
/* False: the number is none of a block that is alive and has a stack. */
bool memprof_sited_at(const Domain *d, uint32_t number, MemprofSited *sited);
/* The innermost frames of a stack, at most `most`; returns how many. */
uint32_t memprof_site_frames(const Domain *d, uint32_t stack, uint32_t most,
                             MemprofSiteFrame *frames);

#endif
