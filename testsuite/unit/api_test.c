/* SPDX-License-Identifier: MIT */
/* api_test.c: the C API: stack positions, conversions, tables, userdata, formats, chunks,
 * debug information, as a C program that embeds the runtime sees them. Long, as a list of
 * small tests. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

static int open_state(void **state) {
  lua_State *L = luaL_newstate();
  if (L == NULL) return -1;
  luaL_openlibs(L);
  *state = L;
  return 0;
}

static int close_state(void **state) {
  lua_close(*state);
  return 0;
}

/* Returns the integers from the bottom of the stack, as text. */
static const char *stack_text(lua_State *L) {
  static char text[200];
  char *p = text;
  *p = '\0';
  for (int i = 1; i <= lua_gettop(L); i++) p += sprintf(p, "%lld ", (long long)lua_tointeger(L, i));
  return text;
}

static void push_range(lua_State *L, int n) {
  lua_settop(L, 0);
  for (int i = 1; i <= n; i++) lua_pushinteger(L, i);
}

static void positions(void **state) {
  lua_State *L = *state;
  push_range(L, 5);
  assert_int_equal(lua_absindex(L, -1), 5);
  assert_int_equal(lua_absindex(L, 2), 2);
  assert_int_equal(lua_absindex(L, LUA_REGISTRYINDEX), LUA_REGISTRYINDEX);
  lua_rotate(L, 2, 1);
  assert_string_equal(stack_text(L), "1 5 2 3 4 ");
  lua_rotate(L, 2, -1);
  assert_string_equal(stack_text(L), "1 2 3 4 5 ");
  lua_rotate(L, 1, 2);
  assert_string_equal(stack_text(L), "4 5 1 2 3 ");
  lua_rotate(L, -3, -2);
  assert_string_equal(stack_text(L), "4 5 3 1 2 ");
  lua_rotate(L, 1, 0);
  lua_remove(L, 2);
  lua_replace(L, 1);
  assert_string_equal(stack_text(L), "2 3 1 ");
  lua_copy(L, 1, -1);
  lua_insert(L, 1);
  assert_string_equal(stack_text(L), "2 2 3 ");
  lua_settop(L, 5);
  assert_true(lua_isnil(L, 5) && lua_isnone(L, 6));
  lua_settop(L, -3);
  assert_int_equal(lua_gettop(L), 3);
  assert_true(lua_checkstack(L, 10000));
  assert_false(lua_checkstack(L, LUAI_MAXSTACK));
  assert_int_equal(lua_gettop(L), 3);
}

static void conversions(void **state) {
  lua_State *L = *state;
  int isnum;
  size_t len;
  lua_settop(L, 0);
  lua_pushstring(L, " 0x10 ");
  assert_int_equal(lua_tointegerx(L, 1, &isnum), 16);
  assert_true(isnum && lua_isnumber(L, 1) && lua_isstring(L, 1) && !lua_isinteger(L, 1));
  lua_pushnumber(L, 3.0);
  assert_int_equal(lua_tointegerx(L, 2, &isnum), 3);
  assert_true(isnum);
  lua_pushnumber(L, 3.5);
  assert_int_equal(lua_tointegerx(L, 3, &isnum), 0);
  assert_false(isnum);
  assert_string_equal(lua_tolstring(L, 3, &len), "3.5");
  assert_int_equal(len, 3);
  assert_int_equal(lua_type(L, 3), LUA_TSTRING);
  lua_pushboolean(L, 0);
  assert_null(lua_tolstring(L, 4, &len));
  assert_int_equal(len, 0);
  assert_false(lua_toboolean(L, 4));
  assert_false(lua_toboolean(L, 99));
  assert_null(lua_tolstring(L, 99, NULL));
  assert_int_equal(lua_stringtonumber(L, "12e1"), 5);
  assert_true(lua_tonumber(L, -1) == 120);
  assert_int_equal(lua_stringtonumber(L, "12x"), 0);
  assert_int_equal(lua_gettop(L), 5);
  lua_pushlstring(L, "a\0b", 3);
  assert_int_equal(lua_rawlen(L, -1), 3);
  assert_true(lua_topointer(L, -1) != NULL && lua_touserdata(L, -1) == NULL);
  assert_int_equal(lua_rawlen(L, 99), 0);
  assert_string_equal(lua_typename(L, lua_type(L, 99)), "no value");
}

static int upvalue_counter(lua_State *L) {
  lua_pushinteger(L, lua_tointeger(L, lua_upvalueindex(1)) + 1);
  lua_copy(L, -1, lua_upvalueindex(1));
  lua_pushboolean(L, lua_isnone(L, lua_upvalueindex(3)) && lua_isnil(L, lua_upvalueindex(2)));
  return 2;
}

