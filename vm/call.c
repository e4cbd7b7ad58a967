/* SPDX-License-Identifier: MIT */
/* vm/call.c: calls from C, protected calls, and where errors land.
 *
 * The interpreter loop runs inside a Run: one C activation of vm_execute with one setjmp.
 * Guest calls, pcall, metamethods and coroutines stay inside the Run in which they
 * started; only a C function that calls back (vm_call) opens another one. So the C stack
 * grows with the nesting of C functions alone, which d->ncalls bounds.
 *
 * An error (error_throw) unwinds to the innermost ErrorJump: a Run, or a protected call
 * from C (vm_protect_raw). A Run looks for a frame that catches it (CALL_PCALL, or
 * CALL_PROTECTED_C: lua_pcallk with a continuation), from the thread that raised down to
 * the frame for which the Run was entered, crossing from a dead coroutine to its resumer;
 * execution continues there in the loop. If there is none, the Run passes the error on to
 * the next ErrorJump.
 *
 * A yield from a C function arrives in the same way (status LUA_YIELD) and unwinds to the
 * Run that resumed the coroutine.
 *
 * While an error travels, its value is on top of the stack of d->current.
 */
#include "call.h"

#include <stdio.h>
#include <string.h>

#include "contexts.h"
#include "coroutine.h"
#include "debug_error.h"
#include "debuginfo.h"
#include "execute.h"
#include "gc.h"
#include "gc_inline.h"
#include "known_names.h"
#include "meta.h"
#include "str.h"
#include "throw.h"
#include "watch.h"

/* ---- frames -------------------------------------------------------------- */

CallInfo *vm_push_native(lua_State *L, TValue *func, int nresults, uint32_t status) {
  CallInfo *ci = L->ci->next;
  if (unlikely(ci == NULL)) ci = callinfo_extend(L);
  ci->func = func;
  ci->top = L->top;
  ci->nresults = nresults;
  ci->u.c.k = NULL;
  frame_set_status(ci, CALL_C | status);
  ci->entries++;
  frame_publish(L, ci);
  return ci;
}

int vm_enter_c(lua_State *L, TValue *func, lua_CFunction f, int nresults, uint32_t status) {
  if (stack_lacks(L, LUA_MINSTACK)) {
    ptrdiff_t off = stack_save(L, func);
    stack_grow_or_collect(L, LUA_MINSTACK);
    func = stack_restore(L, off);
  }
  CallInfo *ci = vm_push_native(L, func, nresults, status);
  ci->top = L->top + LUA_MINSTACK;
  ci->u.c.running = f;
  if (unlikely(L->instrumented & INSTRUMENT_WATCHED)) vm_call_entered(L);
  return f(L);
}

void vm_move_results(lua_State *L, TValue *res, TValue *first, int n, int wanted) {
  int moved = wanted < 0 || n < wanted ? n : wanted, j;
  for (j = 0; j < moved; j++) value_copy(res + j, first + j);
  for (; j < wanted; j++) set_nil(res + j);
  L->top = res + j;
}

#define MAX_CALL_CHAIN 200 /* the most steps from a value to its __call */

/* Replaces the called value with its __call; the value becomes the first argument. */
static TValue *call_meta_step(lua_State *L, TValue *func) {
  ptrdiff_t off = stack_save(L, func);
  stack_check(L, 1);
  func = stack_restore(L, off);
  const TValue *handler = meta_of(L, func, META_CALL);
  if (is_nil(handler)) error_call(L, func);
  for (TValue *p = L->top; p > func; p--) value_copy(p, p - 1);
  L->top++;
  value_copy(func, handler);
  return func;
}

TValue *vm_try_call_meta(lua_State *L, TValue *func) {
  for (int step = 0; step < MAX_CALL_CHAIN; step++) {
    func = call_meta_step(L, func);
    if (is_function(func)) return func;
  }
  error_run(L, "'__call' chain too long; possible loop");
}

/* ---- recovering from errors ---------------------------------------------- */

/* Makes sure that the error's value is on top. */
static void push_error_value(lua_State *L, int status) {
  if (status == LUA_ERRMEM) {
    set_string(L->top, L->domain->memory_error);
    L->top++;
  } else if (status == LUA_ERRERR) {
    set_string(L->top, string_from_c(L, "error in error handling"));
    L->top++;
  }
}

/* Returns the frame that catches the error, or NULL. Each of several nested Runs searches
   its own frames only. */
