/* SPDX-License-Identifier: MIT */
/* encoder_stacks.h: functions and stacks that an encoder has written (encoder_memory.c). */
#ifndef EVENTRING_ENCODER_STACKS_H
#define EVENTRING_ENCODER_STACKS_H

#include <stdint.h>

#include "eventring.h"

struct encoder_function { /* id: its place in the list, plus 1 */
  uint32_t line, last_line, name_bytes, source_bytes;
  uint64_t hash;
  char *texts; /* name, source */
};

struct encoder_frame { /* the same */
  uint32_t parent, function, line, column;
};

struct encoder_index { /* places, plus 1, by hash; 0: free */
  uint32_t *places;
  uint32_t size; /* a power of 2, more than twice as many as are in it */
};

struct encoder_stacks {
  struct encoder_function *functions;
  uint32_t function_count, function_room;
  struct encoder_index by_text;
  struct encoder_frame *frames;
  uint32_t frame_count, frame_room;
  struct encoder_index by_frame;
  bool functions_full, frames_full; /* a record found no room */
  char kind[64][EVENTRING_MAX_CLASS_NAME + 1], origin[16][EVENTRING_MAX_CLASS_NAME + 1];
  uint64_t generation; /* of heap profiles */
  uint32_t heaps;      /* that were written */
};

#endif /* EVENTRING_ENCODER_STACKS_H */
