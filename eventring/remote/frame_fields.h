/* SPDX-License-Identifier: MIT */
/* frame_fields.h: reads the fields of copies of frames of another process. */
#ifndef EVENTRING_REMOTE_FRAME_FIELDS_H
#define EVENTRING_REMOTE_FRAME_FIELDS_H

#include "eventring/introspection.h"
#include "remote/process_memory.h"

/* A field of a frame, whose layout is in `at`. */
#define FRAME(bytes, field, size) remote_word((bytes) + at->frame.field, size)

static inline bool remote_frame_is_c(const struct eventring_introspection *at,
                                     const unsigned char *frame) {
  return FRAME(frame, status, 4) & at->frame.c_mask;
}

/* Tells whether two copies of a frame show the same activation. */
static inline bool remote_frame_stays(const struct eventring_introspection *at,
                                      const unsigned char *a, const unsigned char *b) {
  const bool is_c = remote_frame_is_c(at, a);
  return FRAME(a, entries, 4) == FRAME(b, entries, 4) &&
         FRAME(a, function, 8) == FRAME(b, function, 8) &&
         FRAME(a, previous, 8) == FRAME(b, previous, 8) && is_c == remote_frame_is_c(at, b) &&
         (is_c || FRAME(a, identity, 8) == FRAME(b, identity, 8));
}

#endif
