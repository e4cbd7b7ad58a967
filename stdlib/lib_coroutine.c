/* SPDX-License-Identifier: MIT */
/* lib_coroutine.c - coroutines.
 *
 * The interpreter runs resume, yield and the functions that wrap makes in its own loop,
 * so that switching does not grow the C stack (vm/primitives.h). The functions here
 * define their results, and run when they are called from C.
 */
#define LUA_LIB

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "primitives.h"

static lua_State *check_thread(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co != NULL, 1, "thread");
  return co;
}

/* ------------------------------------------------------- resume, yield -- */

/* Resumes `co` with the top `nargs` values of L. Returns the number of results moved to
 * L, or -1 with an error value there. */
static int resume_with(lua_State *L, lua_State *co, int nargs) {
  int nres;
  if (l_unlikely(!lua_checkstack(co, nargs))) {
    lua_pushliteral(L, "too many arguments to resume");
    return -1;
  }
  lua_xmove(L, co, nargs);
  int status = lua_resume(co, L, nargs, &nres);
  if (l_unlikely(status != LUA_OK && status != LUA_YIELD)) {
    lua_xmove(co, L, 1);
    return -1;
  }
  if (l_unlikely(!lua_checkstack(L, nres + 1))) {
    lua_pop(co, nres);
    lua_pushliteral(L, "too many results to resume");
    return -1;
  }
  lua_xmove(co, L, nres);
  return nres;
}

static int co_resume(lua_State *L) {
  lua_State *co = check_thread(L);
  int nres = resume_with(L, co, lua_gettop(L) - 1);
  int ok = nres >= 0;
  if (!ok)
    nres = 1;
  lua_pushboolean(L, ok);
  lua_insert(L, -(nres + 1));
  return nres + 1;
}

static int co_yield(lua_State *L) {
  return lua_yield(L, lua_gettop(L));
}

/* --------------------------------------------------- creation and status -- */

static int co_create(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_State *co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  return 1;
}

static int co_wrap(lua_State *L) {
  co_create(L);
  vm_push_wrap(L);
  return 1;
}

typedef enum CoStatus { CO_RUNNING, CO_DEAD, CO_SUSPENDED, CO_NORMAL } CoStatus;

static const char *const status_names[] = {"running", "dead", "suspended",
                                           "normal"};

/* Returns the status of a coroutine. A coroutine that has neither yielded nor failed
 * runs, or waits for another coroutine, if it has frames. Without frames, it has not
 * begun if its function is on its stack; otherwise it has ended. */
static CoStatus status_of(lua_State *L, lua_State *co) {
  lua_Debug ar;
  if (L == co)
    return CO_RUNNING;
  switch (lua_status(co)) {
    case LUA_YIELD: return CO_SUSPENDED;
    case LUA_OK:
      if (lua_getstack(co, 0, &ar))
        return CO_NORMAL;
      return lua_gettop(co) == 0 ? CO_DEAD : CO_SUSPENDED;
    default: return CO_DEAD;
  }
}

static int co_status(lua_State *L) {
  lua_pushstring(L, status_names[status_of(L, check_thread(L))]);
  return 1;
}

static int co_isyieldable(lua_State *L) {
  lua_State *co = lua_isnone(L, 1) ? L : check_thread(L);
  lua_pushboolean(L, lua_isyieldable(co));
  return 1;
}

static int co_running(lua_State *L) {
  int is_main = lua_pushthread(L);
  lua_pushboolean(L, is_main);
  return 2;
}

static int co_close(lua_State *L) {
  lua_State *co = check_thread(L);
  CoStatus status = status_of(L, co);
  if (status != CO_DEAD && status != CO_SUSPENDED)
    return luaL_error(L, "cannot close a %s coroutine", status_names[status]);
  if (lua_closethread(co, L) == LUA_OK) {
    lua_pushboolean(L, 1);
    return 1;
  }
  lua_pushboolean(L, 0);
  lua_xmove(co, L, 1);
  return 2;
}

int luaopen_coroutine(lua_State *L) {
  static const luaL_Reg functions[] = {
    {"close", co_close},
    {"create", co_create},
    {"isyieldable", co_isyieldable},
    {"running", co_running},
    {"status", co_status},
    {"wrap", co_wrap},
    {NULL, NULL}};
  luaL_newlib(L, functions);
  vm_push_resume(L, co_resume);
  lua_setfield(L, -2, "resume");
  vm_push_yield(L, co_yield);
  lua_setfield(L, -2, "yield");
  return 1;
}
