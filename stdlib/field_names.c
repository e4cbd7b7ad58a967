/* SPDX-License-Identifier: MIT */
/* field_names.c - tables of options or callbacks that a guest gives to a function. */
#include "field_names.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analysis/nearest.h"
#include "lauxlib.h"

/* Returns the index of the string `given` among the names, or -1 if it is not one of
   them. */
static int index_among(lua_State *L, int given, const char *const *names) {
  size_t size;
  const char *text = lua_tolstring(L, given, &size);
  for (int i = 0; names[i] != NULL; i++)
    if (strlen(names[i]) == size && memcmp(names[i], text, size) == 0) return i;
  return -1;
}

/* Pushes the value `given` as text, with control characters as Lua writes them. */
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

/* Returns the name that the string `given` was probably meant to be, or NULL if it is
   close to none. */
static const char *nearest_name(lua_State *L, int given, const char *const *names) {
  size_t size;
  const char *text = lua_tolstring(L, given, &size);
  struct eva_nearest nearest;
  eva_nearest_begin(&nearest, text, size);
  for (; *names != NULL; names++) eva_nearest_try(&nearest, *names);
  return nearest.word;
}

/* Raises the error about a key of a table; the key is below its value, which is on top of
   the stack. */
static void raise_wrong_name(lua_State *L, int arg, const char *kind, const char *const *names) {
  const bool is_text = lua_type(L, -2) == LUA_TSTRING;
  const char *meant = is_text ? nearest_name(L, -2, names) : NULL;
  const char *given = push_shown(L, -2);
  if (meant == NULL) luaL_argerror(L, arg, lua_pushfstring(L, "no %s '%s'", kind, given));
  luaL_argerror(L, arg, lua_pushfstring(L, "no %s '%s'; did you mean '%s'?", kind, given, meant));
}

uint64_t check_field_names_at(lua_State *L, int table, int arg, const char *kind,
                              const char *const *names) {
  uint64_t seen = 0;
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
    const int index = lua_type(L, -2) == LUA_TSTRING ? index_among(L, -2, names) : -1;
    if (index < 0) raise_wrong_name(L, arg, kind, names);
    seen |= (uint64_t)1 << (index & 63);
  }
  return seen;
}

uint64_t check_field_names(lua_State *L, int arg, const char *kind, const char *const *names) {
  return check_field_names_at(L, arg, arg, kind, names);
}

lua_Integer option_integer(lua_State *L, int table, const char *name, lua_Integer most,
                           lua_Integer otherwise) {
  int is_integer = 1;
  lua_Integer value = otherwise;
  if (lua_getfield(L, table, name) != LUA_TNIL) {
    value = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer || value < 1 || value > most)
      luaL_argerror(L, table, lua_pushfstring(L, "field '%s' is not an integer from 1 to %I", name,
                                              (LUAI_UACINT)most));
  }
  lua_pop(L, 1);
  return value;
}

uint64_t option_seconds(lua_State *L, int table, const char *name) {
  uint64_t ns = 0;
  if (lua_getfield(L, table, name) != LUA_TNIL) {
    lua_Number seconds = lua_tonumber(L, -1);
    if (lua_type(L, -1) != LUA_TNUMBER || !(seconds > 0 && seconds <= 1e6))
      luaL_argerror(L, table, lua_pushfstring(
          L, "field '%s' is not a number above 0 and up to 1000000", name));
    ns = (uint64_t)ceil((double)seconds * 1e9);
  }
  lua_pop(L, 1);
  return ns;
}
