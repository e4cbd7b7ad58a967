/* stdlib/string_match.h: the functions of the string library that take patterns. */
#ifndef SAROS_STDLIB_STRING_MATCH_H
#define SAROS_STDLIB_STRING_MATCH_H

#include "lua.h"

int strlib_find(lua_State *L);
int strlib_match(lua_State *L);
int strlib_gmatch(lua_State *L);
int strlib_gsub(lua_State *L);

#endif
