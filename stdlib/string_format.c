/* SPDX-License-Identifier: MIT */
/* stdlib/string_format.c: string.format.
 *
 * A conversion is read once into a Spec, and its flags are checked against the flags that
 * its letter admits. Integers, strings, characters and the usual %f are written here. For
 * other floats, snprintf is called with the checked text of the conversion.
 */
#include "arguments.h"
#include "char_class.h"
#include "integer_text.h"
#include "lauxlib.h"
#include "number.h"
#include "string_format.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Longest conversion that may be written, '%' and letter included. */
#define SPEC_TEXT_MAX 22

/* Largest width and precision. */
#define TWO_DIGITS_MAX 99

/* The lengths of the longest results: an integer with width and precision of two digits
 * each; a float with the same, in exponential or hexadecimal form; the largest float with
 * %f. */
#define INTEGER_TEXT_MAX 128
#define FLOAT_TEXT_MAX 160
#define LONG_FLOAT_TEXT_MAX 512

enum Flag {
  FLAG_LEFT = 1,       /* - */
  FLAG_PLUS = 2,       /* + */
  FLAG_BLANK = 4,      /* space */
  FLAG_ALTERNATE = 8,  /* # */
  FLAG_ZERO = 16,      /* 0 */
  HAS_PRECISION = 32,  /* there is a '.'; not a flag of C */
};

typedef struct Spec {
  const char *text; /* start of the conversion, at its '%' */
  int length;       /* length of the text, letter included */
  unsigned flags;
  int width; /* 0 if there is none */
  int precision;
  char letter;
} Spec;

/* ---- reading a conversion ------------------------------------------------ */

static unsigned flag_of(char c) {
  switch (c) {
    case '-': return FLAG_LEFT;
    case '+': return FLAG_PLUS;
    case ' ': return FLAG_BLANK;
    case '#': return FLAG_ALTERNATE;
    case '0': return FLAG_ZERO;
    default: return 0;
  }
}

static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Reads at most two digits; a third digit stays and makes the conversion invalid. */
static const char *read_two_digits(const char *p, int *value) {
  *value = 0;
  for (int i = 0; i < 2 && is_digit(*p); i++) *value = *value * 10 + (*p++ - '0');
  return p;
}

static inline bool is_modifier(char c) { return flag_of(c) != 0 || is_digit(c) || c == '.'; }

/* Returns the offset of the letter, which is behind all flags, digits and points. The
 * text before `p` has been read in order. */
static int letter_offset(lua_State *L, const char *text, const char *p) {
  while (unlikely(is_modifier(*p))) p++;
  if (unlikely(p - text + 1 > SPEC_TEXT_MAX)) luaL_error(L, "invalid format (too long)");
  return (int)(p - text);
}

/* Reads the conversion at `text`, a '%' in a string that ends with a 0. For an invalid
 * conversion spec->letter is not a letter. */
static void parse_spec(lua_State *L, Spec *spec, const char *text) {
  const char *p = text + 1;
  unsigned flag;
  spec->text = text;
  spec->flags = 0;
  for (; (flag = flag_of(*p)) != 0; p++) spec->flags |= flag;
  p = read_two_digits(p, &spec->width);
  spec->precision = 0;
  if (*p == '.') {
    spec->flags |= HAS_PRECISION;
    p = read_two_digits(p + 1, &spec->precision);
  }
  spec->letter = *p;
  spec->length = letter_offset(L, text, p) + 1;
}

static void push_spec(lua_State *L, const Spec *spec) {
  lua_pushlstring(L, spec->text, (size_t)spec->length);
}

static void require_flags(lua_State *L, const Spec *spec, unsigned allowed) {
  bool in_order = spec->letter == spec->text[spec->length - 1];
  if (in_order && (spec->flags & ~allowed) == 0) return;
  push_spec(L, spec);
  luaL_error(L, "invalid conversion specification: '%s'", lua_tostring(L, -1));
}

/* ---- padding ------------------------------------------------------------- */

