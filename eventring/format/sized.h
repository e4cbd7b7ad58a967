/* SPDX-License-Identifier: MIT */
/* sized.h: structures that the library shares with a program whose header is older.
 *
 * Members are only ever added at the end. The first one, `size`, is the `sizeof` of the
 * structure as the program knows it (doc/VERSIONS.md); members beyond that size are
 * neither read nor written.
 */
#ifndef EVENTRING_SIZED_H
#define EVENTRING_SIZED_H

#include "eventring/types.h"

#include <stddef.h>
#include <string.h>

/* Copies a structure of `from_size` bytes to memory of `to_size` bytes, as far as both
   reach. Sets the rest of that memory to 0. */
static inline void evr_copy_sized(void *to, size_t to_size, const void *from,
                                  size_t from_size) {
  size_t common = to_size < from_size ? to_size : from_size;
  memcpy(to, from, common);
  memset((char *)to + common, 0, to_size - common);
}

/* Fills a structure of the caller, in which `size` is set, from one of `full_size` bytes.
   Returns 0, or E_ARGUMENT if its size is 0. */
static inline int evr_give(void *to, const void *full, size_t full_size) {
  const size_t size = *(const size_t *)to;
  if (size < sizeof size) return EVENTRING_E_ARGUMENT;
  evr_copy_sized(to, size, full, full_size);
  *(size_t *)to = size;
  return EVENTRING_OK;
}

#endif
