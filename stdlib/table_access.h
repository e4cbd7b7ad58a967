/* SPDX-License-Identifier: MIT */
/* stdlib/table_access.h: how the table library reaches the elements of its arguments. A
 * table without a metatable is plain: it is read and written raw. Anything else goes
 * through metamethods. */
#ifndef SAROS_STDLIB_TABLE_ACCESS_H
#define SAROS_STDLIB_TABLE_ACCESS_H

#include <stdbool.h>

#include "lua.h"

/* What a function does with an argument. If the argument is not a table, its metatable
 * must have a metamethod for each access. */
enum { ACCESS_READ = 1, ACCESS_WRITE = 2, ACCESS_LENGTH = 4 };

/* Raises an error unless the argument allows the access. Returns true if the argument is
   plain. */
bool table_check(lua_State *L, int arg, unsigned access);

/* Returns the length, by the border or by `__len`. */
lua_Integer table_length(lua_State *L, int arg, bool plain);

static inline int element_get(lua_State *L, int arg, bool plain, lua_Integer i) {
  return plain ? lua_rawgeti(L, arg, i) : lua_geti(L, arg, i);
}

/* Stores the value on top of the stack, and pops it. */
static inline void element_set(lua_State *L, int arg, bool plain, lua_Integer i) {
  if (plain)
    lua_rawseti(L, arg, i);
  else
    lua_seti(L, arg, i);
}

int tablib_concat(lua_State *L); /* table_concat.c */
int tablib_sort(lua_State *L);   /* table_sort.c */

#endif
