/* SPDX-License-Identifier: MIT */
/* vm/primitives.h: functions of the standard library that the interpreter runs
 * in its own loop (calls that do not grow the C stack, iteration without calls). */
#ifndef SAROS_VM_PRIMITIVES_H
#define SAROS_VM_PRIMITIVES_H

#include "lua.h"
#include "object.h"

/* Each pushes a function value whose behaviour is that of `fallback`; the
 * interpreter may run it without calling `fallback`. Any domain; the fallback
 * given must always be the same. */
void vm_push_pcall(lua_State *L, lua_CFunction fallback);
void vm_push_xpcall(lua_State *L, lua_CFunction fallback);
void vm_push_resume(lua_State *L, lua_CFunction fallback);      /* coroutine.resume */
void vm_push_yield(lua_State *L, lua_CFunction fallback);       /* coroutine.yield */
void vm_push_next(lua_State *L, lua_CFunction fallback);
/* iterator of ipairs: (t, i) -> i+1, t[i+1] */
void vm_push_ipairs_step(lua_State *L, lua_CFunction fallback);
/* Replaces the thread on top of the stack by the function of coroutine.wrap. */
void vm_push_wrap(lua_State *L);

typedef enum PrimitiveId {
  PRIM_PCALL, PRIM_XPCALL, PRIM_RESUME, PRIM_YIELD, PRIM_NEXT, PRIM_IPAIRS_STEP,
  PRIM_COUNT
} PrimitiveId;

/* A function that the interpreter runs in its loop when it can; otherwise it is
 * called through its fallback, an ordinary C function. */
struct Primitive {
  const char *name;
  PrimitiveId id;
  lua_CFunction fallback;
};
HIDDEN extern Primitive vm_primitives[PRIM_COUNT];

/* C function of coroutine.wrap's closures: upvalue 1 is the thread. Its name is the one that
   tools show (function_names.c) */
int wrapped_coroutine(lua_State *L);

#endif
