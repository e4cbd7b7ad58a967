/* SPDX-License-Identifier: MIT */
/* stdlib/set_field.h: fields of the table on top of the stack. */
#ifndef SAROS_STDLIB_SET_FIELD_H
#define SAROS_STDLIB_SET_FIELD_H

#include "lua.h"

static inline void set_integer(lua_State *L, const char *name, lua_Integer value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

static inline void set_number(lua_State *L, const char *name, lua_Number value) {
  lua_pushnumber(L, value);
  lua_setfield(L, -2, name);
}

static inline void set_boolean(lua_State *L, const char *name, int value) {
  lua_pushboolean(L, value);
  lua_setfield(L, -2, name);
}

/* Sets a field to a string, or to nil if `text` is NULL. */
static inline void set_text(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

#endif
