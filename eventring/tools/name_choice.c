/* SPDX-License-Identifier: MIT */
/* name_choice.c: finds the events that an option --name chooses. */
#include "name_choice.h"

/* Returns the classes that are recorded. (An event that is not recorded must not count as
   an exact match and so hide longer names: a runtime defines events of classes that are
   off, such as `read'.) */
static uint64_t recorded_classes(const eventring_cursor *cursor) {
  struct eventring_info info = {.size = sizeof info};
  if (eventring_cursor_info((eventring_cursor *)cursor, &info) < 0) return UINT64_MAX;
  return info.classes;
}

void name_choice_look(struct name_choice *choice, const eventring_cursor *cursor,
                      uint64_t classes) {
  if (!choice->text || choice->is_exact) return;
  classes &= recorded_classes(cursor);
  for (unsigned id = 0; id < EVENTRING_MAX_EVENTS && !choice->is_exact; id++) {
    const struct eventring_def *def = eventring_cursor_def(cursor, id);
    choice->is_exact =
        def && classes >> def->event_class & 1 && strcmp(def->name, choice->text) == 0;
  }
}
