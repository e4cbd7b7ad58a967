/* SPDX-License-Identifier: MIT */
/* brim_test.c: random programs under a cap. Each program fills the cap with live data of
 * random kinds until the allocator refuses or the program fails, drops everything, and
 * goes on with work that takes a third of the cap. The garbage leaves room for this work,
 * so no error may occur. Only the API of Lua is used, so the test also runs with the
 * reference's library. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/slowness.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

typedef struct Cap {
  size_t bytes, most;
  long refusals;
} Cap;

static void *capping(void *ud, void *p, size_t osize, size_t nsize) {
  Cap *c = ud;
  size_t before = p != NULL ? osize : 0;
  if (nsize > before && c->bytes - before + nsize > c->most) {
    c->refusals++;
    return NULL;
  }
  void *moved = nsize > 0 ? realloc(p, nsize) : (free(p), NULL);
  if (moved != NULL || nsize == 0) c->bytes += nsize - before;
  return moved;
}

/* Returns the number of refusals: refusals() */
static int refusals(lua_State *L) {
  Cap *c;
  lua_getallocf(L, (void **)&c);
  lua_pushinteger(L, c->refusals);
  return 1;
}

/* Makes a userdata: userdata(SIZE) */
static int userdata(lua_State *L) {
  size_t size = (size_t)luaL_checkinteger(L, 1);
  memset(lua_newuserdatauv(L, size, 1), 1, size);
  return 1;
}

/* Each of `kinds` returns a value of about `size` bytes, or its smallest one if that is
 * larger, and the number of bytes that it takes. */
static const char prelude[] =
  "local seed, cap = ... "
  "local state = seed "
  "function draw(n) state = (state * 6364136223846793005 + 1442695040888963407) "
  "  return (state >> 33) % n end "
  "local function power(n) local p = 4 while p < n do p = p * 2 end return p end "
  "kinds = { "
  "  function(size) return {size, draw(9)}, 96 end, "
  "  function(size) return {x = size, y = draw(9), name = 'n' .. draw(1000000)}, 300 end, "
  "  function(size) return 's' .. draw(100000000), 48 end, "
  "  function(size) return ('m'):rep(size) .. draw(100000), size + 64 end, "
  "  function(size) local t = {} for i = 1, size // 16 do t[i] = i end "
  "    return t, 16 * power(size // 16) + 64 end, "
  "  function(size) local t = {} for i = 1, size // 64 do t['k' .. i] = i end "
  "    return t, 40 * power(size // 64) + 64 end, "
  "  function(size) local a, b = size, draw(9) return function() return a + b end, 200 end, "
  "  function(size) local c = coroutine.create(function(x) coroutine.yield(x) end) "
  "    assert(coroutine.resume(c, {})) return c, 2000 end, "
  "  function(size) local t = {} for i = 1, size // 32 do t[i] = 'piece of a text' end "
  "    return table.concat(t, ' '), size // 2 + 64 end, "
  "  function(size) return (('ab'):rep(size // 4):gsub('b', 'cd')) .. draw(1000), size + 64 end, "
  "  function(size) return userdata(size), size + 64 end, "
  "  function(size) return {string.byte(('z'):rep(size // 16 % 200 + 1), 1, -1)}, 3400 end, "
  "  function(size) return table.pack(draw(2), draw(3), draw(4), {}, {}), 300 end, "
  "  function(size) "
  "    local text = 'local a = ' .. draw(1000) .. ' return function() return a end' "
  "    return assert(load(text)), 1100 end, "
  "  function(size) return string.format('%s %d %q', ('f'):rep(size // 2), size, 'q'), "
  "    size // 2 + 64 end, "
  "  function(size) local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end "
  "    return {f(size // 100)}, 96 end, "
  "} "
  "if plain then for _, i in ipairs {15, 10, 9, 4} do table.remove(kinds, i) end end "
  "local function some() local t = {} "
  "  for i = 1, 1 + draw(3) do t[i] = kinds[1 + draw(#kinds)] end return t end "
  "first, second = some(), some() "
  "largest = 16 + draw(cap >> (5 + draw(6))) "
  "stops = draw(2) == 0 and 1 + draw(24) or 1000000 ";

