/* SPDX-License-Identifier: MIT */
/* init.c - opens the standard libraries. */
#define LUA_LIB

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "own_modules.h"

/* `short_name`: NULL, or the name that it has if no other module has it. */
static void add_own_module(lua_State *L, const char *name, lua_CFunction open,
                           const char *short_name) {
  lua_pushcfunction(L, open);
  lua_setfield(L, -2, name);
  if (short_name == NULL)
    return;
  lua_pushstring(L, name);
  lua_setfield(L, -2, short_name);
}

static void add_own_modules(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, OWN_MODULES_KEY);
  add_own_module(L, OWN_MODULES_PREFIX "domain", luaopen_domain, "domain");
  add_own_module(L, OWN_MODULES_PREFIX "eventring", luaopen_eventring, "eventring");
  add_own_module(L, OWN_MODULES_PREFIX "retain", luaopen_retain, NULL);
  add_own_module(L, OWN_MODULES_PREFIX "memprof", luaopen_memprof, "memprof");
#ifdef HAVE_FFI
  add_own_module(L, OWN_MODULES_PREFIX "ffi", luaopen_ffi, "ffi");
#endif
  add_own_module(L, OWN_MODULES_PREFIX "profile", luaopen_profile, "profile");
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
