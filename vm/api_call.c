/* SPDX-License-Identifier: MIT */
/* vm/api_call.c: C API: calls, errors and to-be-closed variables (call.c does the
   work). */
#include "call.h"
#include "debug_error.h"
#include "domain.h"
#include "thread.h"
#include "throw.h"

/* ---- calls --------------------------------------------------------------- */

static bool is_yieldable(const lua_State *L) {
  return L->run != NULL && L->ncalls_nonyieldable == 0;
}

static void grow_frame_top(lua_State *L, int nresults) {
  if (nresults == LUA_MULTRET && L->ci->top < L->top) L->ci->top = L->top;
}

LUA_API void lua_callk(lua_State *L, int nargs, int nresults, lua_KContext ctx, lua_KFunction k) {
  TValue *func = L->top - (nargs + 1);
  if (k != NULL && is_yieldable(L)) {
    L->ci->u.c.k = k;
    L->ci->u.c.ctx = ctx;
    vm_call(L, func, nresults);
  } else {
    vm_call_noyield(L, func, nresults);
  }
  grow_frame_top(L, nresults);
}

/* Makes a protected call whose mark is the frame itself: an error is caught by the Run
 * that runs the calling C function, which then continues in k. */
static int pcall_in_frame(lua_State *L, CallRequest *r, ptrdiff_t errfunc, lua_KContext ctx,
                          lua_KFunction k) {
  CallInfo *ci = L->ci;
  ci->u.c.k = k;
  ci->u.c.ctx = ctx;
  ci->u2.func_index = (uint32_t)(r->func - L->stack);
  ci->u.c.old_errfunc = L->errfunc;
  L->errfunc = errfunc;
  ci->status = (ci->status & ~(uint32_t)CALL_ALLOWHOOK) | CALL_PROTECTED_C |
               (L->allow_hook ? CALL_ALLOWHOOK : 0);
  vm_call(L, r->func, r->nresults);
  ci->status &= ~(uint32_t)CALL_PROTECTED_C;
  L->errfunc = ci->u.c.old_errfunc;
  return LUA_OK;
}

LUA_API int lua_pcallk(lua_State *L, int nargs, int nresults, int msgh, lua_KContext ctx,
                       lua_KFunction k) {
  ptrdiff_t errfunc = 0;
  if (msgh != 0) errfunc = stack_save(L, msgh > 0 ? L->ci->func + msgh : L->top + msgh);
  CallRequest r = {L->top - (nargs + 1), nresults};
  int status = k != NULL && is_yieldable(L)
                   ? pcall_in_frame(L, &r, errfunc, ctx, k)
                   : vm_protect(L, vm_call_request, &r, stack_save(L, r.func), errfunc);
  grow_frame_top(L, nresults);
  return status;
}

LUA_API int lua_error(lua_State *L) {
  TValue *top = L->top - 1;
  if (is_short_string(top) && as_string(top) == L->domain->memory_error) error_memory(L);
  error_with_handler(L);
}

LUA_API void lua_toclose(lua_State *L, int idx) {
  TValue *slot = idx > 0 ? L->ci->func + idx : L->top + idx;
  vm_new_tbc(L, slot);
  L->ci->status |= CALL_TOCLOSE;
}

LUA_API void lua_closeslot(lua_State *L, int idx) {
  TValue *level = idx > 0 ? L->ci->func + idx : L->top + idx;
  level = vm_close(L, level, LUA_OK, false);
  set_nil(level);
}