static const char fill[] =
  "keep = {} "
  "local n, before = 0, refusals() "
  "repeat n = n + 1 keep[n] = first[1 + n % #first](16 + draw(largest)) "
  "until refusals() - before >= stops ";

static const char drop[] = "keep = nil "; /* allocates nothing */

static const char go_on[] =
  "local cap = ... "
  "local kept, left, n = {}, cap // 3, 0 "
  "while left > 0 do n = n + 1 "
  "  local value, bytes = second[1 + n % #second](16 + draw(largest)) "
  "  kept[n % 2 == 0 and n // 2 or draw(4) - 3] = value left = left - bytes - 48 end ";

enum { RIGHT, NO_STATE, FAILED_BEFORE, SPURIOUS };

static int run(lua_State *L, const char *text, lua_Integer a, lua_Integer b) {
  if (luaL_loadstring(L, text) != LUA_OK) return 0;
  lua_pushinteger(L, a);
  lua_pushinteger(L, b);
  return lua_pcall(L, 2, 0, 0) == LUA_OK;
}

/* Loads the parts of the program before the cap is full, because loading takes memory. */
static int load_all(lua_State *L) {
  static const char *const texts[] = {fill, drop, go_on};
  luaL_openlibs(L);
  lua_register(L, "refusals", refusals);
  lua_register(L, "userdata", userdata);
  for (int i = 0; i < 3; i++)
    if (luaL_loadstring(L, texts[i]) != LUA_OK) return lua_error(L);
  return 3;
}

/* Leaves out strings that are built in a luaL_Buffer, because the reference does not
   collect for these. */
static int plain;

static int try_program(uint64_t seed, size_t cap, char *message, size_t room) {
  Cap c = {.most = cap};
  int result = FAILED_BEFORE;
  lua_State *L = lua_newstate(capping, &c);
  if (L == NULL) return NO_STATE;
  lua_pushboolean(L, plain);
  lua_setglobal(L, "plain");
  lua_pushcfunction(L, load_all);
  if (lua_pcall(L, 0, 3, 0) != LUA_OK) goto out;
  if (!run(L, prelude, (lua_Integer)seed, (lua_Integer)cap)) goto out;
  lua_pushvalue(L, 1);
  /* an error may occur or not; an error of a luaL_Buffer is an ordinary error, with a
     position */
  if (lua_pcall(L, 0, 0, 0) != LUA_OK && strstr(lua_tostring(L, -1), "not enough memory") == NULL)
    goto out;
  lua_settop(L, 3);
  result = SPURIOUS;
  lua_pushvalue(L, 2);
  if (lua_pcall(L, 0, 0, 0) != LUA_OK) goto out;
  lua_pushvalue(L, 3);
  lua_pushinteger(L, (lua_Integer)cap);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) goto out;
  result = RIGHT;
out:
  if (result != RIGHT) snprintf(message, room, "%s", lua_tostring(L, -1));
  lua_close(L);
  return c.bytes != 0 ? SPURIOUS : result;
}

static int try_programs(size_t cap, unsigned long first, unsigned long n) {
  unsigned long counts[4] = {0};
  for (unsigned long i = 0; i < n; i++) {
    char message[200] = "";
    int result = try_program(first + i, cap, message, sizeof message);
    counts[result]++;
    if (result != RIGHT)
      printf("cap %zu, program %lu: %s: %s\n", cap, first + i,
             result == SPURIOUS ? "error after all was dropped" : "it could not begin", message);
  }
  printf("cap %zu: %lu of %lu programs failed although garbage had room\n", cap, counts[SPURIOUS],
         n);
  return counts[RIGHT] != n;
}

/* Runs brim_test [CAP [PROGRAMS [FIRST [plain]]]]. */
int main(int argc, char **argv) {
  unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 200 / slowness();
  unsigned long first = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  plain = argc > 4 && strcmp(argv[4], "plain") == 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc > 1) return try_programs(strtoul(argv[1], NULL, 10), first, n);
  int failed = try_programs((size_t)400 << 10, first, n);
  failed |= try_programs((size_t)1 << 20, first, n);
  failed |= try_programs((size_t)4 << 20, first, n);
  return failed;
}
