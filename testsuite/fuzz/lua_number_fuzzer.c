/* SPDX-License-Identifier: MIT */
/* lua_number_fuzzer.c: numerals, in strings (tonumber, arithmetic) and in source text.
 *
 * tonumber is compared with the reference interpreter if there is one; the lexer is
 * compared with tonumber: if a text is one numeral in source, both must read it as the
 * same number.
 *
 * Input: a base, a text. */
#include <ctype.h>
#include <stdlib.h>

#include "lauxlib.h"
#include "lua_harness.h"
#include "lua_input.h"
#include "lua_reference.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Checks that the text as source is read as the number that tonumber returns. */
static void compare_with_lexer(lua_State *L, const char *text, size_t length) {
  luaL_Buffer b;
  if (length == 0 || !(isdigit((unsigned char)*text) ||
                       (*text == '.' && length > 1 && isdigit((unsigned char)text[1]))))
    return;
  for (size_t i = 0; i < length; i++)
    if (!isalnum((unsigned char)text[i]) && text[i] != '.' &&
        !((text[i] == '+' || text[i] == '-') && i > 0 &&
          (text[i - 1] | 0x20) == (length > 1 && (text[1] | 0x20) == 'x' ? 'p' : 'e')))
      return;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "return ");
  luaL_addlstring(&b, text, length);
  luaL_pushresult(&b);
  size_t source_length, read;
  const char *source = lua_tolstring(L, -1, &source_length);
  int status = luaL_loadbufferx(L, source, source_length, "=fuzz", "t");
  if (status == LUA_OK) {
    lua_call(L, 0, 1);
    read = lua_stringtonumber(L, lua_tostring(L, 2));
    if (read != length + 1 || !lua_rawequal(L, -1, -2) ||
        lua_isinteger(L, -1) != lua_isinteger(L, -2))
      abort();
  } else if (lua_stringtonumber(L, lua_tostring(L, 2)) == length + 1) {
    abort();
  }
}

static void check_arithmetic(lua_State *L) {
  if (luaL_loadstring(L, "local s = ... return s + 0, -s, s | 0, s // 1, s < 'x', #(s .. 1)") !=
      LUA_OK)
    return;
  lua_pushvalue(L, 2);
  lua_pcall(L, 1, LUA_MULTRET, 0);
}

/* Checks that a number written with all digits reads as the same number. */
static void check_round_trip(lua_State *L) {
  static const char text[] =
      "local s = ... local n = tonumber(s) if not n or n - n ~= 0 then return end\n"
      "local w = math.type(n) == 'integer' and string.format('%d', n) or string.format('%a', n)\n"
      "local f = string.format('%q', n)\n"
      "assert(tonumber(w) == n and load('return ' .. f)() == n, w)\n";
  if (luaL_loadstring(L, text) != LUA_OK) abort();
  lua_pushvalue(L, 2);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lua_State *L = harness_shared();
  Input in = {data, size};
  int base = input_byte(&in);
  size_t length;
  lua_settop(L, 0);
  lua_pushnil(L);
  const char *text = input_push_string(&in, L, in.left < 400 ? in.left : 400);
  lua_tolstring(L, 2, &length);
  if (length != 0) compare_with_lexer(L, text, length);
  lua_settop(L, 2);
  check_arithmetic(L);
  lua_settop(L, 2);
  check_round_trip(L);
  lua_settop(L, 2);
  lua_remove(L, 1);
  reference_compare(L, "tonumber", 1);
  if (base < 40) {
    lua_pushinteger(L, base);
    reference_compare(L, "tonumber", 2);
  }
  lua_settop(L, 0);
  return 0;
}