static void closures(void **state) {
  lua_State *L = *state;
  lua_settop(L, 0);
  lua_pushinteger(L, 41);
  lua_pushnil(L);
  lua_pushcclosure(L, upvalue_counter, 2);
  assert_true(lua_tocfunction(L, 1) == upvalue_counter && lua_iscfunction(L, 1));
  lua_pushvalue(L, 1);
  lua_call(L, 0, 2);
  assert_int_equal(lua_tointeger(L, 2), 42);
  assert_true(lua_toboolean(L, 3));
  assert_string_equal(lua_getupvalue(L, 1, 1), "");
  assert_int_equal(lua_tointeger(L, -1), 42);
  assert_null(lua_getupvalue(L, 1, 3));
  assert_true(lua_upvalueid(L, 1, 1) != NULL && lua_upvalueid(L, 1, 3) == NULL);
  lua_pushinteger(L, 7);
  assert_string_equal(lua_setupvalue(L, 1, 1), "");
  lua_settop(L, 1);
  lua_call(L, 0, 1);
  assert_int_equal(lua_tointeger(L, 1), 8);
}

static void tables(void **state) {
  lua_State *L = *state;
  lua_settop(L, 0);
  lua_createtable(L, 4, 4);
  for (int i = 1; i <= 10; i++) {
    lua_pushinteger(L, i * i);
    lua_seti(L, 1, i);
  }
  lua_pushstring(L, "value");
  lua_setfield(L, 1, "name");
  lua_pushboolean(L, 1);
  lua_rawsetp(L, 1, L);
  assert_int_equal(lua_rawlen(L, 1), 10);
  assert_int_equal(lua_geti(L, 1, 5), LUA_TNUMBER);
  assert_int_equal(lua_tointeger(L, -1), 25);
  assert_int_equal(lua_getfield(L, 1, "name"), LUA_TSTRING);
  assert_int_equal(lua_rawgetp(L, 1, L), LUA_TBOOLEAN);
  assert_int_equal(lua_rawgeti(L, 1, 11), LUA_TNIL);
  lua_settop(L, 1);
  int n = 0;
  lua_Integer sum = 0;
  for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1), n++) sum += lua_tointeger(L, -1);
  assert_int_equal(n, 12);
  assert_int_equal(sum, 385);
  assert_int_equal(lua_gettop(L), 1);
}

static int return_key(lua_State *L) {
  lua_settop(L, 2);
  return 1;
}

static void metatables(void **state) {
  lua_State *L = *state;
  lua_settop(L, 0);
  lua_newtable(L);
  assert_false(lua_getmetatable(L, 1));
  lua_newtable(L);
  lua_pushcfunction(L, return_key);
  lua_setfield(L, 2, "__index");
  assert_true(lua_setmetatable(L, 1));
  assert_int_equal(lua_getfield(L, 1, "missing"), LUA_TSTRING);
  assert_string_equal(lua_tostring(L, -1), "missing");
  assert_int_equal(lua_geti(L, 1, 77), LUA_TNUMBER);
  lua_pushstring(L, "key");
  assert_int_equal(lua_rawget(L, 1), LUA_TNIL);
  assert_true(lua_getmetatable(L, 1));
  lua_pushnil(L);
  lua_setmetatable(L, 1);
  assert_int_equal(lua_getfield(L, 1, "missing"), LUA_TNIL);
}

static void userdata(void **state) {
  lua_State *L = *state;
  lua_settop(L, 0);
  char *block = lua_newuserdatauv(L, 100, 2);
  assert_int_equal((uintptr_t)block % 8, 0);
  memset(block, 'x', 100);
  lua_pushstring(L, "kept");
  assert_true(lua_setiuservalue(L, 1, 2));
  lua_pushnil(L);
  assert_false(lua_setiuservalue(L, 1, 3));
  lua_gc(L, LUA_GCCOLLECT);
  assert_ptr_equal(lua_touserdata(L, 1), block);
  assert_int_equal(lua_rawlen(L, 1), 100);
  assert_int_equal(lua_getiuservalue(L, 1, 1), LUA_TNIL);
  assert_int_equal(lua_getiuservalue(L, 1, 2), LUA_TSTRING);
  assert_string_equal(lua_tostring(L, -1), "kept");
  assert_int_equal(lua_getiuservalue(L, 1, 3), LUA_TNONE);
  assert_int_equal(lua_gettop(L), 4);
}

