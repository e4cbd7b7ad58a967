/* SPDX-License-Identifier: MIT */
/* watch_test.c: the watch of calls (vm/watch.h): a watcher that records each thread's
 * stack of calls, and checks at every entry and exit that it equals the interpreter's.
 * The guest programs use all ways into and out of a call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "domain.h"
#include "frame.h"
#include "lauxlib.h"
#include "lualib.h"
#include "opcodes.h"
#include "opinfo.h"
#include "thread.h"
#include "watch.h"

#define MOST_THREADS 4096

/* Returns the function that runs in a frame. */
static const void *function_of(const CallInfo *frame) {
  if (is_lua_frame(frame)) return frame_closure(frame)->p;
  if (frame->func->tag == TAG_C_CLOSURE) {
    return (const void *)(uintptr_t)as_c_closure(frame->func)->f;
  }
  return frame->func->v.p;
}

typedef struct Stack {
  lua_State *L;
  uint32_t height, room;
  const void **functions;
} Stack;

typedef struct CallLog {
  CallWatcher watcher;
  lua_State *running;
  Stack *stacks[MOST_THREADS];
  int nstacks;
  long entered[3], left[4], switches;
} CallLog;

static CallLog call_log;

static Stack *stack_of(lua_State *L) {
  for (int i = 0; i < call_log.nstacks; i++)
    if (call_log.stacks[i]->L == L) return call_log.stacks[i];
  assert_true(call_log.nstacks < MOST_THREADS);
  Stack *s = calloc(1, sizeof *s);
  assert_non_null(s);
  s->L = L;
  return call_log.stacks[call_log.nstacks++] = s;
}

/* Returns the stack of a thread. A new coroutine may be at the address of an old one,
   whose stack is then emptied. */
static Stack *begun_stack_of(lua_State *L, const CallInfo *frame) {
  Stack *s = stack_of(L);
  if (frame->depth == 1) s->height = 0;
  return s;
}

static void on_entry(CallWatcher *w, lua_State *L, CallInfo *frame, CallEntry how) {
  assert_ptr_equal(w, &call_log.watcher);
  if (how != ENTRY_OPEN) assert_ptr_equal(L, call_log.running);
  Stack *s = begun_stack_of(L, frame);
  assert_int_equal(s->height, frame->depth - 1);
  if (s->height == s->room) {
    s->room = 2 * s->room + 16;
    s->functions = realloc(s->functions, s->room * sizeof *s->functions);
    assert_non_null(s->functions);
  }
  s->functions[s->height++] = function_of(frame);
  call_log.entered[how]++;
}

static void on_exit_of_call(CallWatcher *w, lua_State *L, CallInfo *frame, CallExit how) {
  assert_ptr_equal(w, &call_log.watcher);
  if (how != EXIT_STOP) assert_ptr_equal(L, call_log.running);
  Stack *s = stack_of(L);
  assert_int_equal(s->height, frame->depth);
  s->height--;
  if (how == EXIT_RETURN && is_lua_frame(frame))
    assert_ptr_equal(s->functions[s->height], function_of(frame));
  call_log.left[how]++;
}

static void on_switch(CallWatcher *w, lua_State *from, lua_State *to) {
  assert_ptr_equal(w, &call_log.watcher);
  assert_ptr_equal(from, call_log.running);
  assert_ptr_not_equal(from, to);
  call_log.running = to;
  call_log.switches++;
}

static void forget_all(void) {
  for (int i = 0; i < call_log.nstacks; i++) {
    free(call_log.stacks[i]->functions);
    free(call_log.stacks[i]);
  }
  memset(&call_log, 0, sizeof call_log);
  call_log.watcher = (CallWatcher){on_entry, on_exit_of_call, on_switch};
}

static void begin(lua_State *L) {
  forget_all();
  call_log.running = L;
  assert_true(watch_calls(L, &call_log.watcher));
  assert_false(watch_calls(L, &call_log.watcher));
}

