/* SPDX-License-Identifier: MIT */
/* stdlib/lib_utf8.c: the utf8 library.
 *
 * A code point is encoded in the original UTF-8: up to six bytes for values below 2^31.
 * Strict decoding admits only the values of Unicode: no surrogates, nothing above 10FFFF.
 * Overlong forms are never valid.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

#define CODE_POINT_MAX UINT32_C(0x7fffffff)
#define UNICODE_MAX UINT32_C(0x10ffff)
#define ENCODED_MAX 6 /* the most bytes of a code point */

/* One character, in a string that is valid. */
static const char character_pattern[] = "[\0-\x7F\xC2-\xFD][\x80-\xBF]*";

static inline bool is_continuation(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

/* ---- encoding and decoding ----------------------------------------------- */

/* The least code point of each length in bytes, by length - 1. */
static const uint32_t least_code[ENCODED_MAX] = {0, 0x80, 0x800, 0x10000, 0x200000, 0x4000000};

/* Returns the number of bytes of a code point's encoding. */
static int encoded_length(uint32_t code) {
  int length = 1;
  while (length < ENCODED_MAX && code >= least_code[length]) length++;
  return length;
}

/* Writes the encoding. Returns its length. */
static int encode_point(char *out, uint32_t code) {
  int length = encoded_length(code);
  if (length == 1) {
    *out = (char)code;
    return 1;
  }
  for (int i = length - 1; i > 0; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
  out[0] = (char)((0xff00u >> length & 0xff) | code);
  return length;
}

/* Returns the length of a code point by its first byte, which is 80 or more; returns 0 if
   no code point starts with it. */
static inline int announced_length(unsigned char first) {
  int ones = __builtin_clz((unsigned)(unsigned char)~first << 24 | 1u << 23);
  return ones < 2 || ones > ENCODED_MAX ? 0 : ones;
}

/* Decodes the character at `s`; a 0 follows the end of the string. Returns the length of
 * the character, or 0 if it is not valid. */
static inline int decode_utf8(const char *s, uint32_t *code, bool strict) {
  unsigned char first = (unsigned char)*s;
  *code = first;
  if (first < 0x80) return 1;
  /* the shortest form needs at least 8 bits: C0 and C1 are overlong */
  if (first < 0xe0) {
    *code = (first & 0x1fu) << 6 | ((unsigned char)s[1] & 0x3f);
    return first >= 0xc2 && is_continuation(s[1]) ? 2 : 0;
  }
  int length = announced_length(first);
  if (length == 0) return 0;
  uint32_t value = first & (0x7fu >> length);
  for (int i = 1; i < length; i++) {
    if (!is_continuation(s[i])) return 0;
    value = value << 6 | ((unsigned char)s[i] & 0x3f);
  }
  if (value < least_code[length - 1]) return 0; /* overlong */
  if (strict && (value > UNICODE_MAX || (value >= 0xd800 && value <= 0xdfff))) return 0;
  *code = value;
  return length;
}

/* Converts a position from the end to a position from the start; returns 0 if it is
   before the start. */
static lua_Integer absolute_position(lua_Integer position, size_t length) {
  if (position >= 0) return position;
  return position < -(lua_Integer)length ? 0 : (lua_Integer)length + position + 1;
}

/* ---- functions ----------------------------------------------------------- */

/* Implements utf8.len(s [, i [, j [, lax]]]). */
static int utf8_len(lua_State *L) {
  size_t length;
  const char *s = luaL_checklstring(L, 1, &length);
  lua_Integer at = absolute_position(luaL_optinteger(L, 2, 1), length);
  lua_Integer last = absolute_position(luaL_optinteger(L, 3, -1), length);
  bool strict = !lua_toboolean(L, 4);
  luaL_argcheck(L, 1 <= at && at <= (lua_Integer)length + 1, 2, "initial position out of bounds");
  luaL_argcheck(L, last <= (lua_Integer)length, 3, "final position out of bounds");
  lua_Integer count = 0;
  for (; at <= last; count++) {
    uint32_t code;
    int bytes = decode_utf8(s + at - 1, &code, strict);
    if (bytes == 0) {
      luaL_pushfail(L);
      lua_pushinteger(L, at);
      return 2;
    }
    at += bytes;
  }
  lua_pushinteger(L, count);
  return 1;
}

/* Implements utf8.codepoint(s [, i [, j [, lax]]]). */
static int utf8_codepoint(lua_State *L) {
  size_t length;
  const char *s = luaL_checklstring(L, 1, &length);
  lua_Integer first = absolute_position(luaL_optinteger(L, 2, 1), length);
  lua_Integer last = absolute_position(luaL_optinteger(L, 3, first), length);
  bool strict = !lua_toboolean(L, 4);
  luaL_argcheck(L, first >= 1, 2, "out of bounds");
  luaL_argcheck(L, last <= (lua_Integer)length, 3, "out of bounds");
  if (first > last) return 0;
  if (last - first >= INT_MAX) return luaL_error(L, "string slice too long");
  luaL_checkstack(L, (int)(last - first + 1), "string slice too long");
  int count = 0;
  for (const char *p = s + first - 1, *end = s + last; p < end; count++) {
    uint32_t code;
    int bytes = decode_utf8(p, &code, strict);
    if (bytes == 0) return luaL_error(L, "invalid UTF-8 code");
    lua_pushinteger(L, code);
    p += bytes;
  }
  return count;
}

static uint32_t check_code(lua_State *L, int arg) {
  lua_Unsigned code = (lua_Unsigned)luaL_checkinteger(L, arg);
  luaL_argcheck(L, code <= CODE_POINT_MAX, arg, "value out of range");
  return (uint32_t)code;
}

/* Implements utf8.char(...). */
static int utf8_char(lua_State *L) {
  int count = lua_gettop(L);
  char one[ENCODED_MAX];
  if (count == 1) {
    int length = encode_point(one, check_code(L, 1));
    lua_pushlstring(L, one, (size_t)length);
    return 1;
  }
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int i = 1; i <= count; i++) {
    int length = encode_point(one, check_code(L, i));
    luaL_addlstring(&b, one, (size_t)length);
  }
  luaL_pushresult(&b);
  return 1;
}

/* Returns the offset of the `n`-th character (n not 0), counted from the character that
 * starts at offset `at`, or -1. */
static lua_Integer character_offset(const char *s, lua_Integer length, lua_Integer at,
                                    lua_Integer n) {
  if (n < 0) {
    for (; n < 0 && at > 0; n++)
      do at--;
      while (at > 0 && is_continuation(s[at]));
    return n == 0 ? at : -1;
  }
  for (n--; n > 0 && at < length; n--)
    do at++;
    while (is_continuation(s[at])); /* the final 0 is not a continuation byte */
  return n == 0 ? at : -1;
}

/* Implements utf8.offset(s, n [, i]). */
static int utf8_offset(lua_State *L) {
  size_t size;
  const char *s = luaL_checklstring(L, 1, &size);
  lua_Integer length = (lua_Integer)size, n = luaL_checkinteger(L, 2);
  lua_Integer at = absolute_position(luaL_optinteger(L, 3, n >= 0 ? 1 : length + 1), size) - 1;
  luaL_argcheck(L, 0 <= at && at <= length, 3, "position out of bounds");
  if (n == 0) {
    while (at > 0 && is_continuation(s[at])) at--;
  } else {
    if (is_continuation(s[at])) return luaL_error(L, "initial position is a continuation byte");
    at = character_offset(s, length, at, n);
  }
  if (at >= 0)
    lua_pushinteger(L, at + 1);
  else
    luaL_pushfail(L);
  return 1;
}

/* Runs a step of the iterator of utf8.codes: from (s, position) to the next position and
 * its code point. The position given is that of the previous character, or 0 at first. */
static int next_code(lua_State *L, bool strict) {
  size_t length;
  const char *s = luaL_checklstring(L, 1, &length);
  lua_Unsigned at = (lua_Unsigned)lua_tointeger(L, 2);
  if (at < length)
    while (is_continuation(s[at])) at++; /* behind the previous character */
  if (at >= length) return 0;
  uint32_t code;
  int bytes = decode_utf8(s + at, &code, strict);
  if (bytes == 0 || is_continuation(s[at + (lua_Unsigned)bytes]))
    return luaL_error(L, "invalid UTF-8 code");
  lua_pushinteger(L, (lua_Integer)at + 1);
  lua_pushinteger(L, code);
  return 2;
}

static int next_code_strict(lua_State *L) { return next_code(L, true); }
static int next_code_lax(lua_State *L) { return next_code(L, false); }

/* Implements utf8.codes(s [, lax]). */
static int utf8_codes(lua_State *L) {
  bool lax = lua_toboolean(L, 2);
  const char *s = luaL_checkstring(L, 1);
  luaL_argcheck(L, !is_continuation(*s), 1, "invalid UTF-8 code");
  lua_pushcfunction(L, lax ? next_code_lax : next_code_strict);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  return 3;
}

static const luaL_Reg functions[] = {
    {"char", utf8_char},     {"charpattern", NULL}, {"codepoint", utf8_codepoint},
    {"codes", utf8_codes},   {"len", utf8_len},     {"offset", utf8_offset},
    {NULL, NULL},
};

int luaopen_utf8(lua_State *L) {
  luaL_newlib(L, functions);
  lua_pushlstring(L, character_pattern, sizeof character_pattern - 1);
  lua_setfield(L, -2, "charpattern");
  return 1;
}
