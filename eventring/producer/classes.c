/* SPDX-License-Identifier: MIT */
/* classes.c: the classes of this process: their names, and which are on by default. */
#include "producer/classes.h"

#include <string.h>

#include "format/text.h"

/* Indices 0..7 are the standard ones. Each recording has those of its start. */
char evr_class_names[EVENTRING_MAX_CLASSES][EVENTRING_MAX_CLASS_NAME + 1] = {
    "lifecycle", "gc", "domain", "user", "load", "calls", "alloc", "io"};

static uint64_t default_classes =
    EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE) |
    EVENTRING_CLASS_BIT(EVENTRING_CLASS_GC) |
    EVENTRING_CLASS_BIT(EVENTRING_CLASS_DOMAIN) |
    EVENTRING_CLASS_BIT(EVENTRING_CLASS_USER) |
    EVENTRING_CLASS_BIT(EVENTRING_CLASS_LOAD) |
    EVENTRING_CLASS_BIT(EVENTRING_CLASS_IO);

uint64_t evr_default_classes(void) { return default_classes; }

const char evr_ring_names[EVENTRING_RINGS][EVENTRING_MAX_CLASS_NAME + 1] = {
    [EVENTRING_RUNTIME] = "runtime", [EVENTRING_USER] = "user",
    [EVENTRING_ALLOC] = "alloc", [EVENTRING_CALLS] = "calls"};

uint8_t evr_class_of[EVENTRING_MAX_EVENTS] = {
    [0 ... EVENTRING_MAX_EVENTS - 1] = EVENTRING_CLASS_USER};

int evr_class_by_bytes(const char *name, size_t size) {
  for (int i = 0; i < EVENTRING_MAX_CLASSES; i++)
    if (size && strlen(evr_class_names[i]) == size &&
        memcmp(evr_class_names[i], name, size) == 0)
      return i;
  return EVENTRING_E_NOT_FOUND;
}

int eventring_class_by_name(const char *name) {
  return name ? evr_class_by_bytes(name, strlen(name)) : EVENTRING_E_ARGUMENT;
}

const char *eventring_class_name(unsigned index) {
  return index < EVENTRING_MAX_CLASSES && evr_class_names[index][0]
             ? evr_class_names[index] : NULL;
}

int evr_class_define(unsigned index, const char *name, bool on, bool may_rename) {
  if (index < EVENTRING_CLASS_HOST || index >= EVENTRING_MAX_CLASSES)
    return EVENTRING_E_ARGUMENT;
  size_t size = name ? strlen(name) : 0;
  if (size < 1 || size > EVENTRING_MAX_CLASS_NAME ||
      evr_text_check(name, size) != EVR_TEXT_OK)
    return EVENTRING_E_NAME;
  int existing = evr_class_by_bytes(name, size);
  if (existing >= 0 && existing != (int)index) return EVENTRING_E_CONFLICT;
  if (existing < 0 && evr_class_names[index][0] && !may_rename) return EVENTRING_E_STATE;
  memset(evr_class_names[index], 0, sizeof evr_class_names[index]);
  memcpy(evr_class_names[index], name, size);
  uint64_t bit = EVENTRING_CLASS_BIT(index);
  default_classes = on ? default_classes | bit : default_classes & ~bit;
  return EVENTRING_OK;
}
