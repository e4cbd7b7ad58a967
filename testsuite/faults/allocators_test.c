/* SPDX-License-Identifier: MIT */
/* allocators_test.c: states whose memory comes from an allocator of the program. Checks
 * what the allocator is asked for, that its refusals are obeyed, and that it gets
 * everything back. Each block has a header with its size and a canary, so that a wrong
 * osize or a block of another allocator is found. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/draw.h"
#include "../unit/slowness.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "stress.h"

enum { CANARY = 0x5a105, MIB = 1 << 20, BLOCK = 64 << 10 };

typedef struct Counts {
  size_t bytes, peak, most; /* bytes in use, most so far, and most allowed (0 for any) */
  size_t largest;           /* the largest block that was requested */
  uint64_t asked;           /* number of requests for more memory */
  uint64_t fail_at;         /* number of the request that is refused; 0: none */
  uint64_t fail_more;       /* number of requests after this one that are refused, too */
  uint64_t blocks;
} Counts;

typedef struct Head {
  size_t size, canary;
} Head;

static int failures;

#define CHECK(condition, ...) \
  do { \
    if (!(condition)) { \
      printf("%s:%d: %s: ", __FILE__, __LINE__, #condition); \
      printf(__VA_ARGS__); \
      putchar('\n'); \
      if (++failures > 20) exit(1); \
    } \
  } while (0)

static void count(Counts *c, size_t before, size_t now) {
  c->bytes += now - before;
  if (c->bytes > c->peak) c->peak = c->bytes;
  if (now > c->largest) c->largest = now;
}

static int is_refused(Counts *c, size_t before, size_t now) {
  if (now <= before) return 0;
  c->asked++;
  if (c->fail_at != 0 && c->asked >= c->fail_at && c->asked - c->fail_at <= c->fail_more) return 1;
  return c->most != 0 && c->bytes - before + now > c->most;
}

static void *counting(void *ud, void *p, size_t osize, size_t nsize) {
  Counts *c = ud;
  Head *head = p != NULL ? (Head *)p - 1 : NULL;
  size_t before = head != NULL ? head->size : 0;
  if (head != NULL) {
    CHECK(head->canary == CANARY, "not a block of this allocator");
    CHECK(osize == head->size, "osize %zu of a block of %zu", osize, head->size);
  }
  if (is_refused(c, before, nsize)) return NULL;
  if (head == NULL && nsize == 0) return NULL;
  count(c, before, nsize);
  c->blocks += head == NULL;
  if (nsize == 0) {
    c->blocks--;
    head->canary = 0;
    free(head);
    return NULL;
  }
  /* moved each time, so that a use of the former place is found */
  Head *moved = malloc(sizeof(Head) + nsize);
  if (moved == NULL) abort();
  *moved = (Head){nsize, CANARY};
  if (head != NULL) {
    memcpy(moved + 1, p, before < nsize ? before : nsize);
    head->canary = 0;
    free(head);
  }
  return moved + 1;
}

static lua_State *open_state(Counts *c) {
  lua_State *L = lua_newstate(counting, c);
  if (L != NULL) luaL_openlibs(L);
  return L;
}

static void close_state(lua_State *L, const Counts *c, const char *what) {
  lua_close(L);
  CHECK(c->bytes == 0 && c->blocks == 0, "%s: %zu bytes in %llu blocks are left", what, c->bytes,
        (unsigned long long)c->blocks);
}

static size_t count_of(lua_State *L) {
  return (size_t)lua_gc(L, LUA_GCCOUNT) * 1024 + (size_t)lua_gc(L, LUA_GCCOUNTB);
}

/* ---- programs ------------------------------------------------------------ */

typedef struct Program {
  const char *name, *text;
} Program;

static const Program programs[] = {
  {"tables", "keep = {} for i = 1, 1e6 do keep[i] = {i} end"},
  {"records", "local last for i = 1, 1e6 do last = {next = last, number = i} end keep = last"},
  {"long strings", "keep = {} for i = 1, 4000 do keep[i] = ('x'):rep(40000) .. i end"},
  {"short strings", "keep = {} for i = 1, 1e6 do keep[i] = 'number ' .. i end"},
  {"one string", "local s = 'x' for i = 1, 40 do s = s .. s end"},
  {"arrays", "keep = {} for i = 1, 100 do local t = {} for k = 1, 1e5 do t[k] = k end "
             "keep[i] = t end"},
  {"one array", "keep = {} for i = 1, 1e8 do keep[i] = i end"},
  {"coroutines", "keep = {} for i = 1, 2e5 do "
                 "local c = coroutine.create(function() coroutine.yield(i) end) "
                 "coroutine.resume(c) keep[i] = c end"},
  {"closures", "keep = {} for i = 1, 1e6 do keep[i] = function() return i end end"},
  {"a stack", "local function f(n) return 1 + f(n + 1) end f(1)"},
  {"a buffer", "local t = {} for i = 1, 1e5 do t[i] = 'some text' end local s = table.concat(t) "
               "keep = {} for i = 1, 500 do keep[i] = s:upper() end"},
  {"code", "local t = {} for i = 1, 20000 do t[i] = 'local v = {' .. i .. ', x = ' .. i .. '}' end "
           "local s = 'do ' .. table.concat(t, ' end do ') .. ' end' keep = {} "
           "for i = 1, 50 do keep[i] = assert(load(s)) end"},
};
enum { PROGRAMS = sizeof programs / sizeof programs[0] };

static const char garbage[] =
  "for i = 1, 3e5 do local t = {i, tostring(i)} end "
  "for i = 1, 300 do local s = ('x'):rep(100000) .. i end "
  "for i = 1, 200 do local t = {} for k = 1, 5000 do t[k] = k end end";

/* ---- laws ---------------------------------------------------------------- */

/* Checks that the state goes on after an out-of-memory error. */
static void check_usable(lua_State *L, const char *what) {
  lua_pushnil(L);
  lua_setglobal(L, "keep");
  lua_gc(L, LUA_GCCOLLECT);
  lua_gc(L, LUA_GCCOLLECT);
  int status = luaL_dostring(L, garbage);
  CHECK(status == LUA_OK, "%s: %s", what, lua_tostring(L, -1));
  lua_settop(L, 0);
}

static void obeys_a_cap(const Program *p, size_t most) {
  Counts c = {.most = most};
  lua_State *L = open_state(&c);
  CHECK(L != NULL, "a state in %zu bytes", most);
  CHECK(luaL_loadstring(L, p->text) == LUA_OK, "%s", p->name);
  int status = lua_pcall(L, 0, 0, 0);
  const char *message = status != LUA_OK ? lua_tostring(L, -1) : "";
  CHECK(c.peak <= most, "%s: %zu bytes of %zu", p->name, c.peak, most);
  CHECK(status == LUA_OK || strstr(message, "not enough memory") != NULL ||
          strstr(message, "stack overflow") != NULL,
        "%s: %s", p->name, message);
  printf("%-14s %3zu MiB: %-40.40s peak %9zu, count %9zu\n", p->name, most / MIB, message, c.peak,
         count_of(L));
  lua_settop(L, 0);
  check_usable(L, p->name);
  close_state(L, &c, p->name);
}

/* Checks that a program with much garbage and little live data never reaches the cap. */
static void collects_before_it_fails(void) {
  Counts c = {.most = 3 * MIB};
  lua_State *L = open_state(&c);
  for (int i = 0; i < 3; i++)
    CHECK(luaL_dostring(L, garbage) == LUA_OK, "%s", lua_tostring(L, -1));
  close_state(L, &c, "garbage");
}

#ifdef SAROS_STRESS
enum { DEEP = 100 }; /* its stacks have a small limit */
#else
enum { DEEP = 6000 };
#endif

/* Checks calls that allocate nothing but frames and stack: a collection of what was
   dropped before makes room for these calls. */
static void deep_calls_collect(void) {
  const char *text =
    "local most, depth = ... "
    "local function deep(n) if n == 0 then return 0 end return 1 + deep(n - 1) end "
    "local function spread(n, ...) "
    "  if n == 0 then return 0 end return 1 + spread(n - 1, n, n, n) "
    "end "
    "local function metadeep(t, n) if n == 0 then return 0 end return 1 + t[n - 1] end "
    "local t = setmetatable({}, {__index = metadeep}) "
    "for _, call in ipairs {function() return deep(depth * 3 // 2) end, "
    "    function() return spread(depth) end, function() return t[depth] end} do "
    "  keep = {} for i = 1, most do keep[i] = {i} end keep = nil "
    "  assert(call() >= depth) "
    "end";
  Counts c = {0};
  for (int most = 17000; most <= 40000; most += slowness() > 1 ? 4600 : 1150) {
    c = (Counts){.most = 4 * MIB};
    lua_State *L = open_state(&c);
    lua_gc(L, LUA_GCSTOP);
    CHECK(luaL_loadstring(L, text) == LUA_OK, "%s", lua_tostring(L, -1));
    lua_pushinteger(L, most);
    lua_pushinteger(L, DEEP);
    CHECK(lua_pcall(L, 2, 0, 0) == LUA_OK, "%d tables: %s", most, lua_tostring(L, -1));
    close_state(L, &c, "deep calls");
  }
}

/* Checks that pcall in the guest catches an out-of-memory error. */
static void the_guest_catches_it(void) {
  Counts c = {.most = 8 * MIB};
  lua_State *L = open_state(&c);
  const char *text =
    "local ok, e = pcall(function() local t = {} for i = 1, 1e7 do t[i] = {i} end end) "
    "assert(not ok and e == 'not enough memory', e) "
    "local t = {} for i = 1, 10000 do t[i] = {i} end return #t";
  CHECK(luaL_dostring(L, text) == LUA_OK, "%s", lua_tostring(L, -1));
  CHECK(lua_tointeger(L, -1) == 10000, "its result");
  close_state(L, &c, "pcall");
}

/* Checks that requests are for small blocks, except for objects and lists that are
   themselves larger. */
static void asks_for_small_blocks(void) {
  Counts c = {0};
  lua_State *L = open_state(&c);
  CHECK(luaL_dostring(L, programs[1].text) == LUA_OK, "%s", lua_tostring(L, -1));
  CHECK(c.largest <= BLOCK, "a block of %zu bytes", c.largest);
  lua_settop(L, 0);
  CHECK(luaL_dostring(L, "keep = ('x'):rep(1000000)") == LUA_OK, "a long string");
  CHECK(c.largest >= 1000000 && c.largest < 1000000 + 32 * BLOCK, "a block of %zu bytes",
        c.largest);
  close_state(L, &c, "small blocks");
}

/* Checks that the bytes held exceed those in use by at most the documented slack. */
static void counts_agree(void) {
  Counts c = {0};
  lua_State *L = open_state(&c);
  const char *text = "keep = {} for i = 1, 2e5 do keep[i] = {i, name = 'n' .. i} end";
  CHECK(luaL_dostring(L, text) == LUA_OK, "%s", lua_tostring(L, -1));
  for (int i = 0; i < 2; i++) lua_gc(L, LUA_GCCOLLECT);
  size_t held = c.bytes, in_use = count_of(L);
  printf("held %zu, count %zu\n", held, in_use);
  CHECK(held >= in_use && held - in_use <= in_use / 2 + 2 * MIB, "held %zu, count %zu", held,
        in_use);
  lua_pushnil(L);
  lua_setglobal(L, "keep");
  for (int i = 0; i < 2; i++) lua_gc(L, LUA_GCCOLLECT);
  printf("without: held %zu, count %zu\n", c.bytes, count_of(L));
  CHECK(c.bytes <= 3 * MIB, "held %zu", c.bytes);
  close_state(L, &c, "counts");
}

static const char everything[] =
  "local t = {} for i = 1, 300 do t[i] = {i, tostring(i), x = i .. 'x'} end "
  "local s = ('abc'):rep(5000) .. table.concat({1, 2, 3}, ',') "
  "s = s:gsub('b', 'xyz'):upper() .. string.format('%s %d', 'q', 4) "
  "local weak = setmetatable({}, {__mode = 'k'}) for i = 1, 100 do weak[{}] = {} end "
  "local c = {} "
  "for i = 1, 20 do c[i] = coroutine.wrap(function() coroutine.yield(i) end) c[i]() end "
  "for i = 1, 5 do setmetatable({}, {__gc = function() local x = {} end}) end "
  "local f = load('local a, b = ... ; return function() return a, b, {1, 2, x = 3} end') f(1)() "
  "local function deep(n) if n > 0 then return 1 + deep(n - 1) end return 0 end deep(2000) "
  "local big = {} for i = 1, 3000 do big[i] = i end for i = 1, 3000 do big[i] = nil end big.x = 1 "
  "local all = {} "
  "for i = 1, 150 do all[i] = ('y'):rep(9000) .. i; all[-i] = table.pack(s:byte(1, 600)) end "
  "local parts = {} for i = 1, 3000 do parts[i] = ('p'):rep(i % 50) .. i end "
  "for i = 1, 40 do assert(#table.concat(parts, ',', i) > 9000) end "
  "for i = 1, 40 do local n = {} for k = 1, 400 do n[k] = {k} end all[i] = n end "
  "collectgarbage('generational') for i = 1, 100 do all[i] = {('z'):rep(10000 + i)} end "
  "collectgarbage('incremental') for i = 1, 60 do all[i] = table.pack(s:byte(1, 700 + i)) end "
  "collectgarbage() "
  "for k, v in pairs(t) do assert(v[1] == k) end "
  "assert(load(string.dump(f)))";

static int run_everything(lua_State *L) {
  luaL_openlibs(L);
  if (luaL_dostring(L, everything) != LUA_OK) return lua_error(L);
  return 0;
}

/* Runs with the n-th request refused, and `more` after it: the state is made or not, the
 * program ends or fails with an out-of-memory error, and nothing is lost. Returns true if
 * there were that many requests. */
static bool survives_refusals(uint64_t n, uint64_t more, uint64_t *caught) {
  Counts c = {.fail_at = n, .fail_more = more};
  bool refused = true;
  lua_State *L = lua_newstate(counting, &c);
  if (L != NULL) {
    lua_pushcfunction(L, run_everything);
    int status = lua_pcall(L, 0, 0, 0);
    if (status != LUA_OK) {
      ++*caught;
      /* the second error is raised by luaL_checkstack */
      const char *message = lua_tostring(L, -1);
      CHECK(strstr(message, "not enough memory") != NULL ||
              strstr(message, "stack overflow") != NULL,
            "request %llu: %s", (unsigned long long)n, message);
    }
    lua_settop(L, 0);
    c.fail_at = 0;
    CHECK(luaL_dostring(L, "return {1, 2, 3}") == LUA_OK, "request %llu", (unsigned long long)n);
    refused = c.asked >= n;
    lua_close(L);
  }
  CHECK(c.bytes == 0, "request %llu: %zu bytes are left", (unsigned long long)n, c.bytes);
  return refused;
}

/* Refuses each request in turn. Returns the number of requests. */
static uint64_t survives_each_refusal(uint64_t step) {
  uint64_t n = 1, runs = 0, caught = 0;
  for (; survives_refusals(n, 0, &caught); n += step) runs++;
  printf("%llu refusals, %llu errors\n", (unsigned long long)runs, (unsigned long long)caught);
  return n;
}

/* Refuses requests at random, mostly several in a row, so that the reserve is not
   enough. */
static void survives_random_refusals(unsigned requests, unsigned runs) {
  uint64_t caught = 0;
  for (unsigned i = 0; i < runs; i++) survives_refusals(1 + draw(requests), draw(40), &caught);
  printf("%u refusals at random, %llu errors\n", runs, (unsigned long long)caught);
  CHECK(caught > runs / 4, "%llu errors", (unsigned long long)caught);
}

static void has_several_states(void) {
  enum { STATES = 8 };
  Counts counts[STATES] = {{0}};
  lua_State *states[STATES];
  for (int i = 0; i < STATES; i++) {
    states[i] = open_state(&counts[i]);
    void *ud;
    CHECK(lua_getallocf(states[i], &ud) == counting && ud == &counts[i], "state %d", i);
  }
  printf("an idle state: %zu bytes\n", counts[0].bytes);
  for (int round = 0; round < 3; round++)
    for (int i = 0; i < STATES; i++)
      CHECK(luaL_dostring(states[i], everything) == LUA_OK, "%s", lua_tostring(states[i], -1));
  for (int i = 0; i < STATES; i += 2) close_state(states[i], &counts[i], "one of several");
  for (int i = 1; i < STATES; i += 2) {
    CHECK(luaL_dostring(states[i], everything) == LUA_OK, "%s", lua_tostring(states[i], -1));
    close_state(states[i], &counts[i], "one of several");
  }
}

/* ---- lua_setallocf ------------------------------------------------------- */

/* An allocator that calls the state's own allocator. */
typedef struct Around {
  lua_Alloc f;
  void *ud;
  size_t more, less; /* bytes */
} Around;

static void *around(void *ud, void *p, size_t osize, size_t nsize) {
  Around *a = ud;
  size_t before = p != NULL ? osize : 0;
  void *moved = a->f(a->ud, p, osize, nsize);
  if (moved == NULL && nsize > 0) return NULL;
  if (nsize > before) a->more += nsize - before;
  else a->less += before - nsize;
  return moved;
}

static void a_state_gets_another_allocator(int mapped) {
  Counts c = {0};
  Around a = {0};
  lua_State *L = mapped ? luaL_newstate() : lua_newstate(counting, &c);
  luaL_openlibs(L);
  CHECK(luaL_dostring(L, "old = {} for i = 1, 50000 do old[i] = {i} end s = ('x'):rep(3000000) "
                         "arrays = {} for i = 1, 10 do local t = {} for k = 1, 3e5 do t[k] = k end "
                         "arrays[i] = t end "
                         /* long records of the collector */
                         "function finalized() for i = 1, 50000 do "
                         "old[i] = setmetatable({i}, {__gc = function() end}) end end "
                         "finalized()") == LUA_OK,
        "%s", lua_tostring(L, -1));
  a.f = lua_getallocf(L, &a.ud);
  lua_setallocf(L, around, &a);
  void *ud;
  CHECK(lua_getallocf(L, &ud) == around && ud == &a, "lua_getallocf");
  CHECK(luaL_dostring(L, "new = {} for i = 1, 2e5 do new[i] = {i} end") == LUA_OK, "%s",
        lua_tostring(L, -1));
  CHECK(a.more >= 10 * MIB, "the second allocator was asked for %zu bytes", a.more);
  const char *text =
    "for i = 1, 10 do local t = arrays[i] for k = 3e5, 6e5 do t[k] = k end end "
    "for i = 1, 5 do local t = arrays[i] for k = 1, 6e5 do t[k] = nil end t.x = 1 end "
    "for i = 1, 3 do finalized() end "
    "collectgarbage() old = nil arrays = nil collectgarbage() collectgarbage()";
  CHECK(luaL_dostring(L, text) == LUA_OK, "%s", lua_tostring(L, -1));
  CHECK(luaL_dostring(L, everything) == LUA_OK, "%s", lua_tostring(L, -1));
  lua_setallocf(L, a.f, a.ud);
  CHECK(luaL_dostring(L, everything) == LUA_OK, "%s", lua_tostring(L, -1));
  lua_close(L);
  CHECK(c.bytes == 0, "%zu bytes are left", c.bytes);
}

/* ---- all ----------------------------------------------------------------- */

/* Checks caps of 8 MiB and, if that does not take long, larger ones. */
static void obeys_caps(const char *only) {
  for (int i = 0; i < PROGRAMS; i++) {
    if (only != NULL && strcmp(only, programs[i].name) != 0) continue;
    obeys_a_cap(&programs[i], 8 * MIB);
    if (slowness() > 1) continue;
    obeys_a_cap(&programs[i], 32 * MIB);
    obeys_a_cap(&programs[i], 128 * MIB);
  }
}

/* Runs a file, for tests of tools that look into a process. */
static int run_file(const char *name) {
  Counts c = {0};
  lua_State *L = open_state(&c);
  if (luaL_dofile(L, name) != LUA_OK) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    return 1;
  }
  close_state(L, &c, name);
  return failures != 0;
}

/* Runs the tests:
 *
 *   allocators_test [PROGRAM]      all, or the caps of that program alone
 *   allocators_test run FILE       runs a file of Lua in a state with an allocator */
int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
#ifdef SAROS_STRESS
  stress_collect(false); /* otherwise it would collect at each safepoint */
#endif
  if (argc > 2 && strcmp(argv[1], "run") == 0) return run_file(argv[2]);
  if (argc > 1) {
    obeys_caps(argv[1]);
    return failures != 0;
  }
  has_several_states();
  asks_for_small_blocks();
  counts_agree();
  collects_before_it_fails();
  deep_calls_collect();
  the_guest_catches_it();
  a_state_gets_another_allocator(0);
  a_state_gets_another_allocator(1);
  obeys_caps(NULL);
  uint64_t requests = survives_each_refusal(slowness());
  survives_random_refusals((unsigned)requests, 1000);
  return failures != 0;
}
