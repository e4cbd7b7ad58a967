/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_arith.c: operators on cdata.
 *
 * Numbers: with an operand of type uint64_t (or unsigned long long), another integer is
 * taken modulo 2^64, the operation is unsigned and the result is a uint64_t cdata.
 * Comparisons are unsigned, too. With a signed cdata of 64 bits, `/` and `%` are the
 * operators of C, and the result is a Lua integer. Otherwise both operands are Lua
 * numbers: integers wrap, floats are floats, and the result is a Lua number. `^` always
 * works on floats, as in Lua. Comparisons with floats are exact.
 *
 * Pointers and arrays: + and - with an integer, the difference of two, comparison by
 * address. Everything else is left to ffi.metatype's metamethods. */
#include "ffi_core.h"
#include "number.h"

#include <math.h>
#include <string.h>

/* ---- operands ------------------------------------------------------------ */

/* What an operand is: a pointer (or array) to elements, or a number. */
typedef struct Operand {
  enum { OPERAND_OTHER, OPERAND_NUMBER, OPERAND_POINTER } kind;
  CNumber number;
  bool is_64_bits; /* the operand is a cdata of a 64-bit integer type */
  CType *element;
  char *address;
} Operand;

static Operand arith_operand(const TValue *o) {
  Operand result = {.kind = OPERAND_OTHER};
  const Cdata *cd = cdata_of(o);
  char *p;
  if (cd == NULL) {
    if (is_number(o) && convert_to_number(o, &result.number)) result.kind = OPERAND_NUMBER;
    return result;
  }
  CType *t = cdata_value(cd, &p);
  if (convert_load_number(t, p, &result.number)) {
    result.kind = OPERAND_NUMBER;
    result.is_64_bits = is_integer_type(t) && t->size == 8;
  } else if (t->kind == CKIND_POINTER || t->kind == CKIND_ARRAY) {
    result.kind = OPERAND_POINTER;
    result.element = t->element;
    result.address = p;
    if (t->kind == CKIND_POINTER) memcpy(&result.address, p, sizeof(char *));
  }
  return result;
}

/* Reads a string operand as the name of an enum constant, if the other operand has an
   enum type with that constant. */
static void enum_operand(const TValue *string, const TValue *other, Operand *result) {
  const Cdata *cd = cdata_of(other);
  if (!is_string(string) || cd == NULL || cd->type->kind != CKIND_ENUM) return;
  const Symbol *s = ffi_lookup(cd->type->ffi->names, as_string(string));
  if (s == NULL || s->of_enum != cd->type->plain) return;
  result->kind = OPERAND_NUMBER;
  result->number = (CNumber){.kind = NUMBER_INT, .v.i = s->value};
}

static void read_operands(lua_State *L, Operand *a, Operand *b) {
  const TValue *x = argument(L, 1), *y = argument(L, 2);
  *a = arith_operand(x);
  *b = arith_operand(y);
  enum_operand(x, y, a);
  enum_operand(y, x, b);
}

static Ffi *ffi_of_operands(lua_State *L) {
  const Cdata *cd = cdata_of(argument(L, 1));
  if (cd == NULL) cd = cdata_of(argument(L, 2));
  if (cd == NULL) luaL_argerror(L, 1, "cdata expected");
  return cd->type->ffi;
}

static int finish_metamethod(lua_State *L, int status, lua_KContext context) {
  (void)L, (void)status, (void)context;
  return 1;
}

static int by_metamethod(lua_State *L, const char *event) {
  char name[2][CTYPE_NAME_MAX];
  ffi_of_operands(L);
  lua_settop(L, 2);
  for (int i = 1; i <= 2; i++) {
    const Cdata *cd = cdata_of(argument(L, i));
    if (cd == NULL || !cdata_push_metamethod(L, cd->type, event)) continue;
    lua_insert(L, 1);
    lua_callk(L, 2, 1, 0, finish_metamethod);
    return 1;
  }
  for (int i = 0; i < 2; i++) {
    const Cdata *cd = cdata_of(argument(L, i + 1));
    if (cd != NULL) ctype_name(cd->type, name[i]);
    else strcpy(name[i], luaL_typename(L, i + 1));
  }
  return luaL_error(L, "attempt to apply operator %s to '%s' and '%s'", event + 2, name[0],
                    name[1]);
}

