/* SPDX-License-Identifier: MIT */
/* vm/primitives.c: the primitives' values, and coroutine.wrap. */
#include "primitives.h"

#include "thread.h"
#include "throw.h"

Primitive vm_primitives[PRIM_COUNT] = {
  [PRIM_PCALL] = {"pcall", PRIM_PCALL, NULL},
  [PRIM_XPCALL] = {"xpcall", PRIM_XPCALL, NULL},
  [PRIM_RESUME] = {"resume", PRIM_RESUME, NULL},
  [PRIM_YIELD] = {"yield", PRIM_YIELD, NULL},
  [PRIM_NEXT] = {"next", PRIM_NEXT, NULL},
  [PRIM_IPAIRS_STEP] = {"ipairs iterator", PRIM_IPAIRS_STEP, NULL},
};

static void push_primitive(lua_State *L, PrimitiveId id, lua_CFunction fallback) {
  Primitive *p = &vm_primitives[id];
  /* every domain sets the same value: no store then, which would take the cache line from
   * the others */
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

void vm_push_wrap(lua_State *L) {
  lua_pushcclosure(L, wrapped_coroutine, 1);
}

/* Reached only when the coroutine cannot be resumed in the loop (or hooks are
 * on): does it through the C API. */
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
