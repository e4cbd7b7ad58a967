/* SPDX-License-Identifier: MIT */
/* vm/watch.c: the instrumented state of the interpreter.
 *
 * A thread is watched by its hook (hook.c) and by the watcher of calls of its domain
 * (watch.h). lua_State.instrumented says which of the two there are; it is 0 in the plain
 * state, which does nothing for watching. The rest follows from this word:
 *
 *  - The table of handlers. In the plain state it has the normal handlers. With single
 *    steps (line and count hooks), its handler checks each instruction before it runs.
 *    Otherwise calls and returns take their general paths, and all else has the normal
 *    handlers. (While lines are sampled from outside, its handler notes each instruction
 *    first, noting.c.)
 *  - The general paths, and calls from C, test the word. If a thread is watched,
 *    vm_call_entered and vm_call_left are the only way into and out of a call. Hooks see
 *    a pcall, resume or yield as a call of a C function, as in the reference. A pcall
 *    runs in the loop all the same. A resume or yield under a hook is called as a C
 *    function, unless it began before the hook was set; then its end is reported from the
 *    loop. Under a watcher all three run in the loop, so that a program behaves alike
 *    with and without a watcher.
 *
 * A coroutine that has open spans in the recording is marked in the same word
 * (contexts.c); the mark changes no table.
 *
 * The table of single steps is also in force briefly when there is a request to the
 * domain or a collection is due. This is not watching, and the word does not show it.
 *
 * Frames that were reported to the watcher are marked (CALL_WATCHED); they are the lowest
 * frames of their thread. So code that pushes or drops frames need not report it:
 *
 *  - Native frames are pushed without a report. The next event enters them first
 *    (enter_frames): the call of another function, a switch to another thread, or their
 *    own end.
 *  - An error drops frames without a report: L->ci is then a lower frame. All code
 *    where an error lands calls vm_set_current before a new frame can take the place of a
 *    dropped one, and vm_set_current makes the dropped frames leave (leave_dropped). The
 *    frames of a coroutine that died stay for tracebacks; they leave when another thread
 *    runs.
 *  - Frames that existed before the watch are entered when their thread first runs in the
 *    watch. Marks of an earlier watch, which Domain.watch distinguishes, are cleared
 *    then.
 *
 * vm_set_current has one test for all this and for requests: ATTENTION_WATCHED is in the
 * word of the requests, from the first watch of a domain on. (It stays there: threads
 * that did not run at the end of a watch still have its table, until they are updated.)
 */
#include "watch.h"

#include "contexts.h"
#include "execute.h"
#include "gc_inline.h"
#include "hook.h"
#include "primitives.h"
#include "throw.h"

/* ---- the state ----------------------------------------------------------- */

static const void *const *handlers_for(uint8_t instrumented, bool noting) {
  if (instrumented & INSTRUMENT_STEPS) return vm_dispatch_each;
  if (unlikely(noting)) return vm_dispatch_noting;
  return instrumented & INSTRUMENT_GENERAL ? vm_dispatch_calls : vm_dispatch_normal;
}

/* Recomputes L->instrumented and L->dispatch. A signal handler may interrupt this to set
 * a hook or to make a request (interrupt). So the mask is read again, and requests are
 * read last. */
void vm_update_dispatch(lua_State *L) {
  const volatile uint8_t *hook_mask = &L->hook_mask;
  uint8_t mask;
  do {
    mask = *hook_mask;
    L->instrumented = (uint8_t)(mask | (L->domain->watcher != NULL ? INSTRUMENT_CALLS : 0) |
                                (L->instrumented & INSTRUMENT_OWN));
    L->dispatch = handlers_for(L->instrumented, L->domain->noting);
    /* pairs with lua_sethook in a signal handler of this thread, which stores the mask
       and then calls this function: instrumented and dispatch are stored before the mask
       is read again */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  } while (*hook_mask != mask);
  if (vm_is_asked(L->domain) || gc_is_wanted(L->domain)) L->dispatch = vm_dispatch_each;
}

