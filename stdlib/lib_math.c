/* SPDX-License-Identifier: MIT */
/* stdlib/lib_math.c: the math library, except random numbers (math_random.c).
 *
 * Functions that round give an integer when the result fits one, else a float.
 * The last group are functions of earlier versions that Lua 5.4 is usually built
 * with (pow, log10, ...).
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

#define PI 3.141592653589793238462643383279502884

/* Floats from -2^63 to below 2^63 fit an integer. */
#define TWO_63 9223372036854775808.0

static inline bool fits_integer(lua_Number n) { return n >= -TWO_63 && n < TWO_63; }

/* ---- rounding ------------------------------------------------------------ */

/* A float that fits no integer is whole already (or infinite, or no number). */

static int math_floor(lua_State *L) {
  if (is_int(argument(L, 1))) return result_argument(L, 1);
  lua_Number n = argument_number(L, 1);
  if (!fits_integer(n)) return result_float(L, n);
  lua_Integer truncated = (lua_Integer)n;
  return result_integer(L, truncated - ((lua_Number)truncated > n));
}

static int math_ceil(lua_State *L) {
  if (is_int(argument(L, 1))) return result_argument(L, 1);
  lua_Number n = argument_number(L, 1);
  if (!fits_integer(n)) return result_float(L, n);
  lua_Integer truncated = (lua_Integer)n;
  return result_integer(L, truncated + ((lua_Number)truncated < n));
}

/* A float gives its whole part, as an integer if it fits, and its fraction. */
static int math_modf(lua_State *L) {
  if (is_int(argument(L, 1))) return result_argument(L, 1) + result_float(L, 0);
  lua_Number n = argument_number(L, 1), whole = trunc(n);
  if (fits_integer(whole))
    result_integer(L, (lua_Integer)whole);
  else
    result_float(L, whole);
  result_float(L, n == whole ? 0.0 : n - whole); /* infinities have no fraction */
  return 2;
}

static int math_fmod(lua_State *L) {
  if (!is_int(argument(L, 1)) || !is_int(argument(L, 2))) {
    lua_Number a = argument_number(L, 1);
    return result_float(L, fmod(a, argument_number(L, 2)));
  }
  lua_Integer a = argument(L, 1)->v.i, b = argument(L, 2)->v.i;
  luaL_argcheck(L, b != 0, 2, "zero");
  return result_integer(L, b == -1 ? 0 : a % b); /* the least integer by -1 would trap */
}

static int math_tointeger(lua_State *L) {
  int is_integer;
  lua_Integer n = lua_tointegerx(L, 1, &is_integer);
  if (is_integer) return result_integer(L, n);
  argument_any(L, 1);
  return result_nil(L);
}

/* ---- comparing ----------------------------------------------------------- */

static int math_abs(lua_State *L) {
  if (!is_int(argument(L, 1))) return result_float(L, fabs(argument_number(L, 1)));
  lua_Integer n = argument(L, 1)->v.i;
  return result_integer(L, n < 0 ? (lua_Integer)(0 - (lua_Unsigned)n) : n);
}

static int math_ult(lua_State *L) {
  lua_Integer a = argument_integer(L, 1), b = argument_integer(L, 2);
  return result_boolean(L, (lua_Unsigned)a < (lua_Unsigned)b);
}

/* Two of the arguments; those that are no numbers have metamethods, which may move the
   stack. */
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

static int math_type(lua_State *L) {
  if (is_number(argument(L, 1)))
    return result_name(L, is_int(argument(L, 1)) ? NAME_INTEGER : NAME_FLOAT);
  argument_any(L, 1);
  return result_nil(L);
}

/* ---- functions of floats ------------------------------------------------- */

/* The math library's function of one float that C offers under the same name. */
#define FLOAT_FUNCTION(name)                              \
  static int math_##name(lua_State *L) {                  \
    return result_float(L, name(argument_number(L, 1))); \
  }

FLOAT_FUNCTION(sin)
FLOAT_FUNCTION(cos)
FLOAT_FUNCTION(tan)
FLOAT_FUNCTION(asin)
FLOAT_FUNCTION(acos)
FLOAT_FUNCTION(sqrt)
FLOAT_FUNCTION(exp)
FLOAT_FUNCTION(cosh)
FLOAT_FUNCTION(sinh)
FLOAT_FUNCTION(tanh)
FLOAT_FUNCTION(log10)

static int math_atan(lua_State *L) {
  lua_Number y = argument_number(L, 1);
  return result_float(L, atan2(y, luaL_optnumber(L, 2, 1)));
}

/* A function of its own, so that messages name the one that was called. */
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
    {"abs", math_abs},     {"acos", math_acos},     {"asin", math_asin},
    {"atan", math_atan},   {"atan2", math_atan2},   {"ceil", math_ceil},
    {"cos", math_cos},     {"cosh", math_cosh},     {"deg", math_deg},
    {"exp", math_exp},     {"floor", math_floor},   {"fmod", math_fmod},
    {"frexp", math_frexp}, {"ldexp", math_ldexp},   {"log", math_log},
    {"log10", math_log10}, {"max", math_max},       {"min", math_min},
    {"modf", math_modf},   {"pow", math_pow},       {"rad", math_rad},
    {"sin", math_sin},     {"sinh", math_sinh},     {"sqrt", math_sqrt},
    {"tan", math_tan},     {"tanh", math_tanh},     {"tointeger", math_tointeger},
    {"type", math_type},   {"ult", math_ult},       {NULL, NULL},
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
  set_constants(L);
  math_random_open(L);
  return 1;
}
