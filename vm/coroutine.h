/* SPDX-License-Identifier: MIT */
/* vm/coroutine.h: what the interpreter and the C API need to resume and end
   coroutines. */
#ifndef SAROS_VM_COROUTINE_H
#define SAROS_VM_COROUTINE_H

#include "object.h"
#include "thread.h"
#include "watch.h"

#define MAX_RESUMES 190 /* coroutines nested */

/* NULL, or why the coroutine cannot be resumed. */
String *vm_resume_obstacle(const lua_State *co, int nargs);
/* The same of one that has not yielded. */
bool vm_can_start(const lua_State *co);
/* Can L, which runs, resume it in the interpreter loop? */
ALWAYS_INLINE bool vm_can_resume(const lua_State *L, const lua_State *co, int nargs) {
  if (co == L || (co->status != LUA_YIELD && !vm_can_start(co))) return false;
  return L->resume_depth < MAX_RESUMES && co->stack_last - co->top > nargs;
}
/* detaches a coroutine that ended, yielded or died from its resumer */
ALWAYS_INLINE void vm_finish_coroutine(lua_State *co) {
  vm_set_current(co->domain, co->resumer);
  co->resumer = NULL;
  co->run = NULL;
}
/* Delivers n values from src as results of L's CALL_RESUME frame: returns the first,
 * *total their number. */
TValue *vm_deliver(lua_State *L, TValue *src, int n, int *total);
/* Leaves all frames and closes what is pending; the error is on top if status is one.
 * Returns the status after it, LUA_OK or that of the error then alone on the stack. */
int vm_reset_thread(lua_State *L, int status);

#endif
