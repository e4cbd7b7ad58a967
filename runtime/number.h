/* SPDX-License-Identifier: MIT */
/* runtime/number.h: numbers: text, conversions, arithmetic. */
#ifndef SAROS_RUNTIME_NUMBER_H
#define SAROS_RUNTIME_NUMBER_H

#include "object.h"

#define NUMBER_TEXT_MAX 64
/* Parses a numeral as the language does. Returns the number of bytes consumed + 1 (for
 * the NUL), or 0. */
size_t number_parse(const char *s, TValue *result);
/* Writes the number into a buffer of NUMBER_TEXT_MAX bytes. Returns the length. */
size_t number_to_text(const TValue *number, char *buffer);
/* Writes n as "%.*g" (or "%.*e") into NUMBER_TEXT_MAX bytes, without a NUL, and returns
 * the length. Returns 0 and writes nothing if the number is very large or small, or the
 * precision too large. */
size_t number_to_general(char *out, double n, int precision);
size_t number_to_exponential(char *out, double n, int precision);
String *number_to_string(lua_State *L, const TValue *number);
typedef enum FloatToInt { FLOAT_EXACT, FLOAT_FLOOR, FLOAT_CEIL } FloatToInt;
bool number_float_to_int(double n, int64_t *result, FloatToInt mode);
/* Converts a number, or a string that is a numeral. Returns false if it is not
 * convertible. */
bool number_to_int(const TValue *o, int64_t *result, FloatToInt mode);
bool number_to_float(const TValue *o, double *result);
/* Computes with integers or floats as the language does. Raises for an integer division
 * by zero. */
int64_t number_int_div(lua_State *L, int64_t a, int64_t b);
int64_t number_int_mod(lua_State *L, int64_t a, int64_t b);
double number_float_mod(double a, double b);
int64_t number_shift_left(int64_t a, int64_t b);
/* Computes `a op b` without metamethods; op is LUA_OPADD... Returns false if the operands
 * are not numbers (or, for bitwise operators, have no integer representation). */
bool number_arith(lua_State *L, int op, const TValue *a, const TValue *b, TValue *result);
bool number_less(const TValue *a, const TValue *b);       /* both numbers */
bool number_less_equal(const TValue *a, const TValue *b);

#endif
