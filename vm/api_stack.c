/* SPDX-License-Identifier: MIT */
/* vm/api_stack.c: C API: the stack, values to C and from C, operators. */
#include "api.h"

#include <string.h>

#include "call.h"
#include "func.h"
#include "gc_inline.h"
#include "meta.h"
#include "number.h"
#include "primitives.h"
#include "thread.h"

TValue *api_pseudo_slot(lua_State *L, int idx) {
  if (idx == LUA_REGISTRYINDEX) return &L->domain->registry;
  const TValue *func = L->ci->func;
  int n = LUA_REGISTRYINDEX - idx;
  if (func->tag == TAG_C_CLOSURE && n <= as_c_closure(func)->nupvalues)
    return &as_c_closure(func)->upvalues[n - 1];
  return &L->domain->nil;
}

/* ---- positions ----------------------------------------------------------- */

int lua_absindex(lua_State *L, int idx) {
  if (idx > 0 || api_is_pseudo(idx)) return idx;
  return (int)(L->top - L->ci->func) + idx;
}

int lua_gettop(lua_State *L) { return (int)(L->top - (L->ci->func + 1)); }

/* Raises the top; the new slots are nil. */
static void extend_top(lua_State *L, TValue *top) {
  rt_assert(top <= L->ci->top);
  for (TValue *o = L->top; o < top; o++) set_nil(o);
  L->top = top;
}

void lua_settop(lua_State *L, int idx) {
  TValue *top = idx >= 0 ? L->ci->func + 1 + idx : L->top + idx + 1;
  rt_assert(top > L->ci->func);
  if (top > L->top) {
    extend_top(L, top);
    return;
  }
  if (unlikely(L->tbc_list >= top)) top = vm_close(L, top, LUA_OK, false);
  L->top = top;
}

void lua_pushvalue(lua_State *L, int idx) { api_push_value(L, api_slot(L, idx)); }

static void reverse_slots(TValue *from, TValue *to) {
  for (; from < to; from++, to--) {
    TValue value;
    value_copy(&value, from);
    value_copy(from, to);
    value_copy(to, &value);
  }
}

/* Moves the topmost value down to `at`, and the values from `at` on up by one, which is
   what most rotations do. */
static void insert_top(TValue *at, TValue *last) {
  TValue value;
  value_copy(&value, last);
  for (TValue *o = last; o > at; o--) value_copy(o, o - 1);
  value_copy(at, &value);
}

void lua_rotate(lua_State *L, int idx, int n) {
  TValue *first = api_stack_slot(L, idx), *last = L->top - 1;
  rt_assert((n >= 0 ? n : -n) <= last - first + 1);
  api_note_write(L); /* a marking may have passed some of the slots */
  if (n == 1) {
    insert_top(first, last);
    return;
  }
  TValue *middle = n >= 0 ? last - n : first - n - 1; /* end of the part that moves up */
  reverse_slots(first, middle);
  reverse_slots(middle + 1, last);
  reverse_slots(first, last);
}

void lua_copy(lua_State *L, int fromidx, int toidx) {
  const TValue *from = api_slot(L, fromidx);
  TValue *to = api_slot(L, toidx);
  rt_assert(!api_is_none(L, to));
  value_copy(to, from);
  if (unlikely(api_is_upvalue(toidx)))
    gc_barrier(L, as_c_closure(L->ci->func), from);
  else
    api_note_write(L);
}

static void grow_protected(lua_State *L, void *n) { stack_grow_or_collect(L, *(int *)n); }

int lua_checkstack(lua_State *L, int n) {
  rt_assert(n >= 0);
  if (L->stack_last - L->top <= n) {
    if (L->top - L->stack > STACK_LIMIT - n) return 0;
    TValue *top = L->top;
    ptrdiff_t offset = stack_save(L, top);
    int status = vm_protect_raw(L, grow_protected, &n);
    L->top = stack_restore(L, offset); /* a failure may have left its message above */
    if (status != LUA_OK) return 0;
  }
  if (L->ci->top < L->top + n) L->ci->top = L->top + n;
  return 1;
}

