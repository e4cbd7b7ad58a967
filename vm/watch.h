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
  /* the function was tail-called: it takes over the frame of its caller, which has just
     left */
  ENTRY_TAIL,
  ENTRY_OPEN  /* the function ran already when its thread was first seen in this watch */
} CallEntry;

typedef enum CallExit {
  EXIT_RETURN,  /* the function returns */
  EXIT_TAIL,    /* the function ends in a tail call */
  /* the frame was dropped: by an error, or because its coroutine or the state was
     closed */
  EXIT_UNWOUND,
  EXIT_STOP     /* the watch ends, the function continues */
} CallExit;

/* A watcher of the calls of a domain. Entries and exits nest exactly in each thread. The
 * thread has frame->depth - 1 frames below `frame`, all of them entered and not left. An
 * entry has no exit if its coroutine never runs again. Only at the entry does frame->func
 * hold the function: at the exit something else may be in its slot.
 *
 * Everything with a frame counts as a call: functions of Lua and C, pcall,
 * coroutine.resume, functions of coroutine.wrap, and coroutine.yield, which lasts until
 * its coroutine continues. `next` and the iterator of ipairs are called like others while
 * there is a watcher.
 *
 * All functions of a watcher are called on the domain's own thread, in the middle of
 * instructions. They may read values and frames, but must not call the API, allocate in
 * the heap, raise or collect. */
typedef struct CallWatcher {
  void (*entered)(struct CallWatcher *watcher, lua_State *L, CallInfo *frame, CallEntry how);
  void (*left)(struct CallWatcher *watcher, lua_State *L, CallInfo *frame, CallExit how);
  /* Thread `to` runs from now on: all entries and exits until the next switch are in
     it. */
  void (*switched)(struct CallWatcher *watcher, lua_State *from, lua_State *to);
} CallWatcher;

/* Begins a watch of the domain whose thread L runs: the frames of L and of the threads
 * that wait for it (watch_waiting) are entered as open. The frames of another coroutine
 * are entered when it runs next. Returns false if there is a watcher already. To be
 * called from a C function, or the host. */
bool watch_calls(lua_State *L, CallWatcher *watcher);
/* Ends the watch: the frames of L and of the threads that wait for it leave. To be called
   from a C function, or the host. */
void watch_calls_end(lua_State *L);
/* Returns the thread that waits for L, which runs or waits itself, or NULL if L is the
 * outermost. The thread waits because it resumed L, has L's variables closed, or runs a C
 * function that calls something in L. For the running thread *jump must be d->error_jump;
 * each call moves *jump on for the next one. */
struct ErrorJump;
lua_State *watch_waiting(lua_State *L, const struct ErrorJump **jump);

/* ---- for the interpreter ------------------------------------------------- */

/* Bits of lua_State.instrumented. */
/* the hook wants these events: LUA_MASKCALL ... LUA_MASKCOUNT */
#define INSTRUMENT_HOOKS 15u
#define INSTRUMENT_STEPS (LUA_MASKLINE | LUA_MASKCOUNT) /* events of instructions */
#define INSTRUMENT_CALLS 16u  /* the domain has a watcher of calls */
/* Calls and returns take their general paths. */
#define INSTRUMENT_GENERAL (INSTRUMENT_HOOKS | INSTRUMENT_CALLS)
/* Bits of contexts (vm/contexts.c), which are this thread's own. */
/* the thread was left with open spans; its next step is checked */
#define INSTRUMENT_LEFT 32u
#define INSTRUMENT_SPANS 64u  /* the thread has open spans; its yields are checked */
/* The main thread has had open spans; ends of spans are checked. No coroutine has this
   bit. */
#define INSTRUMENT_MAIN_SPANS 128u
#define INSTRUMENT_OWN (INSTRUMENT_LEFT | INSTRUMENT_SPANS | INSTRUMENT_MAIN_SPANS)
/* Calls and returns of C functions are reported. */
#define INSTRUMENT_WATCHED (INSTRUMENT_GENERAL | INSTRUMENT_LEFT)

/* Reports that the function of the frame L->ci, which has its arguments up to L->top,
 * begins. If the frame has CALL_TAIL, the function has taken the frame over. The stack
 * may move. */
void vm_call_entered(lua_State *L);
/* Reports that the frame L->ci ends with n values from `first` on, which lie below
 * L->top; returns where the values are afterwards, as the stack may move. The pc of a Lua
 * frame must have been stored. */
TValue *vm_call_left(lua_State *L, TValue *first, int n);

/* Recomputes L->instrumented and L->dispatch. To be called after a change of what these
 * depend on. */
void vm_update_dispatch(lua_State *L);

/* Updates L, which runs from now on, after a request to the domain, or if its calls are
 * watched. */
void vm_look_after_current(lua_State *L) COLD;
/* Makes L the current thread of the domain; L may be the current thread already and
 * continue in an outer frame. A request that arrives at that moment may have interrupted
 * only the thread that ran before. So this function tests for requests after it has
 * stored the running thread. */
ALWAYS_INLINE void vm_set_current(Domain *d, lua_State *L) {
  d->current = L;
  /* pairs with on_wake_signal (runtime/peer.c) in this thread, which reads d->current
     after the request was stored: here d->current is stored before the requests are
     read */
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  const uint32_t attention = __atomic_load_n(&d->peer->attention, __ATOMIC_RELAXED);
  if (unlikely(L != NULL && attention != 0)) vm_look_after_current(L);
}

#endif