/* ---- arithmetic on numbers ----------------------------------------------- */

static void push_number(lua_State *L, const CNumber *number) {
  if (number->kind <= NUMBER_UINT) set_int(L->top, number->v.i);
  else set_float(L->top, convert_number_to_float(number));
  L->top++;
}

static uint64_t shift_left(uint64_t a, int64_t by) {
  if (by <= -64 || by >= 64) return 0;
  return by >= 0 ? a << by : a >> -by;
}

/* Raises Lua's error for a division by zero. */
_Noreturn static void division_by_zero(lua_State *L, int op) {
  op == LUA_OPMOD ? number_int_mod(L, 0, 0) : number_int_div(L, 0, 0);
  __builtin_unreachable();
}

/* Divides as C does: towards zero, the remainder with the sign of a. */
static int64_t divide(int op, int64_t a, int64_t b) {
  /* the least integer divided by -1 would overflow */
  if (b == -1) return op == LUA_OPDIV ? (int64_t)-(uint64_t)a : 0;
  return op == LUA_OPDIV ? a / b : a % b;
}

/* Computes an unsigned result. Returns false for the operators that work on floats. */
static bool unsigned_result(lua_State *L, int op, uint64_t a, uint64_t b, uint64_t *result) {
  switch (op) {
    case LUA_OPADD: *result = a + b; return true;
    case LUA_OPSUB: *result = a - b; return true;
    case LUA_OPMUL: *result = a * b; return true;
    case LUA_OPDIV: case LUA_OPIDIV: case LUA_OPMOD:
      if (b == 0) division_by_zero(L, op);
      *result = op == LUA_OPMOD ? a % b : a / b;
      return true;
    case LUA_OPBAND: *result = a & b; return true;
    case LUA_OPBOR: *result = a | b; return true;
    case LUA_OPBXOR: *result = a ^ b; return true;
    case LUA_OPSHL: *result = shift_left(a, (int64_t)b); return true;
    case LUA_OPSHR:
      *result = shift_left(a, b == (uint64_t)INT64_MIN ? 64 : -(int64_t)b);
      return true;
    case LUA_OPUNM: *result = -a; return true;
    case LUA_OPBNOT: *result = ~a; return true;
    default: return false;
  }
}

static int number_arithmetic(lua_State *L, int op, const CNumber *a, const CNumber *b,
                             bool any_64_bits) {
  uint64_t result;
  bool integers = a->kind <= NUMBER_UINT && b->kind <= NUMBER_UINT;
  if (integers && (a->kind == NUMBER_UINT || b->kind == NUMBER_UINT) &&
      unsigned_result(L, op, a->v.u, b->v.u, &result)) {
    Cdata *cd = cdata_push(L, ffi_of_operands(L)->basic[BASIC_ULONG], sizeof result);
    memcpy(cd->address, &result, sizeof result);
    collect_point(L);
    return 1;
  }
  if (integers && any_64_bits && (op == LUA_OPDIV || op == LUA_OPMOD)) {
    if (b->v.i == 0) division_by_zero(L, op);
    lua_pushinteger(L, divide(op, a->v.i, b->v.i));
    return 1;
  }
  /* one operand is a float, or the operator works on floats */
  if (a->kind == NUMBER_UINT || b->kind == NUMBER_UINT) {
    set_float(L->top, convert_number_to_float(a)), L->top++;
    if (op != LUA_OPUNM && op != LUA_OPBNOT)
      set_float(L->top, convert_number_to_float(b)), L->top++;
  } else {
    push_number(L, a);
    if (op != LUA_OPUNM && op != LUA_OPBNOT) push_number(L, b);
  }
  lua_arith(L, op);
  return 1;
}

