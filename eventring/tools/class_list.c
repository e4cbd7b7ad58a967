/* SPDX-License-Identifier: MIT */
/* class_list.c: finds the classes that the user names. */
#include "class_list.h"
#include "eventring.h"

#include <stdio.h>
#include <string.h>

/* Tells whether this class exists in other programs, though not in this recording. */
static bool is_known_elsewhere(const char *name, size_t size) {
  char text[EVENTRING_MAX_CLASS_NAME + 1];
  if (size > EVENTRING_MAX_CLASS_NAME) return false;
  snprintf(text, sizeof text, "%.*s", (int)size, name);
  return eventring_class_by_name(text) >= 0;
}

static uint64_t bit_of(const eventring_cursor *cursor, const char *name, size_t size) {
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++) {
    const char *known = eventring_cursor_name(cursor, EVENTRING_NAME_CLASS, i);
    if (known && strlen(known) == size && memcmp(known, name, size) == 0)
      return EVENTRING_CLASS_BIT(i);
  }
  return 0;
}

static void say_why_not(const eventring_cursor *cursor, const char *name, size_t size,
                        char trouble[CLASS_TROUBLE]) {
  enum { SHOWN = 100 }; /* most bytes of a name that are shown */
  size_t used = (size_t)snprintf(
      trouble, CLASS_TROUBLE,
      is_known_elsewhere(name, size) ? "class `%.*s' has no events in this program; it has"
                                     : "no class `%.*s' in this recording; it has",
      (int)(size < SHOWN ? size : SHOWN), name);
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++) {
    const char *known = eventring_cursor_name(cursor, EVENTRING_NAME_CLASS, i);
    if (known) used += (size_t)snprintf(trouble + used, CLASS_TROUBLE - used, " %s", known);
  }
}

static uint64_t class_by_name(const eventring_cursor *cursor, const char *name, size_t size,
                              char trouble[CLASS_TROUBLE]) {
  uint64_t bit = bit_of(cursor, name, size);
  if (!bit) say_why_not(cursor, name, size, trouble);
  return bit;
}

bool class_find(const eventring_cursor *cursor, const char *name, uint64_t *classes) {
  char trouble[CLASS_TROUBLE];
  if (!name) return true;
  *classes = class_by_name(cursor, name, strlen(name), trouble);
  if (!*classes) complain("%s", trouble);
  return *classes != 0;
}

static uint64_t known_classes(const eventring_cursor *cursor) {
  uint64_t known = 0;
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++)
    if (eventring_cursor_name(cursor, EVENTRING_NAME_CLASS, i)) known |= EVENTRING_CLASS_BIT(i);
  return known;
}

bool class_list_read(const eventring_cursor *cursor, const char *list, bool off,
                     uint64_t *classes, char trouble[CLASS_TROUBLE]) {
  for (const char *at = list; *at;) {
    size_t size = strcspn(at, ",");
    uint64_t bits = class_by_name(cursor, at, size, trouble);
    if (!bits && size == 3 && memcmp(at, "all", 3) == 0) bits = known_classes(cursor);
    if (!bits && !(off && is_known_elsewhere(at, size))) return false;
    *classes |= bits;
    at += size + (at[size] == ',');
  }
  if (!off || *classes != EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE)) return true;
  snprintf(trouble, CLASS_TROUBLE, "class `lifecycle' is always recorded");
  return false;
}
