/* SPDX-License-Identifier: MIT */
/* number_test.c: numbers: text in both directions, conversions, arithmetic, order.
 * Everything tested here works without a domain. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "draw.h"
#include "number.h"
#include "str.h"

static TValue integer(int64_t i) {
  TValue o;
  set_int(&o, i);
  return o;
}

static TValue floating(double n) {
  TValue o;
  set_float(&o, n);
  return o;
}

static void check_int(const char *text, int64_t expected) {
  TValue o;
  assert_int_equal(number_parse(text, &o), strlen(text) + 1);
  assert_int_equal(o.tag, TAG_INT);
  assert_int_equal(o.v.i, expected);
}

static void check_float(const char *text, double expected) {
  TValue o;
  assert_int_equal(number_parse(text, &o), strlen(text) + 1);
  assert_int_equal(o.tag, TAG_FLOAT);
  assert_memory_equal(&o.v.n, &expected, sizeof expected);
}

static void reads_integers(void **state) {
  check_int("0", 0);
  check_int("  -7 ", -7);
  check_int("+12\n", 12);
  check_int("9223372036854775807", INT64_MAX);
  check_int("-9223372036854775808", INT64_MIN);
  check_int("0x10", 16);
  check_int("0xfFfFfFfFfFfFfFfF", -1);
  check_int("-0x1", -1);
  check_int("0x123456789abcdef01", 0x23456789abcdef01);
  check_int("00000000000000000000000000001", 1);
}

static void reads_floats(void **state) {
  check_float("9223372036854775808", 0x1p63);
  check_float("-9223372036854775809", -0x1p63);
  check_float("1.", 1.0);
  check_float(".5", 0.5);
  check_float("-.5e-3 ", -.5e-3);
  check_float("-0.0", -0.0);
  check_float("1e308", 1e308);
  check_float("1e400", HUGE_VAL);
  check_float("1e-400", 0.0);
  check_float("4.9406564584124654e-324", DBL_TRUE_MIN);
  check_float("3.14159265358979323846", M_PI);
  check_float("1E+2", 100.0);
  check_float("0x.8", 0.5);
  check_float("0x1.", 1.0);
  check_float("0x1p4", 16.0);
  check_float("0xA.8p-1", 5.25);
  check_float("-0x1.8P+1", -3.0);
}

static void refuses_what_is_no_numeral(void **state) {
  static const char *const wrong[] = {
      "",    " ",   "-",    "+ 1",    "- 1", "1e", "1e+", "0x", "0xg",  "0x.", "0x.p1", "0x1p",
      "inf", "nan", "-inf", "nan(1)", "1 2", "1a", ".",   "e1", "1..2", "--1", "1,5",   "\2401"};
  TValue o;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    if (number_parse(wrong[i], &o) != 0) fail_msg("'%s' was read", wrong[i]);
}

static void check_text(TValue o, const char *expected) {
  char buffer[NUMBER_TEXT_MAX];
  size_t len = number_to_text(&o, buffer);
  assert_string_equal(buffer, expected);
  assert_int_equal(len, strlen(expected));
}

static void writes_numbers(void **state) {
  check_text(integer(0), "0");
  check_text(integer(INT64_MIN), "-9223372036854775808");
  check_text(integer(INT64_MAX), "9223372036854775807");
  check_text(floating(0.0), "0.0");
  check_text(floating(-0.0), "-0.0");
  check_text(floating(1.0), "1.0");
  check_text(floating(-100.0), "-100.0");
  check_text(floating(3.14), "3.14");
  check_text(floating(0.1), "0.1");
  check_text(floating(1e-4), "0.0001");
  check_text(floating(1e-5), "1e-05");
  check_text(floating(1e14), "1e+14");
  check_text(floating(99999999999999.0), "99999999999999.0");
  check_text(floating(99999999999999.5), "1e+14");
  check_text(floating(9.999999999999999), "10.0");
  check_text(floating(1e100), "1e+100");
  check_text(floating(HUGE_VAL), "inf");
  check_text(floating(-HUGE_VAL), "-inf");
}

static void reference_text(double n, char *out) {
  sprintf(out, "%.14g", n);
  if (out[strspn(out, "-0123456789")] == '\0') strcat(out, ".0");
}

/* Returns a random float of one of the kinds that the fast paths distinguish. */
static double random_float(int kind) {
  static const double scales[] = {1e-4, 0.001, 0.01, 0.1, 1, 10, 100, 1e3, 1e6, 1e13};
  uint64_t bits = random_bits();
  double n;
  switch (kind % 4) {
    case 0: memcpy(&n, &bits, sizeof n); return isnan(n) ? 1.5 : n;
    case 1: return (double)(int64_t)bits / 1e17;
    case 2: return (double)(bits % 100000) * scales[bits >> 32 & 7];
    default: return nextafter(scales[bits % 10], bits & 16 ? HUGE_VAL : 0);
  }
}

