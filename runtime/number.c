/* SPDX-License-Identifier: MIT */
/* runtime/number.c: numbers as text, conversions, arithmetic and order.
 *
 * Text. Numerals are read with '.' whatever the locale, and with the locale's own
 * point as a second try. Most decimal floats take an exact shortcut in both directions;
 * strtod and snprintf do the rest, so results agree with the C library to the last bit.
 *
 * Integers and floats. An integer is compared with a float by exact value. The integer is
 * never rounded first if bits could be lost.
 */
#include "number.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain.h"
#include "str.h"
#include "throw.h"

#define TWO_63 9223372036854775808.0 /* 2^63: the first float above all integers */
#define EXACT_LIMIT (INT64_C(1) << 53) /* all integers up to it are also floats */

static const double exact_powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                             1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                             1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
#define MAX_EXACT_POWER 22

/* ---- reading numerals ---------------------------------------------------- */

/* Tells whether c is a space, or a digit, in the "C" locale, whatever setlocale says. */
ALWAYS_INLINE bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
ALWAYS_INLINE bool is_digit(char c) { return (unsigned char)(c - '0') < 10; }

/* Returns the value of a hexadecimal digit, or 16 or more if c is not one. */
ALWAYS_INLINE unsigned hex_digit(char c) {
  if (is_digit(c)) return (unsigned)(c - '0');
  unsigned letter = (unsigned)((c | 0x20) - 'a');
  return letter < 6 ? letter + 10 : 16;
}

static const char *skip_spaces(const char *s) {
  while (is_space(*s)) s++;
  return s;
}

ALWAYS_INLINE char decimal_point(void) { return *nl_langinfo(RADIXCHAR); }

/* Converts as strtod does in the "C" locale. */
static double c_strtod(const char *s, char **end) {
  /* glibc returns one static object: a race stores the same value */
  static locale_t c_locale;
  /* acquire: pairs with the release store below, so that the object of newlocale is
   * complete */
  locale_t locale = __atomic_load_n(&c_locale, __ATOMIC_ACQUIRE);
  if (locale == (locale_t)0) {
    locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (locale == (locale_t)0) return strtod(s, end);
    /* release: pairs with the acquire load above, in another thread */
    __atomic_store_n(&c_locale, locale, __ATOMIC_RELEASE);
  }
  return strtod_l(s, end, locale);
}

/* Parses a hexadecimal integer, which wraps around. s is after the sign and "0x". Returns
 * the first character after the digits, or NULL if there are none. */
static const char *parse_hex_integer(const char *s, uint64_t *value) {
  const char *start = s;
  uint64_t n = 0;
  for (unsigned digit; (digit = hex_digit(*s)) < 16; s++) n = n << 4 | digit;
  *value = n;
  return s == start ? NULL : s;
}

/* Parses a decimal integer. Returns the first character after the digits. Returns NULL if
 * there are none, or if the value does not fit: then the numeral is a float. */
static const char *parse_decimal_integer(const char *s, bool negative, uint64_t *value) {
  const char *start = s;
  uint64_t limit = (uint64_t)INT64_MAX + negative, n = 0;
  for (; is_digit(*s); s++) {
    unsigned digit = (unsigned)(*s - '0');
    if (n > (limit - digit) / 10) return NULL;
    n = n * 10 + digit;
  }
  *value = n;
  return s == start ? NULL : s;
}

static const char *parse_integer(const char *s, int64_t *result) {
  bool negative = *s == '-';
  uint64_t magnitude;
  if (*s == '-' || *s == '+') s++;
  if (s[0] == '0' && (s[1] | 0x20) == 'x')
    s = parse_hex_integer(s + 2, &magnitude);
  else
    s = parse_decimal_integer(s, negative, &magnitude);
  if (s != NULL) *result = (int64_t)(negative ? 0 - magnitude : magnitude);
  return s;
}

#define MAX_WHOLE_POWER 19 /* greatest power of ten below 2^64 */
static const uint64_t whole_powers_of_ten[MAX_WHOLE_POWER + 1] = {
  1u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u, 1000000000u, 10000000000u,
  100000000000u, 1000000000000u, 10000000000000u, 100000000000000u, 1000000000000000u,
  10000000000000000u, 100000000000000000u, 1000000000000000000u, 10000000000000000000u,
};

/* Returns digits / power, rounded to nearest as strtod does, for digits > 0. Shifts both
 * numbers up to 64 bits. The quotient then has 63 or 64 bits; its lowest bit is set if
 * there is a remainder. It is rounded once, when it becomes a float. */
