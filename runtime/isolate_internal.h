/* runtime/isolate_internal.h: what isolate.c and isolate_wait.c share. */
#ifndef SAROS_RUNTIME_ISOLATE_INTERNAL_H
#define SAROS_RUNTIME_ISOLATE_INTERNAL_H

#include "isolate.h"

/* Domains, in the high half: those that are alive; in the low half: those that are PARK_BLOCKED. */
#define ALIVE ((uint64_t)1 << 32)
extern _Atomic uint64_t isolate_waits;

#define SPIN_MOST 100000 /* ns that a wait may spin, and does at first: as long as waking a processor may take */

/* `now`: what isolate_waits became. When all that are alive are blocked, somebody is told. */
void isolate_look_for_deadlock(uint64_t now);

#endif
