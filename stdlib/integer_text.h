/* SPDX-License-Identifier: MIT */
/* stdlib/integer_text.h: integers in decimal. */
#ifndef SAROS_STDLIB_INTEGER_TEXT_H
#define SAROS_STDLIB_INTEGER_TEXT_H

#include <string.h>

#include "lua.h"

/* Longest decimal text of a lua_Integer, sign included. */
#define INTEGER_DECIMAL_MAX 20

/* Writes the digits of `n` so that they end before `end`. Returns where they begin. */
static inline char *write_decimal_unsigned(char *end, lua_Unsigned n) {
  static const char pairs[] =
      "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445"
      "46474849505152535455565758596061626364656667686970717273747576777879808182838485868788899091"
      "9293949596979899";
  for (; n >= 100; n /= 100) {
    end -= 2;
    memcpy(end, pairs + n % 100 * 2, 2);
  }
  if (n >= 10) {
    end -= 2;
    memcpy(end, pairs + n * 2, 2);
  } else {
    *--end = (char)('0' + n);
  }
  return end;
}

/* Writes `n` with its sign so that it ends before `end`. Returns where it begins. */
static inline char *write_decimal(char *end, lua_Integer n) {
  char *start = write_decimal_unsigned(end, n < 0 ? 0 - (lua_Unsigned)n : (lua_Unsigned)n);
  if (n < 0) *--start = '-';
  return start;
}

#endif
