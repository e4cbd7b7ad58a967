/* SPDX-License-Identifier: MIT */
/* vm/api_chunk.h: loading chunks, for the layers above. */
#ifndef SAROS_VM_API_CHUNK_H
#define SAROS_VM_API_CHUNK_H

#include "object.h"

/* lua_load of one block, which stays as it is meanwhile (api_chunk.c). */
int vm_load_block(lua_State *L, const char *block, size_t size, const char *chunkname,
                  const char *mode);
/* Likewise of a string, which the caller keeps alive. */
int vm_load_string(lua_State *L, String *s, const char *chunkname, const char *mode);

#endif
