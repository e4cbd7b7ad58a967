/* SPDX-License-Identifier: MIT */
/* _compat.c: the names of Lua 5.3, and names that programs of several files use. */
#define LUA_COMPAT_5_3
#define LUAI_ASSERT
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

LUAI_FUNC int shared_by_files(lua_State *L);

int shared_by_files(lua_State *L) {
  lua_pushunsigned(L, luaL_checkunsigned(L, 1) + luaL_optunsigned(L, 9, 1));
  lua_pushinteger(L, luaL_checkint(L, 1) + luaL_optint(L, 9, 2));
  lua_pushinteger(L, luaL_checklong(L, 1) + luaL_optlong(L, 9, 3));
  lua_assert(lua_equal(L, -1, -1) && lua_lessthan(L, -2, -1));
  lua_pushinteger(L, (lua_Integer)(lua_strlen(L, 2) + lua_objlen(L, 2)));
  return 4;
}

int main(void) {
  lua_State *L = luaL_newstate();
  if (strncmp(LUA_COPYRIGHT, LUA_RELEASE, strlen(LUA_RELEASE)) != 0) return 2;
  if (strstr(lua_ident, LUA_COPYRIGHT) == NULL || strstr(lua_ident, LUA_AUTHORS) == NULL) return 3;
  luaL_openlibs(L);
  lua_pushcfunction(L, shared_by_files);
  lua_pushinteger(L, 40);
  lua_pushliteral(L, "text");
  lua_call(L, 2, 4);
  printf("%d %d %d %d\n", (int)lua_tounsigned(L, -4), (int)lua_tointeger(L, -3),
         (int)lua_tointeger(L, -2), (int)lua_tointeger(L, -1));
  lua_close(L);
  return 0;
}
