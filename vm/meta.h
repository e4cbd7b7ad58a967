/* SPDX-License-Identifier: MIT */
/* vm/meta.h: operators, with coercions and metamethods. */
#ifndef SAROS_VM_META_H
#define SAROS_VM_META_H

#include "domain.h"
#include "thread.h"

/* Gets or sets a field. result_slot is a stack slot; it is kept across moves of the
   stack. */
void vm_get(lua_State *L, const TValue *t, const TValue *key, TValue *result_slot);
void vm_set(lua_State *L, const TValue *t, const TValue *key, const TValue *value);
/* Tells whether two values are equal, for raw equality if L is NULL. */
bool vm_equal(lua_State *L, const TValue *a, const TValue *b);
bool vm_less(lua_State *L, const TValue *a, const TValue *b);
bool vm_less_equal(lua_State *L, const TValue *a, const TValue *b);
/* Applies an operator, LUA_OPADD.., with coercions and metamethods. */
void vm_arith(lua_State *L, int op, const TValue *a, const TValue *b, TValue *result_slot);
/* Concatenates the n values on top into one. */
void vm_concat(lua_State *L, int n);
void vm_length(lua_State *L, const TValue *o, TValue *result_slot);
/* Returns the metamethod, or &table_absent. */
const TValue *meta_of(lua_State *L, const TValue *o, Metamethod e);
ALWAYS_INLINE Table *metatable_of(lua_State *L, const TValue *o) {
  switch (o->tag) {
    case TAG_TABLE: return as_table(o)->metatable;
    case TAG_USERDATA: return as_userdata(o)->metatable;
    default: return L->domain->metatables[tag_type(o->tag)];
  }
}
const char *type_name_of(lua_State *L, const TValue *o);  /* honours __name */
/* "nil", ..., indexed by type; type_name() also has "no value", for type -1 */
extern const char *const type_names[];
const char *type_name(int type);


/* ---- for the interpreter and for calls ----------------------------------- */

/* Pushes a metamethod with its arguments; returns the slot of the function. */
ALWAYS_INLINE TValue *meta_push_call(lua_State *L, const TValue *f, const TValue *a,
                                     const TValue *b) {
  TValue *func = L->top;
  value_copy(func, f);
  value_copy(func + 1, a);
  value_copy(func + 2, b);
  L->top = func + 3;
  return func;
}
ALWAYS_INLINE TValue *meta_push_call3(lua_State *L, const TValue *f, const TValue *a,
                                      const TValue *b, const TValue *c) {
  TValue *func = meta_push_call(L, f, a, b);
  value_copy(L->top++, c);
  return func;
}

/* Gets a field. Like all meta_prepare functions, it either completes the operation and
 * returns NULL, or pushes a metamethod with its arguments on L->top and returns the slot
 * of the metamethod, which the caller calls. */
TValue *meta_prepare_get(lua_State *L, const TValue *t, const TValue *key, TValue *result);
TValue *meta_prepare_set(lua_State *L, const TValue *t, const TValue *key, const TValue *value);
/* Gets or sets a field that a lookup has not found in the table itself; the lookup ended
 * at `slot`. */
TValue *meta_get_absent(lua_State *L, const TValue *t, const TValue *key, TValue *result);
TValue *meta_set_at(lua_State *L, const TValue *t, const TValue *key, const TValue *slot,
                    const TValue *value);
TValue *meta_prepare_arith(lua_State *L, int op, const TValue *a, const TValue *b, TValue *result);
TValue *meta_prepare_length(lua_State *L, const TValue *o, TValue *result);
TValue *meta_prepare_less(lua_State *L, const TValue *a, const TValue *b, bool *result);
TValue *meta_prepare_less_equal(lua_State *L, const TValue *a, const TValue *b, bool *result);
TValue *meta_prepare_equal(lua_State *L, const TValue *a, const TValue *b, bool *result);
/* Concatenates the `total` values on top into one, as far as possible without a
 * metamethod; returns NULL if one value is left. */
TValue *meta_prepare_concat(lua_State *L, int total);
/* Closes upvalues down to level. Pushes the next pending __close and returns its slot, or
 * NULL. err is the error value passed to it, or NULL. */
TValue *meta_prepare_close(lua_State *L, TValue *level, const TValue *err);

#endif
