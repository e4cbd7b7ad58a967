/* SPDX-License-Identifier: MIT */
/* register.c: the host's definitions, into the catalogue and into the recording. */
#include <string.h>

#include "format/error.h"
#include "format/sized.h"
#include "producer/catalogue.h"
#include "producer/producer.h"
#include "producer/redact.h"
#include "producer/traces.h"

/* Defines all events or none, and writes them into the recording. */
static int define_and_publish_locked(const struct eventring_def *defs, size_t def_size,
                                     size_t count, struct eventring_error *error) {
  int first = evr_catalogue_define_locked(defs, def_size, count, error);
  if (first < 0 || !evr_producer.recording) return first;
  int status = evr_catalogue_publish_locked(evr_producer.recording, error);
  return status == EVENTRING_OK ? first : status;
}

/* Defines an event; if there is no room, returns EVENTRING_ID_OTHER, so that the program
   goes on. */
static int define_or_other_locked(const struct eventring_def *def,
                                  struct eventring_error *error) {
  int id = define_and_publish_locked(def, sizeof *def, 1, error);
  if (id != EVENTRING_E_FULL) return id;
  if (evr_producer.recording) evr_catalogue_drop_locked(evr_producer.recording);
  return EVENTRING_ID_OTHER;
}

int eventring_register_defs(const struct eventring_def *defs, size_t def_size, size_t count,
                            unsigned *first, struct eventring_error *error) {
  if (!defs && count)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no definitions");
  evr_lock();
  int result = evr_catalogue_check_base_locked(first != NULL, error);
  if (result == EVENTRING_OK) result = define_and_publish_locked(defs, def_size, count, error);
  evr_unlock();
  if (result < 0) return result;
  if (first) *first = (unsigned)result;
  return EVENTRING_OK;
}

static bool is_redacted_locked(const struct eventring_def *def) {
  return evr_redact_has_locked(def->kind, def->event_class, def->payload, def->name);
}

int eventring_register_def(const struct eventring_def *def, size_t def_size,
                           struct eventring_error *error) {
  struct eventring_def full;
  if (def) evr_copy_sized(&full, sizeof full, def, def_size);
  if (!def || !full.name)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no definition or no name");
  evr_lock();
  int result = evr_catalogue_find_locked(&full, error);
  if (result == EVENTRING_E_NOT_FOUND)
    result = is_redacted_locked(&full) ? EVENTRING_ID_OTHER : define_or_other_locked(&full, error);
  evr_unlock();
  return result;
}

int eventring_register_user(enum eventring_def_kind kind, const char *name,
                            size_t size, enum eventring_payload payload,
                            struct eventring_error *error) {
  char copy[EVENTRING_MAX_NAME + 1];
  int status = eventring_check_name(name, size, error);
  if (status != EVENTRING_OK) return status;
  memcpy(copy, name, size);
  copy[size] = 0;
  struct eventring_def def = {
      .name = copy, .kind = (uint8_t)kind, .payload = (uint8_t)payload,
      .event_class = EVENTRING_CLASS_USER, .ring = EVENTRING_USER};
  return eventring_register(&def, error);
}

const char *eventring_event_name(unsigned id) {
  evr_lock();
  const char *name = evr_catalogue_name_locked(id);
  evr_unlock();
  return name;
}
