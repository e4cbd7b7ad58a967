/* SPDX-License-Identifier: MIT */
/* _handed.c: a pool of threads that hand states to each other: each state runs in any
 * thread that takes it, under a lock of the program, and is closed by another thread than
 * the one that opened it. Prints nothing if each state counts right. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

enum { STATES = 6, THREADS = 3, TURNS = 60 };

static const char script[] =
    "local number = ...\n"
    "local eventring = require 'saros.eventring'\n"
    "local turns, name = 0, 'turns of ' .. number\n"
    "local inner = coroutine.wrap(function()\n"
    "  while true do eventring.span('in a coroutine', coroutine.yield) end\n"
    "end)\n"
    "inner()\n"
    "return function()\n"
    "  turns = turns + 1\n"
    "  eventring.counter(name, turns)\n"
    "  local t = {}\n"
    "  for i = 1, 200 do t[i] = {i} end\n"
    "  inner()\n"
    "  if turns % 20 == 0 then collectgarbage() end\n"
    "  return turns\n"
    "end\n";

static struct {
  pthread_mutex_t lock;
  lua_State *waiting[STATES]; /* the one that has waited longest first */
  int count, ended;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int opened; /* under the lock */

static lua_State *take(void) {
  pthread_mutex_lock(&pool.lock);
  lua_State *L = pool.count > 0 ? pool.waiting[0] : NULL;
  if (L != NULL) memmove(pool.waiting, pool.waiting + 1, (size_t)--pool.count * sizeof L);
  pthread_mutex_unlock(&pool.lock);
  return L;
}

static void give(lua_State *L) {
  pthread_mutex_lock(&pool.lock);
  pool.waiting[pool.count++] = L;
  pthread_mutex_unlock(&pool.lock);
}

static lua_State *open_state(void) {
  lua_State *L = luaL_newstate();
  if (L == NULL) return NULL;
  luaL_openlibs(L);
  pthread_mutex_lock(&pool.lock);
  lua_Integer number = ++opened;
  pthread_mutex_unlock(&pool.lock);
  int status = luaL_loadstring(L, script);
  lua_pushinteger(L, number);
  if (status != LUA_OK || lua_pcall(L, 1, 1, 0) != LUA_OK) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    return NULL;
  }
  return L;
}

/* Runs one turn of a state. Returns true when it has had all of its turns. */
static int run_turn(lua_State *L) {
  lua_pushvalue(L, 1);
  if (lua_pcall(L, 0, 1, 0) != LUA_OK) fprintf(stderr, "%s\n", lua_tostring(L, -1));
  int turns = (int)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return turns == TURNS;
}

static void *work(void *unused) {
  (void)unused;
  for (int i = 0; i < STATES / THREADS; i++) {
    lua_State *L = open_state();
    if (L != NULL) give(L);
  }
  for (int all = 0; !all;) {
    lua_State *L = take();
    if (L != NULL && run_turn(L)) {
      lua_close(L);
      pthread_mutex_lock(&pool.lock);
      pool.ended++;
      pthread_mutex_unlock(&pool.lock);
    } else if (L != NULL) {
      give(L);
    }
    pthread_mutex_lock(&pool.lock);
    all = pool.ended == STATES;
    pthread_mutex_unlock(&pool.lock);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, work, NULL) != 0) return 1;
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  return 0;
}
