/* SPDX-License-Identifier: MIT */
/* guard.h: mappings that outlive their file. */
#ifndef EVENTRING_GUARD_H
#define EVENTRING_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* Enters a mapping, which a fault replaces together with all of its group by anonymous
   memory of this protection (PROT_...). False: the table is full. Any thread. */
bool evr_guard_add(void *map, size_t bytes, int protection, const void *group);
/* Removes a mapping from the table, before it is unmapped. Any thread. */
void evr_guard_remove(void *map);
/* The handler of SIGBUS is installed from the first hold to the last release. True: it is
   the first to handle a fault, no other handler was set above it. Any thread. */
bool evr_guard_hold(void);
void evr_guard_release(void);
/* For the start of a recording: the handler is held for the rest of the process, unless
   the host wants none (`leave`), which holds for windows opened later as well. */
void evr_guard_start(bool leave);
/* Sets it once more where the host has set a handler above it. For moments that are rare:
   takes a system call. Any thread, async-signal-safe. */
void evr_guard_renew(void);
/* True: the host wants no handler. */
bool evr_guard_left(void);

#pragma GCC visibility pop

#endif /* EVENTRING_GUARD_H */
