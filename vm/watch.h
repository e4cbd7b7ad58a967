/* SPDX-License-Identifier: MIT */
/* vm/watch.h: watching the interpreter (design: top of watch.c). */
#ifndef SAROS_VM_WATCH_H
#define SAROS_VM_WATCH_H

#include "domain.h"
#include "safe_point.h"
#include "thread.h"

/* ---- watchers of calls --------------------------------------------------- */

typedef enum CallEntry {
  ENTRY_CALL, /* the function was called */
  ENTRY_TAIL, /* tail-called: it takes the frame of the one that has just left */
  ENTRY_OPEN  /* it ran already when its thread was first seen in this watch */
} CallEntry;

typedef enum CallExit {
  EXIT_RETURN,  /* the function returns */
  EXIT_TAIL,    /* it ends in a tail call */
  EXIT_UNWOUND, /* the frame is gone, by an error, or as its coroutine or the state was closed */
  EXIT_STOP     /* the watch ends, the function goes on */
} CallExit;

/* What a watcher of the calls of a domain does. Entries and exits nest exactly in each
 * thread: frame->depth - 1 is the number of frames that the thread has below this one,
 * all of them entered and not left. An entry has no exit if its coroutine never runs
 * again. Only at the entry does frame->func hold the function: at the exit something else
 * may be in its slot.
 *
 * Everything with a frame counts as a call: functions of Lua and C, pcall,
 * coroutine.resume, functions of coroutine.wrap, and coroutine.yield, which lasts until
 * its coroutine goes on. `next` and the iterator of ipairs are called like others while
 * there is a watcher.
 *
 * All are called on the domain's own thread, in the middle of instructions: they may read
 * values and frames, but must not call the API, allocate in the heap, raise or
 * collect. */
typedef struct CallWatcher {
  void (*entered)(struct CallWatcher *watcher, lua_State *L, CallInfo *frame, CallEntry how);
  void (*left)(struct CallWatcher *watcher, lua_State *L, CallInfo *frame, CallExit how);
  /* Another thread runs from now on. All entries and exits until the next one are in
     it. */
  void (*switched)(struct CallWatcher *watcher, lua_State *from, lua_State *to);
} CallWatcher;

/* Begins a watch of the domain whose thread L runs: the frames of L and of those that
 * wait for it (watch_waiting) are entered as open; those of other coroutines when they
 * run next. false: there is a watcher already. From a C function, or the host. */
bool watch_calls(lua_State *L, CallWatcher *watcher);
/* Ends it: the frames of L and of those that wait for it leave. Likewise. */
void watch_calls_end(lua_State *L);
/* The thread that waits for L, which runs or waits itself: it resumed L, or has L's
 * variables closed, or a function of C calls something in L; NULL: L is the outermost.
 * *jump is d->error_jump for the thread that runs, and goes along. */
struct ErrorJump;
lua_State *watch_waiting(lua_State *L, const struct ErrorJump **jump);

/* ---- for the interpreter ------------------------------------------------- */

/* Bits of lua_State.instrumented. */
#define INSTRUMENT_HOOKS 15u  /* the hook wants these events: LUA_MASKCALL ... LUA_MASKCOUNT */
#define INSTRUMENT_STEPS (LUA_MASKLINE | LUA_MASKCOUNT) /* of them, those of single instructions */
#define INSTRUMENT_CALLS 16u  /* the domain has a watcher of calls */
/* Calls and returns take their general paths. */
#define INSTRUMENT_GENERAL (INSTRUMENT_HOOKS | INSTRUMENT_CALLS)
/* ... of contexts (vm/contexts.c), which are this thread's own. */
#define INSTRUMENT_LEFT 32u   /* it was left with open spans: its next step is checked */
#define INSTRUMENT_SPANS 64u  /* it has open spans: its yields are checked */
/* The main thread has had open spans: ends of spans are checked. No coroutine has it. */
#define INSTRUMENT_MAIN_SPANS 128u
#define INSTRUMENT_OWN (INSTRUMENT_LEFT | INSTRUMENT_SPANS | INSTRUMENT_MAIN_SPANS)
/* Calls and returns of C are reported. */
#define INSTRUMENT_WATCHED (INSTRUMENT_GENERAL | INSTRUMENT_LEFT)

/* The function of the frame L->ci, which has its arguments up to L->top, begins. With
 * CALL_TAIL it has taken the frame over. The stack may move. */
void vm_call_entered(lua_State *L);
/* The frame L->ci ends with n values from `first` on, which lie below L->top; returns
 * where they are then, as the stack may move. The frame of a Lua function has its pc. */
TValue *vm_call_left(lua_State *L, TValue *first, int n);

/* Recomputes L->instrumented and L->dispatch; to be called after a change of what they
 * depend on. */
void vm_update_dispatch(lua_State *L);

/* There is a request to the domain, or its calls are watched: updates L, which runs from
 * now on. */
void vm_look_after_current(lua_State *L) COLD;
/* Another thread (coroutine) of the domain runs from now on, or the same one goes on in
 * an outer frame. A request that arrives at that moment may have been noted in the former
 * one: this checks after the running thread has been stored. */
ALWAYS_INLINE void vm_set_current(Domain *d, lua_State *L) {
  d->current = L;
  atomic_signal_fence(memory_order_seq_cst); /* pairs with the handler, which reads d->current */
  const uint32_t attention = atomic_load_explicit(&d->peer->attention, memory_order_relaxed);
  if (unlikely(L != NULL && attention != 0)) vm_look_after_current(L);
}

#endif
