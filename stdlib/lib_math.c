/* SPDX-License-Identifier: MIT */
/* stdlib/lib_math.c: the math library, except random numbers (math_random.c).
 *
 * Functions that round return an integer if the result fits one, otherwise a float. The
 * last group are functions of earlier versions that Lua 5.4 is usually built with (pow,
 * log10, ...).
 */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>

#include "arguments.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "math_random.h"
#include "meta.h"
#include "primitives.h"

#define PI 3.141592653589793238462643383279502884

/* Floats from -2^63 to below 2^63 fit an integer. */
#define TWO_63 9223372036854775808.0

static inline bool fits_integer(lua_Number n) { return n >= -TWO_63 && n < TWO_63; }

/* ---- direct functions ----------------------------------------------------
 *
 * rule(result, x) computes the result for a number x; `result` and x may be the same
 * slot. It returns false if x is not a number. Both the direct function (primitives.h)
 * and the C function, which converts strings, are made from the rule. */

#define FUNCTION_OF_NUMBER(name, rule)                                   \
  static int name##_direct(lua_State *L, TValue *func, int nargs) {      \
    (void)L;                                                             \
    return nargs >= 1 && rule(func, func + 1) ? 1 : NOT_DIRECT;          \
  }                                                                      \
  static int math_##name(lua_State *L) {                                 \
    if (!rule(L->top, argument(L, 1))) {                                 \
      set_float(L->top, luaL_checknumber(L, 1));                         \
      rule(L->top, L->top);                                              \
    }                                                                    \
    api_push(L);                                                         \
    return 1;                                                            \
  }

/* ---- rounding ------------------------------------------------------------ */

/* Functions for rounding. (A float that does not fit an integer has no fraction, or is
   infinite, or NaN.) */

static inline bool floor_of(TValue *result, const TValue *x) {
  if (likely(is_float(x)) && fits_integer(x->v.n)) {
    lua_Integer truncated = (lua_Integer)x->v.n;
    set_int(result, truncated - ((lua_Number)truncated > x->v.n));
    return true;
  }
  if (!is_number(x)) return false;
  value_copy(result, x);
  return true;
}

static inline bool ceil_of(TValue *result, const TValue *x) {
  if (likely(is_float(x)) && fits_integer(x->v.n)) {
    lua_Integer truncated = (lua_Integer)x->v.n;
    set_int(result, truncated + ((lua_Number)truncated < x->v.n));
    return true;
  }
  if (!is_number(x)) return false;
  value_copy(result, x);
  return true;
}

FUNCTION_OF_NUMBER(floor, floor_of)
FUNCTION_OF_NUMBER(ceil, ceil_of)

/* Implements math.modf. The results for a float are its integral part, as an integer if
   it fits one, and its fraction. */
static int math_modf(lua_State *L) {
  if (is_int(argument(L, 1))) return result_argument(L, 1) + result_float(L, 0);
  lua_Number n = argument_number(L, 1), integral = trunc(n);
  if (fits_integer(integral))
    result_integer(L, (lua_Integer)integral);
  else
    result_float(L, integral);
  result_float(L, n == integral ? 0.0 : n - integral); /* infinities have no fraction */
  return 2;
}

static int math_fmod(lua_State *L) {
  if (!is_int(argument(L, 1)) || !is_int(argument(L, 2))) {
    lua_Number a = argument_number(L, 1);
    return result_float(L, fmod(a, argument_number(L, 2)));
  }
  lua_Integer a = argument(L, 1)->v.i, b = argument(L, 2)->v.i;
  luaL_argcheck(L, b != 0, 2, "zero");
  /* the least integer divided by -1 would trap */
  return result_integer(L, b == -1 ? 0 : a % b);
}

static int math_tointeger(lua_State *L) {
  int is_integer;
  lua_Integer n = lua_tointegerx(L, 1, &is_integer);
  if (is_integer) return result_integer(L, n);
  argument_any(L, 1);
  return result_nil(L);
}

/* ---- comparing ----------------------------------------------------------- */

static inline bool abs_of(TValue *result, const TValue *x) {
  if (is_int(x)) {
    lua_Integer n = x->v.i;
    set_int(result, n < 0 ? (lua_Integer)(0 - (lua_Unsigned)n) : n);
  } else if (is_float(x)) {
    set_float(result, fabs(x->v.n));
  } else {
    return false;
  }
  return true;
}
FUNCTION_OF_NUMBER(abs, abs_of)

static int math_ult(lua_State *L) {
  lua_Integer a = argument_integer(L, 1), b = argument_integer(L, 2);
  return result_boolean(L, (lua_Unsigned)a < (lua_Unsigned)b);
}

/* Tells whether argument m is less than argument n. Arguments that are not numbers may
   have metamethods, which may move the stack. */
static inline bool is_less(lua_State *L, int m, int n) {
  const TValue *a = argument(L, m), *b = argument(L, n);
  if (is_int(a) && is_int(b)) return a->v.i < b->v.i;
  if (is_float(a) && is_float(b)) return a->v.n < b->v.n;
  return vm_less(L, a, b);
}

static int math_max(lua_State *L) {
  int count = argument_count(L), best = 1;
  luaL_argcheck(L, count >= 1, 1, "value expected");
  for (int i = 2; i <= count; i++)
    if (is_less(L, best, i)) best = i;
  return result_argument(L, best);
}

static int math_min(lua_State *L) {
  int count = argument_count(L), best = 1;
  luaL_argcheck(L, count >= 1, 1, "value expected");
  for (int i = 2; i <= count; i++)
    if (is_less(L, i, best)) best = i;
  return result_argument(L, best);
}

/* Makes the direct function for the greater or the lesser of two numbers of one kind;
   equal numbers give the first. */
