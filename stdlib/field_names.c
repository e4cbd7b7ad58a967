/* SPDX-License-Identifier: MIT */
/* field_names.c - tables of options or callbacks that a guest gives to a function. */
#include "field_names.h"

#include <stdbool.h>
#include <string.h>

#include "analysis/nearest.h"
#include "lauxlib.h"

static bool is_among(const char *name, const char *const *names) {
  while (*names != NULL && strcmp(*names, name) != 0) names++;
  return *names != NULL;
}

/* The name that the string `given` was meant to be; NULL: it is near none. */
static const char *nearest_name(lua_State *L, int given, const char *const *names) {
  size_t size;
  const char *text = lua_tolstring(L, given, &size);
  struct eva_nearest nearest;
  eva_nearest_begin(&nearest, text, size);
  for (; *names != NULL; names++) eva_nearest_try(&nearest, *names);
  return nearest.word;
}

/* The key of a table is below its value on the top of the stack. */
static void raise_wrong_name(lua_State *L, int arg, const char *kind, const char *const *names) {
  const bool is_text = lua_type(L, -2) == LUA_TSTRING;
  const char *meant = is_text ? nearest_name(L, -2, names) : NULL;
  const char *given = luaL_tolstring(L, -2, NULL);
  if (meant == NULL) luaL_argerror(L, arg, lua_pushfstring(L, "no %s '%s'", kind, given));
  luaL_argerror(L, arg, lua_pushfstring(L, "no %s '%s'; did you mean '%s'?", kind, given, meant));
}

void check_field_names(lua_State *L, int arg, const char *kind, const char *const *names) {
  for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1))
    if (lua_type(L, -2) != LUA_TSTRING || !is_among(lua_tostring(L, -2), names))
      raise_wrong_name(L, arg, kind, names);
}
