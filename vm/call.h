/* SPDX-License-Identifier: MIT */
/* vm/call.h: calls, errors, coroutines (design: top of call.c). */
#ifndef SAROS_VM_CALL_H
#define SAROS_VM_CALL_H

#include "domain.h"
#include "safe_point.h"
#include "thread.h"

/* Calls the function at func with the arguments above it (up to L->top). The results are
 * placed from func on: nresults of them or, for LUA_MULTRET, all, with L->top after the
 * last. vm_call_noyield forbids yields during the call. Both functions may grow the
 * stack. */
void vm_call(lua_State *L, TValue *func, int nresults);
ALWAYS_INLINE void vm_call_noyield(lua_State *L, TValue *func, int nresults) {
  L->ncalls_nonyieldable++;
  vm_call(L, func, nresults);
  L->ncalls_nonyieldable--;
}

/* Pushes a function and its arguments; returns the place of the function, or NULL if
 * none is to be called. May raise. */
typedef TValue *NextCall(lua_State *L, void *ud);
/* Calls the functions that next(L, ud) pushes, one after the other, until it returns
 * NULL. Drops their results and forbids yields. It does what vm_call_noyield would do for
 * each of them, but in a single Run. */
void vm_call_each(lua_State *L, NextCall *next, void *ud);

/* Calls vm_call_noyield as a ProtectedFunction; ud points to a CallRequest. */
typedef struct CallRequest { TValue *func; int nresults; } CallRequest;
void vm_call_request(lua_State *L, void *ud);

typedef void (*ProtectedFunction)(lua_State *L, void *ud);
/* Runs f(L, ud) in a protected C frame; returns its status. On error it closes the
 * to-be-closed variables and upvalues above old_top (an offset of stack_save), cuts the
 * stack to old_top, pushes the error value, and restores L->ci. */
int vm_protect(lua_State *L, ProtectedFunction f, void *ud, ptrdiff_t old_top, ptrdiff_t errfunc);
/* Runs f(L, ud) protected, without any clean-up; returns its status. */
int vm_protect_raw(lua_State *L, ProtectedFunction f, void *ud);

/* Closes to-be-closed variables and upvalues down to level. status is LUA_OK, or an error
 * whose value is passed to __close. Returns level (the stack may move). */
TValue *vm_close(lua_State *L, TValue *level, int status, bool yieldable);
/* Closes what is pending down to the level (an offset of stack_save), as vm_close does.
 * Returns LUA_OK, or, if a __close raised an error, the status of that error with its
 * value on top. */
int vm_try_close(lua_State *L, ptrdiff_t level, int status);
/* Marks a slot as to be closed; raises if the value has no __close. */
void vm_new_tbc(lua_State *L, TValue *level);

/* ---- for the interpreter ------------------------------------------------- */

/* Pushes the frame of a C function, calls it, returns the number of its results
 * (on the stack top); the frame is L->ci on return. */
int vm_enter_c(lua_State *L, TValue *func, lua_CFunction f, int nresults, uint32_t status);
/* Moves n results from `first` to res, adjusted to `wanted`; sets L->top. */
void vm_move_results(lua_State *L, TValue *res, TValue *first, int n, int wanted);
/* Replaces a value at func that is not a function with its __call, with the arguments
   shifted up. Returns the new func. Raises. */
TValue *vm_try_call_meta(lua_State *L, TValue *func);
CallInfo *vm_push_native(lua_State *L, TValue *func, int nresults, uint32_t status);

/* Closes the pending slots of the C frame L->ci, whose results are on top. */
int vm_close_c_frame(lua_State *L, int nresults);

/* Resumes the coroutine L in a Run of its own: the values from first to the top are
 * passed in. Returns LUA_OK, LUA_YIELD or an error. */
int vm_run_resume(lua_State *L, TValue *first);

#endif