static double divide_rounded(uint64_t digits, uint64_t power) {
  int up = __builtin_clzll(digits), power_up = __builtin_clzll(power);
  unsigned __int128 dividend = (unsigned __int128)(digits << up) << 63;
  uint64_t divisor = power << power_up, quotient = (uint64_t)(dividend / divisor);
  /* computed modulo 2^64, since the remainder is less than 2^64 */
  quotient |= (uint64_t)dividend != quotient * divisor;
  return ldexp((double)quotient, power_up - up - 63);
}

/* Returns digits * 10^exponent, rounded once. */
static double scale_rounded(uint64_t digits, int exponent) {
  uint64_t power = whole_powers_of_ten[exponent < 0 ? -exponent : exponent];
  if (exponent < 0) return divide_rounded(digits, power);
  return (double)((unsigned __int128)digits * power);
}

/* A decimal, as its first digits times a power of ten. It has at most 19 digits from the
 * first that is not 0. */
typedef struct Decimal {
  uint64_t digits;
  int64_t exponent;
  bool is_cut; /* there are more digits, and not all of them are 0 */
} Decimal;

#define HAS_ROOM(d) ((d)->digits < whole_powers_of_ten[18])

/* Reads the decimal at s. Returns the position after it, or NULL. */
static const char *read_decimal(const char *s, Decimal *d) {
  const char *start = s;
  for (; is_digit(*s) && HAS_ROOM(d); s++) d->digits = d->digits * 10 + (unsigned)(*s - '0');
  for (; is_digit(*s); s++, d->exponent++) d->is_cut |= *s != '0';
  bool any = s != start;
  if (*s == '.') {
    start = ++s;
    for (; is_digit(*s) && HAS_ROOM(d); s++, d->exponent--)
      d->digits = d->digits * 10 + (unsigned)(*s - '0');
    for (; is_digit(*s); s++) d->is_cut |= *s != '0';
    any |= s != start;
  }
  if (!any) return NULL;
  if ((*s | 0x20) == 'e') {
    bool down = *++s == '-';
    int exponent = 0;
    if (*s == '-' || *s == '+') s++;
    if (!is_digit(*s)) return NULL;
    for (; is_digit(*s); s++)
      if ((exponent = exponent * 10 + (*s - '0')) > 999) return NULL;
    d->exponent += down ? -exponent : exponent;
  }
  return s;
}

/* Converts a decimal of moderate size to a float. If the digits and the power of ten are
 * both exact as floats, one rounding gives the right result. Returns false if digits that
 * were cut off could lead to another float. */
static bool decimal_to_float(const Decimal *d, double *n) {
  int exponent = (int)d->exponent;
  if (d->exponent < -MAX_EXACT_POWER || d->exponent > MAX_EXACT_POWER) return false;
  if (!d->is_cut && d->digits <= (uint64_t)EXACT_LIMIT) {
    *n = (double)d->digits;
    *n = exponent < 0 ? *n / exact_powers_of_ten[-exponent] : *n * exact_powers_of_ten[exponent];
    return true;
  }
  if (exponent < -MAX_WHOLE_POWER || exponent > MAX_WHOLE_POWER) return false;
  *n = scale_rounded(d->digits, exponent);
  return !d->is_cut || *n == scale_rounded(d->digits + 1, exponent);
}

/* Parses a decimal of moderate size. Returns NULL for any other text, which may still be
 * a numeral. */
static const char *parse_decimal(const char *s, double *result) {
  bool negative = *s == '-';
  Decimal d = {0};
  double n;
  if (*s == '-' || *s == '+') s++;
  s = read_decimal(s, &d);
  if (s == NULL || !decimal_to_float(&d, &n)) return NULL;
  *result = negative ? -n : n;
  return s;
}

/* Parses a float with strtod. That also reads "inf", "nan" and "nan(...)", which are not
 * numerals. */
static const char *parse_float_c(const char *s, double *result) {
  char *end;
  if (strpbrk(s, "nN") != NULL) return NULL;
  *result = c_strtod(s, &end);
  return end == s ? NULL : end;
}

#define MAX_LOCALE_NUMERAL 200 /* bytes; longer numerals are read with '.' alone */

/* Parses a numeral with the locale's decimal point. Returns the end as a position in s,
 * or NULL. */
