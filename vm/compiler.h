/* SPDX-License-Identifier: MIT */
/* vm/compiler.h: from source text (or a binary chunk) to a closure. */
#ifndef SAROS_VM_COMPILER_H
#define SAROS_VM_COMPILER_H

#include "object.h"

/* Compiles `size` bytes of source. Pushes the main closure (one upvalue, _ENV, allocated
 * but not set: the caller stores globals into it). Raises LUA_ERRSYNTAX with "chunk:line:
 * message near 'token'" or LUA_ERRMEM. Never collects and calls no guest code. name is
 * the chunk name as given to lua_load ("@file", "=name" or text). */
LuaClosure *compile_source(lua_State *L, const char *source, size_t size, const char *name);

/* Loads a binary chunk written by chunk_dump. Verifies it in full, unless the bytes are
 * known to be sound, because chunk_dump of this process wrote them or they were verified
 * before. */
LuaClosure *chunk_undump(lua_State *L, const char *data, size_t size, const char *name,
                         bool is_sound);
/* Notes that s was written by chunk_dump, or was loaded before. */
ALWAYS_INLINE void chunk_note_sound(String *s) {
  if (s->type == TYPE_LONG_STRING) s->short_len = STRING_IS_SOUND_CHUNK;
}
ALWAYS_INLINE bool chunk_is_sound(const String *s) {
  return s->type == TYPE_LONG_STRING && s->short_len == STRING_IS_SOUND_CHUNK;
}
/* Writes p through writer as lua_dump does; returns the writer's status. */
int chunk_dump(lua_State *L, const Prototype *p, lua_Writer writer, void *ud, int strip);

#endif
