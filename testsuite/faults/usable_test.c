/* SPDX-License-Identifier: MIT */
/* usable_test.c: a state is usable at once after an error for want of memory. Random
 * programs fill a cap, or meet an allocator that refuses everything from a random request
 * on, until the error was caught: by the host, by a function of the guest, in a
 * coroutine, with a handler, or with a variable that is closed. Then, without a
 * collection by hand, the host calls small functions, each protected. The program's data
 * are garbage by then ("dropped"), or alive ("kept").
 *
 * Only the API of Lua is used, so the test also runs with the reference's library, where
 * it fails. Of 4,400 calls under a cap of 1 MiB, 24 fail there after data were
 * dropped, 789 where they are kept, and all while the allocator goes on refusing. */
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
  uint64_t asked;
  uint64_t refuse_from; /* number of the request from which on all are refused; 0: none */
} Cap;

static int is_refused(Cap *c, size_t before, size_t now) {
  if (now <= before) return 0;
  c->asked++;
  if (c->refuse_from != 0 && c->asked >= c->refuse_from) return 1;
  return c->bytes - before + now > c->most;
}

static void *capping(void *ud, void *p, size_t osize, size_t nsize) {
  Cap *c = ud;
  size_t before = p != NULL ? osize : 0;
  if (is_refused(c, before, nsize)) return NULL;
  void *moved = nsize > 0 ? realloc(p, nsize) : (free(p), NULL);
  if (moved != NULL || nsize == 0) c->bytes += nsize - before;
  return moved;
}

/* ---- the programs -------------------------------------------------------- */

/* fill() makes values of random kinds until memory runs out; the other functions call it
 * in different ways, and those that catch the error do something about it. */
static const char prelude[] =
  "local seed, cap, kept, refused = ... "
  "local state = seed "
  "local function draw(n) "
  "  state = state * 6364136223846793005 + 1442695040888963407 return (state >> 33) % n end "
  "local largest = 16 + draw(cap >> (5 + draw(6))) "
  "local kinds = { "
  "  function() return {draw(9)} end, "
  "  function() return {x = draw(9), y = draw(9), name = 'n' .. draw(1000000)} end, "
  "  function() return 's' .. draw(100000000) end, "
  "  function() return ('m'):rep(draw(largest)) .. draw(100000) end, "
  "  function() local t = {} for i = 1, draw(largest) // 16 do t[i] = i end return t end, "
  "  function() local t = {} for i = 1, draw(largest) // 64 do t['k' .. i] = i end return t end, "
  "  function() local a, b = 1, draw(9) return function() return a + b end end, "
  "  function() local c = coroutine.create(function(x) coroutine.yield(x) end) "
  "    assert(coroutine.resume(c, {})) return c end, "
  "  function() local t = {} for i = 1, draw(largest) // 32 do t[i] = 'piece' end "
  "    return table.concat(t, ' ') end, "
  "  function() return (('ab'):rep(draw(largest) // 4):gsub('b', 'cd')) .. draw(1000) end, "
  "  function() return table.pack(draw(2), draw(3), draw(4), {}, {}) end, "
  "  function() return assert(load('local a = ' .. draw(1000) .. "
  "    ' return function() return a end')) end, "
  "  function() return setmetatable({}, {__gc = function(o) local t = {o} last = #t end}) end, "
  "  function() local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end "
  "    return {f(draw(largest) // 100)} end, "
  "} "
  "local mix = {} for i = 1, 1 + draw(3) do mix[i] = kinds[1 + draw(#kinds)] end "
  "function fill() local t, n = {}, 0 if kept then keep = t end "
  "  while true do n = n + 1 t[n] = mix[1 + n % #mix]() end end "
  "function fill_close() "
  "  local c <close> = setmetatable({}, {__close = function(_, e) "
  "    local s = {tostring(e) .. '!'} closed = #s end}) "
  "  fill() end "
  "function fill_deep(n) if n == 0 then return fill() end local x = fill_deep(n - 1) return x end "
  "function fill_pcall() local ok, e = pcall(fill) assert(not ok) "
  "  local t = {tostring(e), {}, 'a' .. #tostring(e)} return #t end "
  "function fill_xpcall() "
  "  local ok, e = xpcall(fill, function(m) return {debug.traceback(m), 1} end) assert(not ok) "
  "  local t = {tostring(e), {}, 'a' .. draw(1000)} return #t end "
  "function fill_coroutine() local c = coroutine.create(fill) "
  "  local ok, e = coroutine.resume(c) assert(not ok) "
  "  local t = {tostring(e), {}, debug.traceback(c)} coroutine.close(c) return #t end "
  "function fill_wrap() local ok, e = pcall(coroutine.wrap(fill)) assert(not ok) "
  "  return #{tostring(e), {}} end "
  "function fill_closed() closed = nil local ok, e = pcall(fill_close) assert(not ok) "
  "  assert(kept or refused or closed == 1, 'not closed') return 1 end ";