static const char *parse_float_locale(const char *s, double *result) {
  char point = decimal_point();
  const char *where = strchr(s, point);
  size_t len = strlen(s);
  if (point == '.' || where == NULL || strchr(s, '.') != NULL || len > MAX_LOCALE_NUMERAL)
    return NULL;
  char copy[MAX_LOCALE_NUMERAL + 1];
  memcpy(copy, s, len + 1);
  copy[where - s] = '.';
  const char *end = parse_float_c(copy, result);
  return end == NULL ? NULL : s + (end - copy);
}

/* Returns the position after the spaces that follow the numeral, or NULL if more text
 * follows. */
static const char *at_end(const char *s) {
  if (s == NULL) return NULL;
  s = skip_spaces(s);
  return *s == '\0' ? s : NULL;
}

static const char *parse_float(const char *s, double *result) {
  const char *end = at_end(parse_decimal(s, result));
  if (end == NULL) end = at_end(parse_float_c(s, result));
  if (end == NULL) end = at_end(parse_float_locale(s, result));
  return end;
}

size_t number_parse(const char *s, TValue *result) {
  const char *start = skip_spaces(s);
  int64_t i = 0;
  double n = 0;
  const char *end = at_end(parse_integer(start, &i));
  if (end != NULL)
    set_int(result, i);
  else if ((end = parse_float(start, &n)) != NULL)
    set_float(result, n);
  else
    return 0;
  return (size_t)(end - s) + 1;
}

/* ---- writing numerals ---------------------------------------------------- */

/* Writes the digits of n, most significant first. Returns how many there are. */
static size_t write_digits(char *out, uint64_t n) {
  static const char pairs[] =
      "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
      "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
      "8081828384858687888990919293949596979899";
  char buffer[20], *p = buffer + sizeof buffer;
  while (n >= 100) {
    p -= 2;
    memcpy(p, pairs + 2 * (n % 100), 2);
    n /= 100;
  }
  if (n >= 10) {
    p -= 2;
    memcpy(p, pairs + 2 * n, 2);
  } else {
    *--p = (char)('0' + n);
  }
  size_t len = (size_t)(buffer + sizeof buffer - p);
  memcpy(out, p, len);
  return len;
}

static size_t write_integer(char *out, int64_t i) {
  char *p = out;
  uint64_t magnitude = (uint64_t)i;
  if (i < 0) {
    *p++ = '-';
    magnitude = 0 - magnitude;
  }
  return (size_t)(p - out) + write_digits(p, magnitude);
}

#define FLOAT_DIGITS 14 /* digits of "%.14g" */
#define TEN_TO_13 UINT64_C(10000000000000)
#define TEN_TO_14 UINT64_C(100000000000000)

static const uint64_t powers[] = {1,
                                  10,
                                  100,
                                  1000,
                                  10000,
                                  100000,
                                  1000000,
                                  10000000,
                                  100000000,
                                  1000000000,
                                  10000000000,
                                  100000000000,
                                  1000000000000,
                                  TEN_TO_13,
                                  TEN_TO_14,
                                  10 * TEN_TO_14,
                                  100 * TEN_TO_14,
                                  1000 * TEN_TO_14,
                                  10000 * TEN_TO_14};
#define MOST_POWER 18

/* Returns n * 10^power, rounded exactly to the nearest integer, ties to even. 1e-5 < n <
 * 1e15 and 0 <= power <= MOST_POWER: the product of the 53-bit mantissa and 10^power has
 * fewer than 128 bits. */
static uint64_t scale_exactly(double n, int power) {
  uint64_t bits;
  memcpy(&bits, &n, sizeof bits);
  int shift = 1075 - (int)(bits >> 52); /* n = mantissa * 2^-shift */
  uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
  unsigned __int128 product = (unsigned __int128)mantissa * powers[power];
  if (shift <= 0) return (uint64_t)(product << -shift);
  unsigned __int128 one = 1, rest = product & ((one << shift) - 1), half = one << (shift - 1);
  uint64_t integral = (uint64_t)(product >> shift);
  return integral + (rest > half || (rest == half && (integral & 1)));
}

/* Returns the first `count` digits of n, rounded, for 1e-4 <= n < 10^count. Sets *decade
 * to the decimal exponent of the first digit, which is `count` if n is rounded up to
 * 10^count. */
