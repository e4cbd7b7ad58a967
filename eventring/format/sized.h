/* SPDX-License-Identifier: MIT */
/* sized.h: structures that the library shares with a program whose header is older.
 *
 * Members are only ever added at the end. Each public function that takes a structure of
 * the caller's is an inline wrapper that adds `sizeof` of the structure as the program
 * knows it; what lies beyond that size is neither read nor written.
 */
#ifndef EVENTRING_SIZED_H
#define EVENTRING_SIZED_H

#include <stddef.h>
#include <string.h>

/* Copies a structure of `from_size` bytes to a place of `to_size` bytes: as much as both
   have; members that only the place has become 0. */
static inline void evr_copy_sized(void *to, size_t to_size, const void *from,
                                  size_t from_size) {
  size_t common = to_size < from_size ? to_size : from_size;
  memcpy(to, from, common);
  memset((char *)to + common, 0, to_size - common);
}

#endif