/* Adds `length` bytes, padded with blanks to the width. */
static void add_padded(luaL_Buffer *b, const Spec *spec, const char *s, size_t length) {
  size_t width = (size_t)spec->width, padding = width > length ? width - length : 0;
  if (padding == 0) {
    luaL_addlstring(b, s, length);
    return;
  }
  bool left = (spec->flags & FLAG_LEFT) != 0;
  char *room = luaL_prepbuffsize(b, width);
  memcpy(room + (left ? 0 : padding), s, length);
  memset(room + (left ? length : 0), ' ', padding);
  luaL_addsize(b, width);
}

/* ---- integers ------------------------------------------------------------ */

static char *power_of_two_digits(char *end, lua_Unsigned n, unsigned shift, const char *digits) {
  do *--end = digits[n & ((1u << shift) - 1)];
  while ((n >>= shift) != 0);
  return end;
}

static char *integer_digits(char *end, lua_Unsigned n, char letter) {
  switch (letter) {
    case 'o': return power_of_two_digits(end, n, 3, "01234567");
    case 'x': return power_of_two_digits(end, n, 4, "0123456789abcdef");
    case 'X': return power_of_two_digits(end, n, 4, "0123456789ABCDEF");
    default: return write_decimal_unsigned(end, n);
  }
}

/* Returns the characters before the digits of a number, at most two. */
static const char *integer_prefix(const Spec *spec, lua_Integer n) {
  if (spec->letter == 'd' || spec->letter == 'i') {
    if (n < 0) return "-";
    if (spec->flags & FLAG_PLUS) return "+";
    return spec->flags & FLAG_BLANK ? " " : "";
  }
  if (!(spec->flags & FLAG_ALTERNATE) || n == 0) return "";
  return spec->letter == 'x' ? "0x" : spec->letter == 'X' ? "0X" : "";
}

/* Returns the minimum number of digits, by precision or zero padding. */
static int least_digits(const Spec *spec, int prefix_length, int digits) {
  if (spec->flags & HAS_PRECISION) return spec->precision;
  if ((spec->flags & FLAG_ZERO) && !(spec->flags & FLAG_LEFT)) return spec->width - prefix_length;
  return digits;
}

static void add_integer(luaL_Buffer *b, const Spec *spec, lua_Integer n) {
  char text[INTEGER_TEXT_MAX], *end = text + sizeof text;
  bool is_signed = spec->letter == 'd' || spec->letter == 'i';
  lua_Unsigned magnitude = (lua_Unsigned)n;
  if (is_signed && n < 0) magnitude = 0 - magnitude;
  char *start = integer_digits(end, magnitude, spec->letter);
  if (n == 0 && (spec->flags & HAS_PRECISION) && spec->precision == 0) start = end;
  const char *prefix = integer_prefix(spec, n);
  int prefix_length = (int)strlen(prefix);
  int least = least_digits(spec, prefix_length, (int)(end - start));
  while (end - start < least) *--start = '0';
  /* '#' demands that an octal number begin with 0 */
  if (spec->letter == 'o' && (spec->flags & FLAG_ALTERNATE) && (start == end || *start != '0'))
    *--start = '0';
  start -= prefix_length;
  memcpy(start, prefix, (size_t)prefix_length);
  add_padded(b, spec, start, (size_t)(end - start));
}

static void add_plain_integer(luaL_Buffer *b, lua_Integer n) {
  char text[INTEGER_DECIMAL_MAX], *end = text + sizeof text;
  char *start = write_decimal(end, n);
  luaL_addlstring(b, start, (size_t)(end - start));
}

static void format_integer(lua_State *L, luaL_Buffer *b, const Spec *spec, int arg) {
  bool is_signed = spec->letter == 'd' || spec->letter == 'i';
  unsigned allowed = FLAG_LEFT | FLAG_ZERO | HAS_PRECISION;
  if (is_signed)
    allowed |= FLAG_PLUS | FLAG_BLANK;
  else if (spec->letter != 'u')
    allowed |= FLAG_ALTERNATE;
  lua_Integer n = argument_integer(L, arg);
  require_flags(L, spec, allowed);
  if (is_signed && spec->length == 2)
    add_plain_integer(b, n);
  else
    add_integer(b, spec, n);
}

/* ---- floats -------------------------------------------------------------- */

