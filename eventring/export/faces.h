/* SPDX-License-Identifier: MIT */
/* faces.h: the part of an event's text that depends on its definition alone. It is made
 * once for each definition; for events without a definition (UNKNOWN), once for each id.
 */
#ifndef EVENTRING_EXPORT_FACES_H
#define EVENTRING_EXPORT_FACES_H

#include <stdbool.h>

#include "eventring/read.h"

struct export_face {
  const struct eventring_def *def; /* NULL for events without a definition */
  uint32_t number; /* number of the face among those of an exporter, from 1 */
  uint16_t size;
  char text[];     /* the format's own, `size` bytes; 64 bytes behind it may be read */
};

/* A zeroed struct is empty. */
struct export_faces {
  struct export_face *known[EVENTRING_MAX_EVENTS], *unknown[EVENTRING_MAX_EVENTS];
  uint32_t count;
};

/* Returns the face of an event; NULL if the id has no face yet, or one of another
   definition; then call export_face_make. */
static inline struct export_face *export_face_of(const struct export_faces *faces,
                                                 const struct eventring_event *event) {
  struct export_face *const *all = event->def ? faces->known : faces->unknown;
  struct export_face *face = all[event->id % EVENTRING_MAX_EVENTS];
  return face && face->def == event->def ? face : NULL;
}
/* Makes the face of an event, with this text. Returns NULL when out of memory. */
struct export_face *export_face_make(struct export_faces *faces,
                                     const struct eventring_event *event, const void *text,
                                     size_t size);
void export_faces_free(struct export_faces *faces);
/* Returns the name of the event's class; "" if it has none. */
const char *export_class_name(const eventring_cursor *cursor, const struct eventring_event *event);

#endif
