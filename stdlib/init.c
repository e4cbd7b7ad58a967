/* SPDX-License-Identifier: MIT */
/* init.c - opens the standard libraries. */
#define LUA_LIB

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "own_modules.h"

/* Adds this program's modules to package.preload, from which a host can remove them
   (own_modules.h). */
static void add_own_modules(lua_State *L) {
  static const luaL_Reg modules[] = {
#define MODULE(name, has_short_name) {OWN_MODULES_PREFIX #name, luaopen_##name},
    OWN_MODULES(MODULE)
#undef MODULE
  };
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  for (size_t i = 0; i < sizeof modules / sizeof modules[0]; i++) {
    lua_pushcfunction(L, modules[i].func);
    lua_setfield(L, -2, modules[i].name);
  }
  lua_pop(L, 1);
}

void luaL_openlibs(lua_State *L) {
  static const luaL_Reg libraries[] = {
    {LUA_GNAME, luaopen_base},
    {LUA_LOADLIBNAME, luaopen_package},
    {LUA_COLIBNAME, luaopen_coroutine},
    {LUA_TABLIBNAME, luaopen_table},
    {LUA_IOLIBNAME, luaopen_io},
    {LUA_OSLIBNAME, luaopen_os},
    {LUA_STRLIBNAME, luaopen_string},
    {LUA_MATHLIBNAME, luaopen_math},
    {LUA_UTF8LIBNAME, luaopen_utf8},
    {LUA_DBLIBNAME, luaopen_debug},
    {NULL, NULL}};
  for (const luaL_Reg *lib = libraries; lib->name != NULL; lib++) {
    luaL_requiref(L, lib->name, lib->func, 1);
    lua_pop(L, 1);
  }
  add_own_modules(L);
}
