/* SPDX-License-Identifier: MIT */
/* stdlib/string_position.h: positions in strings as the guest gives them: from 1, or
 * negative from the end. */
#ifndef SAROS_STDLIB_STRING_POSITION_H
#define SAROS_STDLIB_STRING_POSITION_H

#include <stddef.h>

#include "lua.h"

/* Returns the first position of a range in a string of `length` bytes. It is at least 1,
 * and may be beyond the end. */
static inline size_t position_start(lua_Integer position, size_t length) {
  if (position > 0) return (size_t)position;
  if (position == 0 || position < -(lua_Integer)length) return 1;
  return length + (size_t)position + 1;
}

/* Returns the last position of a range: from 0 to `length`. */
static inline size_t position_end(lua_Integer position, size_t length) {
  if (position > (lua_Integer)length) return length;
  if (position >= 0) return (size_t)position;
  if (position < -(lua_Integer)length) return 0;
  return length + (size_t)position + 1;
}

#endif