static void operators(void **state) {
  lua_State *L = *state;
  lua_settop(L, 0);
  lua_pushinteger(L, 7);
  lua_pushinteger(L, 2);
  lua_arith(L, LUA_OPIDIV);
  lua_arith(L, LUA_OPUNM);
  assert_int_equal(lua_tointeger(L, 1), -3);
  lua_pushnumber(L, -3.0);
  assert_true(lua_compare(L, 1, 2, LUA_OPEQ) && lua_rawequal(L, 1, 2) &&
              lua_compare(L, 1, 2, LUA_OPLE));
  assert_false(lua_compare(L, 1, 2, LUA_OPLT) || lua_compare(L, 1, 9, LUA_OPEQ) ||
               lua_rawequal(L, 9, 9));
  lua_pushstring(L, "x");
  lua_concat(L, 3);
  assert_string_equal(lua_tostring(L, 1), "-3-3.0x");
  lua_len(L, 1);
  assert_int_equal(lua_tointeger(L, 2), 7);
  lua_concat(L, 0);
  assert_string_equal(lua_tostring(L, -1), "");
}

static void formats(void **state) {
  lua_State *L = *state;
  lua_settop(L, 0);
  const char *text = lua_pushfstring(L, "%s|%d|%I|%f|%f|%c|%%|%U|%s", "text", -5,
                                     (LUAI_UACINT)1 << 40, 1.0, 0.1, 'z', 0x20acl, (char *)NULL);
  assert_string_equal(text, "text|-5|1099511627776|1.0|0.1|z|%|\xe2\x82\xac|(null)");
  char expected[40];
  sprintf(expected, "%p", (void *)L);
  assert_string_equal(lua_pushfstring(L, "%p", (void *)L), expected);
  assert_string_equal(lua_pushfstring(L, "%U%U", 0x7fffffffl, 0x7fl),
                      "\xfd\xbf\xbf\xbf\xbf\xbf\x7f");
  char longer[3000];
  memset(longer, 'a', sizeof longer - 1);
  longer[sizeof longer - 1] = '\0';
  lua_pushfstring(L, "<%s%s%d>", longer, longer, 12);
  assert_int_equal(lua_rawlen(L, -1), 2 * 2999 + 4);
  assert_int_equal(lua_gettop(L), 4);
}

static void chunks(void **state) {
  lua_State *L = *state;
  lua_settop(L, 0);
  assert_int_equal(luaL_loadbufferx(L, "return ...", 10, "=c", "b"), LUA_ERRSYNTAX);
  assert_string_equal(lua_tostring(L, 1), "attempt to load a text chunk (mode is 'b')");
  lua_settop(L, 0);
  assert_int_equal(luaL_loadbufferx(L, "\x1bLua", 4, "=c", "t"), LUA_ERRSYNTAX);
  assert_string_equal(lua_tostring(L, 1), "attempt to load a binary chunk (mode is 't')");
  lua_settop(L, 0);
  assert_int_equal(luaL_loadstring(L, "x ="), LUA_ERRSYNTAX);
  assert_string_equal(lua_tostring(L, 1), "[string \"x =\"]:1: unexpected symbol near <eof>");
  lua_settop(L, 0);
  assert_int_equal(luaL_loadstring(L, "return 1, x"), LUA_OK);
  assert_string_equal(lua_getupvalue(L, 1, 1), "_ENV");
  assert_true(lua_istable(L, 2));
}

static void threads(void **state) {
  lua_State *L = *state;
  lua_settop(L, 0);
  assert_true(lua_pushthread(L));
  *(void **)lua_getextraspace(L) = state;
  lua_State *co = lua_newthread(L);
  assert_ptr_equal(*(void **)lua_getextraspace(co), state);
  assert_ptr_equal(lua_tothread(L, 2), co);
  lua_pushstring(L, "moved");
  lua_pushinteger(L, 9);
  lua_xmove(L, co, 2);
  assert_int_equal(lua_gettop(L), 2);
  lua_gc(L, LUA_GCCOLLECT);
  lua_gc(L, LUA_GCSTEP, 0);
  assert_string_equal(lua_tostring(co, 1), "moved");
  assert_false(lua_pushthread(co));
  for (int i = 0; i < 100; i++) { /* values are pushed onto the thread's stack while it
                                     does not run */
    lua_settop(co, 0);
    lua_pushfstring(co, "value number %d", i);
    lua_gc(L, LUA_GCSTEP, 100);
    char expected[40];
    sprintf(expected, "value number %d", i);
    assert_string_equal(lua_tostring(co, 1), expected);
  }
}

