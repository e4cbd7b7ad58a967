/* SPDX-License-Identifier: MIT */
/* runtime/thread.h: a thread of a domain (a coroutine: lua_State), its stack and its frames
 * (design: top of thread.c).
 *
 * Only the OS thread that runs a domain touches its lua_States.
 */
#ifndef SAROS_RUNTIME_THREAD_H
#define SAROS_RUNTIME_THREAD_H

#include "frame.h"
#include "object.h"

/* Slots of a new thread: what its host may push without a check (LUA_MINSTACK), and the
 * function. That is enough for a Lua function that calls Lua functions and yields. */
#define BASIC_STACK_SIZE 24
#define CALLING_STACK_SIZE 40 /* of one that has grown: C functions need LUA_MINSTACK more */
#define EXTRA_STACK 8        /* slots beyond stack_last, for calls of metamethods without a check */
/* Slots that a stack may grow to. (LUAI_MAXSTACK itself is part of the ABI.) */
#ifdef SAROS_STRESS
#define STACK_LIMIT 40000
#define STACK_WINDOW 16
#else
#define STACK_LIMIT LUAI_MAXSTACK
#define STACK_WINDOW 1024    /* slots beyond those in use that stack_last is away, at least */
#endif
#define MAX_C_CALLS 200      /* nested C calls, parser levels and resumes */

/* A thread (coroutine).  LUA_EXTRASPACE bytes lie before it. */
struct lua_State {
  GCHEADER;
  uint8_t status;        /* LUA_OK, LUA_YIELD or an error: the coroutine's own */
  uint8_t allow_hook;
  uint8_t hook_mask;     /* as set by lua_sethook */
  uint8_t instrumented;  /* INSTRUMENT_*: what watches this thread, 0: nothing (vm/watch.h) */
  TValue *top;           /* first free slot */
  Domain *domain;
  CallInfo *ci;          /* current activation */
  /* up to where the stack is used without a check, EXTRA_STACK slots more not counted; all
   * beyond is nil. In a large stack it is below stack_end: so a collection need not scan
   * the rest */
  TValue *stack_last;
  TValue *stack_end;     /* limit of the stack: EXTRA_STACK slots follow */
  TValue *stack;
  UpValue *open_upvalues;
  /* highest slot with a pending to-be-closed variable; `extra` of each holds the
     distance to the one below */
  TValue *tbc_list;
  lua_State *resumer;    /* the thread that resumed this coroutine; NULL when not running */
  /* table of the interpreter's handlers in force (vm/watch.h); volatile in effect:
     reread at every back-edge */
  const void *const *dispatch;
  ptrdiff_t errfunc;     /* stack offset of the message handler in force; 0: none */
  lua_Hook hook;
  int base_hook_count, hook_count;
  uint32_t ncalls_nonyieldable; /* C calls in progress that cannot be yielded across */
  uint32_t npcalls;      /* nested pcall frames run in the loop */
  uint32_t nci;          /* frames in the list */
  /* slot from which on a piece of a minor collection has left some; 0: it has not */
  uint32_t unscanned;
  uint32_t reach;        /* slots that C frames may use without a check (gc_thread.c) */
  uint32_t resume_depth; /* coroutines nested below this one, itself included */
  /* activation of the interpreter loop that resumed this coroutine (vm/call.c); NULL
     when suspended */
  struct Run *run;
  int old_pc;            /* last instruction that a line hook saw */
  /* Domain.watch when its frames were last made known to the watcher of calls */
  uint32_t watch;
  lua_State *next_remembered; /* in Gc.remembered_threads */
  /* For those who ask which coroutines there are (doc/INTROSPECTION.md): */
  Prototype *created_in; /* the Lua function that created it; NULL: none did */
  Prototype *resumed_in; /* that last resumed it; NULL: none did */
  uint32_t created_at, resumed_at; /* indices in these of the words behind the calls */
  /* While GC_CLEAN is set: it last ran between these two moments (GcTicks). While it is young,
     ran_before is the number of minor collections at its creation. */
  uint32_t ran_after, ran_before;
  CallInfo base_ci;      /* the frame of the C host */
};

/* ---- threads and stacks (thread.c) --------------------------------------- */

/* A thread of the same domain, which nothing refers to yet. May raise. */
lua_State *thread_new(lua_State *L);

/* Making a thread in steps, as domain_new does it for the main thread */
size_t thread_bytes(void);                            /* of the object with what precedes it */
lua_State *thread_prepare(Domain *d, void *memory);   /* without a stack */
bool thread_make_stack(lua_State *L);

/* Returns the innermost frame of a Lua function, from ci on outwards; NULL: there is none. */
ALWAYS_INLINE const CallInfo *thread_lua_frame(const CallInfo *ci) {
  while (ci != NULL && !is_lua_frame(ci)) ci = ci->prev;
  return ci;
}
/* Notes the Lua function that is `caller`, or the innermost one outside of it, and where it is. */
ALWAYS_INLINE void thread_note_site(const CallInfo *caller, Prototype **in, uint32_t *at) {
  const CallInfo *ci = thread_lua_frame(caller);
  if (unlikely(ci == NULL)) return;
  Prototype *p = frame_closure(ci)->p;
  *in = p;
  *at = (uint32_t)(ci->u.lua.pc - p->code);
}
/* Notes that `caller` resumes co. To be called before gc_thread_resumed, which stands for the write
 * barrier. */
ALWAYS_INLINE void thread_note_resumer(lua_State *co, const CallInfo *caller) {
  thread_note_site(caller, &co->resumed_in, &co->resumed_at);
}

/* Stack of a thread */
/* room for n more; raises "stack overflow"; see stack_lacks */
void stack_grow(lua_State *L, int n);
/* the same where rules 1 and 2 of gc.h hold: out of memory is what everything was collected for */
void stack_grow_or_collect(lua_State *L, int n);
/* the same without raising: false beyond the limit or out of memory */
bool stack_try_grow(lua_State *L, int n);
/* For the collector: makes stack_last follow the highest slot that may be used without a
 * check. */
void stack_narrow_window(lua_State *L, TValue *used);
void stack_shrink(lua_State *L);       /* when far more is allocated than in use */
/* next frame after L->ci, allocating it; rules 1 and 2 of gc.h hold, as for stack_grow_or_collect */
CallInfo *callinfo_extend(lua_State *L);
#define stack_save(L, p) ((char *)(p) - (char *)(L)->stack)
#define stack_restore(L, off) ((TValue *)((char *)(L)->stack + (off)))
/* May n more values be pushed? If not, and each time in a stress build, stack_grow is to
 * be called: the stack moves. */
#ifdef SAROS_STRESS
#define stack_lacks(L, n) ((void)(n), true)
#define stack_ends_before(L, limit) ((void)(limit), true)
#else
#define stack_lacks(L, n) unlikely((L)->stack_last - (L)->top <= (n))
/* the same for slots up to limit */
#define stack_ends_before(L, limit) unlikely((limit) >= (L)->stack_last)
#endif
#define stack_check(L, n) do { if (stack_lacks(L, n)) stack_grow(L, n); } while (0)

#endif
