/* SPDX-License-Identifier: MIT */
/* faces.c: the part of an event's text that depends on its definition. */
#include "export/faces.h"

#include <stdlib.h>
#include <string.h>

enum { READABLE = 64 };

struct export_face *export_face_make(struct export_faces *faces,
                                     const struct eventring_event *event, const void *text,
                                     size_t size) {
  struct export_face **all = event->def ? faces->known : faces->unknown;
  struct export_face **kept = &all[event->id % EVENTRING_MAX_EVENTS];
  struct export_face *face = calloc(1, sizeof *face + size + READABLE);
  if (!face) return NULL;
  *face = (struct export_face){.def = event->def, .number = ++faces->count,
                               .size = (uint16_t)size};
  memcpy(face->text, text, size);
  free(*kept);
  return *kept = face;
}

void export_faces_free(struct export_faces *faces) {
  for (int i = 0; i < EVENTRING_MAX_EVENTS; i++) {
    free(faces->known[i]);
    free(faces->unknown[i]);
  }
}

const char *export_class_name(const eventring_cursor *cursor,
                              const struct eventring_event *event) {
  const char *name = eventring_cursor_name(cursor, EVENTRING_NAME_CLASS, event->event_class);
  return name ? name : "";
}