/* ---- the watcher of calls ------------------------------------------------ */

static void report_entry(lua_State *L, CallInfo *frame, CallEntry how) {
  CallWatcher *watcher = L->domain->watcher;
  frame->status |= CALL_WATCHED;
  watcher->entered(watcher, L, frame, how);
}

static void report_exit(lua_State *L, CallInfo *frame, CallExit how) {
  CallWatcher *watcher = L->domain->watcher;
  frame->status &= ~(uint32_t)CALL_WATCHED;
  watcher->left(watcher, L, frame, how);
}

/* Enters the frames of L that the watcher does not know, from the lowest. */
static void enter_frames(lua_State *L, CallEntry how) {
  CallInfo *known = L->ci;
  while (known != &L->base_ci && !(known->status & CALL_WATCHED)) known = known->prev;
  while (known != L->ci) report_entry(L, known = known->next, how);
}

/* Leaves the frames above `last` that the watcher knows, from the highest. */
static void leave_frames(lua_State *L, CallInfo *last, CallExit how) {
  CallInfo *frame = last;
  while (frame->next != NULL && (frame->next->status & CALL_WATCHED)) frame = frame->next;
  for (; frame != last; frame = frame->prev) report_exit(L, frame, how);
}

static void leave_dropped(lua_State *L) { leave_frames(L, L->ci, EXIT_UNWOUND); }

/* Prepares L for the watch, if L is seen for the first time in this watch. */
static void meet_thread(lua_State *L) {
  if (L->watch == L->domain->watch) return;
  L->watch = L->domain->watch;
  for (CallInfo *frame = L->base_ci.next; frame != NULL; frame = frame->next)
    frame->status &= ~(uint32_t)CALL_WATCHED;
  enter_frames(L, ENTRY_OPEN);
}

void vm_look_after_current(lua_State *L) {
  Domain *d = L->domain;
  lua_State *from = d->watched;
  vm_update_dispatch(L);
  if (d->watcher == NULL) return;
  if (L != from) {
    leave_dropped(from);
    /* the frames of a coroutine that died stay, for tracebacks */
    if (from->status > LUA_YIELD) leave_frames(from, &from->base_ci, EXIT_UNWOUND);
    else enter_frames(from, ENTRY_CALL);
    d->watched = L;
    d->watcher->switched(d->watcher, from, L);
    meet_thread(L);
  }
  leave_dropped(L);
}

lua_State *watch_waiting(lua_State *L, const ErrorJump **jump) {
  while (*jump != NULL && (*jump)->L == L) {
    lua_State *caller = (*jump)->caller;
    *jump = (*jump)->prev;
    if (caller != L) return caller;
  }
  return L->resumer;
}

bool watch_calls(lua_State *L, CallWatcher *watcher) {
  Domain *d = L->domain;
  rt_assert(d->current == L);
  if (d->watcher != NULL) return false;
  d->watch++;
  d->watcher = watcher;
  d->watched = L;
  __atomic_fetch_or(&d->peer->attention, ATTENTION_WATCHED, __ATOMIC_RELAXED);
  const ErrorJump *jump = d->error_jump;
  for (lua_State *waits = L; waits != NULL; waits = watch_waiting(waits, &jump)) {
    vm_update_dispatch(waits);
    meet_thread(waits);
  }
  return true;
}

void watch_calls_end(lua_State *L) {
  Domain *d = L->domain;
  rt_assert(d->current == L);
  if (d->watcher == NULL) return;
  enter_frames(L, ENTRY_CALL);
  const ErrorJump *jump = d->error_jump;
  for (lua_State *waits = L; waits != NULL; waits = watch_waiting(waits, &jump))
    if (waits->watch == d->watch) leave_frames(waits, &waits->base_ci, EXIT_STOP);
  d->watcher = NULL;
  jump = d->error_jump;
  for (lua_State *waits = L; waits != NULL; waits = watch_waiting(waits, &jump))
    vm_update_dispatch(waits);
}

/* ---- into and out of a call ---------------------------------------------- */

