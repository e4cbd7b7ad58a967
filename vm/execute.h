/* SPDX-License-Identifier: MIT */
/* vm/execute.h: the interpreter loop, for calls and coroutines. */
#ifndef SAROS_VM_EXECUTE_H
#define SAROS_VM_EXECUTE_H

#include "throw.h"

/* One activation of vm_execute on the C stack, and the point to which errors in it
 * unwind. Frames of several coroutines can belong to one Run: a coroutine resumed from
 * guest code runs in the loop of its resumer. */
typedef struct Run {
  /* the first member, because d->error_jump points to it; its L is the thread for which
     the Run was entered */
  ErrorJump jump;
  /* frame of L below the one for which the Run was entered; unwinding stops there */
  CallInfo *boundary;
  bool is_resume;      /* entered by lua_resume; yields and errors of L end the Run */
  uint32_t nonyieldable; /* nonyieldable of L at the entry */
  uint32_t ncalls;     /* ncalls of the domain at the entry */
} Run;

typedef enum Entry {
  /* call the function at `first` with the arguments above it, as a frame with
     CALL_FRESH */
  ENTER_CALL,
  ENTER_RESUME, /* L was suspended: the values from `first` to the top are passed in */
  /* L->ci, a native frame, is complete with the values from `first` to the top */
  ENTER_DONE,
  /* L->ci, a CALL_PCALL or CALL_PROTECTED_C frame, catches the error on top of the
     stack */
  ENTER_UNWIND,
} Entry;

/* Runs until the fresh frame returns (LUA_OK: results placed) or, if run->is_resume,
 * until run->L yields (LUA_YIELD). */
int vm_execute(Run *run, lua_State *L, Entry entry, TValue *first, int nresults);

/* Handler tables, set by vm_dispatch_init (watch.c chooses the one in force). */
HIDDEN extern const void *const *vm_dispatch_normal;
/* calls and returns take the paths that report them */
HIDDEN extern const void *const *const vm_dispatch_calls;
/* calls and returns take those paths as well, and each instruction is checked before it
   runs */
HIDDEN extern const void *const *const vm_dispatch_each;
/* each instruction is noted in its frame before it runs (noting.c) */
HIDDEN extern const void *const *const vm_dispatch_noting;
void vm_dispatch_init(void);

#endif
