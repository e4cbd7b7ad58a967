/* SPDX-License-Identifier: MIT */
/* lua_harness.c: bounds for arbitrary guest code.
 *
 * What a fuzzer runs must end, use little memory, and not leave the process. Therefore:
 *
 * - libraries that open files, run commands or end the process are left out, and so are
 *   the functions of `debug` that can break a program according to the manual;
 * - a count hook in every thread ends the run when its time is over. It reads the clock,
 *   so that many calls of slow functions count with their true time. When the time is
 *   over it is called at each instruction: no pcall keeps the guest alive;
 * - hooks do not reach into finalizers. Here finalizers run in a coroutine of their own,
 *   which hooks reach;
 * - library functions that may be busy for very long with a single call (patterns that
 *   backtrack, string.rep, table functions with a __len) refuse the arguments that make
 *   them so (guards, below);
 * - the heap and the buffers of the libraries are bounded in bytes, low enough that
 *   guests really meet "not enough memory".
 */
#include "lua_harness.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api.h"
#include "domain.h"
#include "thread.h"
#include "gc_inline.h"
#include "gc_internal.h"
#include "lauxlib.h"
#include "lualib.h"

#define HEAP_BYTES ((size_t)12 << 20)
#define BUFFER_BYTES ((size_t)8 << 20)
#define RUN_NANOSECONDS INT64_C(150000000)
#define HOOK_EVERY 200
#define RENEW_EVERY 5000 /* uses of a shared state */
#define NURSERY_BYTES ((size_t)8 << 10) /* collects often */

static int64_t deadline;
static size_t buffer_bytes;

/* ---- time and memory ----------------------------------------------------------- */

static int64_t thread_nanoseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void on_count(lua_State *L, lua_Debug *ar) {
  (void)ar;
  if (thread_nanoseconds() < deadline) return;
  lua_sethook(L, on_count, LUA_MASKCOUNT, 1);
  luaL_error(L, "time is over");
}

/* Allocates buffers of the auxiliary library, within BUFFER_BYTES. */
static void *allocate(void *ud, void *block, size_t old_size, size_t new_size) {
  (void)ud;
  if (block == NULL) old_size = 0;
  if (new_size == 0) {
    free(block);
    buffer_bytes -= old_size;
    return NULL;
  }
  if (new_size > old_size && new_size - old_size > BUFFER_BYTES - buffer_bytes) return NULL;
  void *moved = realloc(block, new_size);
  if (moved != NULL) buffer_bytes += new_size - old_size;
  return moved;
}

/* ---- guards ---------------------------------------------------------------------- */

/* Calls the function that a guard replaces, upvalue 1. Guards call this unless the call
   may take long. */
static int pass_on(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static int refuse(lua_State *L) { return luaL_error(L, "would take too long"); }

static int guard_rep(lua_State *L) {
  size_t length = 0, separator = 0;
  lua_Integer n = lua_tointeger(L, 2);
  lua_settop(L, 3);
  if (lua_isstring(L, 1)) lua_tolstring(L, 1, &length);
  if (lua_isstring(L, 3)) lua_tolstring(L, 3, &separator);
  if (n > 0 && n < 1 << 30 && (length + separator) * (size_t)n > 1 << 20) return refuse(L);
  return pass_on(L);
}

double harness_pattern_cost(const char *pattern, size_t length, size_t subject_length) {
  double cost = (double)subject_length + 1;
  for (size_t i = 0; i < length; i++)
    if (pattern[i] != '\0' && strchr("*+-?", pattern[i]) != NULL)
      cost *= (double)subject_length + 1;
  return cost;
}

static int guard_pattern(lua_State *L) {
  size_t subject_length, length;
  const char *subject = lua_isstring(L, 1) ? lua_tolstring(L, 1, &subject_length) : NULL;
  const char *pattern = lua_isstring(L, 2) ? lua_tolstring(L, 2, &length) : NULL;
  bool matches = subject != NULL && pattern != NULL;
  if (matches && harness_pattern_cost(pattern, length, subject_length) > 3e6) return refuse(L);
  return pass_on(L);
}

/* Guards the functions of `table`: refuses lists that may claim to be long. */
static int guard_list(lua_State *L) {
  for (int i = 1; i <= lua_gettop(L); i++) {
    if (lua_istable(L, i) && luaL_getmetafield(L, i, "__len") != LUA_TNIL) return refuse(L);
    lua_Integer n = lua_isinteger(L, i) ? lua_tointeger(L, i) : 0;
    if (n > 100000 || n < -100000) return refuse(L);
  }
  return pass_on(L);
}

static int finalize(lua_State *L) {
  lua_State *co = lua_newthread(L);
  int nresults;
  lua_sethook(co, on_count, LUA_MASKCOUNT, HOOK_EVERY);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 2);
  if (lua_resume(co, L, 1, &nresults) > LUA_YIELD) lua_closethread(co, L);
  return 0;
}

