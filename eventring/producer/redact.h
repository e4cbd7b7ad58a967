/* SPDX-License-Identifier: MIT */
/* redact.h: what a recording must never contain: classes, and names of events.
 *
 * Events of such a class are never recorded: for readers, and for tools that switch
 * classes, the recording has no such class. An event with such a name becomes (other); if
 * it was defined before the recording began, it is called (redacted N). */
#ifndef EVENTRING_REDACT_H
#define EVENTRING_REDACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eventring.h"

#pragma GCC visibility push(hidden)

/* Copies a text in quotes, with a backslash before each `"` and `\\` in it, into `name`
   of `room` bytes as far as it fits. Stores its full size in *size, and moves *at behind
   it. Returns false when the closing quote is missing, or neither a comma nor the end of
   the list follows. */
bool evr_take_quoted(const char **at, char *name, size_t room, size_t *size);

/* Checks a list of classes and of names in quotes, where a * at the end of a name stands
   for any ending. Stores the classes of the list in *classes. NULL is an empty list.
   Returns 0, or E_CONFIG with a text that says what is wrong. */
int evr_redact_parse(const char *list, uint64_t *classes, struct eventring_error *error);
/* Sets the list of names that must not be written from now on. The list was checked, and
   is copied. */
void evr_redact_set_locked(const char *list);
/* Returns the list, or NULL if there is none. */
const char *evr_redact_list_locked(void);
/* Tells whether names of events of this class can be on the list, because the program
   chooses them. */
static inline bool evr_redact_concerns(unsigned event_class) {
  return event_class == EVENTRING_CLASS_USER || event_class == EVENTRING_CLASS_CALLS;
}
/* Tells whether this event is on the list. (The event with the ids of traces never is: it
   is the library's own, although in class user.) */
bool evr_redact_has_locked(unsigned kind, unsigned event_class, unsigned payload, const char *name);

#pragma GCC visibility pop

#endif /* EVENTRING_REDACT_H */
