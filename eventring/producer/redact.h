/* SPDX-License-Identifier: MIT */
/* redact.h: what a recording must never have: classes, and names of events.
 *
 * Events of such a class are never recorded: for readers, and for who switches classes, the
 * recording has no class of this name. An event with such a name is (other), without its name;
 * one that was defined before the recording began is called (redacted N). */
#ifndef EVENTRING_REDACT_H
#define EVENTRING_REDACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eventring.h"

#pragma GCC visibility push(hidden)

/* A text in quotes, `"` and `\\` with a backslash before them, copied into `name` of `room` bytes as
   far as it fits; *size: how long it is. Moves *at behind it; false: it does not end, or is not
   followed by a comma or the end of the list. */
bool evr_take_quoted(const char **at, char *name, size_t room, size_t *size);

/* Checks a list of classes and of names in quotes, a * at the end of which stands for any end:
   E_CONFIG with what is wrong. NULL: an empty list. *classes: the classes in it. */
int evr_redact_parse(const char *list, uint64_t *classes, struct eventring_error *error);
/* From now on the names of this list, which was checked, must not be written; copies it. */
void evr_redact_set_locked(const char *list);
/* The list; NULL: none. */
const char *evr_redact_list_locked(void);
/* Whether names of events of this class can be on the list: they are the program's. */
static inline bool evr_redact_concerns(unsigned event_class) {
  return event_class == EVENTRING_CLASS_USER || event_class == EVENTRING_CLASS_CALLS;
}
/* Whether this event is on the list. (That with the ids of traces is the library's own, though in
   class user, and never is.) */
bool evr_redact_has_locked(unsigned kind, unsigned event_class, unsigned payload, const char *name);

#pragma GCC visibility pop

#endif /* EVENTRING_REDACT_H */
