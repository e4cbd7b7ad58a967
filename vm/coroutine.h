/* SPDX-License-Identifier: MIT */
/* vm/coroutine.h: what the interpreter and the C API need to resume and end coroutines. */
#ifndef SAROS_VM_COROUTINE_H
#define SAROS_VM_COROUTINE_H

#include "object.h"

#define MAX_RESUMES 190 /* coroutines nested */

/* NULL, or why the coroutine cannot be resumed. */
String *vm_resume_obstacle(const lua_State *co, int nargs);
bool vm_can_resume(lua_State *L, lua_State *co, int nargs);
/* detaches a coroutine that ended, yielded or died from its resumer */
void vm_finish_coroutine(lua_State *co);
/* Delivers n values from src as results of L's CALL_RESUME frame: returns the first,
 * *total their number. */
TValue *vm_deliver(lua_State *L, TValue *src, int n, int *total);
/* Leaves all frames and closes what is pending; the error is on top if status is one.
 * Returns the status after it, LUA_OK or that of the error then alone on the stack. */
int vm_reset_thread(lua_State *L, int status);

#endif
