/* vm/call.h: calls, errors, coroutines (design: top of call.c). */
#ifndef SAROS_VM_CALL_H
#define SAROS_VM_CALL_H

#include "domain.h"
#include "isolate.h"

/* Calls the function at func with the arguments above it (up to L->top);
 * results replace it from func on (nresults, or all for LUA_MULTRET with L->top after the last).
 * vm_call_noyield forbids yields inside. Both may grow the stack. */
void vm_call(lua_State *L, TValue *func, int nresults);
void vm_call_noyield(lua_State *L, TValue *func, int nresults);

typedef void (*ProtectedFunction)(lua_State *L, void *ud);
/* Runs f(L, ud) in a protected C frame; answers its status. On error the stack
 * is cut to old_top (an offset of stack_save) with the error value on it,
 * to-be-closed variables and upvalues above it closed, L->ci restored. */
int vm_protect(lua_State *L, ProtectedFunction f, void *ud, ptrdiff_t old_top, ptrdiff_t errfunc);
/* The bare protected run: no clean-up. */
int vm_protect_raw(lua_State *L, ProtectedFunction f, void *ud);

/* lua_load of one block, which stays as it is meanwhile (api_chunk.c). */
int vm_load_block(lua_State *L, const char *block, size_t size, const char *chunkname, const char *mode);
/* Likewise of a string, which the caller keeps alive. */
int vm_load_string(lua_State *L, String *s, const char *chunkname, const char *mode);

/* lua_callk/lua_pcallk/lua_yieldk/lua_resume/lua_closethread are in call.c too. */

/* Closes to-be-closed variables and upvalues down to level; status LUA_OK or an error
 * whose value is passed to __close; answers level (the stack may move). */
TValue *vm_close(lua_State *L, TValue *level, int status, bool yieldable);
void vm_new_tbc(lua_State *L, TValue *level); /* marks a slot; raises when the value has no __close */

/* Hooks (debug.c drives them): called by the interpreter when a hook is on. */
void vm_hook(lua_State *L, int event, int line, int first_transfer, int ntransfer);
/* Installs the dispatch table that fits L->hook_mask, and what is asked of the domain; call
 * after changing it. */
void vm_update_dispatch(lua_State *L);

/* Is something asked of the domain (runtime/isolate.h)? */
ALWAYS_INLINE bool vm_is_asked(const Domain *d) {
  return atomic_load_explicit(&d->isolate->attention, memory_order_relaxed) != 0;
}
/* Does it: raises, or goes on. The frame's pc and L->top are those of a call. (Functions of C
 * that run for long: safe_point.h.) */
void vm_take_up(lua_State *L);
/* Another thread (coroutine) of the domain runs from now on. A request that arrives just
 * then may have been noted in the former one: this looks after it has become known which runs. */
ALWAYS_INLINE void vm_set_current(Domain *d, lua_State *L) {
  d->current = L;
  atomic_signal_fence(memory_order_seq_cst); /* pairs with the handler, which reads d->current */
  if (unlikely(L != NULL && vm_is_asked(d))) vm_update_dispatch(L);
}

/* operators with metamethods (meta.c / execute.c) */
void vm_get(lua_State *L, const TValue *t, const TValue *key, TValue *result_slot);   /* result_slot is a stack slot; kept across stack moves */
void vm_set(lua_State *L, const TValue *t, const TValue *key, const TValue *value);
bool vm_equal(lua_State *L, const TValue *a, const TValue *b);   /* L NULL: raw equality */
bool vm_less(lua_State *L, const TValue *a, const TValue *b);
bool vm_less_equal(lua_State *L, const TValue *a, const TValue *b);
void vm_arith(lua_State *L, int op, const TValue *a, const TValue *b, TValue *result_slot); /* LUA_OPADD.. with coercions and metamethods */
void vm_concat(lua_State *L, int n);                    /* the n values on top become one */
void vm_length(lua_State *L, const TValue *o, TValue *result_slot);
const TValue *meta_of(lua_State *L, const TValue *o, Metamethod e);  /* metamethod or &table_absent */
ALWAYS_INLINE Table *metatable_of(lua_State *L, const TValue *o) {
  switch (o->tag) {
    case TAG_TABLE: return as_table(o)->metatable;
    case TAG_USERDATA: return as_userdata(o)->metatable;
    default: return L->domain->metatables[tag_type(o->tag)];
  }
}
const char *type_name_of(lua_State *L, const TValue *o);  /* honours __name */
extern const char *const type_names[]; /* "nil", ...; index by type, "no value" at -1 through type_name() */
const char *type_name(int type);

#endif