static void collector(void **state) {
  lua_State *L = *state;
  lua_settop(L, 0);
  assert_true(lua_gc(L, LUA_GCISRUNNING));
  lua_gc(L, LUA_GCSTOP);
  assert_false(lua_gc(L, LUA_GCISRUNNING));
  lua_gc(L, LUA_GCRESTART);
  int before = lua_gc(L, LUA_GCGEN, 0, 0);
  assert_int_equal(lua_gc(L, LUA_GCINC, 0, 0, 0), LUA_GCGEN);
  assert_int_equal(lua_gc(L, LUA_GCINC, 0, 0, 0), LUA_GCINC);
  if (before == LUA_GCGEN) lua_gc(L, LUA_GCGEN, 0, 0);
  int pause = lua_gc(L, LUA_GCSETPAUSE, 160);
  assert_int_equal(lua_gc(L, LUA_GCSETPAUSE, pause), 160);
  lua_gc(L, LUA_GCCOLLECT);
  int kib = lua_gc(L, LUA_GCCOUNT), rest = lua_gc(L, LUA_GCCOUNTB);
  assert_true(kib > 0 && kib < 10000 && rest >= 0 && rest < 1024);
  assert_int_equal(lua_gc(L, 999), -1);
}

/* Checks that collections by LUA_GCFRAME alone clear a weak reference to a dead object,
   and keep what is referenced. */
static void frames(void **state) {
  lua_State *L = *state;
  lua_settop(L, 0);
  lua_gc(L, LUA_GCCOLLECT);
  lua_gc(L, LUA_GCSTOP);
  assert_int_equal(luaL_dostring(L, "weak = setmetatable({{}}, {__mode = 'v'}) kept = {}\n"
                                    "for i = 1, 20000 do kept[i] = {tostring(i)} end"),
                   LUA_OK);
  assert_true(lua_gc(L, LUA_GCFRAME, 0));
  assert_true(lua_gc(L, LUA_GCFRAME, -1));
  int gone = 0;
  for (int i = 0; i < 100000 && !gone; i++) {
    assert_int_equal(luaL_dostring(L, "for i = 1, 100 do kept[i] = {tostring(i)} end\n"
                                      "return weak[1] == nil"),
                     LUA_OK);
    gone = lua_toboolean(L, -1);
    lua_settop(L, 0);
    int left = lua_gc(L, LUA_GCFRAME, 5000);
    assert_true(left == 0 || left == 1);
  }
  assert_true(gone);
  while (lua_gc(L, LUA_GCFRAME, 1000)) continue;
  assert_false(lua_gc(L, LUA_GCFRAME, 0));
  assert_int_equal(luaL_dostring(L, "for i = 1, 20000 do assert(kept[i][1] == tostring(i)) end\n"
                                    "weak, kept = nil"),
                   LUA_OK);
  lua_gc(L, LUA_GCRESTART);
}

static int lines_seen[4], nlines;

static void note_line(lua_State *L, lua_Debug *ar) {
  lua_getinfo(L, "Sl", ar);
  if (nlines < 4) lines_seen[nlines++] = ar->currentline;
}

static void hooks(void **state) {
  lua_State *L = *state;
  lua_settop(L, 0);
  luaL_loadstring(L, "local a = 1\na = a + 1\n\nreturn a");
  nlines = 0;
  lua_sethook(L, note_line, LUA_MASKLINE, 0);
  assert_true(lua_gethook(L) == note_line && lua_gethookmask(L) == LUA_MASKLINE);
  lua_call(L, 0, 0);
  lua_sethook(L, NULL, 0, 0);
  assert_int_equal(nlines, 3);
  assert_true(lines_seen[0] == 1 && lines_seen[1] == 2 && lines_seen[2] == 4);
}

static int fail_there(lua_State *L) { return luaL_error(L, "failed"); }

static int fail_on_new_thread(lua_State *L) {
  lua_State *co = lua_newthread(L);
  lua_pushcfunction(co, fail_there);
  lua_gc(L, LUA_GCSTEP, 0); /* makes the thread old */
  lua_call(co, 0, 0);
  return 0;
}

/* Checks that threads die on which an error has ended a call, and are not scanned after
   that. */
static void failed_on_another_thread(void **state) {
  lua_State *L = *state;
  for (int i = 0; i < 100; i++) {
    lua_settop(L, 0);
    lua_pushcfunction(L, fail_on_new_thread);
    assert_int_equal(lua_pcall(L, 0, 0, 0), LUA_ERRRUN);
    assert_string_equal(lua_tostring(L, -1), "failed");
    if (i % 10 == 9) lua_gc(L, LUA_GCCOLLECT);
    for (int j = 0; j < 1000; j++) { /* the next contents of their memory */
      lua_createtable(L, 8, 8);
      lua_settop(L, 1);
    }
  }
  lua_gc(L, LUA_GCCOLLECT);
}

static int make_table(lua_State *L) {
  lua_createtable(L, 1, 0);
  lua_pushinteger(L, lua_tointeger(L, 1));
  lua_rawseti(L, -2, 1);
  return 1;
}

