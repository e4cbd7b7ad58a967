/* SPDX-License-Identifier: MIT */
/* reasons.h: spans with a reason: the value of their begin is the id of another
 * definition. A recording has histograms of them by reason (doc/FORMAT.md, kind 21). */
#ifndef EVENTRING_FORMAT_REASONS_H
#define EVENTRING_FORMAT_REASONS_H

#include <stdbool.h>
#include <string.h>

#include "eventring/types.h"

static inline bool evr_has_reasons(const struct eventring_def *def) {
  return def->kind == EVENTRING_DEF_SPAN && def->unit &&
         strcmp(def->unit, EVENTRING_UNIT_ID) == 0 &&
         (def->payload == EVENTRING_UINT || def->payload == EVENTRING_INT);
}

#endif
