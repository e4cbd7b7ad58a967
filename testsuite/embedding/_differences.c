/* SPDX-License-Identifier: MIT */
/* _differences.c: checks what doc/LUA.md lists as different from the reference in the C
   API, and what is not different. Prints the line of each check that fails. */
#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

static int failures;
#define CHECK(what) ((what) ? 0 : (failures++, printf("line %d: %s\n", __LINE__, #what)))

static int tail_calls;
static void count_tail_call(lua_State *L, lua_Debug *ar) {
  lua_getinfo(L, "t", ar);
  tail_calls += ar->istailcall == 1;
}

/* Checks that a coroutine that fails has one result: the error, on top of its stack. */
static void check_failed_coroutine(lua_State *L) {
  lua_State *thread = lua_newthread(L);
  int results = 7;
  luaL_loadstring(thread, "local a, b = 1, 2; error('x', 0)");
  CHECK(lua_resume(thread, L, 0, &results) == LUA_ERRRUN && results == 1);
  CHECK(strcmp(lua_tostring(thread, -1), "x") == 0);
  CHECK(lua_closethread(thread, L) == LUA_ERRRUN && lua_gettop(thread) == 1);
  lua_settop(L, 0);
}

static void check_execresult(lua_State *L) {
  errno = ENOENT;
  CHECK(luaL_execresult(L, 3 << 8) == 3 && lua_tointeger(L, -1) == 3);
  errno = ENOENT;
  CHECK(luaL_execresult(L, -1) == 3 && lua_tointeger(L, -1) == ENOENT);
  lua_settop(L, 0);
}

static void check_tail_calls(lua_State *L) {
  (void)luaL_dostring(L, "function g(x) return x end function f(x) return g(x) end");
  lua_sethook(L, count_tail_call, LUA_MASKCALL, 0);
  (void)luaL_dostring(L, "f(1)");
  lua_sethook(L, NULL, 0, 0);
  CHECK(tail_calls == 1);
}

/* Checks identity: a function that the library calls without a frame is not equal to its
   C function pushed again; other functions are. */
static void check_identity(lua_State *L) {
  (void)luaL_dostring(L, "return math.floor, math.sin");
  lua_pushcfunction(L, lua_tocfunction(L, 1));
  lua_pushcfunction(L, lua_tocfunction(L, 2));
  CHECK(!lua_rawequal(L, 1, 3) && lua_rawequal(L, 2, 4));
  CHECK(lua_tocfunction(L, 1) == lua_tocfunction(L, 3));
  lua_settop(L, 3);
  lua_pushnumber(L, 2.5);
  CHECK(lua_pcall(L, 1, 1, 0) == LUA_OK && lua_tointeger(L, -1) == 2);
  lua_settop(L, 0);
}

static int bad_format(lua_State *L) { return lua_pushfstring(L, "%y") != NULL; }

int main(void) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  check_failed_coroutine(L);
  check_execresult(L);
  check_tail_calls(L);
  check_identity(L);
  lua_gc(L, LUA_GCSETPAUSE, 150);
  CHECK(lua_gc(L, LUA_GCSETPAUSE, 200) == 150);
  lua_pushcfunction(L, bad_format); /* as in the reference */
  CHECK(lua_pcall(L, 0, 0, 0) == LUA_ERRRUN);
  CHECK(strstr(lua_tostring(L, -1), "invalid option '%y' to 'lua_pushfstring'") != NULL);
  CHECK(strstr(LUA_COPYRIGHT, "Saros") != NULL && strncmp(lua_ident, "$LuaVersion: ", 13) == 0);
  lua_close(L);
  return failures != 0;
}