static void churn(lua_State *L) {
  for (int i = 0; i < 1000; i++) {
    lua_createtable(L, 8, 8);
    lua_pop(L, 1);
  }
}

static int churn_there(lua_State *L) {
  lua_gc(L, LUA_GCCOLLECT);
  churn(L);
  return 0;
}

/* Checks that a value stays alive which a call leaves on the stack of a thread, although
 * a collection on another thread has found nothing new on that stack before. */
static void results_on_idle_threads(void **state) {
  lua_State *L = *state, *co = lua_newthread(L);
  for (int i = 0; i < 20; i++) {
    lua_settop(L, 1);
    assert_int_equal(luaL_loadstring(L, "local n = ... return {n}"), LUA_OK);
    lua_pushinteger(L, i);
    lua_pushcfunction(co, churn_there);
    lua_call(co, 0, 0);
    lua_call(L, 1, 1);
    lua_pushcfunction(co, churn_there);
    lua_call(co, 0, 0);
    assert_int_equal(lua_rawgeti(L, 2, 1), LUA_TNUMBER);
    assert_int_equal(lua_tointeger(L, -1), i);
  }
}

/* Checks values that are moved about on the stack of a suspended thread while a cycle
 * marks it in pieces. */
static void rotated_while_marked(void **state) {
  enum { VALUES = 4000 };
  lua_State *L = *state, *co = lua_newthread(L);
  assert_true(lua_checkstack(co, VALUES + 1));
  for (int round = 0; round < 40; round++) {
    lua_settop(L, 1);
    lua_settop(co, 0);
    lua_gc(L, LUA_GCSTOP);
    for (int i = 0; i < VALUES; i++) {
      lua_pushcfunction(co, make_table);
      lua_pushinteger(co, i);
      lua_call(co, 1, 1);
    }
    lua_gc(L, LUA_GCCOLLECT);
    for (int i = 0; i < round; i++) lua_gc(L, LUA_GCSTEP, 16);
    lua_rotate(co, 1, VALUES / 2);
    while (!lua_gc(L, LUA_GCSTEP, 16)) continue;
    lua_gc(L, LUA_GCRESTART);
    churn(L);
    for (int i = 0; i < VALUES; i++) {
      assert_int_equal(lua_rawgeti(co, i + 1, 1), LUA_TNUMBER);
      assert_int_equal(lua_tointeger(co, -1), (i + VALUES / 2) % VALUES);
      lua_pop(co, 1);
    }
  }
}

static void yield_at_line(lua_State *L, lua_Debug *ar) {
  lua_yield(L, 0);
}

/* Checks that LUA_MINSTACK values may be pushed onto a coroutine that yielded, as in
   a C function. */
static void arguments_of_a_resume(void **state) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  lua_State *co = lua_newthread(L);
  int results, depths = 0;
  assert_int_equal(luaL_loadstring(co, "local function f(n)\n"
                                       "  local count = select('#', coroutine.yield(n))\n"
                                       "  if count ~= 20 and n > 0 then error(count) end\n"
                                       "  return 1 + f(n + 1)\n"
                                       "end f(0)"), LUA_OK);
  while (lua_resume(co, L, depths == 0 ? 0 : LUA_MINSTACK, &results) == LUA_YIELD &&
         depths++ < 500) {
    assert_int_equal(lua_tointeger(co, -1), depths - 1);
    lua_pop(co, results);
    for (int i = 0; i < LUA_MINSTACK; i++) lua_pushinteger(co, i);
  }
  assert_int_equal(depths, 501);
  lua_close(L);
}

/* Checks a hook that yields. The hook stops the coroutine before each line, and the line
   runs once. */
static void hooks_that_yield(void **state) {
  lua_State *L = *state;
  lua_settop(L, 0);
  lua_State *co = lua_newthread(L);
  luaL_loadstring(co, "local n = 0\nfor i = 1, 3 do\n n = n + i\nend\nreturn n");
  lua_sethook(co, yield_at_line, LUA_MASKLINE | LUA_MASKCOUNT, 1000);
  int yields = 0, results, status;
  char lines[10] = "";
  while ((status = lua_resume(co, L, 0, &results)) == LUA_YIELD && yields < 9) {
    lua_Debug ar;
    assert_int_equal(results, 0);
    lua_gc(L, LUA_GCSTEP, 0);
    assert_true(lua_getstack(co, 0, &ar) && lua_getinfo(co, "l", &ar));
    lines[yields++] = (char)('0' + ar.currentline);
  }
  assert_string_equal(lines, "123232325"); /* the line that runs next */
  assert_int_equal(status, LUA_OK);
  assert_int_equal(results, 1);
  assert_int_equal(lua_tointeger(co, -1), 6);
  assert_int_equal(yields, 9);
  lua_sethook(co, NULL, 0, 0);
}

