/* SPDX-License-Identifier: MIT */
/* lualib.h - the standard libraries and how a host opens them. */
#ifndef lualib_h
#define lualib_h

#include "lua.h"

#pragma GCC visibility push(default)

/* Suffix of the environment variables for this version alone, as in LUA_PATH_5_4. */
#define LUA_VERSUFFIX "_" LUA_VERSION_MAJOR "_" LUA_VERSION_MINOR

#define LUA_COLIBNAME "coroutine"
#define LUA_TABLIBNAME "table"
#define LUA_IOLIBNAME "io"
#define LUA_OSLIBNAME "os"
#define LUA_STRLIBNAME "string"
#define LUA_UTF8LIBNAME "utf8"
#define LUA_MATHLIBNAME "math"
#define LUA_DBLIBNAME "debug"
#define LUA_LOADLIBNAME "package"

/* Pushes the table of the library, as each function below does. Call these functions
 * through luaL_requiref. */
LUAMOD_API int luaopen_base(lua_State *L);
LUAMOD_API int luaopen_coroutine(lua_State *L);
LUAMOD_API int luaopen_table(lua_State *L);
LUAMOD_API int luaopen_io(lua_State *L);
LUAMOD_API int luaopen_os(lua_State *L);
LUAMOD_API int luaopen_string(lua_State *L);
LUAMOD_API int luaopen_utf8(lua_State *L);
LUAMOD_API int luaopen_math(lua_State *L);
LUAMOD_API int luaopen_debug(lua_State *L);
LUAMOD_API int luaopen_package(lua_State *L);

/* Modules of Saros's own: `require` loads them as saros.domain and so on. */
LUAMOD_API int luaopen_domain(lua_State *L);
LUAMOD_API int luaopen_eventring(lua_State *L);
LUAMOD_API int luaopen_retain(lua_State *L);
LUAMOD_API int luaopen_coroutines(lua_State *L);
LUAMOD_API int luaopen_memprof(lua_State *L);
LUAMOD_API int luaopen_profile(lua_State *L);
LUAMOD_API int luaopen_ffi(lua_State *L); /* when built with libffi */

/* Opens the standard libraries, each also as a global, and makes Saros's own
 * modules known to `require`. */
LUALIB_API void luaL_openlibs(lua_State *L);

#pragma GCC visibility pop

#endif