static uint64_t first_digits(double n, int count, int *decade) {
  uint64_t bits;
  memcpy(&bits, &n, sizeof bits);
  /* log10(n) rounded down, or one less */
  *decade = (int)((((int)(bits >> 52) - 1023) * 1233) >> 12);
  uint64_t digits = scale_exactly(n, count - 1 - *decade);
  if (digits < powers[count]) return digits;
  if (++*decade == count) return powers[count - 1];
  digits = scale_exactly(n, count - 1 - *decade);
  if (digits < powers[count]) return digits;
  ++*decade; /* the digits are all nines and were rounded up */
  return powers[count - 1];
}

/* Writes n as "%.*g" does, for 1e-4 <= n < 10^count, which needs no exponent. With
 * `marked`, adds ".0" if the result looks like an integer. Returns the length, or 0 if n
 * is rounded up to 10^count. */
static size_t write_plain_float(char *out, double n, int count, bool marked) {
  int decade;
  uint64_t digits = first_digits(n, count, &decade);
  if (decade >= count) return 0;
  char text[20], *p = out;
  size_t len = write_digits(text, digits), integral = decade < 0 ? 0 : (size_t)decade + 1;
  rt_assert(len == (size_t)count);
  while (len > integral && text[len - 1] == '0') len--;
  if (integral == 0) *p++ = '0';
  memcpy(p, text, integral);
  p += integral;
  if (len == integral && !marked) return (size_t)(p - out);
  *p++ = decimal_point();
  for (int i = decade; i < -1; i++) *p++ = '0';
  if (len == integral) *p++ = '0';
  memcpy(p, text + integral, len - integral);
  return (size_t)(p - out) + len - integral;
}

size_t number_to_general(char *out, double n, int precision) {
  double magnitude = fabs(n);
  if (precision == 0) precision = 1;
  if (precision > FLOAT_DIGITS || !(magnitude >= 1e-4 && magnitude < (double)powers[precision]))
    return 0;
  size_t sign = n < 0;
  *out = '-';
  size_t len = write_plain_float(out + sign, magnitude, precision, false);
  return len > 0 ? sign + len : 0;
}

size_t number_to_exponential(char *out, double n, int precision) {
  int count = precision + 1, decade;
  double magnitude = fabs(n);
  if (count > FLOAT_DIGITS || !(magnitude >= 1e-4 && magnitude < (double)powers[count])) return 0;
  char text[20], *p = out;
  write_digits(text, first_digits(magnitude, count, &decade));
  if (n < 0) *p++ = '-';
  *p++ = text[0];
  if (precision > 0) *p++ = decimal_point();
  memcpy(p, text + 1, (size_t)precision);
  p += precision;
  *p++ = 'e';
  *p++ = decade < 0 ? '-' : '+';
  if (decade < 0) decade = -decade;
  *p++ = (char)('0' + decade / 10);
  *p++ = (char)('0' + decade % 10);
  return (size_t)(p - out);
}

static bool looks_like_integer(const char *text) {
  return text[strspn(text, "-0123456789")] == '\0';
}

static size_t write_general_float(char *out, double n) {
  int len = snprintf(out, NUMBER_TEXT_MAX - 3, "%.14g", n);
  rt_assert(len > 0 && len < NUMBER_TEXT_MAX - 3);
  if (looks_like_integer(out)) {
    out[len++] = decimal_point();
    out[len++] = '0';
  }
  return (size_t)len;
}

static size_t write_float(char *out, double n) {
  double magnitude = fabs(n);
  if (magnitude >= 1e-4 && magnitude < 1e14) {
    size_t sign = n < 0;
    *out = '-';
    size_t len = write_plain_float(out + sign, magnitude, FLOAT_DIGITS, true);
    if (len > 0) return sign + len;
  }
  return write_general_float(out, n);
}

size_t number_to_text(const TValue *number, char *buffer) {
  size_t len =
      is_int(number) ? write_integer(buffer, number->v.i) : write_float(buffer, number->v.n);
  buffer[len] = '\0';
  return len;
}

String *number_to_string(lua_State *L, const TValue *number) {
  char buffer[NUMBER_TEXT_MAX];
  size_t len = number_to_text(number, buffer);
  return string_new(L, buffer, len);
}

/* ---- conversions --------------------------------------------------------- */

bool number_float_to_int(double n, int64_t *result, FloatToInt mode) {
  if (!(n >= -TWO_63 && n < TWO_63)) return false; /* NaN too */
  int64_t i = (int64_t)n;                          /* towards zero */
  double integral = (double)i;
  if (integral != n) {
    if (mode == FLOAT_EXACT) return false;
    if (mode == FLOAT_FLOOR && n < integral) i--;
    if (mode == FLOAT_CEIL && n > integral) i++;
  }
  *result = i;
  return true;
}

