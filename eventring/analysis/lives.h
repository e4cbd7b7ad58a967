/* SPDX-License-Identifier: MIT */
/* lives.h: the domains that ran in a slot of a recording, one after the other.
 *
 * Errors: none; a domain whose record is gone is left out. Threads: that of the cursor.
 */
#ifndef EVENTRING_ANALYSIS_LIVES_H
#define EVENTRING_ANALYSIS_LIVES_H

#include "eventring/read.h"

/* Calls `visit` for each domain of the slot (0 .. 127) whose record is still there,
   oldest first. A slot that was never used has none. */
void eva_each_life(eventring_cursor *cursor, unsigned slot,
                   void (*visit)(void *context, const struct eventring_domain_info *life),
                   void *context);

#endif