static CallInfo *find_catch(const Run *run, lua_State *L) {
  CallInfo *end = L == run->jump.L ? run->boundary : &L->base_ci;
  for (CallInfo *ci = run->jump.searched != NULL ? run->jump.searched : L->ci; ci != end;
       ci = ci->prev)
    if (ci->status & (CALL_PCALL | CALL_PROTECTED_C)) return ci;
  return NULL;
}

static int resume_at_catch(Run *run, lua_State *L, CallInfo *ci, int status) {
  L->ci = ci;
  L->ncalls_nonyieldable = L == run->jump.L ? run->nonyieldable : 0;
  vm_set_current(L->domain, L);
  if (ci->status & CALL_PROTECTED_C)
    ci->status = (ci->status & ~CALL_RECOVERED_MASK) | CALL_SET_RECOVERED(status);
  return vm_execute(run, L, ENTER_UNWIND, NULL, 0);
}

/* Makes L the current thread, and has it remembered: while other threads ran, a
 * collection may have made it clean. A thread that runs has no write barrier. */
ALWAYS_INLINE void switch_to(Domain *d, lua_State *L) {
  vm_set_current(d, L);
  if (likely(L != NULL) && unlikely(L->gc & GC_CLEAN)) gc_thread_resumed(L, L);
}

/* Passes the error of run->jump.L, which no frame of this Run catches, on to the next
 * ErrorJump, in the thread that called. */
_Noreturn static void pass_on(Run *run, int status) {
  lua_State *L = run->jump.L, *caller = run->jump.caller;
  Domain *d = L->domain;
  d->error_jump = run->jump.prev;
  if (d->error_jump != NULL && caller == L) d->error_jump->searched = run->boundary;
  switch_to(d, caller);
  /* the code that catches such an error pushes its value itself */
  if (status == LUA_ERRMEM || status == LUA_ERRERR) L->top--;
  else if (caller != L) value_copy(caller->top++, L->top - 1);
  error_throw(caller, status);
}

/* Raises the error of a wrapped coroutine (coroutine.wrap) again in its caller, after the
 * coroutine's variables were closed. */
_Noreturn static void raise_from_wrap(lua_State *from, lua_State *co, int status) {
  status = lua_closethread(co, from);
  value_copy(from->top++, co->top - 1);
  co->top--;
  CallInfo *caller = from->ci->prev;
  const int line = is_lua_frame(caller) ? frame_current_line(caller) : -1;
  /* adds the position like luaL_where, unless the code is stripped */
  if (status != LUA_ERRMEM && is_string(from->top - 1) && line > 0) {
    char where[LUA_IDSIZE];
    const String *source = frame_closure(caller)->p->source;
    if (source != NULL) chunk_id(where, source->data, string_len(source));
    else strcpy(where, "?");
    string_format(from, "%s:%d: ", where, line);
    TValue swap;
    value_copy(&swap, from->top - 1);
    value_copy(from->top - 1, from->top - 2);
    value_copy(from->top - 2, &swap);
    vm_concat(from, 2);
  }
  error_with_handler(from);
}

/* Ends a coroutine that died of an uncaught error: its resumer gets false and the
   error. */
static int coroutine_died(Run *run, lua_State *co, int status) {
  lua_State *from = co->resumer;
  CallInfo *waiting = from->ci;
  co->status = (uint8_t)status;
  co->ci->top = co->top;
  if (co->instrumented & INSTRUMENT_SPANS) context_leave(co);
  vm_finish_coroutine(co);
  from->ncalls_nonyieldable = from == run->jump.L ? run->nonyieldable : 0;
  if (waiting->status & CALL_WRAP) raise_from_wrap(from, co, status);
  TValue *first = waiting->func;
  set_bool(first, false);
  value_copy(first + 1, co->top - 1);
  from->top = first + 2;
  gc_check_emergency(from);
  return vm_execute(run, from, ENTER_DONE, from->top - 2, 0);
}

/* Recovers from a yield that came by longjmp: the C activations between the coroutine's
 * frames are gone, so frames that would have returned to them return within the loop. */
static int recover_yield(Run *run, lua_State *L) {
  Domain *d = L->domain;
  if (L->run != run) { /* the coroutine was resumed in an outer Run */
    d->error_jump = run->jump.prev;
    error_throw(L, LUA_YIELD);
  }
  if (L->instrumented & INSTRUMENT_SPANS) context_leave(L);
  for (CallInfo *ci = L->ci; ci != &L->base_ci; ci = ci->prev)
    if (ci->status & CALL_FRESH) ci->status = (ci->status & ~(uint32_t)CALL_FRESH) | CALL_SPECIAL;
  L->ncalls_nonyieldable = 0;
  if (run->is_resume && L == run->jump.L) return LUA_YIELD;
  lua_State *from = L->resumer;
  int n = L->ci->u2.nyield;
  L->top -= n; /* a continuation finds its frame without the yielded values */
  vm_finish_coroutine(L);
  TValue *first = vm_deliver(from, L->top, n, &n);
  from->top = first + n;
  return vm_execute(run, from, ENTER_DONE, first, 0);
}

