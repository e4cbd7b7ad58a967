/* SPDX-License-Identifier: MIT */
/* guard.h: mappings that outlive their file. */
#ifndef EVENTRING_GUARD_H
#define EVENTRING_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* Enters a mapping in the table. A fault in the mapping replaces all mappings of its
   group by anonymous memory, each with its `protection` (PROT_...). Returns false when
   the table is full. Any thread. */
bool evr_guard_add(void *map, size_t bytes, int protection, const void *group);
/* Removes a mapping from the table, before it is unmapped. Any thread. */
void evr_guard_remove(void *map);
/* Registers the handlers of fork of this file. A caller that registers handlers of its
   own calls it before: theirs then take their mutexes first, and find no entry of the
   table in use in the child. Any thread. */
void evr_guard_prepare_forks(void);
/* Holds, or releases, the handler of SIGBUS, which is installed from the first hold to
   the last release. evr_guard_hold returns true when the handler is the first to see a
   fault: no other handler was set above it. Any thread. */
bool evr_guard_hold(void);
void evr_guard_release(void);
/* Holds the handler for the rest of the process, at the start of a recording. With
   `leave` the host wants no handler, neither now nor for windows that are opened
   later. */
void evr_guard_start(bool leave);
/* Sets the handler once more if the host has set a handler above it. Costs a system call,
   so call it rarely. Any thread, async-signal-safe. */
void evr_guard_renew(void);
/* Tells whether the host wants no handler. */
bool evr_guard_left(void);

#pragma GCC visibility pop

#endif /* EVENTRING_GUARD_H */
