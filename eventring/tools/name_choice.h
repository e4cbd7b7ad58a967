/* SPDX-License-Identifier: MIT */
/* name_choice.h: finds the events that an option --name chooses. */
#ifndef EVENTRING_TOOL_NAME_CHOICE_H
#define EVENTRING_TOOL_NAME_CHOICE_H

#include <stdbool.h>
#include <string.h>

#include "eventring/read.h"

/* The events with this name, or, if no such event is known yet, the events whose names
   contain it. */
struct name_choice {
  const char *text; /* NULL: all */
  bool is_exact;    /* an event has exactly this name */
};

/* Looks for the name among the definitions of a recording whose classes are both recorded
   and among `classes` (bits). Must be called before the first event, and whenever
   definitions have been added. */
void name_choice_look(struct name_choice *choice, const eventring_cursor *cursor, uint64_t classes);

/* The option (options.h). `what` is "events" or "spans". */
#define NAME_SPEC(choice, what)                     \
  {"name", 0, OPTION_TEXT, &(choice)->text, "NAME", \
   "only " what " of this name, or, if none has it, whose names contain it"}

/* Tells whether an event of this name is chosen. */
static inline bool name_choice_wants(const struct name_choice *choice, const char *name) {
  if (!choice->text) return true;
  return choice->is_exact ? strcmp(name, choice->text) == 0 : strstr(name, choice->text) != NULL;
}

#endif