static int recover_in_run(Run *run) {
  Domain *d = run->jump.L->domain;
  lua_State *L = d->current;
  int status = run->jump.status;
  run->jump.status = LUA_OK;
  d->ncalls = run->ncalls;
  if (status == LUA_YIELD) return recover_yield(run, L);
  push_error_value(L, status);
  CallInfo *ci = find_catch(run, L);
  run->jump.searched = NULL;
  if (ci != NULL) return resume_at_catch(run, L, ci, status);
  if (L != run->jump.L) return coroutine_died(run, L, status);
  if (!run->is_resume) pass_on(run, status);
  L->status = (uint8_t)status;
  L->ci->top = L->top;
  if (L->instrumented & INSTRUMENT_SPANS) context_leave(L);
  return status;
}

/* ---- running ------------------------------------------------------------- */

/* Opens a Run, except for its _setjmp. `is_resume` says that the coroutine L is resumed
 * from C. */
ALWAYS_INLINE void open_run(lua_State *L, Run *run, bool is_resume) {
  Domain *d = L->domain;
  run->jump.L = L;
  run->jump.caller = d->current;
  run->boundary = is_resume ? &L->base_ci : L->ci;
  run->is_resume = is_resume;
  run->nonyieldable = L->ncalls_nonyieldable;
  run->ncalls = d->ncalls;
  run->jump.prev = d->error_jump;
  run->jump.status = LUA_OK;
  run->jump.searched = NULL;
  d->error_jump = &run->jump;
  switch_to(d, L);
  if (is_resume) L->run = run;
}

ALWAYS_INLINE void close_run(Domain *d, const Run *run) {
  d->error_jump = run->jump.prev;
  switch_to(d, run->jump.caller);
}

/* Runs the loop in a Run of its own. */
static int run_loop(lua_State *L, Entry entry, TValue *first, int nresults, bool is_resume) {
  Run run;
  open_run(L, &run, is_resume);
  int status;
  if (_setjmp(run.jump.buf) == 0) status = vm_execute(&run, L, entry, first, nresults);
  else status = recover_in_run(&run);
  close_run(L->domain, &run);
  return status;
}

int vm_run_resume(lua_State *L, TValue *first) {
  return run_loop(L, ENTER_RESUME, first, LUA_MULTRET, true);
}

_Noreturn static void c_stack_error(lua_State *L) {
  if (L->domain->ncalls >= MAX_C_CALLS + MAX_C_CALLS / 8) error_throw(L, LUA_ERRERR);
  error_run(L, "C stack overflow");
}

static void enter_c_level(lua_State *L) {
  uint32_t n = ++L->domain->ncalls;
  if (unlikely(n == MAX_C_CALLS || n >= MAX_C_CALLS + MAX_C_CALLS / 8)) c_stack_error(L);
}

static void call_c_from_c(lua_State *L, TValue *func, lua_CFunction f, int nresults) {
  int n = vm_enter_c(L, func, f, nresults, CALL_FRESH);
  CallInfo *ci = L->ci;
  if (unlikely(ci->status & CALL_TOCLOSE)) n = vm_close_c_frame(L, n);
  if (unlikely(L->instrumented & INSTRUMENT_WATCHED)) vm_call_left(L, L->top - n, n);
  L->ci = ci->prev;
  vm_move_results(L, ci->func, L->top - n, n, nresults);
}

void vm_call(lua_State *L, TValue *func, int nresults) {
  Domain *d = L->domain;
  enter_c_level(L);
  if (func->tag == TAG_C_FUNCTION && d->current == L) call_c_from_c(L, func, func->v.f, nresults);
  else run_loop(L, ENTER_CALL, func, nresults, false);
  d->ncalls--;
}

/* Calls a function without results in a Run that is open for its thread. */
static void call_in_run(Run *run, lua_State *L, TValue *func) {
  if (func->tag == TAG_C_FUNCTION) call_c_from_c(L, func, func->v.f, 0);
  else vm_execute(run, L, ENTER_CALL, func, 0);
}

