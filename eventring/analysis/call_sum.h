/* SPDX-License-Identifier: MIT */
/* call_sum.h: the profiles of several domains as one.
 *
 * Each function is in the sum once: functions of the same name, file, line and kind are
 * one. A path of functions is one node. Errors: EVENTRING_E_MEMORY. Threads: one at a
 * time.
 */
#ifndef EVENTRING_ANALYSIS_CALL_SUM_H
#define EVENTRING_ANALYSIS_CALL_SUM_H

#include "eventring/calls.h"
#include "eventring/tools.h"

/* Sums the profiles of slot `domain` (-1: of all slots) into one, which the caller frees.
   The sum lasts from the first start to the last end, and has the slot of the first
   profile. */
int eva_call_sum(struct eventring_profiles *sum, const struct eventring_profiles *profiles,
                 int domain);

#endif
