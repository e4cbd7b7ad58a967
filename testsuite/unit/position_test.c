/* SPDX-License-Identifier: MIT */
/* position_test.c: places in the source: the word that holds a place
 * (runtime/position.h), and the places of instructions (debuginfo_position), compiled and
 * loaded from a dump. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "debuginfo.h"
#include "lauxlib.h"
#include "lualib.h"
#include "opinfo.h"
#include "position.h"
#include "thread.h"

/* ---- the word ------------------------------------------------------------ */

static void check_word(uint32_t line, uint64_t column, uint32_t kept_column) {
  const Position p = position_make(line, column);
  assert_int_equal(position_line(p), line);
  assert_int_equal(position_column(p), kept_column);
}

static void test_word_keeps_lines_and_columns_that_fit(void **state) {
  check_word(0, 0, 0);
  check_word(1, 1, 1);
  check_word((1 << 20) - 1, 1023, 1023);
  check_word((1 << 20) - 1, 1024, 0);
  check_word(1 << 20, 1, 0);
  check_word(INT32_MAX, 1, 0);
  check_word(INT32_MAX, UINT64_MAX, 0);
  check_word(2047, 1024, 1024);
  check_word(2047, (1 << 19) - 1, (1 << 19) - 1);
  check_word(2047, 1 << 19, 0);
  check_word(2048, 1024, 0);
  check_word(2048, 1023, 1023);
  check_word(1, UINT64_MAX, 0);
  check_word(1, (uint64_t)1 << 32 | 5, 0);
}

/* ---- instructions -------------------------------------------------------- */

static lua_State *L;

static int open_state(void **state) {
  L = luaL_newstate();
  luaL_openlibs(L);
  return L == NULL;
}

static int close_state(void **state) {
  lua_close(L);
  return 0;
}

static const Prototype *compile(const char *source, size_t length) {
  assert_int_equal(luaL_loadbufferx(L, source, length, "=test", "t"), LUA_OK);
  return as_lua_closure(L->top - 1)->p;
}

/* Lists the places of the instructions of one kind, with nested functions in their
   order. */
static void list_places(const Prototype *p, OpCode op, char *out, size_t room) {
  for (int pc = 0; pc < (int)p->ncode; pc += op_length(op_base(p->code[pc]))) {
    const Instruction ins = p->code[pc];
    int line, column;
    if (op_base(ins) == OP_CLOSURE) list_places(p->p[INS_Bx(ins)], op, out, room);
    if (op_base(ins) != op) continue;
    assert_true(debuginfo_position(p, pc, &line, &column));
    const size_t used = strlen(out);
    snprintf(out + used, room - used, "%s%d:%d", used ? " " : "", line, column);
  }
}

struct bytes {
  char *at;
  size_t size;
};

static int append_piece(lua_State *state, const void *piece, size_t size, void *bytes) {
  struct bytes *dump = bytes;
  char *grown = realloc(dump->at, dump->size + size + 1);
  assert_non_null(grown);
  memcpy(grown + dump->size, piece, size);
  dump->at = grown;
  dump->size += size;
  return 0;
}

/* Replaces the function on top by one loaded from its dump. */
static const Prototype *reload(int strip) {
  struct bytes dump = {0}; /* not a string of string.dump */
  lua_dump(L, append_piece, &dump, strip);
  assert_int_equal(luaL_loadbufferx(L, dump.at, dump.size, "dump", "b"), LUA_OK);
  free(dump.at);
  return as_lua_closure(L->top - 1)->p;
}

static void check_places(const char *source, OpCode op, const char *expected) {
  char places[512] = "", loaded[512] = "";
  list_places(compile(source, strlen(source)), op, places, sizeof places);
  assert_string_equal(places, expected);
  list_places(reload(0), op, loaded, sizeof loaded);
  assert_string_equal(loaded, expected);
  lua_settop(L, 0);
}

static void test_nested_constructors_have_places_of_their_own(void **state) {
  check_places("return {{}, {{}}}", OP_NEWTABLE, "1:8 1:9 1:13 1:14");
  check_places("local x =\n{\n  {},\n\t{ y =\n{} }\n}", OP_NEWTABLE, "2:1 3:3 4:2 5:1");
  check_places("--[[\n]] local t = f{} g{\n}", OP_NEWTABLE, "2:15 2:19");
  check_places("x = [[\n\n]] y = {}", OP_NEWTABLE, "3:8");
  check_places("x = {a\n, {}, b = {}, c\n= {}}", OP_NEWTABLE, "1:5 2:3 2:11 3:3");
}

static void test_functions_stand_where_they_begin(void **state) {
  check_places("return function()\nreturn function() end\nend", OP_CLOSURE, "2:8 1:8");
  check_places("  function a.b:c()\nend local  function f()\n\nend", OP_CLOSURE, "1:3 2:12");
  check_places("f(function()end,function()end)", OP_CLOSURE, "1:3 1:17");
  check_places("return function\n ()\nend", OP_CLOSURE, "2:2");
}

static void test_calls_and_operators(void **state) {
  check_places("f(g(1), h(2))", OP_CALL, "1:4 1:10 1:2");
  check_places("a:b()\n:c  {}", OP_CALL, "1:4 2:5");
  check_places("x = 1\nreturn a .. b\n  .. c, d..e", OP_CONCAT, "3:3 3:10");
  check_places("return a +\n b * c, -x", OP_MUL, "2:4");
}

static void test_lines_of_hooks_are_those_of_the_reference(void **state) {
  const char source[] = "local x =\n{ function()\n\nend }";
  const Prototype *p = compile(source, sizeof source - 1);
  int seen = 0;
  for (int pc = 0; pc < (int)p->ncode; pc += op_length(op_base(p->code[pc]))) {
    if (op_base(p->code[pc]) == OP_NEWTABLE) seen += prototype_line(p, pc) == 1;
    if (op_base(p->code[pc]) == OP_CLOSURE) seen += prototype_line(p, pc) == 4;
  }
  assert_int_equal(seen, 2);
  lua_settop(L, 0);
}

static void test_columns_that_do_not_fit_are_unknown(void **state) {
  enum { WIDE = 600000 };
  char *source = malloc(WIDE + 64), places[128] = "";
  assert_non_null(source);
  memset(source, ' ', WIDE);
  memcpy(source + 2000, "x={}", 4);
  memcpy(source + WIDE, "y={}\nz={}", 9);
  list_places(compile(source, WIDE + 9), OP_NEWTABLE, places, sizeof places);
  assert_string_equal(places, "1:2003 1:0 2:3");
  free(source);
  lua_settop(L, 0);
}

static void test_stripped_functions_have_none(void **state) {
  int line, column;
  compile("return {}", 9);
  const Prototype *p = reload(1);
  assert_false(debuginfo_position(p, 0, &line, &column));
  assert_int_equal(line, -1);
  assert_int_equal(column, 0);
  assert_false(debuginfo_position(p, 1 << 20, &line, &column));
  lua_settop(L, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_word_keeps_lines_and_columns_that_fit),
      cmocka_unit_test(test_nested_constructors_have_places_of_their_own),
      cmocka_unit_test(test_functions_stand_where_they_begin),
      cmocka_unit_test(test_calls_and_operators),
      cmocka_unit_test(test_lines_of_hooks_are_those_of_the_reference),
      cmocka_unit_test(test_columns_that_do_not_fit_are_unknown),
      cmocka_unit_test(test_stripped_functions_have_none),
  };
  return cmocka_run_group_tests(tests, open_state, close_state);
}