/* Opens one Run for all functions. An error that a function catches itself arrives at the
 * _setjmp; recover_in_run then completes the function. It passes any other error on. */
void vm_call_each(lua_State *L, NextCall *next, void *ud) {
  Domain *d = L->domain;
  TValue *func = next(L, ud);
  if (func == NULL) return;
  enter_c_level(L);
  L->ncalls_nonyieldable++;
  Run run;
  open_run(L, &run, false);
  if (_setjmp(run.jump.buf) == 0) call_in_run(&run, L, func);
  else recover_in_run(&run);
  for (TValue *later; (later = next(L, ud)) != NULL;) call_in_run(&run, L, later);
  close_run(d, &run);
  L->ncalls_nonyieldable--;
  d->ncalls--;
}

void vm_call_request(lua_State *L, void *ud) {
  const CallRequest *r = ud;
  vm_call_noyield(L, r->func, r->nresults);
}

/* ---- protected calls from C ---------------------------------------------- */

int vm_protect_raw(lua_State *L, ProtectedFunction f, void *ud) {
  Domain *d = L->domain;
  uint32_t ncalls = d->ncalls, nonyieldable = L->ncalls_nonyieldable, npcalls = L->npcalls;
  ErrorJump jump;
  jump.L = L;
  jump.caller = d->current;
  jump.prev = d->error_jump;
  jump.status = LUA_OK;
  d->error_jump = &jump;
  switch_to(d, L);
  if (_setjmp(jump.buf) == 0) {
    f(L, ud);
  } else {
    d->ncalls = ncalls;
    L->ncalls_nonyieldable = nonyieldable;
    L->npcalls = npcalls;
  }
  d->error_jump = jump.prev;
  switch_to(d, jump.caller);
  return jump.status;
}

struct CloseRequest { ptrdiff_t level; int status; };

static void close_all(lua_State *L, void *ud) {
  struct CloseRequest *r = ud;
  vm_close(L, stack_restore(L, r->level), r->status, false);
}

TValue *vm_close(lua_State *L, TValue *level, int status, bool yieldable) {
  ptrdiff_t off = stack_save(L, level);
  for (TValue *func; (func = meta_prepare_close(L, stack_restore(L, off),
                                                status == LUA_OK ? NULL : L->top - 1)) != NULL;) {
    if (yieldable) vm_call(L, func, 0);
    else vm_call_noyield(L, func, 0);
  }
  return stack_restore(L, off);
}

int vm_try_close(lua_State *L, ptrdiff_t level, int status) {
  struct CloseRequest r = {level, status};
  return vm_protect_raw(L, close_all, &r);
}

/* Closes what is pending down to `level` after an error; an error in a __close replaces
 * the error before it. Leaves the final error at `level`, with the top above it. */
static int close_protected(lua_State *L, ptrdiff_t level, int status, CallInfo *ci,
                           uint8_t allow_hook) {
  push_error_value(L, status);
  for (;;) {
    int again = vm_try_close(L, level, status);
    L->ci = ci;
    L->allow_hook = allow_hook;
    if (again == LUA_OK) break;
    status = again;
    push_error_value(L, status);
  }
  TValue *at = stack_restore(L, level);
  value_copy(at, L->top - 1);
  L->top = at + 1;
  return status;
}

int vm_protect(lua_State *L, ProtectedFunction f, void *ud, ptrdiff_t old_top, ptrdiff_t errfunc) {
  CallInfo *ci = L->ci;
  uint8_t allow_hook = L->allow_hook;
  ptrdiff_t old_errfunc = L->errfunc;
  L->errfunc = errfunc;
  int status = vm_protect_raw(L, f, ud);
  if (unlikely(status != LUA_OK)) {
    L->ci = ci;
    L->allow_hook = allow_hook;
    status = close_protected(L, old_top, status, ci, allow_hook);
    stack_shrink(L);
    gc_check_emergency(L);
  }
  L->errfunc = old_errfunc;
  return status;
}

/* ---- C functions that close variables ------------------------------------ */

/* Closes the pending slots of a C frame. If a __close handler yields, the C activation
 * that closes the slots is gone; the loop then calls this function again for the frame,
 * which is marked CALL_CLOSING, to close the rest. */
int vm_close_c_frame(lua_State *L, int nresults) {
  CallInfo *ci = L->ci;
  ci->u2.nres = nresults;
  ci->status |= CALL_CLOSING;
  vm_close(L, ci->func + 1, LUA_OK, true);
  ci->status &= ~(uint32_t)CALL_CLOSING;
  return nresults;
}
