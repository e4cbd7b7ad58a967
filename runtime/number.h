/* SPDX-License-Identifier: MIT */
/* runtime/number.h: numbers: text, conversions, arithmetic. */
#ifndef SAROS_RUNTIME_NUMBER_H
#define SAROS_RUNTIME_NUMBER_H

#include "object.h"

#define NUMBER_TEXT_MAX 64
/* Parses a numeral as the language does; returns bytes consumed + 1 (the NUL), or 0. */
size_t number_parse(const char *s, TValue *result);
/* NUMBER_TEXT_MAX bytes; returns the length */
size_t number_to_text(const TValue *number, char *buffer);
/* "%.*g" and "%.*e" into NUMBER_TEXT_MAX bytes, without a NUL; their length, or 0:
 * nothing was written, for the number is not of moderate size, or the precision too
 * large. */
size_t number_to_general(char *out, double n, int precision);
size_t number_to_exponential(char *out, double n, int precision);
String *number_to_string(lua_State *L, const TValue *number);
typedef enum FloatToInt { FLOAT_EXACT, FLOAT_FLOOR, FLOAT_CEIL } FloatToInt;
bool number_float_to_int(double n, int64_t *result, FloatToInt mode);
/* With coercion of strings: false if not convertible. */
bool number_to_int(const TValue *o, int64_t *result, FloatToInt mode);
bool number_to_float(const TValue *o, double *result);
/* Arithmetic on integers and floats with the language's semantics. Division by zero
   raises. */
int64_t number_int_div(lua_State *L, int64_t a, int64_t b);
int64_t number_int_mod(lua_State *L, int64_t a, int64_t b);
double number_float_mod(double a, double b);
int64_t number_shift_left(int64_t a, int64_t b);
/* Raw arithmetic: op is LUA_OPADD...; false when the operands are no numbers (or have no
 * integer representation for bitwise operators). */
bool number_arith(lua_State *L, int op, const TValue *a, const TValue *b, TValue *result);
bool number_less(const TValue *a, const TValue *b);       /* both numbers */
bool number_less_equal(const TValue *a, const TValue *b);

#endif
