/* SPDX-License-Identifier: MIT */
/* vm/primitives.h: functions of the standard library that the interpreter runs in its own
 * loop (calls that do not grow the C stack, iteration without calls), or calls without a
 * frame (design: top of primitives.c). */
#ifndef SAROS_VM_PRIMITIVES_H
#define SAROS_VM_PRIMITIVES_H

#include "lua.h"
#include "object.h"

/* Pushes a function value whose behaviour is that of `fallback`; the interpreter may run
 * it without calling `fallback`. Any domain may call the vm_push functions; each must
 * always be given the same fallback. */
void vm_push_pcall(lua_State *L, lua_CFunction fallback);
void vm_push_xpcall(lua_State *L, lua_CFunction fallback);
void vm_push_resume(lua_State *L, lua_CFunction fallback);      /* coroutine.resume */
void vm_push_yield(lua_State *L, lua_CFunction fallback);       /* coroutine.yield */
void vm_push_next(lua_State *L, lua_CFunction fallback);
/* Pushes the iterator of ipairs: (t, i) -> i+1, t[i+1]. */
void vm_push_ipairs_step(lua_State *L, lua_CFunction fallback);
/* Replaces the thread on top of the stack with the function of coroutine.wrap. */
void vm_push_wrap(lua_State *L);

typedef enum PrimitiveId {
  PRIM_PCALL, PRIM_XPCALL, PRIM_RESUME, PRIM_YIELD, PRIM_NEXT, PRIM_IPAIRS_STEP,
  PRIM_COUNT,
  /* a function of a library, of which the interpreter runs only `direct` */
  PRIM_DIRECT = PRIM_COUNT
} PrimitiveId;

/* Runs the usual case of the fallback in place. The function is at func, its nargs
 * arguments are above it. Puts the results from func on and returns their number, at most
 * nargs + DIRECT_RESULTS; or returns NOT_DIRECT and has changed nothing. Has no frame:
 * must not raise, call, collect, use L->top, the API, or the slow path of an allocation
 * or a probe. */
typedef int DirectFunction(lua_State *L, TValue *func, int nargs);
#define NOT_DIRECT (-2)
#define DIRECT_RESULTS 2

/* A function that the interpreter runs in its loop, or in place, if it can; otherwise it
 * is called through its fallback, an ordinary C function. */
struct Primitive {
  const char *name;
  PrimitiveId id;
  lua_CFunction fallback;
  DirectFunction *direct;
};
HIDDEN extern Primitive vm_primitives[PRIM_COUNT];

/* Makes a row of a table of primitives with a DirectFunction: name, C function, direct
   function. */
#define DIRECT_FUNCTION(name, fallback, direct) {name, PRIM_DIRECT, fallback, direct}
/* Puts the functions into the table on top of the stack, as luaL_setfuncs does. The last
 * row has no name. The rows must last as long as the process. Any domain may call
 * this. */
void vm_set_direct_functions(lua_State *L, const Primitive *functions);

/* Runs a closure of coroutine.wrap; upvalue 1 is the thread. The name of this function is
   the one that tools show (function_names.c). */
int wrapped_coroutine(lua_State *L);

#endif