static void watch_entry(lua_State *L) {
  CallInfo *frame = L->ci;
  if (likely(frame->prev->status & CALL_WATCHED && !(frame->status & CALL_WATCHED))) {
    report_entry(L, frame, ENTRY_CALL);
  } else if (frame->status & CALL_WATCHED) {
    report_exit(L, frame, EXIT_TAIL);
    report_entry(L, frame, ENTRY_TAIL);
  } else {
    enter_frames(L, ENTRY_CALL);
  }
}

static void watch_exit(lua_State *L) {
  if (unlikely(!(L->ci->status & CALL_WATCHED)))
    enter_frames(L, ENTRY_CALL); /* a native frame may not be entered yet */
  report_exit(L, L->ci, EXIT_RETURN);
}

static bool is_watched(const lua_State *L) {
  return (L->instrumented & INSTRUMENT_CALLS) && L->domain->watcher != NULL;
}

static NOINLINE void hook_call(lua_State *L) {
  CallInfo *ci = L->ci;
  if (!is_lua_frame(ci)) {
    vm_hook(L, LUA_HOOKCALL, -1, 1, (int)(L->top - ci->func) - 1);
    return;
  }
  const Prototype *p = frame_closure(ci)->p;
  ci->u.lua.pc = p->code + 1; /* as if in the first instruction */
  ci->u.lua.nextra = 0;
  L->old_pc = 0;
  vm_hook(L, ci->status & CALL_TAIL ? LUA_HOOKTAILCALL : LUA_HOOKCALL, -1, 1, p->nparams);
}

void vm_call_entered(lua_State *L) {
  if (unlikely(L->instrumented & INSTRUMENT_LEFT)) context_continue(L);
  if (is_watched(L)) watch_entry(L);
  if (unlikely(L->hook_mask != 0) && L->allow_hook) hook_call(L);
}

/* Moves the results of a native frame to where hooks expect them. The results are in the
 * slot of the function and above. For hooks they go to their slots in the reference, and
 * the function returns to its slot. (A function of coroutine.wrap stays in its slot, see
 * vm_deliver.) */
static TValue *show_results(lua_State *L, const CallInfo *ci, TValue *first, int n) {
  int at = 2;
  PrimitiveId id = PRIM_RESUME;
  if (ci->status & CALL_PCALL) {
    at = 2 * (int)ci->u.c.ctx + (first->tag == TAG_TRUE ? -1 : 1);
    id = ci->u.c.ctx == 1 ? PRIM_PCALL : PRIM_XPCALL;
  } else if ((ci->status & (CALL_RESUME | CALL_WRAP)) != CALL_RESUME) {
    return first;
  }
  const ptrdiff_t from = first - ci->func;
  stack_check(L, at);
  for (int i = n; i-- > 0;) value_copy(ci->func + at + i, ci->func + from + i);
  set_primitive(ci->func, &vm_primitives[id]);
  L->top = ci->func + at + n;
  return ci->func + at;
}

/* Calls the hook for the return event; the caller's line hook continues from where it
   was. */
static NOINLINE TValue *hook_return(lua_State *L, TValue *first, int n) {
  CallInfo *ci = L->ci, *caller = ci->prev;
  first = show_results(L, ci, first, n);
  const ptrdiff_t off = stack_save(L, first);
  ci->status &= ~(uint32_t)CALL_PCALL; /* the pcall does not catch an error of the hook */
  vm_hook(L, LUA_HOOKRET, -1, (int)(first - ci->func), n);
  first = stack_restore(L, off);
  if (is_lua_frame(caller)) {
    const Instruction *code = frame_closure(caller)->p->code;
    L->old_pc = (int)(caller->u.lua.pc - code) - 1;
  }
  return first;
}

TValue *vm_call_left(lua_State *L, TValue *first, int n) {
  if (unlikely(L->instrumented & INSTRUMENT_LEFT)) context_continue(L);
  if (unlikely(L->hook_mask != 0) && L->allow_hook) first = hook_return(L, first, n);
  if (is_watched(L)) watch_exit(L);
  return first;
}