/* The %f of a float of moderate size is exact in integers: the float is m / 2^k with m
 * below 2^53, and m times a small power of ten fits 128 bits. */
#define FIXED_PRECISION_MAX 7
#define FIXED_MAGNITUDE_MAX 0x1p40 /* this magnitude times 10^7 still fits 64 bits */

/* Returns |n| * 10^precision, rounded half to even as the C library does. */
static uint64_t scale_and_round(lua_Number n, uint64_t power_of_ten) {
  int exponent;
  uint64_t mantissa = (uint64_t)(frexp(fabs(n), &exponent) * 0x1p53);
  int shift = 53 - exponent; /* |n| is mantissa / 2^shift, with shift above 12 */
  if (shift > 120) return 0;
  unsigned __int128 scaled = (unsigned __int128)mantissa * power_of_ten;
  unsigned __int128 half = (unsigned __int128)1 << (shift - 1);
  unsigned __int128 rest = scaled & (2 * half - 1);
  uint64_t integral = (uint64_t)(scaled >> shift);
  return integral + (rest > half || (rest == half && (integral & 1)));
}

/* Adds a float as %f if it is of moderate size and no unusual flag is given; otherwise
   returns false. */
static bool add_fixed(luaL_Buffer *b, const Spec *spec, lua_Number n) {
  static const uint64_t powers_of_ten[FIXED_PRECISION_MAX + 1] = {1,     10,     100,     1000,
                                                                  10000, 100000, 1000000, 10000000};
  const char *point = nl_langinfo(RADIXCHAR);
  int precision = spec->flags & HAS_PRECISION ? spec->precision : 6;
  if (!(fabs(n) < FIXED_MAGNITUDE_MAX) || precision > FIXED_PRECISION_MAX ||
      (spec->flags & ~(FLAG_LEFT | HAS_PRECISION)) != 0 || point[0] == '\0' || point[1] != '\0')
    return false;
  char text[INTEGER_TEXT_MAX], *end = text + sizeof text, *start = end;
  uint64_t scaled = scale_and_round(n, powers_of_ten[precision]);
  if (precision > 0) {
    start = write_decimal_unsigned(end, scaled % powers_of_ten[precision]);
    while (end - start < precision) *--start = '0';
    *--start = *point;
  }
  start = write_decimal_unsigned(start, scaled / powers_of_ten[precision]);
  if (signbit(n)) *--start = '-';
  add_padded(b, spec, start, (size_t)(end - start));
  return true;
}

/* Adds a float as %g or %e, under the same conditions. */
static bool add_rounded(luaL_Buffer *b, const Spec *spec, lua_Number n) {
  char text[NUMBER_TEXT_MAX];
  int precision = spec->flags & HAS_PRECISION ? spec->precision : 6;
  if ((spec->flags & ~(FLAG_LEFT | HAS_PRECISION)) != 0) return false;
  size_t length = spec->letter == 'g' ? number_to_general(text, n, precision)
                                      : number_to_exponential(text, n, precision);
  if (length == 0) return false;
  add_padded(b, spec, text, length);
  return true;
}

static void format_float(lua_State *L, luaL_Buffer *b, const Spec *spec, int arg) {
  lua_Number n = argument_number(L, arg);
  require_flags(L, spec,
                FLAG_LEFT | FLAG_PLUS | FLAG_BLANK | FLAG_ALTERNATE | FLAG_ZERO | HAS_PRECISION);
  if (spec->letter == 'f' && add_fixed(b, spec, n)) return;
  if ((spec->letter == 'g' || spec->letter == 'e') && add_rounded(b, spec, n)) return;
  char format[SPEC_TEXT_MAX + 1]; /* snprintf reads this text as parse_spec has read it */
  memcpy(format, spec->text, (size_t)spec->length);
  format[spec->length] = '\0';
  size_t room = spec->letter == 'f' ? LONG_FLOAT_TEXT_MAX : FLOAT_TEXT_MAX;
  int length = snprintf(luaL_prepbuffsize(b, room), room, format, n);
  luaL_addsize(b, (size_t)length);
}

/* ---- strings, characters, pointers --------------------------------------- */

