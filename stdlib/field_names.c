/* SPDX-License-Identifier: MIT */
/* field_names.c - tables of options or callbacks that a guest gives to a function. */
#include "field_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analysis/nearest.h"
#include "lauxlib.h"

/* Is the string `given` one of the names? */
static bool is_among(lua_State *L, int given, const char *const *names) {
  size_t size;
  const char *text = lua_tolstring(L, given, &size);
  while (*names != NULL && (strlen(*names) != size || memcmp(*names, text, size) != 0)) names++;
  return *names != NULL;
}

/* Pushes the value `given` as text, its control characters as Lua writes them. */
static const char *push_shown(lua_State *L, int given) {
  size_t size;
  const char *text = luaL_tolstring(L, given, &size);
  luaL_Buffer shown;
  luaL_buffinit(L, &shown);
  for (size_t i = 0; i < size; i++) {
    const unsigned char c = (unsigned char)text[i];
    char escape[8];
    if (c >= ' ' && c != 0x7f) {
      luaL_addchar(&shown, text[i]);
    } else {
      snprintf(escape, sizeof escape, "\\%03d", c);
      luaL_addstring(&shown, escape);
    }
  }
  luaL_pushresult(&shown);
  return lua_tostring(L, -1);
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
  const char *given = push_shown(L, -2);
  if (meant == NULL) luaL_argerror(L, arg, lua_pushfstring(L, "no %s '%s'", kind, given));
  luaL_argerror(L, arg, lua_pushfstring(L, "no %s '%s'; did you mean '%s'?", kind, given, meant));
}

void check_field_names(lua_State *L, int arg, const char *kind, const char *const *names) {
  for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1))
    if (lua_type(L, -2) != LUA_TSTRING || !is_among(L, -2, names))
      raise_wrong_name(L, arg, kind, names);
}