/* ---- arithmetic on pointers ---------------------------------------------- */

static size_t element_size(lua_State *L, const CType *element) {
  char name[CTYPE_NAME_MAX];
  if (element->size == SIZE_UNKNOWN || element->size == 0)
    luaL_error(L, "arithmetic on a pointer to '%s', whose size is unknown",
               ctype_name(element, name));
  return element->size;
}

static int move_pointer(lua_State *L, const Operand *pointer, int arg, int64_t by) {
  size_t size = element_size(L, pointer->element);
  CType *t = ctype_pointer(L, pointer->element);
  uintptr_t address = (uintptr_t)pointer->address + (size_t)by * size;
  cdata_push_pointer(L, t, (void *)address, cdata_owner(argument(L, arg)));
  collect_point(L);
  return 1;
}

static int pointer_difference(lua_State *L, const Operand *a, const Operand *b) {
  size_t size = element_size(L, a->element);
  if (a->element->plain != b->element->plain &&
      !convert_pointers_compatible(a->element->plain, b->element->plain))
    luaL_error(L, "difference of pointers to different types");
  lua_pushinteger(L, ((intptr_t)a->address - (intptr_t)b->address) / (intptr_t)size);
  return 1;
}

/* Runs pointer arithmetic if an operand is a pointer; returns true with the number of
   results. */
static bool pointer_arithmetic(lua_State *L, int op, const Operand *a, const Operand *b, int *n) {
  if (op != LUA_OPADD && op != LUA_OPSUB) return false;
  bool a_points = a->kind == OPERAND_POINTER, b_points = b->kind == OPERAND_POINTER;
  if (a_points && b_points) {
    if (op != LUA_OPSUB) return false;
    *n = pointer_difference(L, a, b);
    return true;
  }
  const Operand *number = a_points ? b : a;
  if (number->kind != OPERAND_NUMBER || (op == LUA_OPSUB && !a_points)) return false;
  int64_t by = convert_number_to_int(&number->number);
  if (number->number.kind > NUMBER_UINT && convert_number_to_float(&number->number) != (double)by)
    luaL_error(L, "number has no integer representation");
  *n = move_pointer(L, a_points ? a : b, a_points ? 1 : 2,
                    op == LUA_OPADD ? by : (int64_t) - (uint64_t)by);
  return true;
}

static int cdata_arithmetic(lua_State *L, int op, const char *event) {
  Operand a, b;
  int n;
  read_operands(L, &a, &b);
  if (a.kind == OPERAND_NUMBER && b.kind == OPERAND_NUMBER)
    return number_arithmetic(L, op, &a.number, &b.number, a.is_64_bits || b.is_64_bits);
  if ((a.kind == OPERAND_POINTER || b.kind == OPERAND_POINTER) &&
      pointer_arithmetic(L, op, &a, &b, &n))
    return n;
  return by_metamethod(L, event);
}

/* ---- comparison ---------------------------------------------------------- */

/* Returns -1, 0 or 1, or 2 if an operand is NaN. Compares integers as C does: unsigned if
 * one is unsigned. The comparison with a float is exact, because each integer type fits
 * the precision of a long double: 64 bits, or 113 on arm64. */
static int compare_numbers(const CNumber *a, const CNumber *b) {
  if (a->kind == NUMBER_INT && b->kind == NUMBER_INT) return (a->v.i > b->v.i) - (a->v.i < b->v.i);
  if (a->kind <= NUMBER_UINT && b->kind <= NUMBER_UINT)
    return (a->v.u > b->v.u) - (a->v.u < b->v.u);
  long double x[2];
  const CNumber *both[2] = {a, b};
  for (int i = 0; i < 2; i++) {
    const CNumber *n = both[i];
    x[i] = n->kind == NUMBER_INT     ? (long double)n->v.i
           : n->kind == NUMBER_UINT  ? (long double)n->v.u
           : n->kind == NUMBER_FLOAT ? (long double)n->v.n
                                     : n->ld;
  }
  if (isnan(x[0]) || isnan(x[1])) return 2;
  return (x[0] > x[1]) - (x[0] < x[1]);
}

