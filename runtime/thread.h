/* SPDX-License-Identifier: MIT */
/* runtime/thread.h: a thread of a domain (a coroutine: lua_State), its stack and its
 * frames (design: top of thread.c).
 *
 * Only the OS thread that runs a domain touches its lua_States.
 */
#ifndef SAROS_RUNTIME_THREAD_H
#define SAROS_RUNTIME_THREAD_H

#include "frame.h"
#include "object.h"

/* Slots of a new thread: LUA_MINSTACK slots that its host may use without a check, and
 * the function. That is enough for a Lua function that calls Lua functions and yields. */
#define BASIC_STACK_SIZE 24
/* slots of a thread that has grown: C functions need LUA_MINSTACK more */
#define CALLING_STACK_SIZE 40
#define EXTRA_STACK 8 /* slots beyond stack_last, for metamethod calls without a check */
/* The most slots of a stack. (LUAI_MAXSTACK itself is part of the ABI.) */
#ifdef SAROS_STRESS
#define STACK_LIMIT 40000
#define STACK_WINDOW 16
#else
#define STACK_LIMIT LUAI_MAXSTACK
#define STACK_WINDOW 1024    /* least number of slots from those in use to stack_last */
#endif
#define MAX_C_CALLS 200      /* nested C calls, parser levels and resumes */

/* A thread (coroutine). LUA_EXTRASPACE bytes lie before it. */
struct lua_State {
  GCHEADER;
  uint8_t status;        /* the coroutine's own status: LUA_OK, LUA_YIELD or an error */
  uint8_t allow_hook;
  uint8_t hook_mask;     /* as set by lua_sethook */
  /* what watches this thread: INSTRUMENT_*, or 0 (vm/watch.h) */
  uint8_t instrumented;
  TValue *top;           /* first free slot */
  Domain *domain;
  CallInfo *ci;          /* current activation */
  /* the stack may be used without a check up to here, and EXTRA_STACK slots further; all
   * slots beyond are nil. In a large stack it is below stack_end, so that a collection
   * need not scan the rest */
  TValue *stack_last;
  TValue *stack_end;     /* limit of the stack: EXTRA_STACK slots follow */
  TValue *stack;
  UpValue *open_upvalues;
  /* highest slot with a pending to-be-closed variable; the `extra` of each such slot
   * holds the distance to the next one below */
  TValue *tbc_list;
  lua_State *resumer;    /* the thread that resumed it; NULL when it is not running */
  /* table of the interpreter's handlers in force (vm/watch.h); in effect volatile: read
   * again at every back-edge */
  const void *const *dispatch;
  /* the context of the thread while it has INSTRUMENT_SPANS or INSTRUMENT_MAIN_SPANS, and
   * not INSTRUMENT_LEFT, otherwise &context_none (vm/contexts.h) */
  struct Context *spans;
  ptrdiff_t errfunc;     /* stack offset of the message handler in force, or 0 */
  lua_Hook hook;
  int base_hook_count, hook_count;
  uint32_t ncalls_nonyieldable; /* C calls in progress that cannot be yielded across */
  uint32_t npcalls;      /* nested pcall frames run in the loop */
  uint32_t nci;          /* frames in the list */
  /* first slot that a step of a minor collection left unscanned, or 0 */
  uint32_t unscanned;
  uint32_t reach;        /* slots that C frames may use without a check (gc_thread.c) */
  uint32_t resume_depth; /* number of nested coroutines, this one included */
  /* activation of the interpreter loop that resumed this coroutine (vm/call.c); NULL when
   * suspended */
  struct Run *run;
  int old_pc;            /* last instruction that a line hook saw */
  /* Domain.watch when the thread's frames were last reported to the watcher of calls */
  uint32_t watch;
  lua_State *next_remembered; /* next thread in Gc.remembered_threads */
  /* For tools that list coroutines (doc/INTROSPECTION.md): */
  Prototype *created_in; /* the Lua function that created the coroutine, or NULL */
  Prototype *resumed_in; /* the Lua function that last resumed the coroutine, or NULL */
  /* index of the code word after the call in created_in and in resumed_in */
  uint32_t created_at, resumed_at;
  /* While GC_CLEAN is set, the thread last ran between these two times (GcTicks). While
   * the thread is young, ran_before is the number of minor collections at its
   * creation. */
  uint32_t ran_after, ran_before;
  CallInfo base_ci;      /* the frame of the C host */
};

/* ---- threads and stacks (thread.c) --------------------------------------- */

/* Creates a thread of the same domain, to which nothing refers yet. May raise. */
lua_State *thread_new(lua_State *L);

/* Returns the bytes of a thread's object with the space before it. This is the first step
 * of making a thread in steps, as domain_new does for the main thread. */
size_t thread_bytes(void);
lua_State *thread_prepare(Domain *d, void *memory);   /* without a stack */
bool thread_make_stack(lua_State *L);

/* Returns the innermost frame of a Lua function, from ci outwards, or NULL if there is
 * none. */
ALWAYS_INLINE const CallInfo *thread_lua_frame(const CallInfo *ci) {
  while (ci != NULL && !is_lua_frame(ci)) ci = ci->prev;
  return ci;
}
/* Stores the Lua function of the frame `caller`, or of the innermost Lua frame outside of
 * it, and where it is. Stores nothing if there is none. */
ALWAYS_INLINE void thread_note_site(const CallInfo *caller, Prototype **in, uint32_t *at) {
  const CallInfo *ci = thread_lua_frame(caller);
  if (unlikely(ci == NULL)) return;
  Prototype *p = frame_closure(ci)->p;
  *in = p;
  *at = (uint32_t)(ci->u.lua.pc - p->code);
}
/* Stores that `caller` resumes co. To be called before gc_thread_resumed, which stands
 * for the write barrier. */
ALWAYS_INLINE void thread_note_resumer(lua_State *co, const CallInfo *caller) {
  thread_note_site(caller, &co->resumed_in, &co->resumed_at);
}

/* Makes room for n more slots; raises "stack overflow". See stack_lacks. */
void stack_grow(lua_State *L, int n);
/* Makes room as stack_grow does, where rules 1 and 2 of gc.h hold: collects everything
 * before it fails for lack of memory. */
void stack_grow_or_collect(lua_State *L, int n);
/* Makes room as stack_grow does, but without raising. Returns false beyond the limit or
 * when out of memory. */
bool stack_try_grow(lua_State *L, int n);
/* Makes stack_last follow the highest slot that may be used without a check. For the
 * collector. */
void stack_narrow_window(lua_State *L, TValue *used);
void stack_shrink(lua_State *L);       /* when far more is allocated than in use */
/* Makes the frame after L->ci. Rules 1 and 2 of gc.h hold, as for
 * stack_grow_or_collect. */
CallInfo *callinfo_extend(lua_State *L);
#define stack_save(L, p) ((char *)(p) - (char *)(L)->stack)
#define stack_restore(L, off) ((TValue *)((char *)(L)->stack + (off)))
/* Tells whether there is no room for n more values (or for slots up to a limit). If so,
 * and each time in a stress build, stack_grow is to be called: the stack moves. */
#ifdef SAROS_STRESS
#define stack_lacks(L, n) ((void)(n), true)
#define stack_ends_before(L, limit) ((void)(limit), true)
#else
#define stack_lacks(L, n) unlikely((L)->stack_last - (L)->top <= (n))
/* tells this for slots up to `limit` */
#define stack_ends_before(L, limit) unlikely((limit) >= (L)->stack_last)
#endif
#define stack_check(L, n) do { if (stack_lacks(L, n)) stack_grow(L, n); } while (0)

#endif
