/* SPDX-License-Identifier: MIT */
/* vm/api.h: what the files of the C API share (api_*.c): how an index names a slot, and
 * what a push has to do.
 *
 * Positive indices count from the running function's slot, negative ones from the top;
 * pseudo-indices name the registry and the upvalues of the running C closure. An index
 * that is acceptable but names nothing yields the domain's read-only nil, whose address
 * distinguishes it from a real slot (api_is_none).
 *
 * A function of the API may be called for a thread that does not run; values written to
 * such a stack must be reported to the collector. A running thread is never GC_CLEAN, so
 * api_note_write costs it one test of a byte that is in the cache.
 */
#ifndef SAROS_VM_API_H
#define SAROS_VM_API_H

#include "domain.h"
#include "table.h"
#include "thread.h"

/* Makes a state whose heap maps its memory; lua_getallocf returns f, which is like
   realloc. */
lua_State *api_new_state(lua_Alloc f);

/* Returns the slot of a pseudo-index: the registry, or an upvalue. */
TValue *api_pseudo_slot(lua_State *L, int idx);

#define api_is_pseudo(idx) ((idx) <= LUA_REGISTRYINDEX)
#define api_is_upvalue(idx) ((idx) < LUA_REGISTRYINDEX)
#define api_is_none(L, o) ((o) == &(L)->domain->nil)

/* Returns the slot of any acceptable index. */
ALWAYS_INLINE TValue *api_slot(lua_State *L, int idx) {
  if (likely(idx > 0)) {
    TValue *o = L->ci->func + idx;
    rt_assert(idx <= L->ci->top - (L->ci->func + 1));
    return likely(o < L->top) ? o : &L->domain->nil;
  }
  if (likely(!api_is_pseudo(idx))) {
    rt_assert(idx != 0 && -idx <= L->top - (L->ci->func + 1));
    return L->top + idx;
  }
  return api_pseudo_slot(L, idx);
}

/* Returns the slot of an index that is a stack position (not a pseudo-index). */
ALWAYS_INLINE TValue *api_stack_slot(lua_State *L, int idx) {
  rt_assert(!api_is_pseudo(idx) && idx != 0);
  return idx > 0 ? L->ci->func + idx : L->top + idx;
}

/* Reports to the collector that an object was written to L's stack. */
ALWAYS_INLINE void api_note_write(lua_State *L) {
  if (unlikely(L->gc & GC_CLEAN)) gc_thread_resumed(L, L);
}

/* Makes the slot at L->top, which has just been filled, part of the stack. */
ALWAYS_INLINE void api_push(lua_State *L) {
  L->top++;
  rt_assert(L->top <= L->ci->top);
}

ALWAYS_INLINE void api_push_value(lua_State *L, const TValue *value) {
  value_copy(L->top, value);
  if (is_collected(value)) api_note_write(L);
  api_push(L);
}

ALWAYS_INLINE void api_push_string(lua_State *L, String *s) {
  set_string(L->top, s);
  api_note_write(L);
  api_push(L);
}

ALWAYS_INLINE void api_push_table(lua_State *L, Table *t) {
  set_table(L->top, t);
  api_note_write(L);
  api_push(L);
}

/* Sets the metatable of a table as setmetatable does; removes it if mt is NULL. */
void api_set_metatable(lua_State *L, Table *t, Table *mt);

/* Asserts that at least n values lie above the running function. */
#define api_check_values(L, n) rt_assert((n) <= (L)->top - ((L)->ci->func + 1))

/* Returns the table at an index that holds one. */
ALWAYS_INLINE Table *api_table(lua_State *L, int idx) {
  TValue *o = api_slot(L, idx);
  rt_assert(is_table(o));
  return as_table(o);
}

#endif
