/* runtime/str.h: strings; those of at most SHORT_STRING_MAX bytes are interned. */
#ifndef SAROS_RUNTIME_STR_H
#define SAROS_RUNTIME_STR_H

#include <stdarg.h>

#include "domain.h"

String *string_new(lua_State *L, const char *s, size_t len);
String *string_from_c(lua_State *L, const char *s);
/* A string of more than SHORT_STRING_MAX bytes whose data the caller fills in. */
String *string_new_long(lua_State *L, size_t len);
bool string_equal(const String *a, const String *b); /* any kinds */
uint32_t string_hash_long(String *s);                /* computes once, seeds from the domain at creation */
int string_compare(const String *a, const String *b); /* strcoll order, embedded zeros allowed */
/* snprintf of %s, %d, %c and %% alone, which messages consist of. */
size_t string_print(char *out, size_t size, const char *fmt, va_list args);
/* The same; the result is pushed on the stack. */
String *string_format(lua_State *L, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void string_table_init(lua_State *L);
void string_table_free(Domain *d);
/* A chain in the opposite order. */
StringLink string_chain_reversed(StringLink chain);
/* Takes up to `most` buckets away when the table is far larger than its use; true
 * when it is not any more. */
bool string_table_trim(Domain *d, uint32_t most);

/* Numbers and strings (number.c) */
#define NUMBER_TEXT_MAX 64
/* Parses a numeral as the language does; answers bytes consumed + 1 (the NUL), or 0. */
size_t number_parse(const char *s, TValue *result);
size_t number_to_text(const TValue *number, char *buffer); /* NUMBER_TEXT_MAX bytes; answers the length */
/* "%.*g" and "%.*e" into NUMBER_TEXT_MAX bytes, without a NUL; their length, or 0: nothing was
 * written, for the number is not of moderate size, or the precision too large. */
size_t number_to_general(char *out, double n, int precision);
size_t number_to_exponential(char *out, double n, int precision);
String *number_to_string(lua_State *L, const TValue *number);
typedef enum FloatToInt { FLOAT_EXACT, FLOAT_FLOOR, FLOAT_CEIL } FloatToInt;
bool number_float_to_int(double n, int64_t *result, FloatToInt mode);
/* With coercion of strings: false if not convertible. */
bool number_to_int(const TValue *o, int64_t *result, FloatToInt mode);
bool number_to_float(const TValue *o, double *result);
/* Arithmetic on integers and floats with the language's semantics. Division by zero raises. */
int64_t number_int_div(lua_State *L, int64_t a, int64_t b);
int64_t number_int_mod(lua_State *L, int64_t a, int64_t b);
double number_float_mod(double a, double b);
int64_t number_shift_left(int64_t a, int64_t b);
/* Raw arithmetic: op is LUA_OPADD...; false when the operands are no numbers (or have no integer representation for bitwise operators). */
bool number_arith(lua_State *L, int op, const TValue *a, const TValue *b, TValue *result);
bool number_less(const TValue *a, const TValue *b);       /* both numbers */
bool number_less_equal(const TValue *a, const TValue *b);

#endif