static void format_char(lua_State *L, luaL_Buffer *b, const Spec *spec, int arg) {
  require_flags(L, spec, FLAG_LEFT);
  char c = (char)argument_integer(L, arg);
  add_padded(b, spec, &c, 1);
}

static void format_pointer(lua_State *L, luaL_Buffer *b, const Spec *spec, int arg) {
  require_flags(L, spec, FLAG_LEFT);
  const void *pointer = lua_topointer(L, arg);
  char text[32] = "(null)";
  if (pointer != NULL) snprintf(text, sizeof text, "%p", pointer);
  add_padded(b, spec, text, strlen(text));
}

/* Returns the number of characters of a text that %s with modifiers shows. */
static size_t shown_length(lua_State *L, const Spec *spec, int arg, const char *text,
                           size_t length) {
  luaL_argcheck(L, memchr(text, '\0', length) == NULL, arg, "string contains zeros");
  require_flags(L, spec, FLAG_LEFT | HAS_PRECISION);
  bool is_cut = (spec->flags & HAS_PRECISION) && (size_t)spec->precision < length;
  return is_cut ? (size_t)spec->precision : length;
}

/* Adds the text that tostring gives for an argument. */
static void add_tostring(lua_State *L, luaL_Buffer *b, const Spec *spec, int arg) {
  size_t length;
  char copy[TWO_DIGITS_MAX];
  const char *text = luaL_tolstring(L, arg, &length);
  if (spec->length > 2) length = shown_length(L, spec, arg, text, length);
  /* the text has no precision, and is longer than any width */
  if (spec->length == 2 || length > sizeof copy) {
    luaL_addvalue(b);
    return;
  }
  memcpy(copy, text, length);
  lua_pop(L, 1); /* the buffer may only grow while nothing lies above it */
  add_padded(b, spec, copy, length);
}

static void format_string(lua_State *L, luaL_Buffer *b, const Spec *spec, int arg) {
  const TValue *o = argument(L, arg);
  if (named_field(L, o, NAME_TOSTRING) == NULL) {
    if (is_string(o)) {
      const char *text = as_string(o)->data;
      size_t length = string_len(as_string(o));
      if (spec->length > 2) length = shown_length(L, spec, arg, text, length);
      add_padded(b, spec, text, length);
      return;
    }
    if (is_int(o) && spec->length == 2) {
      add_plain_integer(b, o->v.i);
      return;
    }
  }
  add_tostring(L, b, spec, arg);
}

/* ---- %q ------------------------------------------------------------------ */

static void add_escaped(luaL_Buffer *b, unsigned char c, bool digit_follows) {
  char text[4] = {'\\', (char)c};
  size_t length = 2;
  /* the number of the byte, with three digits if a digit follows */
  if (c != '"' && c != '\\' && c != '\n') {
    length = 1;
    if (c >= 100 || digit_follows) text[length++] = (char)('0' + c / 100);
    if (c >= 10 || digit_follows) text[length++] = (char)('0' + c / 10 % 10);
    text[length++] = (char)('0' + c % 10);
  }
  luaL_addlstring(b, text, length);
}

static void add_quoted_string(luaL_Buffer *b, const char *s, size_t length) {
  const bool *quoted = char_classes()->quoted;
  const char *end = s + length;
  luaL_addchar(b, '"');
  for (;;) {
    const char *run = s;
    while (s < end && !quoted[(unsigned char)*s]) s++;
    luaL_addlstring(b, run, (size_t)(s - run));
    if (s == end) break;
    add_escaped(b, (unsigned char)*s, s + 1 < end && is_digit(s[1]));
    s++;
  }
  luaL_addchar(b, '"');
}

#define EXPONENT_BIAS 1023

/* Writes a normal number as "%a" does, with '.' in any locale. */
static char *write_hexadecimal(char *end, lua_Number n) {
  uint64_t bits;
  memcpy(&bits, &n, sizeof bits);
  int exponent = (int)(bits >> 52 & 0x7ff) - EXPONENT_BIAS;
  uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
  char *p = write_decimal_unsigned(end, (lua_Unsigned)(exponent < 0 ? -exponent : exponent));
  *--p = exponent < 0 ? '-' : '+';
  *--p = 'p';
  if (fraction != 0) {
    int digits = 13;
    for (; (fraction & 15) == 0; fraction >>= 4) digits--;
    for (; digits > 0; digits--, fraction >>= 4) *--p = "0123456789abcdef"[fraction & 15];
    *--p = '.';
  }
  p -= 3;
  memcpy(p, "0x1", 3);
  if (signbit(n)) *--p = '-';
  return p;
}