static int compare_addresses(lua_State *L, const Operand *a, const Operand *b) {
  const CType *x = a->element->plain, *y = b->element->plain;
  if (!convert_pointers_compatible(x, y))
    luaL_error(L, "comparison of pointers to different types");
  return (a->address > b->address) - (a->address < b->address);
}

static int cdata_order(lua_State *L, const char *event, bool or_equal) {
  Operand a, b;
  int result;
  read_operands(L, &a, &b);
  if (a.kind == OPERAND_NUMBER && b.kind == OPERAND_NUMBER)
    result = compare_numbers(&a.number, &b.number);
  else if (a.kind == OPERAND_POINTER && b.kind == OPERAND_POINTER)
    result = compare_addresses(L, &a, &b);
  else return by_metamethod(L, event);
  lua_pushboolean(L, result < 0 || (or_equal && result == 0));
  return 1;
}

static int cdata_lt(lua_State *L) { return cdata_order(L, "__lt", false); }
static int cdata_le(lua_State *L) { return cdata_order(L, "__le", true); }

/* Sets *address to the address that a value stands for in a test of equality; returns
   false if it stands for no address. */
static bool address_for_equality(const TValue *o, const Operand *operand, char **address) {
  const Cdata *cd = cdata_of(o);
  if (operand->kind == OPERAND_POINTER) {
    *address = operand->address;
    return true;
  }
  return cd != NULL && operand->kind == OPERAND_OTHER && cdata_value(cd, address) != NULL;
}

/* Implements __eq. Never raises by itself: values that cannot be compared are unequal. */
static int cdata_eq(lua_State *L) {
  Operand a, b;
  const TValue *x = argument(L, 1), *y = argument(L, 2);
  bool equal = false;
  char *p, *q;
  for (int i = 1; i <= 2; i++) {
    const Cdata *cd = cdata_of(argument(L, i));
    if (cd == NULL || !cdata_push_metamethod(L, cd->type, "__eq")) continue;
    lua_insert(L, 1);
    lua_callk(L, 2, 1, 0, finish_metamethod);
    return 1;
  }
  read_operands(L, &a, &b);
  if (a.kind == OPERAND_NUMBER && b.kind == OPERAND_NUMBER)
    equal = compare_numbers(&a.number, &b.number) == 0;
  else if (address_for_equality(x, &a, &p) && address_for_equality(y, &b, &q)) equal = p == q;
  lua_pushboolean(L, equal);
  return 1;
}

/* ---- the table ----------------------------------------------------------- */

#define OPERATORS(OPERATOR) \
  OPERATOR(add, ADD) OPERATOR(sub, SUB) OPERATOR(mul, MUL) OPERATOR(div, DIV) OPERATOR(mod, MOD) \
  OPERATOR(pow, POW) OPERATOR(idiv, IDIV) OPERATOR(band, BAND) OPERATOR(bor, BOR) \
  OPERATOR(bxor, BXOR) OPERATOR(shl, SHL) OPERATOR(shr, SHR) OPERATOR(unm, UNM) \
  OPERATOR(bnot, BNOT)

#define OPERATOR(name, op) \
  static int cdata_##name(lua_State *L) { return cdata_arithmetic(L, LUA_OP##op, "__" #name); }
OPERATORS(OPERATOR)
#undef OPERATOR

const luaL_Reg arith_metamethods[] = {
#define OPERATOR(name, op) {"__" #name, cdata_##name},
  OPERATORS(OPERATOR)
#undef OPERATOR
  {"__eq", cdata_eq}, {"__lt", cdata_lt}, {"__le", cdata_le}, {NULL, NULL}};
