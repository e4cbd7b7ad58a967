/* SPDX-License-Identifier: MIT */
/* stdlib/string_pack.h: string.pack, packsize and unpack. */
#ifndef SAROS_STDLIB_STRING_PACK_H
#define SAROS_STDLIB_STRING_PACK_H

#include "lua.h"

int strlib_pack(lua_State *L);
int strlib_packsize(lua_State *L);
int strlib_unpack(lua_State *L);

#endif