static int ncounts;

static void stop_after_ten(lua_State *L, lua_Debug *ar) {
  if (++ncounts == 10) luaL_error(L, "interrupted");
}

/* Checks that a count hook ends an endless loop without calls. */
static void count_hook(void **state) {
  lua_State *L = *state;
  lua_settop(L, 0);
  luaL_loadstring(L, "while true do end");
  ncounts = 0;
  lua_sethook(L, stop_after_ten, LUA_MASKCOUNT, 100);
  assert_int_equal(lua_gethookcount(L), 100);
  assert_int_equal(lua_pcall(L, 0, 0, 0), LUA_ERRRUN);
  lua_sethook(L, NULL, 0, 0);
  assert_non_null(strstr(lua_tostring(L, -1), "interrupted"));
}

#define HOOK_PUSHES 20000

/* Makes room, lets the collector run on top of it, and only then uses the room. */
static void collect_then_push(lua_State *L, lua_Debug *ar) {
  lua_sethook(L, NULL, 0, 0);
  assert_true(lua_checkstack(L, HOOK_PUSHES));
  for (int i = 0; i < 3; i++) {
    lua_getglobal(L, "collect");
    lua_call(L, 0, 0);
  }
  for (int i = 0; i < HOOK_PUSHES; i++) lua_newtable(L);
  ncounts = lua_gettop(L);
}

/* Checks that the room that a hook made stays the hook's while frames above it are
 * scanned. (If the hook uses more than the collector has scanned, the heap verifier
 * reports it.) */
static void room_of_a_hook(void **state) {
  setenv("SAROS_VERIFY", "1", 1);
  lua_State *L = luaL_newstate();
  unsetenv("SAROS_VERIFY");
  luaL_openlibs(L);
  assert_int_equal(luaL_dostring(L,
                                 "function collect() local function deep(n) collectgarbage 'step'\n"
                                 "  if n > 0 then return (deep(n - 1)) end end deep(5) end"),
                   LUA_OK);
  ncounts = 0;
  luaL_loadstring(L, "local t for i = 1, 1000 do t = i + 1 end collect()");
  lua_sethook(L, collect_then_push, LUA_MASKCOUNT, 100);
  assert_int_equal(lua_pcall(L, 0, 0, 0), LUA_OK);
  assert_true(ncounts >= HOOK_PUSHES);
  lua_close(L);
}

static void function_info(void **state) {
  lua_State *L = *state;
  lua_Debug ar;
  lua_settop(L, 0);
  const char *source = "\n\nlocal function f(a, b, ...)\n return a\nend return f";
  luaL_loadbuffer(L, source, strlen(source), "@dir/file.lua");
  lua_call(L, 0, 1);
  assert_string_equal(lua_getlocal(L, NULL, 2), "b");
  assert_null(lua_getlocal(L, NULL, 3));
  lua_pushvalue(L, 1);
  assert_true(lua_getinfo(L, ">SuL", &ar));
  assert_string_equal(ar.what, "Lua");
  assert_string_equal(ar.short_src, "dir/file.lua");
  assert_true(ar.linedefined == 3 && ar.lastlinedefined == 5 && ar.nparams == 2 && ar.isvararg &&
              ar.nups == 0);
  assert_int_equal(lua_rawgeti(L, -1, 4), LUA_TBOOLEAN);
  assert_int_equal(lua_rawgeti(L, -2, 3), LUA_TNIL);
  lua_settop(L, 1);
  assert_false(lua_getinfo(L, ">X", &ar));
  assert_int_equal(lua_gettop(L), 0);
  assert_false(lua_getstack(L, 0, &ar));
}

/* Returns its two arguments to be closed, and 1, 2. */
static int pending_pair(lua_State *L) {
  lua_settop(L, 2);
  lua_toclose(L, 1);
  lua_toclose(L, 2);
  lua_pushinteger(L, 1);
  lua_pushinteger(L, 2);
  return 2;
}

static int count_results(lua_State *L, int status, lua_KContext bottom) {
  lua_pushinteger(L, lua_gettop(L) - (int)bottom);
  lua_pushinteger(L, status);
  return lua_gettop(L);
}

/* Calls its first argument with the other arguments, from C. No frame of the interpreter
   is between the two C functions. */
static int call_from_c(lua_State *L) {
  lua_callk(L, lua_gettop(L) - 1, LUA_MULTRET, 0, count_results);
  return count_results(L, LUA_OK, 0);
}