static const char *const ways[] = {"fill",        "fill_close", "fill_deep",      "fill_pcall",
                                   "fill_xpcall", "fill_wrap",  "fill_coroutine", "fill_closed"};
enum { WAYS = sizeof ways / sizeof ways[0], DEEPEST = 150 };

/* ---- what the host does after the error ---------------------------------- */

static int make_string(lua_State *L) {
  lua_pushfstring(L, "string %p", (void *)L);
  return 0;
}

static int make_table(lua_State *L) {
  lua_createtable(L, 3, 2);
  return 0;
}

static int make_userdata(lua_State *L) {
  lua_newuserdatauv(L, 100, 1);
  return 0;
}

static int make_closure(lua_State *L) {
  lua_pushinteger(L, 1);
  lua_pushcclosure(L, make_string, 1);
  return 0;
}

static int make_traceback(lua_State *L) {
  luaL_traceback(L, L, "message", 0);
  return 0;
}

static int run_thread(lua_State *L) {
  int n;
  lua_State *co = lua_newthread(L);
  lua_pushcfunction(co, make_table);
  return lua_resume(co, L, 0, &n) == LUA_OK ? 0 : luaL_error(L, "%s", lua_tostring(co, -1));
}

static int make_reference(lua_State *L) {
  lua_newtable(L);
  luaL_unref(L, LUA_REGISTRYINDEX, luaL_ref(L, LUA_REGISTRYINDEX));
  return 0;
}

static int make_records(lua_State *L) {
  for (int i = 0; i < 50; i++) {
    lua_newtable(L);
    lua_pushfstring(L, "value %d", i);
    lua_setfield(L, -2, "name");
    lua_pop(L, 1);
  }
  return 0;
}

/* The calls from here on need memory beside small objects. */

static int load_text(lua_State *L) {
  return luaL_dostring(L, "local a = {1, 2, 'x'} return #a") == LUA_OK ? 0 : lua_error(L);
}

static int catch_errors(lua_State *L) {
  const char *text = "local ok, e = pcall(error, 'x' .. 1) "
                     "return pcall(function() return nil + 1 end)";
  return luaL_dostring(L, text) == LUA_OK ? 0 : lua_error(L);
}

static int fill_buffer(lua_State *L) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int i = 0; i < 300; i++) luaL_addstring(&b, "some text");
  luaL_pushresult(&b);
  return 0;
}

static const lua_CFunction calls[] = {make_string, make_table,     make_userdata, make_closure,
                                      make_traceback, run_thread,  make_reference, make_records,
                                      load_text,   catch_errors,   fill_buffer};
enum { CALLS = sizeof calls / sizeof calls[0], SMALL_CALLS = 8 };

/* ---- laws ---------------------------------------------------------------- */

/* The allocator refuses nothing below its cap; or everything from a random request on,
   until the error was caught; or until the end. */
typedef enum Refusal { AT_CAP, UNTIL_CAUGHT, FOR_EVER } Refusal;

typedef struct Sums {
  unsigned long programs, calls, failed, small_calls, small_failed, wrong;
} Sums;

static unsigned draw(uint64_t *state, unsigned n) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (unsigned)(*state >> 33) % n;
}

static int open_libraries(lua_State *L) {
  luaL_openlibs(L);
  return 0;
}

static int prepare(lua_State *L, uint64_t seed, size_t cap, int kept, int refused) {
  lua_pushcfunction(L, open_libraries);
  if (lua_pcall(L, 0, 0, 0) != LUA_OK || luaL_loadstring(L, prelude) != LUA_OK) return 0;
  lua_pushinteger(L, (lua_Integer)seed);
  lua_pushinteger(L, (lua_Integer)cap);
  lua_pushboolean(L, kept);
  lua_pushboolean(L, refused);
  return lua_pcall(L, 4, 0, 0) == LUA_OK;
}

