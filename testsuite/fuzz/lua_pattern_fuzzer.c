/* SPDX-License-Identifier: MIT */
/* lua_pattern_fuzzer.c: string.find, match, gsub and gmatch with any pattern on any
 * subject, compared with the reference interpreter if there is one.
 *
 * Input: what to do, length of the pattern, start position, length of the replacement;
 * pattern; replacement; subject. */
#include "lauxlib.h"
#include "lua_harness.h"
#include "lua_input.h"
#include "lua_reference.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FIND, MATCH, GSUB, GMATCH, GSUB_LOOKUP, OPERATIONS };

static const char gmatch_text[] =
    "local s, p, init = ...\n"
    "local n = 0\n"
    "for a, b in string.gmatch(s, p, init) do\n"
    "  n = n + 1\n"
    "  if n % 3 == 0 then string.find(s, p) end\n"
    "end\n"
    "return n\n";
static const char lookup_text[] =
    "local s, p = ...\n"
    "local seen = setmetatable({}, {__index = function(t, k) return k == '' and 'x' end})\n"
    "local a = string.gsub(s, p, seen)\n"
    "return a, string.gsub(s, p, function(c) return string.match(s, p) and c end)\n";

static void run_text(lua_State *L, const char *text, int nargs) {
  if (luaL_loadstring(L, text) != LUA_OK) return;
  lua_insert(L, 1);
  harness_call(L, nargs);
}

static void push_arguments(lua_State *L, Input *in, size_t pattern_length,
                           size_t replacement_length) {
  lua_settop(L, 0);
  lua_pushnil(L); /* place of the subject */
  input_push_string(in, L, pattern_length);
  input_push_string(in, L, replacement_length);
  input_push_string(in, L, in->left);
  lua_replace(L, 1);
}

static void run(lua_State *L, int operation, int start) {
  switch (operation) {
    case FIND: case MATCH:
      lua_pushinteger(L, start);
      lua_replace(L, 3);
      reference_compare(L, operation == FIND ? "find" : "match", 3);
      break;
    case GSUB: reference_compare(L, "gsub", 3); break;
    case GMATCH:
      lua_pushinteger(L, start);
      lua_replace(L, 3);
      run_text(L, gmatch_text, 3);
      break;
    default: run_text(L, lookup_text, 2);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lua_State *L = harness_shared();
  Input in = {data, size};
  int operation = input_byte(&in) % OPERATIONS;
  size_t pattern_length = input_byte(&in);
  int start = (int8_t)input_byte(&in);
  size_t replacement_length = input_byte(&in) % 16;
  size_t length, subject_length;
  push_arguments(L, &in, pattern_length, replacement_length);
  const char *pattern = lua_tolstring(L, 2, &length);
  lua_tolstring(L, 1, &subject_length);
  if (harness_pattern_cost(pattern, length, subject_length) < 1e6) run(L, operation, start);
  lua_settop(L, 0);
  return 0;
}
