/* SPDX-License-Identifier: MIT */
/* array.h: arrays that grow by one element at a time. */
#ifndef EVENTRING_ARRAY_H
#define EVENTRING_ARRAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one element more. `array`: where the pointer to the first element is, NULL
   or from malloc; `count` of its `*room` elements of `size` bytes are used. A full array is
   given twice its room, the first time `first` elements. False, with nothing changed, when
   there is no memory. */
static inline bool evr_make_room(void *array, uint32_t *room, uint32_t count, uint32_t first,
                                 size_t size) {
  void *old;
  if (count < *room) return true;
  if (*room > UINT32_MAX / 2) return false;
  uint32_t more = *room ? 2 * *room : first;
  memcpy(&old, array, sizeof old); /* of whatever type the pointer is */
  void *grown = realloc(old, more * size);
  if (!grown) return false;
  memcpy(array, &grown, sizeof grown);
  *room = more;
  return true;
}

#endif /* EVENTRING_ARRAY_H */
