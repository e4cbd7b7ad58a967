/* SPDX-License-Identifier: MIT */
/* stdlib/string_match.h: the functions of the string library that take patterns. */
#ifndef SAROS_STDLIB_STRING_MATCH_H
#define SAROS_STDLIB_STRING_MATCH_H

#include "lua.h"

/* Adds find, match, gmatch and gsub to the library's table on top of the stack. */
void string_match_open(lua_State *L);

#endif