static void text_agrees_with_the_c_library(void **state) {
  for (int i = 0; i < 400000; i++) {
    char text[NUMBER_TEXT_MAX], expected[NUMBER_TEXT_MAX];
    TValue o = floating(random_float(i)), back;
    number_to_text(&o, text);
    reference_text(o.v.n, expected);
    if (strcmp(text, expected) != 0) fail_msg("%a: %s, not %s", o.v.n, text, expected);
    if (isinf(o.v.n)) continue;
    sprintf(text, "%.*g", i % 17 + 1, o.v.n);
    assert_int_not_equal(number_parse(text, &back), 0);
    double n = strtod(text, NULL), m = is_int(&back) ? (double)back.v.i : back.v.n;
    if (n != m) fail_msg("%s: %a, not %a", text, m, n);
  }
}

static void floats_become_integers(void **state) {
  int64_t i;
  assert_true(number_float_to_int(3.0, &i, FLOAT_EXACT) && i == 3);
  assert_false(number_float_to_int(3.5, &i, FLOAT_EXACT));
  assert_true(number_float_to_int(-3.5, &i, FLOAT_FLOOR) && i == -4);
  assert_true(number_float_to_int(-3.5, &i, FLOAT_CEIL) && i == -3);
  assert_true(number_float_to_int(3.5, &i, FLOAT_CEIL) && i == 4);
  assert_true(number_float_to_int(-0x1p63, &i, FLOAT_EXACT) && i == INT64_MIN);
  assert_false(number_float_to_int(0x1p63, &i, FLOAT_FLOOR));
  assert_false(number_float_to_int(NAN, &i, FLOAT_FLOOR));
  assert_false(number_float_to_int(-HUGE_VAL, &i, FLOAT_FLOOR));
}

static void division_rounds_down(void **state) {
  for (int64_t a = -7; a <= 7; a++)
    for (int64_t b = -3; b <= 3; b++) {
      if (b == 0) continue;
      int64_t expected = (int64_t)floor((double)a / (double)b);
      assert_int_equal(number_int_div(NULL, a, b), expected);
      assert_int_equal(number_int_mod(NULL, a, b), a - expected * b);
      assert_true(number_float_mod((double)a, (double)b) == (double)(a - expected * b));
      assert_true(number_float_mod((double)a + .5, (double)b) ==
                  (double)a + .5 - floor(((double)a + .5) / (double)b) * (double)b);
    }
  assert_int_equal(number_int_div(NULL, INT64_MIN, -1), INT64_MIN);
  assert_int_equal(number_int_mod(NULL, INT64_MIN, -1), 0);
  assert_true(number_float_mod(1, HUGE_VAL) == 1 && number_float_mod(-1, HUGE_VAL) == HUGE_VAL);
  assert_true(number_float_mod(1, -HUGE_VAL) == -HUGE_VAL && number_float_mod(-1, -HUGE_VAL) == -1);
  assert_true(isnan(number_float_mod(1, 0)) && isnan(number_float_mod(HUGE_VAL, 2)));
  assert_true(signbit(number_float_mod(-6, 3)) && !signbit(number_float_mod(6, 3)));
  assert_true(number_float_mod(-1e-320, 1e-320 * 3) == 2e-320);
}