/* Gets the number for which a string stands. */
static bool string_to_number(const TValue *o, TValue *number) {
  return is_string(o) && number_parse(as_string(o)->data, number) == string_len(as_string(o)) + 1;
}

bool number_to_int(const TValue *o, int64_t *result, FloatToInt mode) {
  TValue number;
  if (is_int(o)) {
    *result = o->v.i;
    return true;
  }
  if (is_float(o)) return number_float_to_int(o->v.n, result, mode);
  return string_to_number(o, &number) && number_to_int(&number, result, mode);
}

bool number_to_float(const TValue *o, double *result) {
  TValue number;
  if (is_float(o))
    *result = o->v.n;
  else if (is_int(o))
    *result = (double)o->v.i;
  else
    return string_to_number(o, &number) && number_to_float(&number, result);
  return true;
}

/* ---- arithmetic ---------------------------------------------------------- */

/* Integer arithmetic wraps around. C defines this for unsigned integers only. */
#define WRAP(a, op, b) ((int64_t)((uint64_t)(a)op(uint64_t)(b)))

int64_t number_int_div(lua_State *L, int64_t a, int64_t b) {
  if (unlikely((uint64_t)b + 1 <= 1)) { /* 0 or -1 */
    if (b == 0) error_run(L, "attempt to divide by zero");
    return WRAP(0, -, a); /* the hardware traps if the least integer is divided by -1 */
  }
  int64_t quotient = a / b;
  return quotient - ((a ^ b) < 0 && quotient * b != a);
}

int64_t number_int_mod(lua_State *L, int64_t a, int64_t b) {
  if (unlikely((uint64_t)b + 1 <= 1)) {
    if (b == 0) error_run(L, "attempt to perform 'n%%0'");
    return 0;
  }
  int64_t rest = a % b;
  return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;
}

#define MANTISSA_BITS 52
/* biased exponent of a divisor, from which on the remainder is never subnormal */
#define LEAST_EXPONENT 64

/* Computes fmod by divisions of integers. a and b are multiples of the last bit of b's
 * mantissa. Each division yields 11 bits of the quotient (fmod of glibc 2.36: one
 * bit). */
static double float_rest(double a, double b) {
  uint64_t x, y;
  memcpy(&x, &a, sizeof x);
  memcpy(&y, &b, sizeof y);
  int ex = (int)(x >> MANTISSA_BITS & 0x7ff), ey = (int)(y >> MANTISSA_BITS & 0x7ff);
  if (ex == 0x7ff || ey == 0x7ff || ey < LEAST_EXPONENT) return fmod(a, b);
  if (ex < ey) return a;
  const uint64_t one = UINT64_C(1) << MANTISSA_BITS;
  uint64_t mx = (x & (one - 1)) | one, my = (y & (one - 1)) | one;
  int shift = ex - ey;
  for (; shift > 11; shift -= 11) mx = (mx << 11) % my;
  mx = (mx << shift) % my;
  /* the value of the last bit of b's mantissa */
  uint64_t unit = (uint64_t)(ey - MANTISSA_BITS) << MANTISSA_BITS;
  double last;
  memcpy(&last, &unit, sizeof last);
  return copysign((double)mx * last, a);
}

