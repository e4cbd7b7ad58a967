/* SPDX-License-Identifier: MIT */
/* lua_input.h: takes an input apart. Missing bytes read as zero or empty. */
#ifndef SAROS_FUZZ_LUA_INPUT_H
#define SAROS_FUZZ_LUA_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lua.h"

typedef struct Input {
  const uint8_t *next;
  size_t left;
} Input;

static inline uint8_t input_byte(Input *in) {
  if (in->left == 0) return 0;
  in->left--;
  return *in->next++;
}

static inline uint64_t input_word(Input *in) {
  uint64_t word = 0;
  for (int i = 0; i < 8; i++) word = word << 8 | input_byte(in);
  return word;
}

/* Pushes the next n bytes, or as many as are left. */
static inline const char *input_push_string(Input *in, lua_State *L, size_t n) {
  if (n > in->left) n = in->left;
  const char *s = lua_pushlstring(L, (const char *)in->next, n);
  in->next += n;
  in->left -= n;
  return s;
}

/* Pushes a number, string, boolean or nil. */
static inline void input_push_value(Input *in, lua_State *L) {
  switch (input_byte(in) % 7) {
    case 0: lua_pushinteger(L, (int8_t)input_byte(in)); break;
    case 1: lua_pushinteger(L, (lua_Integer)input_word(in)); break;
    case 2: {
      uint64_t bits = input_word(in);
      double n;
      memcpy(&n, &bits, sizeof n);
      lua_pushnumber(L, n == n ? n : 0.5); /* the sign of a NaN is unspecified */
      break;
    }
    case 3: lua_pushnumber(L, (int8_t)input_byte(in) / 4.0); break;
    case 4: case 5: input_push_string(in, L, input_byte(in) % 32); break;
    default: {
      uint8_t which = input_byte(in);
      if (which % 3 == 0) lua_pushnil(L);
      else lua_pushboolean(L, which % 3 == 1);
    }
  }
}
#endif