static long sum(const long *counts, int n) {
  long total = 0;
  for (int i = 0; i < n; i++) total += counts[i];
  return total;
}

/* Returns the number of calls that the watch saw begin, without the calls open at its
   start. */
static long calls(void) { return call_log.entered[ENTRY_CALL] + call_log.entered[ENTRY_TAIL]; }

/* Returns the number of calls in coroutines that are suspended. */
static long suspended(void) {
  long n = 0;
  for (int i = 0; i < call_log.nstacks; i++) n += call_log.stacks[i]->height;
  return n;
}

static void run(lua_State *L, const char *text) {
  if (luaL_loadstring(L, text) != LUA_OK || lua_pcall(L, 0, 0, 0) != LUA_OK)
    fail_msg("%s", lua_tostring(L, -1));
}

/* Number of calls that the hook saw; the watch must see as many. */
static long hooked_calls;
static void count_call(lua_State *L, lua_Debug *ar) {
  hooked_calls++;
}

/* Runs the guest in all states; the watcher must see what the hook sees. `stays` is the
   number of frames that the guest leaves suspended. */
static void watch_guest(lua_State *L, const char *text, long stays) {
  run(L, text);
  lua_gc(L, LUA_GCCOLLECT);
  lua_gc(L, LUA_GCSTOP);
  begin(L);
  run(L, text);
  watch_calls_end(L);
  const long watched = calls();
  assert_int_equal(suspended(), stays);
  assert_int_equal(sum(call_log.entered, 3) - sum(call_log.left, 4), stays);
  assert_int_equal(call_log.entered[ENTRY_TAIL], call_log.left[EXIT_TAIL]);
  hooked_calls = 0;
  lua_sethook(L, count_call, LUA_MASKCALL, 0);
  run(L, text);
  lua_sethook(L, NULL, 0, 0);
  assert_int_equal(hooked_calls, watched);
  /* with both at once, watcher and hook see the same */
  hooked_calls = 0;
  lua_sethook(L, count_call, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
  begin(L);
  run(L, text);
  watch_calls_end(L);
  lua_sethook(L, NULL, 0, 0);
  assert_int_equal(calls(), watched);
  assert_int_equal(suspended(), stays);
  lua_gc(L, LUA_GCRESTART);
  run(L, text); /* nothing is left behind */
}

static int open_state(void **state) {
  lua_State *L = luaL_newstate();
  if (L == NULL) return -1;
  luaL_openlibs(L);
  *state = L;
  return 0;
}

static int close_state(void **state) {
  lua_close(*state);
  forget_all();
  return 0;
}

static void plain_calls(void **state) {
  watch_guest(*state,
              "local function add(a, b) return a + b end\n"
              "local function none() end\n"
              "local function many(...) return ... end\n"
              "local obj = {v = 1}; function obj:get() return self.v end; function obj:set(v) "
              "self.v = v end\n"
              "local s = 0\n"
              "for i = 1, 100 do s = add(s, i); none(); s = s + select('#', many(i, s, i)); "
              "obj:set(i); s = s + obj:get()\n"
              "  s = s + math.abs(-i) + #tostring(i) end\n"
              "local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - "
              "2) end\n"
              "fib(12); table.sort({3, 1, 2}, function(a, b) return a < b end)\n"
              "string.gsub('abc', '%a', function(c) return c:upper() end)",
              0);
}

static void tail_calls(void **state) {
  watch_guest(*state,
              "local function loop(n, ...) if n == 0 then return ... end return loop(n - 1, "
              "...) end\n"
              "local function plain(n) if n == 0 then return 7 end return plain(n - 1) end\n"
              "assert(plain(10000) == 7); assert(loop(100, 1, 2) == 1)\n"
              "local function closes(n) local u = function() return n end return plain(u()) "
              "end closes(3)\n"
              "local function to_c(x) return math.abs(x) end assert(to_c(-1) == 1)\n"
              "local t = setmetatable({}, {__call = function(self, x) return plain(x) end})\n"
              "local function to_object() return t(5) end to_object()\n"
              "local function to_pcall() return pcall(plain, 3) end to_pcall()",
              0);
}

static void metamethods(void **state) {
  watch_guest(*state,
              "local mt = {} ; local function new() return setmetatable({}, mt) end\n"
              "function mt.__index(t, k) return k end function mt.__newindex(t, k, v) "
              "rawset(t, k, v) end\n"
              "function mt.__add(a, b) return 1 end function mt.__concat(a, b) return 'c' end\n"
              "function mt.__eq(a, b) return true end function mt.__lt(a, b) return true end\n"
              "function mt.__le(a, b) return false end function mt.__len() return 3 end\n"
              "function mt.__unm() return 4 end function mt.__call(self, ...) return "
              "select('#', ...) end\n"
              "mt.__tostring = function() return 'text' end mt.__idiv = math.max\n"
              "for i = 1, 20 do local a, b = new(), new()\n"
              "  assert(a.x == 'x' and a[i] == i and a + b == 1 and 1 + a == 1 and 'x' .. a "
              ".. b == 'xc')\n"
              "  a.y = 1; a[i] = 2; assert(a == b and a < b and not (a <= b) and #a == 3 and "
              "-a == 4)\n"
              "  assert(a(1, 2) == 2 and tostring(a) == 'text') pcall(function() return a // "
              "b end) end\n"
              "local it = setmetatable({}, {__call = function(self, s, i) if i < 5 then "
              "return i + 1 end end})\n"
              "for i in it, nil, 0 do end\n"
              "for k, v in pairs({1, 2, x = 3}) do end for i, v in ipairs({1, 2, 3}) do end\n"
              "for w in ('a b c'):gmatch('%a') do end\n"
              "local p = setmetatable({}, {__pairs = function(t) return next, {1}, nil end}) "
              "for k in pairs(p) do end",
              0);
}

static void errors(void **state) {
  watch_guest(*state,
              "local function deep(n) if n == 0 then error('x') end local r = deep(n - 1) "
              "return r end\n"
              "for i = 1, 20 do assert(not pcall(deep, i)) end\n"
              "assert(not xpcall(deep, function(m) return debug.traceback(m) end, 5))\n"
              "assert(not pcall(nil)); assert(not pcall(pcall)); assert(not pcall(error))\n"
              "assert(not pcall(function() local a = nil; return a.b end))\n"
              "assert(not pcall(string.rep)); assert(not pcall(table.sort, {3, 2, 1}, "
              "function() error('y') end))\n"
              "assert(not pcall(string.gsub, 'abc', 'a', function() deep(3) end))\n"
              "assert(not pcall(pcall, pcall, nil) or true)\n"
              "local ok = pcall(load, function() deep(2) end) assert(ok)\n"
              "local mt = {__index = function() deep(2) end}\n"
              "assert(not pcall(function() return setmetatable({}, mt).x end))\n"
              "assert(not pcall(function() return ('x'):rep(1e10) end))\n"
              "assert(select(2, pcall(error, nil)) == nil)",
              0);
}

/* Checks stack overflows, whose depth is different with hooks. */
static void stack_overflow(void **state) {
  lua_State *L = *state;
  begin(L);
  run(L, "local function over() return 1 + over() end assert(not pcall(over))\n"
         "local function pcalls() return pcall(pcalls) end pcalls()\n"
         "assert(not xpcall(over, function(m) return over() end))\n"
         "assert(not xpcall(error, function(m) error(m) end, 5))\n"
         "local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k "
         "+ 1] end\n"
         "assert(not pcall(function() return t[1] end))\n"
         "assert(not pcall(string.gsub, 'a', 'a', function() over() end))\n"
         "local function nest() return coroutine.wrap(nest)() end assert(not pcall(nest))");
  watch_calls_end(L);
  assert_int_equal(suspended(), 0);
  assert_int_equal(sum(call_log.entered, 3), sum(call_log.left, 4));
}

static void to_be_closed(void **state) {
  watch_guest(*state,
              "local function closer(f) return setmetatable({}, {__close = f or function() "
              "end}) end\n"
              "local function one() local c <close> = closer() return 1, 2 end\n"
              "local function two() local a <close> = closer(); local b <close> = "
              "closer(math.abs and function() end) end\n"
              "one() two()\n"
              "assert(not pcall(function() local a <close> = closer() error('x') end))\n"
              "assert(not pcall(function() local a <close> = closer(function() error('y') "
              "end) error('x') end))\n"
              "assert(not pcall(function() local a <close> = closer(function() error('y') end) "
              "  local b <close> = closer(function() error('z') end) return 1 end))\n"
              "for i = 1, 3 do local c <close> = closer() if i == 2 then goto out end end "
              "::out::\n"
              "for k in next, {1, 2}, nil, closer() do break end\n"
              "local co = coroutine.wrap(function() local c <close> = closer(function() "
              "coroutine.yield(1) end) return 2 end)\n"
              "assert(co() == 1 and co() == 2)\n"
              "local co = coroutine.create(function() local c <close> = closer() "
              "coroutine.yield() end)\n"
              "coroutine.resume(co) assert(coroutine.close(co))\n"
              "local co = coroutine.create(function() local c <close> = closer(function() "
              "error('z') end) coroutine.yield() end)\n"
              "coroutine.resume(co) assert(not coroutine.close(co))\n"
              "local co = coroutine.wrap(function() pcall(function() "
              "  local c <close> = closer(function() coroutine.yield(1) end) error('x') end) "
              "return 2 end)\n"
              "assert(co() == 1 and co() == 2)",
              0);
}

static void coroutines(void **state) {
  watch_guest(*state,
              "local function gen(n) for i = 1, n do coroutine.yield(i) end return 'end' end\n"
              "for v in coroutine.wrap(function() gen(10) end) do end\n"
              "local co = coroutine.create(gen) for i = 1, 6 do coroutine.resume(co, 5) end\n"
              "assert(not coroutine.resume(co))\n"
              "local dies = coroutine.create(function() gen(1) local function f() error('x') "
              "end f() end)\n"
              "coroutine.resume(dies) assert(not coroutine.resume(dies))\n"
              "assert(debug.traceback(dies):find('function'))\n"
              "local wrapped = coroutine.wrap(function() error('x') end) assert(not "
              "pcall(wrapped))\n"
              "local inner = coroutine.wrap(function() return pcall(function() "
              "coroutine.yield(1) error('x') end) end)\n"
              "assert(inner() == 1) assert(inner() == false)\n"
              "local meta = coroutine.wrap(function() return setmetatable({}, {__add = "
              "function() return coroutine.yield(1) end}) + 1 end)\n"
              "meta() meta(2)\n"
              "local nested = coroutine.wrap(function() local i = coroutine.wrap(function() "
              "gen(3) end) "
              "  while true do local v = i() if not v then break end coroutine.yield(v) end "
              "end)\n"
              "while nested() do end\n"
              "local sorts = coroutine.wrap(function() return pcall(table.sort, {2, 1}, "
              "function() coroutine.yield() end) end) sorts()\n"
              "local other = coroutine.create(function() local c = "
              "coroutine.create(function() error('in') end) "
              "  return coroutine.resume(c) end) coroutine.resume(other)\n"
              "local self = coroutine.wrap(function() return pcall(coroutine.resume, "
              "coroutine.running()) end) self()\n"
              "local closed = coroutine.create(function() pcall(function() gen(3) end) end) "
              "coroutine.resume(closed) "
              "coroutine.close(closed)\n"
              "local wrap_dies = coroutine.wrap(function() coroutine.wrap(function() "
              "error('deep') end)() end) pcall(wrap_dies)",
              0);
}

/* Checks a coroutine that stays suspended: the body, the generator and its yield stay. */
static void suspended_coroutine(void **state) {
  watch_guest(*state, "kept = coroutine.create(function() local function f() "
                      "coroutine.yield() end f() end) coroutine.resume(kept)", 3);
}

/* Checks a coroutine that was suspended when the watch began, and a coroutine that runs
   on in the next watch. */
static void resumed_in_a_watch(void **state) {
  lua_State *L = *state;
  run(L, "local function body() for i = 1, 100 do coroutine.yield(i) end end\n"
         "a = coroutine.wrap(function() body() end) b = coroutine.create(function() body() end)\n"
         "for i = 1, 3 do a() coroutine.resume(b) end");
  begin(L);
  run(L, "for i = 1, 3 do a() coroutine.resume(b) end");
  assert_int_equal(call_log.entered[ENTRY_OPEN], 3 + 3); /* body, its caller, yield */
  assert_int_equal(suspended(), 3 + 3);
  watch_calls_end(L);
  run(L, "a() coroutine.resume(b)"); /* no watcher */
  begin(L);
  run(L, "for i = 1, 3 do a() end");
  run(L, "for i = 1, 3 do a() coroutine.resume(b) end coroutine.close(b)");
  assert_int_equal(call_log.entered[ENTRY_OPEN], 3 + 3);
  assert_int_equal(suspended(), 3);
  run(L, "while true do local ok, v = pcall(a) if not v then break end end");
  watch_calls_end(L);
  assert_int_equal(suspended(), 0);
}

static int start_watch(lua_State *L) {
  begin(L);
  return 0;
}

static int end_watch(lua_State *L) {
  watch_calls_end(L);
  return 0;
}

/* Checks watches that begin and end in the middle of frames, in coroutines, below
   pcalls. */
static void in_the_middle(void **state) {
  lua_State *L = *state;
  lua_register(L, "start_watch", start_watch);
  lua_register(L, "end_watch", end_watch);
  run(L, "local function down(n, f) if n == 0 then f() else down(n - 1, f) end return n end\n"
         "down(100, start_watch) down(3, function() end) pcall(down, 2, error)");
  /* down 101 times, the chunk, start_watch */
  assert_int_equal(call_log.entered[ENTRY_OPEN], 101 + 1 + 1);
  assert_int_equal(suspended(), 0); /* all calls have returned */
  run(L, "local function down(n, f) if n == 0 then f() else down(n - 1, f) end return n end "
         "down(50, end_watch)");
  assert_int_equal(call_log.left[EXIT_STOP], 51 + 1 + 1);
  run(L, "local co = coroutine.wrap(function() pcall(function() start_watch() "
         "coroutine.yield() error('x') end) coroutine.yield() end)\n"
         "pcall(function() co() co() end) end_watch() co()");
  assert_int_equal(sum(call_log.entered, 3) - sum(call_log.left, 4), suspended());
  run(L, "local co = coroutine.wrap(function() coroutine.wrap(function() start_watch() "
         "end_watch() end)() end) co()");
  assert_int_equal(suspended(), 0);
}

static void finalizers(void **state) {
  lua_State *L = *state;
  begin(L);
  run(L, "local function f() end local n = 0\n"
         "for i = 1, 50 do setmetatable({}, {__gc = function() f() n = n + 1 if n % 2 == 0 "
         "then error('x') end end}) end\n"
         "collectgarbage() assert(n == 50)\n"
         "for i = 1, 5 do setmetatable({}, {__gc = function() collectgarbage('count') end}) end\n"
         "local t = {} for i = 1, 200000 do t[i % 10] = {} end collectgarbage() "
         "collectgarbage()");
  watch_calls_end(L);
  assert_int_equal(suspended(), 0);
  assert_int_equal(sum(call_log.entered, 3), sum(call_log.left, 4));
  assert_true(call_log.entered[ENTRY_CALL] > 100);
}

/* ---- calls from C -------------------------------------------------------- */

static int continue_call(lua_State *L, int status, lua_KContext ctx) {
  lua_pushinteger(L, status);
  lua_pushinteger(L, (lua_Integer)ctx);
  return 2;
}

static int calls_on(lua_State *L) {
  lua_callk(L, lua_gettop(L) - 1, 0, 5, continue_call);
  return continue_call(L, LUA_OK, 5);
}

static int protects(lua_State *L) {
  int status = lua_pcallk(L, lua_gettop(L) - 1, 0, 0, 6, continue_call);
  return continue_call(L, status, 6);
}

static int protects_plainly(lua_State *L) {
  lua_pushinteger(L, lua_pcall(L, lua_gettop(L) - 1, 0, 0));
  return 1;
}

static int yields(lua_State *L) { return lua_yieldk(L, 0, 7, continue_call); }

static int raises(lua_State *L) { return luaL_error(L, "from C"); }

static int resumes(lua_State *L) {
  int n;
  lua_State *co = lua_tothread(L, 1);
  lua_pushinteger(L, lua_resume(co, L, 0, &n));
  return 1;
}

static int closes_slot(lua_State *L) {
  lua_settop(L, 1);
  lua_toclose(L, 1);
  return 0;
}

static void from_c(void **state) {
  lua_State *L = *state;
  const luaL_Reg functions[] = {
    {"calls_on", calls_on}, {"protects", protects}, {"protects_plainly", protects_plainly},
    {"yields", yields}, {"raises", raises}, {"resumes", resumes}, {"closes_slot", closes_slot},
    {NULL, NULL},
  };
  lua_pushglobaltable(L);
  luaL_setfuncs(L, functions, 0);
  lua_settop(L, 0);
  watch_guest(L,
              "local function f() return 1 end local function bad() local t = nil; return t.x "
              "end\n"
              "calls_on(f) protects(f) protects(bad) protects(raises) protects_plainly(bad) "
              "protects_plainly(raises)\n"
              "protects_plainly(protects, protects_plainly, bad) protects_plainly(pcall, bad)\n"
              "local co = coroutine.wrap(function() yields() calls_on(yields) protects(yields) "
              "  protects(function() yields() bad() end) pcall(yields) return 'end' end)\n"
              "while co() ~= 'end' do end\n"
              "local co = coroutine.create(function() yields() bad() end) assert(resumes(co) "
              "== 1) assert(resumes(co) == 2)\n"
              "local co = coroutine.create(function() coroutine.yield() protects(bad) end) "
              "resumes(co) resumes(co)\n"
              "closes_slot(setmetatable({}, {__close = f})) pcall(closes_slot, "
              "setmetatable({}, {__close = raises}))\n"
              "local co = coroutine.wrap(function() closes_slot(setmetatable({}, {__close = "
              "function() coroutine.yield() end})) end) co() co()",
              0);
}

static void yield_in_hook(lua_State *L, lua_Debug *ar) {
  if (lua_isyieldable(L)) lua_yield(L, 0);
}

/* Checks a hook that yields from its thread's line events; the host resumes it. */
static void hook_that_yields(void **state) {
  lua_State *L = *state;
  begin(L);
  lua_State *co = lua_newthread(L);
  lua_sethook(co, yield_in_hook, LUA_MASKLINE, 0);
  luaL_loadstring(co, "local function f()\n local x = 1\n return x\nend\nlocal y = "
                      "f()\nreturn y + f()\n");
  int n, rounds = 0;
  while (lua_resume(co, L, 0, &n) == LUA_YIELD) rounds++;
  assert_true(rounds > 5);
  assert_int_equal(lua_tointeger(co, -1), 2);
  watch_calls_end(L);
  assert_int_equal(suspended(), 0);
  assert_int_equal(sum(call_log.entered, 3), sum(call_log.left, 4));
  assert_int_equal(call_log.entered[ENTRY_CALL], 3);
}

/* A hook that raises at the entry or the return of functions. */
static int raise_countdown;
static void raise_in_hook(lua_State *L, lua_Debug *ar) {
  if (--raise_countdown == 0) luaL_error(L, "from the hook");
}

static void hook_that_raises(void **state) {
  lua_State *L = *state;
  for (int at = 1; at < 60; at++) {
    begin(L);
    luaL_loadstring(L, "local function f(n) if n > 0 then local r = f(n - 1) return r end "
                       "return 0 end "
                       "f(5) pcall(f, 3) math.abs(-1) return f(2)");
    raise_countdown = at;
    lua_sethook(L, raise_in_hook, LUA_MASKCALL | LUA_MASKRET, 0);
    lua_pcall(L, 0, 0, 0);
    lua_sethook(L, NULL, 0, 0);
    lua_settop(L, 0);
    watch_calls_end(L);
    assert_int_equal(suspended(), 0);
    assert_int_equal(sum(call_log.entered, 3), sum(call_log.left, 4));
  }
}

/* Checks a state that is closed below a watched call: first its frames are left, then its
   finalizers are called. */
static void end_of_the_state(void **state) {
  lua_State *L = luaL_newstate();
  assert_non_null(L);
  luaL_openlibs(L);
  begin(L);
  run(L, "kept = setmetatable({}, {__gc = function() end})");
  lua_close(L);
  assert_int_equal(suspended(), 0);
  assert_int_equal(sum(call_log.entered, 3), sum(call_log.left, 4));
}

/* ---- code ------------------------------------------------------------------ */

static int count_pairs(const Prototype *p) {
  int pairs = 0;
  for (uint32_t pc = 0; pc < p->ncode; pc += (uint32_t)op_length(INS_OP(p->code[pc])))
    if (INS_OP(p->code[pc]) >= OP_MOVE_MOVE) pairs++;
  return pairs;
}

static void ignore_event(lua_State *L, lua_Debug *ar) {
}

/* Checks that a watch splits pairs of instructions as it runs them, not in the code. */
static void pairs_stay(void **state) {
  lua_State *L = *state;
  assert_int_equal(luaL_loadstring(L,
    "local p, s = {x = 0.5, y = 1.5}, 0.25 "
    "for i = 1, 3 do "
    "  p.x = s + p.y s = s * p.y + p.x s = s - p.x * 0.5 "
    "  while p.x < s do s = s * 0.125 if s < p.x then p.y = p.y - s end end "
    "end"), LUA_OK);
  const Prototype *p = as_lua_closure(L->top - 1)->p;
  const int pairs = count_pairs(p);
  assert_true(pairs > 5);
  static const int masks[] = {LUA_MASKCOUNT, LUA_MASKLINE, LUA_MASKCALL, 0};
  for (unsigned i = 0; i < sizeof masks / sizeof *masks; i++) {
    lua_sethook(L, ignore_event, masks[i], 1);
    lua_pushvalue(L, -1);
    lua_call(L, 0, 0);
    assert_int_equal(count_pairs(p), pairs);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(plain_calls, open_state, close_state),
    cmocka_unit_test_setup_teardown(tail_calls, open_state, close_state),
    cmocka_unit_test_setup_teardown(metamethods, open_state, close_state),
    cmocka_unit_test_setup_teardown(errors, open_state, close_state),
    cmocka_unit_test_setup_teardown(stack_overflow, open_state, close_state),
    cmocka_unit_test_setup_teardown(to_be_closed, open_state, close_state),
    cmocka_unit_test_setup_teardown(coroutines, open_state, close_state),
    cmocka_unit_test_setup_teardown(suspended_coroutine, open_state, close_state),
    cmocka_unit_test_setup_teardown(resumed_in_a_watch, open_state, close_state),
    cmocka_unit_test_setup_teardown(in_the_middle, open_state, close_state),
    cmocka_unit_test_setup_teardown(finalizers, open_state, close_state),
    cmocka_unit_test_setup_teardown(from_c, open_state, close_state),
    cmocka_unit_test_setup_teardown(hook_that_yields, open_state, close_state),
    cmocka_unit_test_setup_teardown(hook_that_raises, open_state, close_state),
    cmocka_unit_test_setup_teardown(pairs_stay, open_state, close_state),
    cmocka_unit_test(end_of_the_state),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
