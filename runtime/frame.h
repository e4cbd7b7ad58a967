/* SPDX-License-Identifier: MIT */
/* runtime/frame.h: one activation of a function (CallInfo). thread.c makes the frames,
 * and the interpreter fills them. */
#ifndef SAROS_RUNTIME_FRAME_H
#define SAROS_RUNTIME_FRAME_H

#include "object.h"

/* Bits of CallInfo.status: CALL_STATUS(name, meaning) */
#define CALL_STATUSES(CALL_STATUS) \
  CALL_STATUS(C, "a C function (or a native frame), not a Lua function") \
  CALL_STATUS(FRESH, "the interpreter loop was entered from C for this frame: leave it on return") \
  CALL_STATUS(HOOKED, "running a debug hook") \
  CALL_STATUS(TAIL, "was tail-called") \
  CALL_STATUS(PROTECTED_C, "C frame of lua_pcallk with a continuation (yieldable pcall)") \
  CALL_STATUS(FINALIZER, "running a finalizer") \
  CALL_STATUS(TRANSFER, "hook has transfer information") \
  CALL_STATUS(CLOSING, "the function (Lua's or C's) closes to-be-closed variables on a return") \
  CALL_STATUS(PCALL, "native frame of pcall/xpcall run inside the loop") \
  CALL_STATUS(RESUME, "native frame of coroutine.resume / wrap run inside the loop") \
  CALL_STATUS(YIELD, "native frame of a yield") \
  CALL_STATUS(BASE, "first frame of a coroutine") \
  CALL_STATUS(ALLOWHOOK, "original value of allow_hook, saved by pcall") \
  CALL_STATUS(WRAP, "with CALL_RESUME: errors propagate") \
  CALL_STATUS( \
      SPECIAL, \
      "on return there is more to do than to place the results: the caller is a native frame, or " \
      "waits inside an instruction for a metamethod, or this frame's func was shifted (varargs)") \
  CALL_STATUS(UNWIND, "CALL_PCALL frame that closes variables after an error") \
  CALL_STATUS(TOCLOSE, "C frame with pending to-be-closed slots") \
  CALL_STATUS(VARARG, "func was shifted up over the extra arguments") \
  CALL_STATUS(SCANNED, "not active since a minor collection scanned the stack (gc_thread.c); " \
                       "activating a frame sets its status again") \
  CALL_STATUS( \
      HOOK_YIELDED, \
      "a hook of this Lua frame yielded: its instruction is shown to hooks no second time") \
  CALL_STATUS(NEGATE, "waits for a __lt in place of __le: its result is negated") \
  CALL_STATUS(WATCHED, \
              "its entry was reported to the watcher of calls, its end was not (vm/watch.c)") \
  CALL_STATUS(NAMED, "its call is a span because others have named its function " \
                     "(vm/call_profile.c)") \
  CALL_STATUS(SPANS, "first frame of a coroutine that has open spans in the recording: its end " \
                     "is checked (vm/contexts.c)")

enum {
#define CALL_STATUS(name, meaning) CALL_BIT_##name,
  CALL_STATUSES(CALL_STATUS)
#undef CALL_STATUS
  CALL_BITS
};
enum {
#define CALL_STATUS(name, meaning) CALL_##name = 1 << CALL_BIT_##name,
  CALL_STATUSES(CALL_STATUS)
#undef CALL_STATUS
};
_Static_assert(CALL_BITS <= 24, "the status in which a frame recovers follows");

/* Error status with which a CALL_PROTECTED_C frame recovers, in bits 24-27. */
#define CALL_RECOVERED_MASK 0x0f000000u
#define CALL_RECOVERED(status) ((int)((status) >> 24 & 0xf))
#define CALL_SET_RECOVERED(err) ((uint32_t)(err) << 24)

/* One activation. Frames form a doubly linked list that is kept for reuse; each is a heap
 * part owned by the thread. */
struct CallInfo {
  TValue *func;  /* the function's slot; registers start at func + 1 */
  TValue *top;   /* limit of the registers (Lua) or of what a C function may push */
  CallInfo *prev, *next;
  union {
    struct {                   /* Lua functions */
      const Instruction *pc;   /* next instruction to run */
      const TValue *k;         /* constants of the function */
      uint32_t nextra;         /* number of extra (vararg) arguments */
    } lua;
    struct {                   /* C functions and native frames */
      union {
        lua_KFunction k;       /* continuation; NULL in a native frame without one */
        /* for readers, the function, until it sets its continuation */
        lua_CFunction running;
      };
      lua_KContext ctx;
      ptrdiff_t old_errfunc;
    } c;
  } u;
  union {
    uint32_t func_index;  /* stack index of the function that a yieldable pcall called */
    uint32_t npcalls;     /* for CALL_PCALL, the number of pcalls in progress below it */
    int32_t nyield;       /* number of values yielded */
    int32_t nres;         /* number of values being returned while variables are closed */
    struct { uint16_t first, count; } transfer; /* for call and return hooks */
  } u2;
  int32_t nresults;  /* number of results that the caller wants; -1 for all */
  uint32_t status;   /* CALL_* */
  uint32_t depth;    /* index in the list; 0 for base_ci */
  /* Incremented by each function that begins in this frame, tail calls included. For
   * readers in other processes (doc/INTROSPECTION.md). */
  uint32_t entries;
};

/* A frame is filled in a fixed order, so that readers in other processes
 * (doc/INTROSPECTION.md) never see a function in it that does not run there: first the
 * function (k, running), then the status, then `entries`. Last, the frame becomes the
 * current frame. The release stores keep the compiler from changing this order; on x86-64
 * they are plain moves. They have no acquire loads as partners: readers copy the memory
 * with process_vm_readv. */
#define frame_set_status(frame, bits) __atomic_store_n(&(frame)->status, (bits), __ATOMIC_RELEASE)
#define frame_publish(L, frame) __atomic_store_n(&(L)->ci, (frame), __ATOMIC_RELEASE)

#define is_lua_frame(ci) (!((ci)->status & CALL_C))
#define frame_closure(ci) as_lua_closure((ci)->func)

#endif
