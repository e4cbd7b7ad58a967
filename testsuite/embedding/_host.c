/* SPDX-License-Identifier: MIT */
/* _host.c: a program that embeds the interpreter, also for C++. It has functions with the
 * names of internal ones, which must not be confused with them. */
#ifdef __cplusplus
#include <lua.hpp>
#else
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#endif
#include <stdio.h>
#include <string.h>

int gc_step(void);
int table_new(void);
int gc_step(void) { return 1; }
int table_new(void) { return 2; }

static int host_name(lua_State *L) {
  lua_pushstring(L, "-host");
  return 1;
}

int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  if (L == NULL || argc != 2) return 2;
  luaL_checkversion(L);
  luaL_openlibs(L);
  lua_register(L, "host_name", host_name);
  if (luaL_dostring(L, "name = host_name() collectgarbage()") != LUA_OK ||
      luaL_dofile(L, argv[1]) != LUA_OK) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    return 1;
  }
  puts(lua_tostring(L, -1));
  lua_settop(L, 0);
  int failed = luaL_dostring(L, "local t = nil; return t.x");
  int described =
      failed && strstr(lua_tostring(L, -1), "attempt to index a nil value (local 't')") != NULL;
  lua_close(L);
  return described && gc_step() == 1 && table_new() == 2 ? 0 : 3;
}
