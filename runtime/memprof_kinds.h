/* SPDX-License-Identifier: MIT */
/* runtime/memprof_kinds.h: what a sampled block is and why it was allocated. */
#ifndef SAROS_RUNTIME_MEMPROF_KINDS_H
#define SAROS_RUNTIME_MEMPROF_KINDS_H

typedef enum MemprofKind {
#define MEMPROF_KIND(id, name, doc) MEMPROF_##id,
#include "memprof.def"
  MEMPROF_KINDS
} MemprofKind;

typedef enum MemprofOrigin {
#define MEMPROF_ORIGIN(id, name, doc) MEMPROF_FROM_##id,
#include "memprof.def"
  MEMPROF_ORIGINS
} MemprofOrigin;

#endif