#define DIRECT_OF_TWO(name, over)                                                      \
  static int name##_direct(lua_State *L, TValue *func, int nargs) {                    \
    (void)L;                                                                           \
    const TValue *a = func + 1, *b = func + 2;                                         \
    if (nargs != 2) return NOT_DIRECT;                                                 \
    if (is_int(a) && is_int(b)) set_int(func, b->v.i over a->v.i ? b->v.i : a->v.i);   \
    else if (is_float(a) && is_float(b)) set_float(func, b->v.n over a->v.n ? b->v.n : a->v.n); \
    else return NOT_DIRECT;                                                            \
    return 1;                                                                          \
  }
DIRECT_OF_TWO(max, >)
DIRECT_OF_TWO(min, <)

static int math_type(lua_State *L) {
  if (is_number(argument(L, 1)))
    return result_name(L, is_int(argument(L, 1)) ? NAME_INTEGER : NAME_FLOAT);
  argument_any(L, 1);
  return result_nil(L);
}

/* ---- functions of floats ------------------------------------------------- */

/* Defines a function of one float that the C library has under the same name. */
#define FLOAT_FUNCTION(name)                              \
  static int math_##name(lua_State *L) {                  \
    return result_float(L, name(argument_number(L, 1))); \
  }

FLOAT_FUNCTION(sin)
FLOAT_FUNCTION(cos)
FLOAT_FUNCTION(tan)
FLOAT_FUNCTION(asin)
FLOAT_FUNCTION(acos)
FLOAT_FUNCTION(exp)
FLOAT_FUNCTION(cosh)
FLOAT_FUNCTION(sinh)
FLOAT_FUNCTION(tanh)
FLOAT_FUNCTION(log10)

static inline bool sqrt_of(TValue *result, const TValue *x) {
  if (!is_number(x)) return false;
  set_float(result, sqrt(is_int(x) ? (lua_Number)x->v.i : x->v.n));
  return true;
}
FUNCTION_OF_NUMBER(sqrt, sqrt_of)

static int math_atan(lua_State *L) {
  lua_Number y = argument_number(L, 1);
  return result_float(L, atan2(y, luaL_optnumber(L, 2, 1)));
}

/* Implements math.atan2 as a function of its own, so that messages name the function that
   was called. */
static int math_atan2(lua_State *L) { return math_atan(L); }

static int math_deg(lua_State *L) {
  return result_float(L, argument_number(L, 1) * (180.0 / PI));
}

static int math_rad(lua_State *L) {
  return result_float(L, argument_number(L, 1) * (PI / 180.0));
}

static lua_Number log_to_base(lua_Number n, lua_Number base) {
  if (base == 2.0) return log2(n);
  if (base == 10.0) return log10(n);
  return log(n) / log(base);
}

static int math_log(lua_State *L) {
  lua_Number n = argument_number(L, 1);
  return result_float(L, is_nil(argument(L, 2)) ? log(n) : log_to_base(n, argument_number(L, 2)));
}

static int math_pow(lua_State *L) {
  lua_Number base = argument_number(L, 1);
  return result_float(L, pow(base, argument_number(L, 2)));
}

static int math_frexp(lua_State *L) {
  int exponent;
  lua_pushnumber(L, frexp(argument_number(L, 1), &exponent));
  lua_pushinteger(L, exponent);
  return 2;
}

static int math_ldexp(lua_State *L) {
  lua_Number n = argument_number(L, 1);
  lua_Integer exponent = argument_integer(L, 2);
  if (exponent > INT_MAX) exponent = INT_MAX;
  if (exponent < INT_MIN) exponent = INT_MIN;
  return result_float(L, ldexp(n, (int)exponent));
}

/* ---- the library --------------------------------------------------------- */

static const luaL_Reg functions[] = {
    {"acos", math_acos},   {"asin", math_asin},   {"atan", math_atan},
    {"atan2", math_atan2}, {"cos", math_cos},     {"cosh", math_cosh},
    {"deg", math_deg},     {"exp", math_exp},     {"fmod", math_fmod},
    {"frexp", math_frexp}, {"ldexp", math_ldexp}, {"log", math_log},
    {"log10", math_log10}, {"modf", math_modf},   {"pow", math_pow},
    {"rad", math_rad},     {"sin", math_sin},     {"sinh", math_sinh},
    {"tan", math_tan},     {"tanh", math_tanh},   {"tointeger", math_tointeger},
    {"type", math_type},   {"ult", math_ult},     {NULL, NULL},
};

static const Primitive direct_functions[] = {
    DIRECT_FUNCTION("abs", math_abs, abs_direct),
    DIRECT_FUNCTION("ceil", math_ceil, ceil_direct),
    DIRECT_FUNCTION("floor", math_floor, floor_direct),
    DIRECT_FUNCTION("max", math_max, max_direct),
    DIRECT_FUNCTION("min", math_min, min_direct),
    DIRECT_FUNCTION("sqrt", math_sqrt, sqrt_direct),
    DIRECT_FUNCTION(NULL, NULL, NULL),
};

static void set_constants(lua_State *L) {
  lua_pushnumber(L, PI);
  lua_setfield(L, -2, "pi");
  lua_pushnumber(L, HUGE_VAL);
  lua_setfield(L, -2, "huge");
  lua_pushinteger(L, LUA_MAXINTEGER);
  lua_setfield(L, -2, "maxinteger");
  lua_pushinteger(L, LUA_MININTEGER);
  lua_setfield(L, -2, "mininteger");
}

int luaopen_math(lua_State *L) {
  luaL_newlib(L, functions);
  vm_set_direct_functions(L, direct_functions);
  set_constants(L);
  math_random_open(L);
  return 1;
}
