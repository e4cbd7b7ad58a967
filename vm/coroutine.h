/* SPDX-License-Identifier: MIT */
/* vm/coroutine.h: what the interpreter and the C API need to resume and end
   coroutines. */
#ifndef SAROS_VM_COROUTINE_H
#define SAROS_VM_COROUTINE_H

#include "object.h"
#include "thread.h"
#include "watch.h"

#define MAX_RESUMES 190 /* the most nested coroutines */

/* Returns why the coroutine cannot be resumed, or NULL if it can. */
String *vm_resume_obstacle(const lua_State *co, int nargs);
/* Tells whether a coroutine that has not yielded can be started. */
bool vm_can_start(const lua_State *co);
/* Tells whether L, which runs, can resume the coroutine in the interpreter loop. */
ALWAYS_INLINE bool vm_can_resume(const lua_State *L, const lua_State *co, int nargs) {
  if (co == L || (co->status != LUA_YIELD && !vm_can_start(co))) return false;
  return L->resume_depth < MAX_RESUMES && co->stack_last - co->top > nargs;
}
/* Detaches a coroutine that ended, yielded or died from its resumer. */
ALWAYS_INLINE void vm_finish_coroutine(lua_State *co) {
  vm_set_current(co->domain, co->resumer);
  co->resumer = NULL;
  co->run = NULL;
}
/* Delivers n values from src as results of L's CALL_RESUME frame. Returns the first;
 * *total becomes their number. */
TValue *vm_deliver(lua_State *L, TValue *src, int n, int *total);
/* Leaves all frames and closes what is pending. If status is an error, the error value
 * must be on top. Returns LUA_OK or, with the final error value alone on the stack, the
 * status of that error. */
int vm_reset_thread(lua_State *L, int status);

#endif
