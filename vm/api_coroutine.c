/* SPDX-License-Identifier: MIT */
/* vm/api_coroutine.c: C API: coroutines (design: top of coroutine.c). */
#include "call.h"
#include "coroutine.h"
#include "domain.h"
#include "gc.h"
#include "str.h"
#include "thread.h"
#include "throw.h"

static int refuse_resume(lua_State *L, String *message, int nargs) {
  L->top -= nargs;
  set_string(L->top, message);
  L->top++;
  return LUA_ERRRUN;
}

LUA_API int lua_resume(lua_State *L, lua_State *from, int nargs, int *nresults) {
  String *obstacle = vm_resume_obstacle(L, nargs);
  *nresults = 1;
  if (obstacle != NULL) return refuse_resume(L, obstacle, nargs);
  uint32_t depth = from != NULL ? from->resume_depth : 0;
  if (depth >= MAX_RESUMES || L->domain->ncalls >= MAX_C_CALLS - 5)
    return refuse_resume(L, string_from_c(L, "C stack overflow"), nargs);
  L->domain->ncalls++;
  L->resumer = from;
  L->resume_depth = depth + 1;
  L->ncalls_nonyieldable = 0;
  /* a coroutine that yielded still needs its errfunc */
  if (L->status == LUA_OK) L->errfunc = 0;
  L->npcalls = 0;
  if (from != NULL) thread_note_resumer(L, from->ci);
  gc_thread_resumed(L, L);
  int status = vm_run_resume(L, L->top - nargs);
  L->run = NULL;
  L->resumer = NULL;
  L->domain->ncalls--;
  /* a second copy of the error: the caller may pop the first, and lua_closethread needs
     one */
  if (status != LUA_OK && status != LUA_YIELD) {
    value_copy(L->top, L->top - 1);
    L->ci->top = ++L->top; /* within EXTRA_STACK */
  }
  *nresults = status == LUA_YIELD ? L->ci->u2.nyield
              : status == LUA_OK  ? (int)(L->top - (L->ci->func + 1))
                                  : 1;
  return status;
}

LUA_API int lua_yieldk(lua_State *L, int nresults, lua_KContext ctx, lua_KFunction k) {
  if (unlikely(L->run == NULL || L->ncalls_nonyieldable != 0)) {
    if (L != L->domain->main_thread) error_run(L, "attempt to yield across a C-call boundary");
    error_run(L, "attempt to yield from outside a coroutine");
  }
  CallInfo *ci = L->ci;
  L->status = LUA_YIELD;
  ci->u2.nyield = nresults;
  if (is_lua_frame(ci)) return 0; /* inside a hook: the yield happens when it returns */
  ci->u.c.k = k;
  ci->u.c.ctx = ctx;
  error_throw(L, LUA_YIELD);
}

LUA_API int lua_isyieldable(lua_State *L) {
  return L != L->domain->main_thread && L->ncalls_nonyieldable == 0;
}

LUA_API int lua_status(lua_State *L) { return L->status; }

LUA_API int lua_closethread(lua_State *L, lua_State *from) {
  L->resume_depth = from != NULL ? from->resume_depth : 0;
  return vm_reset_thread(L, L->status == LUA_YIELD ? LUA_OK : L->status);
}

LUA_API int lua_resetthread(lua_State *L) { return lua_closethread(L, NULL); }
