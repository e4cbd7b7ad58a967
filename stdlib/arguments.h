/* SPDX-License-Identifier: MIT */
/* stdlib/arguments.h: arguments and results of the library's functions, in place.
 *
 * Most of the cost of a small function is the calls of the C API that it makes. For a
 * value of exactly the right type, the functions here do the same work without a call.
 * They leave the rest (conversions, messages) to the function of lauxlib.h that they
 * replace. n is the number of an argument, from 1 on.
 *
 * Only result_string, begin_result (before it takes anything) and finish_result may
 * collect. The strings that they push are anchored by then. */
#ifndef SAROS_STDLIB_ARGUMENTS_H
#define SAROS_STDLIB_ARGUMENTS_H

#include "api.h"
#include "gc_inline.h"
#include "meta.h"
#include "lauxlib.h"
#include "primitives.h"
#include "str.h"

/* ---- arguments ----------------------------------------------------------- */

#define argument(L, n) api_slot(L, n)
#define argument_count(L) ((int)((L)->top - ((L)->ci->func + 1)))
#define is_absent(L, n) ((L)->ci->func + (n) >= (L)->top)

/* Returns a string argument, as luaL_checklstring does. */
ALWAYS_INLINE const char *argument_string(lua_State *L, int n, size_t *length) {
  const TValue *o = argument(L, n);
  if (unlikely(!is_string(o))) return luaL_checklstring(L, n, length);
  *length = string_len(as_string(o));
  return as_string(o)->data;
}

/* Returns an integer argument, as luaL_checkinteger does. */
ALWAYS_INLINE lua_Integer argument_integer(lua_State *L, int n) {
  const TValue *o = argument(L, n);
  return likely(is_int(o)) ? o->v.i : luaL_checkinteger(L, n);
}

/* Returns an integer argument or its default, as luaL_optinteger does. */
ALWAYS_INLINE lua_Integer argument_integer_or(lua_State *L, int n, lua_Integer other) {
  const TValue *o = argument(L, n);
  if (is_int(o)) return o->v.i;
  return is_nil(o) ? other : luaL_checkinteger(L, n);
}

/* Returns a number argument, as luaL_checknumber does. */
ALWAYS_INLINE lua_Number argument_number(lua_State *L, int n) {
  const TValue *o = argument(L, n);
  if (likely(is_float(o))) return o->v.n;
  return is_int(o) ? (lua_Number)o->v.i : luaL_checknumber(L, n);
}

/* Checks that the argument is there, as luaL_checkany does. */
ALWAYS_INLINE void argument_any(lua_State *L, int n) {
  if (unlikely(is_absent(L, n))) luaL_checkany(L, n);
}

/* Returns the field of this name in the value's metatable, or NULL if there is none. */
ALWAYS_INLINE const TValue *named_field(lua_State *L, const TValue *o, Name name) {
  Table *mt = metatable_of(L, o);
  if (mt == NULL || !table_may_have_str(mt, L->domain->names[name])) return NULL;
  const TValue *value = table_get_str(mt, L->domain->names[name]);
  return is_nil(value) ? NULL : value;
}

/* ---- results ------------------------------------------------------------- */

ALWAYS_INLINE int result_integer(lua_State *L, lua_Integer i) {
  set_int(L->top, i);
  api_push(L);
  return 1;
}

ALWAYS_INLINE int result_float(lua_State *L, lua_Number n) {
  set_float(L->top, n);
  api_push(L);
  return 1;
}

ALWAYS_INLINE int result_boolean(lua_State *L, bool b) {
  set_bool(L->top, b);
  api_push(L);
  return 1;
}

ALWAYS_INLINE int result_nil(lua_State *L) {
  set_nil(L->top);
  api_push(L);
  return 1;
}

ALWAYS_INLINE int result_argument(lua_State *L, int n) {
  api_push_value(L, argument(L, n));
  return 1;
}

ALWAYS_INLINE int result_name(lua_State *L, Name name) {
  api_push_string(L, L->domain->names[name]);
  return 1;
}

ALWAYS_INLINE int result_string(lua_State *L, const char *s, size_t length) {
  gc_make_room(L, length);
  api_push_string(L, string_new(L, s, length));
  gc_check(L);
  return 1;
}

/* A string of known length, written in place: a short one on the C stack, a long one in
 * the string itself, which is on top of the stack until finish_result. */
typedef struct Result {
  size_t length;
  String *made; /* NULL if the string is short */
  char room[SHORT_STRING_MAX];
} Result;

/* Begins a result whose room has been made already. Collects nothing. */
ALWAYS_INLINE char *begin_result_here(lua_State *L, Result *r, size_t length) {
  r->length = length;
  r->made = NULL;
  if (likely(length <= SHORT_STRING_MAX)) return r->room;
  r->made = string_new_long(L, length);
  api_push_string(L, r->made);
  return r->made->data;
}

ALWAYS_INLINE char *begin_result(lua_State *L, Result *r, size_t length) {
  gc_make_room(L, length);
  return begin_result_here(L, r, length);
}

ALWAYS_INLINE int finish_result(lua_State *L, const Result *r) {
  if (r->made == NULL) api_push_string(L, string_new(L, r->room, r->length));
  gc_check(L);
  return 1;
}

/* ---- direct functions (primitives.h) ------------------------------------- */

/* Sets *to to a short string, the result of a direct function. Returns NOT_DIRECT if the
 * string is too long, if there is no memory for it without the slow path, or if a
 * collection is due. */
ALWAYS_INLINE int direct_string(lua_State *L, TValue *to, const char *s, size_t length) {
  if (unlikely(length > SHORT_STRING_MAX || L->domain->gc.pending)) return NOT_DIRECT;
  String *made = string_try_short(L, s, length);
  if (unlikely(made == NULL)) return NOT_DIRECT;
  set_string(to, made);
  return 1;
}

#endif
