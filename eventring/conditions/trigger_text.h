/* SPDX-License-Identifier: MIT */
/* trigger_text.h: the text of a trigger (eventring/conditions.h). */
#ifndef EVENTRING_TRIGGER_TEXT_H
#define EVENTRING_TRIGGER_TEXT_H

#include "eventring/conditions.h"

#pragma GCC visibility push(hidden)

enum { EVR_TRIGGER_COOLDOWN_S = 10, EVR_TRIGGER_MOST = 10 };
#define EVR_TRIGGER_BYTES ((uint64_t)1 << 30)

struct evr_trigger_text { /* what the text of a trigger says */
  struct eventring_condition condition;
  uint64_t cooldown_ns, most, most_bytes;
  char directory[EVENTRING_MAX_TRIGGER_TEXT + 1];
};

/* Reads the trigger that begins at byte *at of a list, and moves *at behind it and the
   `;` that follows. Options that are not given have their defaults. Returns 1 if there
   was a trigger, 0 if the list has no further one, or E_CONFIG if it has a mistake; the
   text of the error then names the column of the list. */
int evr_trigger_text_next(struct evr_trigger_text *trigger, const char *text, size_t size,
                          size_t *at, struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_TRIGGER_TEXT_H */