double number_float_mod(double a, double b) {
  double rest;
  if (fabs(a) < (double)EXACT_LIMIT && fabs(b) < (double)EXACT_LIMIT && b != 0 &&
      (double)(int64_t)a == a && (double)(int64_t)b == b)
    /* integral floats: much faster than fmod */
    rest = copysign((double)((int64_t)a % (int64_t)b), a);
  else
    rest = float_rest(a, b);
  /* `rest` has the sign of a, as with fmod; the result has the sign of b */
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t number_shift_left(int64_t a, int64_t b) {
  if (b <= -64 || b >= 64) return 0;
  return (int64_t)(b >= 0 ? (uint64_t)a << b : (uint64_t)a >> -b);
}

static int64_t arith_int(lua_State *L, int op, int64_t a, int64_t b) {
  switch (op) {
    case LUA_OPADD: return WRAP(a, +, b);
    case LUA_OPSUB: return WRAP(a, -, b);
    case LUA_OPMUL: return WRAP(a, *, b);
    case LUA_OPMOD: return number_int_mod(L, a, b);
    case LUA_OPIDIV: return number_int_div(L, a, b);
    case LUA_OPBAND: return a & b;
    case LUA_OPBOR: return a | b;
    case LUA_OPBXOR: return a ^ b;
    case LUA_OPSHL: return number_shift_left(a, b);
    case LUA_OPSHR: return number_shift_left(a, b == INT64_MIN ? INT64_MAX : -b);
    case LUA_OPUNM: return WRAP(0, -, a);
    default: rt_assert(op == LUA_OPBNOT); return ~a;
  }
}

static double arith_float(int op, double a, double b) {
  switch (op) {
    case LUA_OPADD: return a + b;
    case LUA_OPSUB: return a - b;
    case LUA_OPMUL: return a * b;
    case LUA_OPDIV: return a / b;
    case LUA_OPPOW: return b == 2 ? a * a : pow(a, b);
    case LUA_OPIDIV: return floor(a / b);
    case LUA_OPMOD: return number_float_mod(a, b);
    default: rt_assert(op == LUA_OPUNM); return -a;
  }
}

static bool is_bitwise(int op) { return (op >= LUA_OPBAND && op <= LUA_OPSHR) || op == LUA_OPBNOT; }

/* Gets the float value of a number, without coercion of strings. */
ALWAYS_INLINE bool plain_float(const TValue *o, double *n) {
  *n = is_float(o) ? o->v.n : (double)o->v.i;
  return is_number(o);
}

static bool arith_bits(lua_State *L, int op, const TValue *a, const TValue *b, TValue *result) {
  int64_t x, y;
  if (!is_number(a) || !is_number(b)) return false;
  if (!number_to_int(a, &x, FLOAT_EXACT) || !number_to_int(b, &y, FLOAT_EXACT)) return false;
  set_int(result, arith_int(L, op, x, y));
  return true;
}

bool number_arith(lua_State *L, int op, const TValue *a, const TValue *b, TValue *result) {
  if (is_bitwise(op)) return arith_bits(L, op, a, b, result);
  if (is_int(a) && is_int(b) && op != LUA_OPDIV && op != LUA_OPPOW) {
    set_int(result, arith_int(L, op, a->v.i, b->v.i));
    return true;
  }
  double x, y;
  if (!plain_float(a, &x) || !plain_float(b, &y)) return false;
  set_float(result, arith_float(op, x, y));
  return true;
}

/* ---- order --------------------------------------------------------------- */

/* Tells whether a float has exactly the value of the integer, as for all integers up to
 * 2^53. Comparisons of such an integer with a float are made between floats. For a larger
 * integer the float is converted to an integer, rounded so that the order is preserved; a
 * float outside the integers' range is above or below all of them. All comparisons with
 * NaN are false. */
ALWAYS_INLINE bool fits_float(int64_t i) {
  return (uint64_t)i + EXACT_LIMIT <= 2 * (uint64_t)EXACT_LIMIT;
}

static bool int_less_float(int64_t i, double n) {
  int64_t bound;
  if (fits_float(i)) return (double)i < n;
  return number_float_to_int(n, &bound, FLOAT_CEIL) ? i < bound : n > 0;
}

static bool int_less_equal_float(int64_t i, double n) {
  int64_t bound;
  if (fits_float(i)) return (double)i <= n;
  return number_float_to_int(n, &bound, FLOAT_FLOOR) ? i <= bound : n > 0;
}

static bool float_less_int(double n, int64_t i) {
  int64_t bound;
  if (fits_float(i)) return n < (double)i;
  return number_float_to_int(n, &bound, FLOAT_FLOOR) ? bound < i : n < 0;
}

static bool float_less_equal_int(double n, int64_t i) {
  int64_t bound;
  if (fits_float(i)) return n <= (double)i;
  return number_float_to_int(n, &bound, FLOAT_CEIL) ? bound <= i : n < 0;
}

bool number_less(const TValue *a, const TValue *b) {
  if (is_int(a)) return is_int(b) ? a->v.i < b->v.i : int_less_float(a->v.i, b->v.n);
  return is_float(b) ? a->v.n < b->v.n : float_less_int(a->v.n, b->v.i);
}

bool number_less_equal(const TValue *a, const TValue *b) {
  if (is_int(a)) return is_int(b) ? a->v.i <= b->v.i : int_less_equal_float(a->v.i, b->v.n);
  return is_float(b) ? a->v.n <= b->v.n : float_less_equal_int(a->v.n, b->v.i);
}
