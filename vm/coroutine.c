/* SPDX-License-Identifier: MIT */
/* vm/coroutine.c: resuming, yielding and ending coroutines.
 *
 * From guest code a coroutine is resumed inside the interpreter loop of its
 * resumer (execute.c, label `resume`): its thread gets resumer and run, and
 * d->current follows.  From C, lua_resume opens a Run of its own for it.
 *
 * A suspended coroutine's current frame is the native frame that yielded; the
 * values passed to the next resume become that frame's results.
 */
#include "coroutine.h"

#include "call.h"
#include "contexts.h"
#include "domain.h"
#include "gc.h"
#include "known_names.h"
#include "str.h"
#include "thread.h"
#include "throw.h"
#include "watch.h"

String *vm_resume_obstacle(const lua_State *co, int nargs) {
  String *const *names = co->domain->names;
  if (co->status == LUA_OK) {
    if (co->run != NULL || co->ci != &co->base_ci) return names[NAME_NOT_SUSPENDED];
    if (co->top - (co->ci->func + 1) == nargs) return names[NAME_DEAD_COROUTINE];
  } else if (co->status != LUA_YIELD) {
    return names[NAME_DEAD_COROUTINE];
  }
  return NULL;
}

bool vm_can_start(const lua_State *co) { return vm_resume_obstacle(co, 0) == NULL; }

static TValue *deliver_too_many(lua_State *L, int *total) {
  static const char message[] = "too many results to resume";
  TValue *first = L->ci->func;
  if (L->ci->status & CALL_WRAP) error_run(L, message);
  set_bool(first, false);
  set_string(first + 1, string_from_c(L, message));
  *total = 2;
  return first;
}

TValue *vm_deliver(lua_State *L, TValue *src, int n, int *total) {
  CallInfo *ci = L->ci;
  if (unlikely(n > STACK_LIMIT - (ci->func - L->stack) - EXTRA_STACK))
    return deliver_too_many(L, total);
  if (unlikely(L->stack_last - ci->func <= n + 1)) {
    L->top = ci->func + 1;
    stack_grow(L, n + 1);
  }
  TValue *first = ci->func, *to = first;
  if (!(ci->status & CALL_WRAP)) (to++)->tag = TAG_TRUE;
  /* hooks find the function of coroutine.wrap in its slot, so the results begin above
     it */
  else first = ++to;
  for (int j = 0; j < n; j++) value_copy(to + j, src + j);
  *total = (int)(to - first) + n;
  return first;
}

struct ResetRequest { int status; };

static void close_variables(lua_State *L, void *ud) {
  const struct ResetRequest *r = ud;
  vm_close(L, L->stack + 1, r->status, false);
}

/* Closes what is pending, with the status given; the error of a __close replaces that
   status. */
static int close_pending(lua_State *L, int status) {
  for (;;) {
    struct ResetRequest r = {status};
    L->ci = &L->base_ci;
    int again = vm_protect_raw(L, close_variables, &r);
    if (again == LUA_OK) return status;
    status = again;
    if (status == LUA_ERRMEM) {
      set_string(L->top, L->domain->memory_error);
      L->top++;
    }
  }
}

int vm_reset_thread(lua_State *L, int status) {
  L->ci = &L->base_ci;
  L->base_ci.func = L->stack;
  L->status = LUA_OK;
  L->run = NULL;
  L->ncalls_nonyieldable = 0;
  L->errfunc = 0;
  L->npcalls = 0;
  gc_thread_resumed(L, L);
  status = close_pending(L, status);
  if (!is_nil(L->stack)) context_finish(L);
  if (status != LUA_OK) {
    value_copy(L->stack + 1, L->top - 1);
    L->top = L->stack + 2;
  } else {
    L->top = L->stack + 1;
  }
  L->base_ci.top = L->top + LUA_MINSTACK;
  stack_shrink(L);
  return status;
}