static void shifts(void **state) {
  assert_int_equal(number_shift_left(1, 63), INT64_MIN);
  assert_int_equal(number_shift_left(1, 64), 0);
  assert_int_equal(number_shift_left(-1, -63), 1);
  assert_int_equal(number_shift_left(-1, -64), 0);
  assert_int_equal(number_shift_left(-1, INT64_MIN), 0);
  TValue a = integer(8), b = integer(-2), result;
  assert_true(number_arith(NULL, LUA_OPSHR, &a, &b, &result) && result.v.i == 32);
  b = integer(INT64_MIN);
  assert_true(number_arith(NULL, LUA_OPSHR, &a, &b, &result) && result.v.i == 0);
  b = floating(1.5);
  assert_false(number_arith(NULL, LUA_OPBAND, &a, &b, &result));
}

static void arithmetic(void **state) {
  TValue a = integer(INT64_MAX), b = integer(1), result;
  assert_true(number_arith(NULL, LUA_OPADD, &a, &b, &result) && result.tag == TAG_INT &&
              result.v.i == INT64_MIN);
  assert_true(number_arith(NULL, LUA_OPDIV, &b, &b, &result) && result.tag == TAG_FLOAT &&
              result.v.n == 1);
  b = floating(2);
  assert_true(number_arith(NULL, LUA_OPPOW, &b, &b, &result) && result.v.n == 4);
  assert_true(number_arith(NULL, LUA_OPUNM, &b, &b, &result) && result.v.n == -2);
  b = floating(-7.5);
  a = integer(2);
  assert_true(number_arith(NULL, LUA_OPIDIV, &b, &a, &result) && result.v.n == -4);
  a.tag = TAG_NIL;
  assert_false(number_arith(NULL, LUA_OPADD, &a, &b, &result));
}

/* Compares exact values, in more bits than either kind has. */
static int exact_order(const TValue *a, const TValue *b) {
  long double x = is_int(a) ? (long double)a->v.i : (long double)a->v.n;
  long double y = is_int(b) ? (long double)b->v.i : (long double)b->v.n;
  return (x > y) - (x < y);
}

static void order_is_exact(void **state) {
  TValue values[64];
  int n = 0;
  const int64_t centres[] = {0, 1, INT64_C(1) << 53, -(INT64_C(1) << 53), INT64_C(1) << 62};
  for (size_t c = 0; c < sizeof centres / sizeof *centres; c++)
    for (int64_t d = -2; d <= 2; d++) {
      values[n++] = integer(centres[c] + d);
      values[n++] = floating((double)centres[c] + (double)d / 2);
    }
  values[n++] = integer(INT64_MAX);
  values[n++] = integer(INT64_MIN);
  values[n++] = floating(0x1p63);
  values[n++] = floating(-0x1p63);
  values[n++] = floating(HUGE_VAL);
  values[n++] = floating(-HUGE_VAL);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      int order = exact_order(&values[i], &values[j]);
      assert_int_equal(number_less(&values[i], &values[j]), order < 0);
      assert_int_equal(number_less_equal(&values[i], &values[j]), order <= 0);
    }
  TValue nan = floating(NAN);
  for (int i = 0; i < n; i++) {
    assert_false(number_less(&values[i], &nan) || number_less(&nan, &values[i]));
    assert_false(number_less_equal(&values[i], &nan) || number_less_equal(&nan, &values[i]));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_integers),
      cmocka_unit_test(reads_floats),
      cmocka_unit_test(refuses_what_is_no_numeral),
      cmocka_unit_test(writes_numbers),
      cmocka_unit_test(text_agrees_with_the_c_library),
      cmocka_unit_test(floats_become_integers),
      cmocka_unit_test(division_rounds_down),
      cmocka_unit_test(shifts),
      cmocka_unit_test(arithmetic),
      cmocka_unit_test(order_is_exact),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