/* Guards setmetatable(t, mt): makes a finalizer run where the hook sees it. */
static int guard_setmetatable(lua_State *L) {
  if (lua_istable(L, 2)) {
    lua_pushliteral(L, "__gc");
    if (lua_rawget(L, 2) == LUA_TFUNCTION && lua_tocfunction(L, -1) != finalize) {
      lua_pushcclosure(L, finalize, 1);
      lua_setfield(L, 2, "__gc");
    }
    lua_settop(L, 2);
  }
  return pass_on(L);
}

static int silent(lua_State *L) {
  for (int i = 1, n = lua_gettop(L); i <= n; i++) {
    luaL_tolstring(L, i, NULL);
    lua_pop(L, 1);
  }
  return 0;
}

static void guard(lua_State *L, const char *library, const char *name, lua_CFunction by) {
  lua_getglobal(L, library);
  lua_getfield(L, -1, name);
  lua_pushcclosure(L, by, 1);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

static void remove_function(lua_State *L, const char *library, const char *name) {
  lua_getglobal(L, library);
  lua_pushnil(L);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

/* ---- the state ------------------------------------------------------------------- */

static int open_libraries(lua_State *L) {
  static const luaL_Reg libraries[] = {
      {LUA_GNAME, luaopen_base},       {LUA_COLIBNAME, luaopen_coroutine},
      {LUA_TABLIBNAME, luaopen_table}, {LUA_STRLIBNAME, luaopen_string},
      {LUA_MATHLIBNAME, luaopen_math}, {LUA_UTF8LIBNAME, luaopen_utf8},
      {LUA_DBLIBNAME, luaopen_debug},  {NULL, NULL}};
  static const char *const removed[][2] = {
      {"_G", "dofile"}, {"_G", "loadfile"}, {"debug", "debug"}, {"debug", "sethook"},
      {"debug", "getregistry"}, {"debug", "setmetatable"}, {"debug", "setuservalue"}};
  static const struct { const char *library, *name; lua_CFunction by;
  } guards[] = {{"string", "rep", guard_rep},
                {"string", "find", guard_pattern},
                {"string", "match", guard_pattern},
                {"string", "gmatch", guard_pattern},
                {"string", "gsub", guard_pattern},
                {"table", "insert", guard_list},
                {"table", "remove", guard_list},
                {"table", "move", guard_list},
                {"table", "concat", guard_list},
                {"table", "unpack", guard_list},
                {"table", "sort", guard_list},
                {"_G", "setmetatable", guard_setmetatable},
                {"_G", "print", silent}};
  for (const luaL_Reg *lib = libraries; lib->name != NULL; lib++) {
    luaL_requiref(L, lib->name, lib->func, 1);
    lua_pop(L, 1);
  }
  for (size_t i = 0; i < sizeof removed / sizeof removed[0]; i++)
    remove_function(L, removed[i][0], removed[i][1]);
  for (size_t i = 0; i < sizeof guards / sizeof guards[0]; i++)
    guard(L, guards[i].library, guards[i].name, guards[i].by);
  return 0;
}

lua_State *harness_open(void) {
  buffer_bytes = 0;
  deadline = thread_nanoseconds() + RUN_NANOSECONDS;
  lua_State *L = api_new_state(allocate); /* only buffers come from this allocator */
  if (L == NULL) abort();
  lua_pushcfunction(L, open_libraries);
  if (lua_pcall(L, 0, 0, 0) != LUA_OK) abort();
  L->domain->heap.most_bytes = HEAP_BYTES;
  L->domain->gc.nursery_bytes = NURSERY_BYTES;
  gc_set_trigger(L->domain);
  lua_sethook(L, on_count, LUA_MASKCOUNT, HOOK_EVERY);
  return L;
}

void harness_close(lua_State *L) {
  gc_verify(L->domain, "end of a fuzzer's run");
  lua_close(L);
  if (buffer_bytes != 0) abort(); /* a buffer leaked */
}

lua_State *harness_shared(void) {
  static lua_State *L;
  static Domain *volatile domain; /* through this, LeakSanitizer finds what the state
                                     owns */
  static unsigned uses;
  if (L != NULL && ++uses % RENEW_EVERY == 0) {
    harness_close(L);
    L = NULL;
  }
  if (L == NULL) {
    L = harness_open();
    domain = L->domain;
    (void)domain;
  }
  deadline = thread_nanoseconds() + RUN_NANOSECONDS;
  lua_sethook(L, on_count, LUA_MASKCOUNT, HOOK_EVERY);
  lua_settop(L, 0);
  return L;
}

/* ---- calls ------------------------------------------------------------------------ */

int harness_call(lua_State *L, int nargs) {
  int status = lua_pcall(L, nargs, LUA_MULTRET, 0);
  lua_settop(L, 0);
  return status;
}

static int argument_function(lua_State *L) { return lua_gettop(L); }

int harness_push_arguments(lua_State *L) {
  lua_pushinteger(L, 3);
  lua_createtable(L, 3, 1);
  for (int i = 1; i <= 3; i++) {
    lua_pushinteger(L, i * 10);
    lua_rawseti(L, -2, i);
  }
  lua_pushliteral(L, "text");
  lua_pushcfunction(L, argument_function);
  lua_pushnumber(L, 0.5);
  return 5;
}