/* Checks that the error, if it reached the host, is one for want of memory. What a guest
 * does about it may raise another in the same way, at a position. */
static void check_status(lua_State *L, int status, uint64_t seed, Sums *sums) {
  if (status == LUA_OK || status == LUA_ERRMEM) return;
  const char *message = lua_tostring(L, -1);
  if (message != NULL && strstr(message, "not enough memory") != NULL) return;
  printf("program %llu: status %d: %s\n", (unsigned long long)seed, status,
         message != NULL ? message : "no message");
  sums->wrong++;
}

static void call_all(lua_State *L, unsigned first, Sums *sums) {
  for (unsigned i = 0; i < CALLS; i++) {
    unsigned call = (first + i) % CALLS;
    lua_pushcfunction(L, calls[call]);
    int failed = lua_pcall(L, 0, 0, 0) != LUA_OK, small = call < SMALL_CALLS;
    lua_settop(L, 0);
    sums->calls++;
    sums->failed += (unsigned)failed;
    sums->small_calls += (unsigned)small;
    sums->small_failed += (unsigned)(failed && small);
  }
}

static void try_program(uint64_t seed, size_t cap, int kept, Refusal refusal, Sums *sums) {
  Cap c = {.most = cap};
  uint64_t state = seed;
  lua_State *L = lua_newstate(capping, &c);
  if (L == NULL || !prepare(L, seed, cap, kept, refusal != AT_CAP)) exit(1);
  unsigned way = draw(&state, WAYS), first = draw(&state, CALLS);
  lua_getglobal(L, ways[way]);
  lua_pushinteger(L, draw(&state, DEEPEST));
  if (refusal != AT_CAP) c.refuse_from = c.asked + 1 + draw(&state, 100);
  check_status(L, lua_pcall(L, 1, 0, 0), seed, sums);
  lua_settop(L, 0);
  if (refusal == UNTIL_CAUGHT) c.refuse_from = 0;
  call_all(L, first, sums);
  sums->programs++;
  lua_close(L);
  if (c.bytes != 0) {
    printf("program %llu: %zu bytes are left\n", (unsigned long long)seed, c.bytes);
    sums->wrong++;
  }
}

/* Runs programs; returns whether more calls failed than the shares allow. */
static int try_programs(size_t cap, unsigned long first, unsigned long n, int kept, Refusal refusal,
                        double most, double most_small) {
  static const char *const names[] = {"a cap", "refusals until the error", "refusals for ever"};
  Sums sums = {0};
  for (unsigned long i = 0; i < n; i++) try_program(first + i, cap, kept, refusal, &sums);
  printf("%6zu KiB, %s, %s: %lu programs; %lu of %lu calls failed, %lu of %lu small ones\n",
         cap >> 10, kept ? "kept" : "dropped", names[refusal], sums.programs, sums.failed,
         sums.calls, sums.small_failed, sums.small_calls);
  /* and a few: where this build is slow, there are few programs */
  return sums.wrong > 0 || (double)sums.failed > most * (double)sums.calls + 2 ||
         (double)sums.small_failed > most_small * (double)sums.small_calls + 2;
}

static int try_all(size_t cap, unsigned long first, unsigned long n) {
  /* what lies in each block may keep a call from finding room, in 1 of 50,000 */
  int failed = try_programs(cap, first, n, 0, AT_CAP, 0.001, 0.0005);
  failed |= try_programs(cap, first, n, 0, UNTIL_CAUGHT, 0.001, 0.0005);
  failed |= try_programs(cap, first, n, 0, FOR_EVER, 1, 0.15);
  failed |= try_programs(cap, first, n, 1, AT_CAP, 0.05, 0.01);
  failed |= try_programs(cap, first, n, 1, UNTIL_CAUGHT, 0.05, 0.01);
  return failed;
}

/* Runs usable_test [CAP [PROGRAMS [FIRST]]], CAP in KiB. */
int main(int argc, char **argv) {
  unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 200 / slowness();
  unsigned long first = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc > 1) return try_all(strtoul(argv[1], NULL, 10) << 10, first, n);
  int failed = try_all((size_t)400 << 10, first, n);
  failed |= try_all((size_t)1 << 20, first, n);
  failed |= try_all((size_t)8 << 20, first, n / 40);
  return failed;
}
