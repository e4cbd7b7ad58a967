/* SPDX-License-Identifier: MIT */
/* array.h: arrays that grow by one element at a time. */
#ifndef EVENTRING_ARRAY_H
#define EVENTRING_ARRAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Doubles the room of an array; the first time it becomes `first` elements. Returns
   false, with nothing changed, when there is no memory. `array` points to the pointer to
   the first element, which is NULL or from malloc; `room` points to the number of
   elements, an unsigned integer of `room_size` bytes. */
static inline bool evr_grow(void *array, size_t size, void *room, size_t room_size, size_t first) {
  const bool is_small = room_size == sizeof(uint32_t);
  uint64_t elements = is_small ? *(uint32_t *)room : *(uint64_t *)room;
  void *memory;
  elements = elements ? 2 * elements : first;
  if ((is_small && elements > UINT32_MAX) || elements > SIZE_MAX / size) return false;
  /* copied because the type of the pointer is not known */
  memcpy(&memory, array, sizeof memory);
  memory = realloc(memory, elements * size);
  if (!memory) return false;
  memcpy(array, &memory, sizeof memory);
  if (is_small) *(uint32_t *)room = (uint32_t)elements;
  else *(uint64_t *)room = elements;
  return true;
}

/* Makes room for one more element in `array`, which has room for `room` elements and uses
   `count`. `array` and `room` are lvalues: a pointer, and a uint32_t or size_t. */
#define EVR_MAKE_ROOM(array, room, count, first) \
  ((count) < (room) || evr_grow(&(array), sizeof *(array), &(room), sizeof(room), first))

#endif /* EVENTRING_ARRAY_H */
