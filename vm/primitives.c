/* SPDX-License-Identifier: MIT */
/* vm/primitives.c: the primitives' values, and coroutine.wrap.
 *
 * Direct functions. Most of the cost of a short library function is its call: a frame,
 * its arguments by index, its results moved to where the caller wants them. So such a
 * function has a second entry (DirectFunction), which finds its arguments where the
 * caller put them and writes its results from the function's own slot on. The entry
 * handles the usual and quick cases. For all else (other types, rare defaults,
 * metamethods, every error, an allocation that needs the slow path, events that are not
 * written inline) it returns NOT_DIRECT, and the ordinary C function, the fallback, is
 * called as if nothing had been tried. So messages, tracebacks and finalizers find the
 * frame of the fallback.
 *
 * A program does not see which of the two entries ran. A watched thread (hooks, the
 * profile of calls), or a thread whose lines are sampled, has a dispatch table whose CALL
 * does not try the second entry. Allocations are sampled on slow paths, which only the
 * fallback takes. The exception is a profile by function that another process takes
 * (`eventring profile`): it attributes the time of a direct function to its caller,
 * because a direct function has no frame.
 *
 * Both entries have to agree in every detail; where possible they share the lines that
 * compute the result. testsuite/lua/stdlib/direct.lua calls both with the same
 * arguments.
 */
#include "primitives.h"

#include "table.h"
#include "thread.h"
#include "throw.h"

static int never_direct(lua_State *L, TValue *func, int nargs) {
  (void)L, (void)func, (void)nargs;
  return NOT_DIRECT;
}

/* Runs next(t [, key]) for a key that the table has. */
static int next_direct(lua_State *L, TValue *func, int nargs) {
  static const TValue none = {.tag = TAG_NIL};
  if (nargs < 1 || !is_table(func + 1)) return NOT_DIRECT;
  Table *t = as_table(func + 1);
  const uint32_t position = table_position_after(t, nargs > 1 ? func + 2 : &none);
  if (position == TABLE_POSITION_UNKNOWN) return NOT_DIRECT;
  if (table_iterate(L->domain, t, position, func, func + 1) != 0) return 2;
  set_nil(func);
  return 1;
}

Primitive vm_primitives[PRIM_COUNT] = {
  [PRIM_PCALL] = {"pcall", PRIM_PCALL, NULL, never_direct},
  [PRIM_XPCALL] = {"xpcall", PRIM_XPCALL, NULL, never_direct},
  [PRIM_RESUME] = {"resume", PRIM_RESUME, NULL, never_direct},
  [PRIM_YIELD] = {"yield", PRIM_YIELD, NULL, never_direct},
  [PRIM_NEXT] = {"next", PRIM_NEXT, NULL, next_direct},
  [PRIM_IPAIRS_STEP] = {"ipairs iterator", PRIM_IPAIRS_STEP, NULL, never_direct},
};

static void push_primitive(lua_State *L, PrimitiveId id, lua_CFunction fallback) {
  Primitive *p = &vm_primitives[id];
  /* every domain sets the same value; the test avoids a store, which would take the cache
   * line from other processors */
  if (__atomic_load_n(&p->fallback, __ATOMIC_RELAXED) != fallback)
    __atomic_store_n(&p->fallback, fallback, __ATOMIC_RELAXED);
  set_primitive(L->top, p);
  L->top++;
}

void vm_push_pcall(lua_State *L, lua_CFunction fallback) {
  push_primitive(L, PRIM_PCALL, fallback);
}
void vm_push_xpcall(lua_State *L, lua_CFunction fallback) {
  push_primitive(L, PRIM_XPCALL, fallback);
}
void vm_push_resume(lua_State *L, lua_CFunction fallback) {
  push_primitive(L, PRIM_RESUME, fallback);
}
void vm_push_yield(lua_State *L, lua_CFunction fallback) {
  push_primitive(L, PRIM_YIELD, fallback);
}
void vm_push_next(lua_State *L, lua_CFunction fallback) {
  push_primitive(L, PRIM_NEXT, fallback);
}
void vm_push_ipairs_step(lua_State *L, lua_CFunction fallback) {
  push_primitive(L, PRIM_IPAIRS_STEP, fallback);
}

void vm_set_direct_functions(lua_State *L, const Primitive *functions) {
  stack_check(L, 1);
  for (const Primitive *f = functions; f->name != NULL; f++) {
    set_primitive(L->top, f);
    L->top++;
    lua_setfield(L, -2, f->name);
  }
}

void vm_push_wrap(lua_State *L) {
  lua_pushcclosure(L, wrapped_coroutine, 1);
}

/* Resumes a coroutine through the C API. The interpreter calls this only if it cannot
 * resume the coroutine in its own loop (or if hooks are on). */
int wrapped_coroutine(lua_State *L) {
  lua_State *co = lua_tothread(L, lua_upvalueindex(1));
  int nargs = lua_gettop(L), nresults;
  if (!lua_checkstack(co, nargs)) error_run(L, "too many arguments to resume");
  lua_xmove(L, co, nargs);
  int status = lua_resume(co, L, nargs, &nresults);
  if (likely(status == LUA_OK || status == LUA_YIELD)) {
    if (!lua_checkstack(L, nresults + 1)) error_run(L, "too many results to resume");
    lua_xmove(co, L, nresults);
    return nresults;
  }
  if (lua_status(co) > LUA_YIELD) status = lua_closethread(co, L);
  lua_xmove(co, L, 1);
  if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING && is_lua_frame(L->ci->prev)) {
    lua_Debug ar;
    if (lua_getstack(L, 1, &ar) && lua_getinfo(L, "Sl", &ar) && ar.currentline > 0) {
      lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
      lua_rotate(L, -2, 1);
      lua_concat(L, 2);
    }
  }
  return lua_error(L);
}