/* Adds a float as an exact hexadecimal numeral. */
static void add_quoted_float(luaL_Buffer *b, lua_Number n) {
  char text[64], *end = text + sizeof text;
  if (isnan(n)) {
    luaL_addstring(b, "(0/0)");
  } else if (isinf(n)) {
    luaL_addstring(b, n > 0 ? "1e9999" : "-1e9999");
  } else if (isnormal(n)) {
    char *start = write_hexadecimal(end, n);
    luaL_addlstring(b, start, (size_t)(end - start));
  } else {
    int length = snprintf(text, sizeof text, "%a", n);
    char *point = strchr(text, localeconv()->decimal_point[0]);
    if (point != NULL) *point = '.';
    luaL_addlstring(b, text, (size_t)length);
  }
}

static void add_quoted_integer(luaL_Buffer *b, lua_Integer n) {
  if (n == LUA_MININTEGER)
    /* the decimal form of this integer would read as a float */
    luaL_addstring(b, "0x8000000000000000");
  else
    add_plain_integer(b, n);
}

static void format_literal(lua_State *L, luaL_Buffer *b, const Spec *spec, int arg) {
  if (spec->length != 2) luaL_error(L, "specifier '%%q' cannot have modifiers");
  size_t length;
  const char *s;
  switch (lua_type(L, arg)) {
    case LUA_TSTRING:
      s = lua_tolstring(L, arg, &length);
      add_quoted_string(b, s, length);
      break;
    case LUA_TNUMBER:
      if (lua_isinteger(L, arg))
        add_quoted_integer(b, lua_tointeger(L, arg));
      else
        add_quoted_float(b, lua_tonumber(L, arg));
      break;
    case LUA_TNIL: luaL_addstring(b, "nil"); break;
    case LUA_TBOOLEAN: luaL_addstring(b, lua_toboolean(L, arg) ? "true" : "false"); break;
    default: luaL_argerror(L, arg, "value has no literal form");
  }
}

/* ---- string.format ------------------------------------------------------- */

static void raise_unknown(lua_State *L, const Spec *spec) {
  push_spec(L, spec);
  luaL_error(L, "invalid conversion '%s' to 'format'", lua_tostring(L, -1));
}

static void format_argument(lua_State *L, luaL_Buffer *b, const Spec *spec, int arg) {
  switch (spec->text[spec->length - 1]) {
    case 'd': case 'i': case 'u': case 'o': case 'x': case 'X':
      format_integer(L, b, spec, arg);
      break;
    case 'a': case 'A': case 'e': case 'E': case 'f': case 'g': case 'G':
      format_float(L, b, spec, arg);
      break;
    case 's': format_string(L, b, spec, arg); break;
    case 'c': format_char(L, b, spec, arg); break;
    case 'q': format_literal(L, b, spec, arg); break;
    case 'p': format_pointer(L, b, spec, arg); break;
    default: raise_unknown(L, spec);
  }
}

int strlib_format(lua_State *L) {
  int top = argument_count(L), arg = 1;
  size_t length;
  const char *p = argument_string(L, 1, &length), *end = p + length, *percent;
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  while ((percent = memchr(p, '%', (size_t)(end - p))) != NULL) {
    if (percent > p) luaL_addlstring(&b, p, (size_t)(percent - p));
    if (percent[1] == '%') {
      luaL_addchar(&b, '%');
      p = percent + 2;
      continue;
    }
    if (++arg > top) return luaL_argerror(L, arg, "no value");
    Spec spec;
    parse_spec(L, &spec, percent);
    format_argument(L, &b, &spec, arg);
    p = percent + spec.length;
  }
  if (end > p) luaL_addlstring(&b, p, (size_t)(end - p));
  luaL_pushresult(&b);
  return 1;
}