static int pcall_from_c(lua_State *L) {
  int status = lua_pcallk(L, lua_gettop(L) - 1, LUA_MULTRET, 0, 0, count_results);
  return count_results(L, status, 0);
}

/* Checks that handlers of the pending slots of a C function may yield or fail
   when it returns. */
static void closing_c_frames(void **state) {
  lua_State *L = *state;
  lua_settop(L, 0);
  lua_register(L, "pair", pending_pair);
  lua_register(L, "call_from_c", call_from_c);
  lua_register(L, "pcall_from_c", pcall_from_c);
  const char *program =
      "local log = {}\n"
      "local function closer(name, f)\n"
      "  return setmetatable({}, {__close = function(_, e)\n"
      "    log[#log + 1] = name .. tostring(e)\n"
      "    log[#log + 1] = coroutine.yield(name)\n"
      "    if f then f() end\n"
      "  end})\n"
      "end\n"
      "local function run(f, ...)\n"
      "  log = {}\n"
      "  local co, out = coroutine.create(f), {}\n"
      "  local got = table.pack(coroutine.resume(co, ...))\n"
      "  for sent = 1, 10 do\n"
      "    out[#out + 1] = table.concat({tostring(got[1]), tostring(got[2]), tostring(got[3]), "
      "tostring(got[4])}, ' ', 1, got.n)\n"
      "    if coroutine.status(co) == 'dead' then break end\n"
      "    got = table.pack(coroutine.resume(co, sent))\n"
      "  end\n"
      "  return table.concat(out, ',') .. ' ' .. table.concat(log, ',')\n"
      "end\n"
      "local function expect(text, ...)\n"
      "  local got = run(...)\n"
      "  if got ~= text then error('got: ' .. got .. ', not: ' .. text, 2) end\n"
      "end\n"
      "local function fail() error('E', 0) end\n"
      "expect('true b,true a,true 1 2 bnil,1,anil,2', pair, closer 'a', closer 'b')\n"
      "expect('true b,true a,true 1 2 bnil,1,anil,2', function(a, b) return pair(a, b) end, closer "
      "'a', closer 'b')\n"
      "expect('true b,true a,true 1 2 bnil,1,anil,2', function(a, b) local x, y = pair(a, b); "
      "return x, y end,\n"
      "  closer 'a', closer 'b')\n"
      "expect('true b,true a,true 1 2 2 bnil,1,anil,2', function(...) return "
      "table.unpack({call_from_c(pair, ...)}, 1, 3) end,\n"
      "  closer 'a', closer 'b')\n"
      "expect('true b,true a,true true 1 2 bnil,1,anil,2', pcall, pair, closer 'a', closer 'b')\n"
      "expect('true b,true a,true false E bnil,1,aE,2', pcall, pair, closer 'a', closer('b', "
      "fail))\n"
      "expect('true b,true a,true false E bnil,1,anil,2', pcall, pair, closer('a', fail), closer "
      "'b')\n"
      "expect('true b,true a,true E 1 2 bnil,1,aE,2', pcall_from_c, pair, closer 'a', closer('b', "
      "fail))\n"
      "expect('true b,false E bnil,1', pair, closer 'a', closer('b', fail))\n";
  if (luaL_dostring(L, program) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
}

static int count_continued(lua_State *L, int status, lua_KContext context) {
  lua_pushinteger(L, lua_gettop(L));
  lua_pushboolean(L, status == LUA_YIELD && context == 7);
  return lua_gettop(L);
}

static int yield_two_of_three(lua_State *L) {
  for (int i = 1; i <= 3; i++) lua_pushinteger(L, i);
  return lua_yieldk(L, 2, 7, count_continued);
}

/* Checks that the continuation of lua_yieldk finds its frame without the values
   that were yielded. */
static void continuations(void **state) {
  lua_State *L = *state;
  lua_settop(L, 0);
  lua_register(L, "yield_two_of_three", yield_two_of_three);
  const char *program = "local co = coroutine.wrap(yield_two_of_three)\n"
                        "local x, y, none = co('arg')\n"
                        "assert(x == 2 and y == 3 and none == nil)\n"
                        "return table.concat({co(8, 9)}, ' ', 1, 5)\n";
  assert_int_equal(luaL_loadstring(L, program), LUA_OK);
  lua_pushcfunction(L, yield_two_of_three);
  lua_setglobal(L, "f");
  if (lua_pcall(L, 0, 1, 0) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  assert_string_equal(lua_tostring(L, -1), "arg 1 8 9 4");
}

static jmp_buf after_panic;
static int panic_status;

static int leave_panic(lua_State *L) {
  panic_status = lua_status(L);
  longjmp(after_panic, 1);
}

/* Checks an error that is not caught: pending variables are closed, then the panic
 * function sees the error and the thread's status. */
static void panic(void **state) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  lua_atpanic(L, leave_panic);
  assert_int_equal(
      luaL_dostring(L, "return setmetatable({}, {__close = function(_, e) closed_with = e end})"),
      LUA_OK);
  lua_toclose(L, 1);
  panic_status = -1;
  if (setjmp(after_panic) == 0) {
    lua_pushstring(L, "uncaught");
    lua_error(L);
  }
  assert_int_equal(panic_status, LUA_ERRRUN);
  assert_string_equal(lua_tostring(L, -1), "uncaught");
  lua_getglobal(L, "closed_with");
  assert_string_equal(lua_tostring(L, -1), "uncaught");
  lua_close(L);
}

static int mark_number(lua_State *L) {
  lua_pushinteger(L, 32);
  lua_toclose(L, -1);
  return 0;
}

static void not_closable(void **state) {
  lua_State *L = *state;
  lua_settop(L, 0);
  lua_pushcfunction(L, mark_number);
  assert_int_equal(lua_pcall(L, 0, 0, 0), LUA_ERRRUN);
  assert_string_equal(lua_tostring(L, -1), "variable '(C temporary)' got a non-closable value");
}

static void *make_recorded_state(void *unused) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  assert_int_equal(luaL_dostring(L, "ring = require 'saros.eventring'; assert(ring.start())"
                                    "ring.counter('moved', 1)"), LUA_OK);
  return L;
}

