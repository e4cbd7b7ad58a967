/* SPDX-License-Identifier: MIT */
/* vm/debug_error.h: errors of operators, with the names of variables. */
#ifndef SAROS_VM_DEBUG_ERROR_H
#define SAROS_VM_DEBUG_ERROR_H

#include "object.h"

/* All functions below raise. */
/* Raises "attempt to %s a %s value%s". */
_Noreturn void error_type(lua_State *L, const TValue *o, const char *operation);
_Noreturn void error_call(lua_State *L, const TValue *o);
/* Raises "bad 'for' %s (number expected, got %s)"; what is "initial value", "limit" or
   "step". */
_Noreturn void error_for(lua_State *L, const TValue *o, const char *what);
_Noreturn void error_concat(lua_State *L, const TValue *a, const TValue *b);
_Noreturn void error_arith(lua_State *L, const TValue *a, const TValue *b, const char *operation);
/* Raises "number has no integer representation". */
_Noreturn void error_to_int(lua_State *L, const TValue *a, const TValue *b);
_Noreturn void error_compare(lua_State *L, const TValue *a, const TValue *b);
/* Calls the message handler in force and throws LUA_ERRRUN: the error value is on top. */
_Noreturn void error_with_handler(lua_State *L);

#endif
