/* SPDX-License-Identifier: MIT */
/* lua_format_fuzzer.c: string.format, pack, packsize and unpack, compared with the
 * reference interpreter if there is one.
 *
 * Input: what to do, length of the format, format, values. */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "lauxlib.h"
#include "lua_harness.h"
#include "lua_input.h"
#include "lua_reference.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FORMAT, PACK, UNPACK, PACKSIZE, OPERATIONS };
#define MOST_VALUES 12

/* Tells whether a size asks for much memory, also in the reference interpreter. */
static bool has_long_number(const char *s, size_t length) {
  size_t digits = 0;
  for (size_t i = 0; i < length; i++) {
    digits = isdigit((unsigned char)s[i]) ? digits + 1 : 0;
    if (digits > 4) return true;
  }
  return false;
}

/* Tells whether a format shows an address. */
static bool has_pointer(const char *s, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (s[i] != '%') continue;
    for (i++; i < length && s[i] != '\0' && strchr("-+ #0123456789.", s[i]) != NULL; i++) {}
    if (i < length && s[i] == 'p') return true;
  }
  return false;
}

static int push_values(lua_State *L, Input *in) {
  int n = 0;
  for (; in->left > 0 && n < MOST_VALUES; n++) input_push_value(in, L);
  return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lua_State *L = harness_shared();
  Input in = {data, size};
  int operation = input_byte(&in) % OPERATIONS;
  size_t length;
  lua_settop(L, 0);
  input_push_string(&in, L, input_byte(&in));
  const char *format = lua_tolstring(L, 1, &length);
  if (operation == FORMAT) {
    if (has_pointer(format, length)) return 0;
    reference_compare(L, "format", 1 + push_values(L, &in));
  } else if (!has_long_number(format, length)) {
    switch (operation) {
      case PACK: reference_compare(L, "pack", 1 + push_values(L, &in)); break;
      case PACKSIZE: reference_compare(L, "packsize", 1); break;
      default: {
        int position = (int8_t)input_byte(&in);
        input_push_string(&in, L, in.left);
        lua_pushinteger(L, position % 16);
        reference_compare(L, "unpack", 3);
      }
    }
  }
  lua_settop(L, 0);
  return 0;
}
