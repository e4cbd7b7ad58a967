/* SPDX-License-Identifier: MIT */
/* _layout.c: prints what a program takes from the headers of Lua. It must print the same
 * when compiled with the reference's headers and with Saros's. */
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stddef.h>
#include <stdio.h>

#define SIZE(type) printf("sizeof %s %zu\n", #type, sizeof(type))
#define PLACE(type, member) \
  printf("%s.%s %zu %zu\n", #type, #member, offsetof(type, member), sizeof(((type *)0)->member))
#define NUMBER(name) printf("%s %lld\n", #name, (long long)(name))
#define TEXT(name) printf("%s %s\n", #name, name)

static void print_types(void) {
  SIZE(lua_Number);
  SIZE(lua_Integer);
  SIZE(lua_Unsigned);
  SIZE(lua_KContext);
  SIZE(lua_Debug);
  PLACE(lua_Debug, event);
  PLACE(lua_Debug, name);
  PLACE(lua_Debug, namewhat);
  PLACE(lua_Debug, what);
  PLACE(lua_Debug, source);
  PLACE(lua_Debug, srclen);
  PLACE(lua_Debug, currentline);
  PLACE(lua_Debug, linedefined);
  PLACE(lua_Debug, lastlinedefined);
  PLACE(lua_Debug, nups);
  PLACE(lua_Debug, nparams);
  PLACE(lua_Debug, isvararg);
  PLACE(lua_Debug, istailcall);
  PLACE(lua_Debug, ftransfer);
  PLACE(lua_Debug, ntransfer);
  PLACE(lua_Debug, short_src);
  PLACE(lua_Debug, i_ci);
  SIZE(luaL_Buffer);
  PLACE(luaL_Buffer, b);
  PLACE(luaL_Buffer, size);
  PLACE(luaL_Buffer, n);
  PLACE(luaL_Buffer, L);
  PLACE(luaL_Buffer, init);
  SIZE(luaL_Reg);
  PLACE(luaL_Reg, name);
  PLACE(luaL_Reg, func);
  SIZE(luaL_Stream);
  PLACE(luaL_Stream, f);
  PLACE(luaL_Stream, closef);
}

int main(void) {
  print_types();
  NUMBER(LUA_VERSION_NUM);
  NUMBER(LUAL_NUMSIZES);
  NUMBER(LUAL_BUFFERSIZE);
  NUMBER(LUA_IDSIZE);
  NUMBER(LUA_EXTRASPACE);
  NUMBER(LUA_MULTRET);
  NUMBER(LUA_REGISTRYINDEX);
  NUMBER(lua_upvalueindex(7));
  NUMBER(LUA_RIDX_MAINTHREAD);
  NUMBER(LUA_RIDX_GLOBALS);
  NUMBER(LUA_RIDX_LAST);
  NUMBER(LUA_MINSTACK);
  NUMBER(LUAI_MAXSTACK);
  NUMBER(LUA_NOREF);
  NUMBER(LUA_REFNIL);
  NUMBER(LUA_ERRFILE);
  NUMBER(LUA_NUMTYPES);
  NUMBER(LUA_OPUNM);
  NUMBER(LUA_OPBNOT);
  NUMBER(LUA_OPLE);
  NUMBER(LUA_GCINC);
  NUMBER(LUA_MASKCOUNT);
  NUMBER(LUA_INT_TYPE);
  NUMBER(LUA_FLOAT_TYPE);
  NUMBER(LUAI_IS32INT);
  NUMBER(LUA_32BITS);
  TEXT(LUA_VERSION);
  TEXT(LUA_SIGNATURE);
  TEXT(LUA_FILEHANDLE);
  TEXT(LUA_LOADED_TABLE);
  TEXT(LUA_PRELOAD_TABLE);
  TEXT(LUA_GNAME);
  TEXT(LUA_VERSUFFIX);
  TEXT(LUA_AUTHORS);
  TEXT(LUA_INTEGER_FMT);
  TEXT(LUA_NUMBER_FMT);
  return 0;
}