void lua_xmove(lua_State *from, lua_State *to, int n) {
  if (from == to) return;
  api_check_values(from, n);
  rt_assert(from->domain == to->domain && to->ci->top - to->top >= n);
  from->top -= n;
  for (int i = 0; i < n; i++) value_copy(to->top + i, from->top + i);
  to->top += n;
  api_note_write(to);
}

/* ---- stack to C ---------------------------------------------------------- */

int lua_type(lua_State *L, int idx) {
  const TValue *o = api_slot(L, idx);
  return api_is_none(L, o) ? LUA_TNONE : tag_type(o->tag);
}

const char *lua_typename(lua_State *L, int tp) {
  (void)L;
  return type_name(tp);
}

int lua_iscfunction(lua_State *L, int idx) {
  const TValue *o = api_slot(L, idx);
  return is_function(o) && !is_lua_closure(o);
}

int lua_isinteger(lua_State *L, int idx) { return is_int(api_slot(L, idx)); }

int lua_isnumber(lua_State *L, int idx) {
  double n;
  return number_to_float(api_slot(L, idx), &n);
}

int lua_isstring(lua_State *L, int idx) {
  const TValue *o = api_slot(L, idx);
  return is_string(o) || is_number(o);
}

int lua_isuserdata(lua_State *L, int idx) {
  const TValue *o = api_slot(L, idx);
  return is_userdata(o) || o->tag == TAG_LIGHTUSERDATA;
}

lua_Number lua_tonumberx(lua_State *L, int idx, int *isnum) {
  const TValue *o = api_slot(L, idx);
  double n = 0;
  bool ok = true;
  if (likely(is_float(o)))
    n = o->v.n;
  else if (!number_to_float(o, &n))
    ok = false;
  if (isnum != NULL) *isnum = ok;
  return ok ? n : 0;
}

lua_Integer lua_tointegerx(lua_State *L, int idx, int *isnum) {
  const TValue *o = api_slot(L, idx);
  int64_t i = 0;
  bool ok = true;
  if (likely(is_int(o)))
    i = o->v.i;
  else if (!number_to_int(o, &i, FLOAT_EXACT))
    ok = false;
  if (isnum != NULL) *isnum = ok;
  return ok ? i : 0;
}

int lua_toboolean(lua_State *L, int idx) { return !is_falsy(api_slot(L, idx)); }

/* Converts a number in a slot to its text, in place. Returns false if it is not a
   number. */
static bool convert_to_string(lua_State *L, int idx) {
  TValue *o = api_slot(L, idx);
  if (!is_number(o)) return false;
  String *s = number_to_string(L, o);
  set_string(o, s);
  if (api_is_upvalue(idx))
    gc_barrier_object(L, as_c_closure(L->ci->func), s);
  else
    api_note_write(L);
  gc_check(L);
  return true;
}

const char *lua_tolstring(lua_State *L, int idx, size_t *len) {
  const TValue *o = api_slot(L, idx);
  if (unlikely(!is_string(o))) {
    if (!convert_to_string(L, idx)) {
      if (len != NULL) *len = 0;
      return NULL;
    }
    o = api_slot(L, idx); /* finalizers may have moved the stack */
  }
  const String *s = as_string(o);
  if (len != NULL) *len = string_len(s);
  return s->data;
}

lua_Unsigned lua_rawlen(lua_State *L, int idx) {
  const TValue *o = api_slot(L, idx);
  if (is_table(o)) return table_border(as_table(o));
  if (is_string(o)) return string_len(as_string(o));
  if (is_userdata(o)) return as_userdata(o)->len;
  return 0;
}

lua_CFunction lua_tocfunction(lua_State *L, int idx) {
  const TValue *o = api_slot(L, idx);
  if (o->tag == TAG_C_FUNCTION) return o->v.f;
  if (o->tag == TAG_C_CLOSURE) return as_c_closure(o)->f;
  if (o->tag == TAG_PRIMITIVE) return o->v.prim->fallback;
  return NULL;
}

void *lua_touserdata(lua_State *L, int idx) {
  const TValue *o = api_slot(L, idx);
  if (is_userdata(o)) return userdata_payload(as_userdata(o));
  return o->tag == TAG_LIGHTUSERDATA ? o->v.p : NULL;
}

lua_State *lua_tothread(lua_State *L, int idx) {
  const TValue *o = api_slot(L, idx);
  return is_thread(o) ? as_thread(o) : NULL;
}