/* Checks that a state that is used after its first thread has ended is recorded as
   before. */
static void another_thread(void **state) {
  pthread_t thread;
  void *made;
  assert_int_equal(pthread_create(&thread, NULL, make_recorded_state, NULL), 0);
  assert_int_equal(pthread_join(thread, &made), 0);
  lua_State *L = made;
  const char *text = "ring.counter('moved', 2); local sum, c = 0, assert(ring.cursor())"
                     "c:poll { user_counter = function(_, _, _, v) sum = sum + v end }"
                     "c:close(); ring.stop(); return sum";
  if (luaL_dostring(L, text) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  assert_int_equal(lua_tointeger(L, -1), 3);
  lua_close(L);
}

/* Checks a reset of the main thread within a span: the thread's context is gone, and the
   next span makes a new context. */
static void spans_after_a_reset(void **state) {
  lua_State *L = *state;
  static const char *const warm_up =
      "local e = require 'saros.eventring' for _ = 1, 3 do "
      "e.begin_span 'work' e.end_span 'work' end e.begin_span 'work'";
  static const char *const again =
      "local e = require 'saros.eventring' for _ = 1, 70 do e.begin_span 'work' end "
      "for _ = 1, 70 do e.end_span 'work' end local t = {} for i = 1, 100 do t[i] = {} end";
  assert_int_equal(luaL_dostring(L, "require 'saros.eventring'.start()"), LUA_OK);
  for (int i = 0; i < 10; i++) {
    assert_int_equal(luaL_dostring(L, warm_up), LUA_OK);
    assert_int_equal(lua_closethread(L, NULL), LUA_OK);
    lua_settop(L, 0);
    lua_gc(L, LUA_GCCOLLECT);
    assert_int_equal(luaL_dostring(L, again), LUA_OK);
  }
  assert_int_equal(luaL_dostring(L, "require 'saros.eventring'.stop()"), LUA_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(positions),
      cmocka_unit_test(conversions),
      cmocka_unit_test(closures),
      cmocka_unit_test(tables),
      cmocka_unit_test(metatables),
      cmocka_unit_test(userdata),
      cmocka_unit_test(operators),
      cmocka_unit_test(formats),
      cmocka_unit_test(chunks),
      cmocka_unit_test(threads),
      cmocka_unit_test(collector), cmocka_unit_test(frames),
      cmocka_unit_test(hooks),
      cmocka_unit_test(arguments_of_a_resume),
      cmocka_unit_test(hooks_that_yield),
      cmocka_unit_test(count_hook),
      cmocka_unit_test(function_info),
      cmocka_unit_test(closing_c_frames),
      cmocka_unit_test(continuations),
      cmocka_unit_test_setup_teardown(failed_on_another_thread, open_state, close_state),
      cmocka_unit_test_setup_teardown(results_on_idle_threads, open_state, close_state),
      cmocka_unit_test_setup_teardown(rotated_while_marked, open_state, close_state),
      cmocka_unit_test(panic),
      cmocka_unit_test(not_closable),
      cmocka_unit_test(room_of_a_hook),
      cmocka_unit_test(another_thread),
      cmocka_unit_test_setup_teardown(spans_after_a_reset, open_state, close_state),
  };
  return cmocka_run_group_tests(tests, open_state, close_state);
}
