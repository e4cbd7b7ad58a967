/* SPDX-License-Identifier: MIT */
/* faces.h: what a format writes of each definition, made once: by id, and for events without a
 * definition (UNKNOWN) one more of each id. */
#ifndef EVENTRING_EXPORT_FACES_H
#define EVENTRING_EXPORT_FACES_H

#include <stdbool.h>

#include "eventring/read.h"

struct export_face {
  const struct eventring_def *def; /* that it is of; NULL: of an event without one */
  uint32_t number; /* from 1: faces of one exporter */
  uint16_t size;
  char text[];     /* the format's own, `size` bytes; 64 bytes behind it may be read */
};

/* Zeroed, it is empty. */
struct export_faces {
  struct export_face *known[EVENTRING_MAX_EVENTS], *unknown[EVENTRING_MAX_EVENTS];
  uint32_t count;
};

/* Returns the face of an event; NULL: there is none yet, or of another definition: then
   export_face_make. */
static inline struct export_face *export_face_of(const struct export_faces *faces,
                                                 const struct eventring_event *event) {
  struct export_face *const *all = event->def ? faces->known : faces->unknown;
  struct export_face *face = all[event->id % EVENTRING_MAX_EVENTS];
  return face && face->def == event->def ? face : NULL;
}
/* Makes it, with this text. NULL: no memory. */
struct export_face *export_face_make(struct export_faces *faces,
                                     const struct eventring_event *event, const void *text,
                                     size_t size);
void export_faces_free(struct export_faces *faces);
/* The name of the class of an event, "" if it has none. */
const char *export_class_name(const eventring_cursor *cursor, const struct eventring_event *event);

#endif
