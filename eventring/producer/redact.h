/* SPDX-License-Identifier: MIT */
/* redact.h: what a recording must never have: classes, and names of events.
 *
 * Events of such a class are never recorded: for readers, and for tools that switch
 * classes, the recording has no class of this name. An event with such a name is (other),
 * without its name; one that was defined before the recording began is called (redacted
 * N). */
#ifndef EVENTRING_REDACT_H
#define EVENTRING_REDACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eventring.h"

#pragma GCC visibility push(hidden)

/* Takes a text in quotes, in which a backslash stands before `"` and `\\`, and copies it
   into `name` of `room` bytes as far as it fits; *size: how long it is. Moves *at behind
   it; returns false when it does not end, or is not followed by a comma or the end of the
   list. */
bool evr_take_quoted(const char **at, char *name, size_t room, size_t *size);

/* Checks a list of classes and of names in quotes, where a * at the end of a name stands
   for any end. Returns E_CONFIG with what is wrong. NULL: an empty list. *classes: the
   classes in it. */
int evr_redact_parse(const char *list, uint64_t *classes, struct eventring_error *error);
/* Sets the list of names, which was checked, that must not be written from now on; copies
   it. */
void evr_redact_set_locked(const char *list);
/* Returns the list; NULL: none. */
const char *evr_redact_list_locked(void);
/* Tells whether names of events of this class can be on the list: they are the
   program's. */
static inline bool evr_redact_concerns(unsigned event_class) {
  return event_class == EVENTRING_CLASS_USER || event_class == EVENTRING_CLASS_CALLS;
}
/* Tells whether this event is on the list. (The event with the ids of traces is the
   library's own, though in class user, and never is.) */
bool evr_redact_has_locked(unsigned kind, unsigned event_class, unsigned payload, const char *name);

#pragma GCC visibility pop

#endif /* EVENTRING_REDACT_H */
