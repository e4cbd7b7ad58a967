/* SPDX-License-Identifier: MIT */
/* vm/api_chunk.h: loading chunks, for the layers above. */
#ifndef SAROS_VM_API_CHUNK_H
#define SAROS_VM_API_CHUNK_H

#include "object.h"

/* Loads one block as lua_load does; the block must not change during the call
 * (api_chunk.c). */
int vm_load_block(lua_State *L, const char *block, size_t size, const char *chunkname,
                  const char *mode);
/* Loads a string as lua_load does; the caller keeps it alive. */
int vm_load_string(lua_State *L, String *s, const char *chunkname, const char *mode);

#endif
