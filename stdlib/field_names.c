/* SPDX-License-Identifier: MIT */
/* field_names.c - tables of options or callbacks that a guest gives to a function. */
#include "field_names.h"

#include <stdbool.h>
#include <string.h>

#include "lauxlib.h"

static bool is_among(const char *name, const char *const *names) {
  while (*names != NULL && strcmp(*names, name) != 0) names++;
  return *names != NULL;
}

void check_field_names(lua_State *L, int arg, const char *kind, const char *const *names) {
  for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1)) {
    if (lua_type(L, -2) == LUA_TSTRING && is_among(lua_tostring(L, -2), names)) continue;
    luaL_argerror(L, arg, lua_pushfstring(L, "no %s '%s'", kind, luaL_tolstring(L, -2, NULL)));
  }
}
