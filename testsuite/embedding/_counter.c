/* SPDX-License-Identifier: MIT */
/* _counter.c: a C module: objects with state, a continuation, a buffer. */
#include <lauxlib.h>
#include <lua.h>

#define COUNTER "counter"

static int counter_new(lua_State *L) {
  lua_settop(L, 2);
  lua_Integer *count = lua_newuserdatauv(L, sizeof *count, 1);
  *count = luaL_optinteger(L, 1, 0);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, 1);
  luaL_setmetatable(L, COUNTER);
  return 1;
}

/* Returns the sum, and whether the object's function yielded. It is the continuation of
   counter_add, which calls the object's function with the sum. */
static int counted(lua_State *L, int status, lua_KContext sum) {
  lua_pushinteger(L, (lua_Integer)sum);
  lua_pushboolean(L, status == LUA_YIELD);
  return 2;
}

static int counter_add(lua_State *L) {
  lua_Integer *count = luaL_checkudata(L, 1, COUNTER);
  *count += luaL_checkinteger(L, 2);
  if (lua_getiuservalue(L, 1, 1) != LUA_TNIL) {
    lua_pushinteger(L, *count);
    lua_callk(L, 1, 0, (lua_KContext)*count, counted);
  }
  return counted(L, LUA_OK, (lua_KContext)*count);
}

static int counter_tostring(lua_State *L) {
  const lua_Integer *count = luaL_checkudata(L, 1, COUNTER);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (lua_Integer i = 0; i < *count; i++) luaL_addchar(&b, '|');
  luaL_pushresult(&b);
  return 1;
}

int luaopen_counter(lua_State *L);

int luaopen_counter(lua_State *L) {
  static const luaL_Reg functions[] = {{"new", counter_new}, {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"add", counter_add}, {"__tostring", counter_tostring}, {NULL, NULL}};
  luaL_newmetatable(L, COUNTER);
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  luaL_newlib(L, functions);
  return 1;
}