const void *lua_topointer(lua_State *L, int idx) {
  const TValue *o = api_slot(L, idx);
  switch (o->tag) {
    case TAG_USERDATA: return userdata_payload(as_userdata(o));
    case TAG_LIGHTUSERDATA:
    case TAG_C_FUNCTION:
    case TAG_PRIMITIVE: return o->v.p;
    default: return is_collected(o) ? o->v.gc : NULL;
  }
}

/* ---- C to stack ---------------------------------------------------------- */

void lua_pushnil(lua_State *L) {
  set_nil(L->top);
  api_push(L);
}

void lua_pushnumber(lua_State *L, lua_Number n) {
  set_float(L->top, n);
  api_push(L);
}

void lua_pushinteger(lua_State *L, lua_Integer n) {
  set_int(L->top, n);
  api_push(L);
}

const char *lua_pushlstring(lua_State *L, const char *s, size_t len) {
  gc_make_room(L, len);
  String *string = string_new(L, len > 0 ? s : "", len);
  api_push_string(L, string);
  gc_check(L);
  return string->data;
}

const char *lua_pushstring(lua_State *L, const char *s) {
  if (s == NULL) {
    lua_pushnil(L);
    return NULL;
  }
  return lua_pushlstring(L, s, strlen(s));
}

void lua_pushboolean(lua_State *L, int b) {
  set_bool(L->top, b);
  api_push(L);
}

void lua_pushlightuserdata(lua_State *L, void *p) {
  set_light(L->top, p);
  api_push(L);
}

int lua_pushthread(lua_State *L) {
  set_thread(L->top, L);
  api_note_write(L);
  api_push(L);
  return L->domain->main_thread == L;
}

/* Pushes a C closure; its upvalues are on top of the stack. */
void lua_pushcclosure(lua_State *L, lua_CFunction fn, int n) {
  if (n == 0) {
    set_c_function(L->top, fn);
    api_push(L);
    return;
  }
  api_check_values(L, n);
  rt_assert(n <= 255);
  CClosure *c = c_closure_new(L, n, fn);
  L->top -= n;
  /* c is young: no barrier */
  for (int i = 0; i < n; i++) value_copy(&c->upvalues[i], L->top + i);
  set_c_closure(L->top, c);
  api_note_write(L);
  api_push(L);
  gc_check(L);
}

/* ---- operators ----------------------------------------------------------- */

void lua_arith(lua_State *L, int op) {
  if (op == LUA_OPUNM || op == LUA_OPBNOT) { /* unary: the operand is passed as both */
    api_check_values(L, 1);
    value_copy(L->top, L->top - 1);
    api_push(L);
  }
  api_check_values(L, 2);
  vm_arith(L, op, L->top - 2, L->top - 1, L->top - 2);
  L->top--;
  api_note_write(L);
}

int lua_rawequal(lua_State *L, int idx1, int idx2) {
  const TValue *a = api_slot(L, idx1), *b = api_slot(L, idx2);
  return !api_is_none(L, a) && !api_is_none(L, b) && vm_equal(NULL, a, b);
}

int lua_compare(lua_State *L, int idx1, int idx2, int op) {
  const TValue *a = api_slot(L, idx1), *b = api_slot(L, idx2);
  if (api_is_none(L, a) || api_is_none(L, b)) return 0;
  switch (op) {
    case LUA_OPEQ: return vm_equal(L, a, b);
    case LUA_OPLT: return vm_less(L, a, b);
    default: rt_assert(op == LUA_OPLE); return vm_less_equal(L, a, b);
  }
}

void lua_concat(lua_State *L, int n) {
  api_check_values(L, n);
  if (n == 0) {
    api_push_string(L, string_new(L, "", 0));
    return;
  }
  vm_concat(L, n);
  api_note_write(L);
  gc_check(L);
}

void lua_len(lua_State *L, int idx) {
  vm_length(L, api_slot(L, idx), L->top);
  api_note_write(L);
  api_push(L);
}

size_t lua_stringtonumber(lua_State *L, const char *s) {
  size_t size = number_parse(s, L->top);
  if (size != 0) api_push(L);
  return size;
}
