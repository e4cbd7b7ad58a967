/* SPDX-License-Identifier: MIT */
/* classes.c: the classes of this process: their names, and which are on by default; and
   the names of its rings. */
#include "producer/classes.h"
#include "eventring.h"

#include <string.h>

#include "format/text.h"

uint32_t evr_watched_rings;

#define STANDARD_CLASSES \
  {"lifecycle", "gc", "domain", "user", "load", "calls", "alloc", "io", \
   "finalizers"}
enum { STANDARD_COUNT = 9 };

static const char standard_names[STANDARD_COUNT][EVENTRING_MAX_CLASS_NAME + 1] =
    STANDARD_CLASSES;

/* The first entries are the standard classes. A class without a name has no events. A
   recording has the classes that existed when it started. */
char evr_class_names[EVENTRING_MAX_CLASSES][EVENTRING_MAX_CLASS_NAME + 1] = STANDARD_CLASSES;

static uint64_t default_classes =
    EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE) |
    EVENTRING_CLASS_BIT(EVENTRING_CLASS_GC) |
    EVENTRING_CLASS_BIT(EVENTRING_CLASS_DOMAIN) |
    EVENTRING_CLASS_BIT(EVENTRING_CLASS_USER) |
    EVENTRING_CLASS_BIT(EVENTRING_CLASS_LOAD) |
    EVENTRING_CLASS_BIT(EVENTRING_CLASS_IO) |
    EVENTRING_CLASS_BIT(EVENTRING_CLASS_FINALIZERS);

uint64_t (*evr_classes_of_events)(const char *name, size_t size);

uint64_t evr_default_classes(void) { return default_classes; }

/* Names of the rings. They change only before a recording starts
   (eventring_define_ring). */
char evr_ring_names[EVENTRING_RINGS][EVENTRING_MAX_CLASS_NAME + 1] = {
    [EVENTRING_RUNTIME] = "runtime", [EVENTRING_USER] = "user",
    [EVENTRING_ALLOC] = "alloc", [EVENTRING_CALLS] = "calls"};

uint8_t evr_class_of[EVENTRING_MAX_EVENTS] = {
    [0 ... EVENTRING_MAX_EVENTS - 1] = EVENTRING_CLASS_USER};

uint8_t evr_payload_of[EVENTRING_MAX_EVENTS];

bool evr_has_reason[EVENTRING_MAX_EVENTS];

static int find_name(const char (*names)[EVENTRING_MAX_CLASS_NAME + 1], int count,
                     const char *name, size_t size) {
  for (int i = 0; i < count; i++)
    if (size && strlen(names[i]) == size && memcmp(names[i], name, size) == 0) return i;
  return EVENTRING_E_NOT_FOUND;
}

int evr_class_by_bytes(const char *name, size_t size) {
  return find_name(evr_class_names, EVENTRING_MAX_CLASSES, name, size);
}

int evr_ring_by_bytes(const char *name, size_t size) {
  return find_name(evr_ring_names, EVENTRING_RINGS, name, size);
}

bool evr_class_is_standard(const char *name, size_t size) {
  for (int i = 0; i < STANDARD_COUNT; i++)
    if (strlen(standard_names[i]) == size && memcmp(standard_names[i], name, size) == 0)
      return true;
  return false;
}

int eventring_class_by_name(const char *name) {
  if (!name) return EVENTRING_E_ARGUMENT;
  int index = evr_class_by_bytes(name, strlen(name));
  return index < 0 && evr_class_is_standard(name, strlen(name)) ? EVENTRING_E_STATE : index;
}

const char *eventring_class_name(unsigned index) {
  return index < EVENTRING_MAX_CLASSES && evr_class_names[index][0]
             ? evr_class_names[index] : NULL;
}

static void set_default(unsigned index, bool on) {
  uint64_t bit = EVENTRING_CLASS_BIT(index);
  default_classes = on ? default_classes | bit : default_classes & ~bit;
}

static bool has_events(unsigned index) {
  for (unsigned id = 0; id < EVENTRING_MAX_EVENTS; id++)
    if (evr_class_of[id] == index) return true;
  return false;
}

/* Defines a standard class, which has its own name or none. */
static int define_standard(unsigned index, const char *name, bool on, bool may_rename) {
  if (index == EVENTRING_CLASS_LIFECYCLE || (name && strcmp(name, standard_names[index]) != 0) ||
      (!name && index == EVENTRING_CLASS_USER))
    return EVENTRING_E_ARGUMENT;
  if (!name && has_events(index)) return EVENTRING_E_CONFLICT;
  if (!name && evr_class_names[index][0] && !may_rename) return EVENTRING_E_STATE;
  if (name) memcpy(evr_class_names[index], standard_names[index], sizeof standard_names[index]);
  else memset(evr_class_names[index], 0, sizeof evr_class_names[index]);
  set_default(index, name && on);
  return EVENTRING_OK;
}

static bool is_short_name(const char *name) {
  size_t size = name ? strlen(name) : 0;
  return size >= 1 && size <= EVENTRING_MAX_CLASS_NAME &&
         evr_text_check(name, size) == EVR_TEXT_OK;
}

static void set_name(char own[EVENTRING_MAX_CLASS_NAME + 1], const char *name) {
  memset(own, 0, EVENTRING_MAX_CLASS_NAME + 1);
  memcpy(own, name, strlen(name));
}

int evr_class_define(unsigned index, const char *name, bool on, bool may_rename) {
  if (index < STANDARD_COUNT) return define_standard(index, name, on, may_rename);
  if (index < EVENTRING_CLASS_HOST || index >= EVENTRING_MAX_CLASSES)
    return EVENTRING_E_ARGUMENT;
  if (!is_short_name(name)) return EVENTRING_E_NAME;
  int existing = evr_class_by_bytes(name, strlen(name));
  if ((existing >= 0 && existing != (int)index) || evr_class_is_standard(name, strlen(name)))
    return EVENTRING_E_CONFLICT;
  if (existing < 0 && evr_class_names[index][0] && !may_rename) return EVENTRING_E_STATE;
  set_name(evr_class_names[index], name);
  set_default(index, on);
  return EVENTRING_OK;
}

int evr_ring_define(unsigned index, const char *name, bool may_rename) {
  if (index < EVENTRING_RING_HOST || index >= EVENTRING_RINGS) return EVENTRING_E_ARGUMENT;
  if (!is_short_name(name)) return EVENTRING_E_NAME;
  for (unsigned i = 0; i < EVENTRING_RINGS; i++)
    if (i != index && strcmp(evr_ring_names[i], name) == 0) return EVENTRING_E_CONFLICT;
  if (strcmp(evr_ring_names[index], name) != 0 && !may_rename) return EVENTRING_E_STATE;
  set_name(evr_ring_names[index], name);
  return EVENTRING_OK;
}
