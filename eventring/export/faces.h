/* SPDX-License-Identifier: MIT */
/* faces.h: the part of an event's text that depends on its definition alone, made once
 * for each definition, and by id for events without a definition (UNKNOWN).
 */
#ifndef EVENTRING_EXPORT_FACES_H
#define EVENTRING_EXPORT_FACES_H

#include <stdbool.h>

#include "eventring/read.h"

struct export_face {
  const struct eventring_def *def; /* NULL: of events without one */
  uint32_t number; /* from 1: faces of one exporter */
  uint16_t size;
  char text[];     /* the format's own, `size` bytes; 64 bytes behind it may be read */
};

/* Zeroed, it is empty. */
struct export_faces {
  struct export_face *known[EVENTRING_MAX_EVENTS], *unknown[EVENTRING_MAX_EVENTS];
  uint32_t count;
};

/* Returns the face of an event; NULL if it has none yet or one of another definition:
   then call export_face_make. */
static inline struct export_face *export_face_of(const struct export_faces *faces,
                                                 const struct eventring_event *event) {
  struct export_face *const *all = event->def ? faces->known : faces->unknown;
  struct export_face *face = all[event->id % EVENTRING_MAX_EVENTS];
  return face && face->def == event->def ? face : NULL;
}
/* Makes the face of an event, with this text. Returns NULL: no memory. */
struct export_face *export_face_make(struct export_faces *faces,
                                     const struct eventring_event *event, const void *text,
                                     size_t size);
void export_faces_free(struct export_faces *faces);
/* Returns the name of the class of an event, "" if it has none. */
const char *export_class_name(const eventring_cursor *cursor, const struct eventring_event *event);

#endif
