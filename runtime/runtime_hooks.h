/* SPDX-License-Identifier: MIT */
/* runtime/runtime_hooks.h: calls from the runtime up to the layers above it. */
#ifndef SAROS_RUNTIME_RUNTIME_HOOKS_H
#define SAROS_RUNTIME_RUNTIME_HOOKS_H

#include "object.h"

#define FUNCTION_NAME_SIZE 128 /* bytes of the name of a function, with the final zero */

/* Work that the runtime does in the middle of a program. */
typedef enum Interlude { INTERLUDE_COLLECTOR, INTERLUDE_FINALIZERS, INTERLUDE_WAIT } Interlude;

struct Domain;
struct CallInfo;

/* Functions of upper layers that lower ones need; filled by the vm before use. */
typedef struct RuntimeHooks {
  /* Calls a finalizer: the function and its argument are on top of the stack. Must not
   * raise (the vm turns errors into warnings). */
  void (*call_finalizer)(lua_State *L);
  /* Raises LUA_ERRRUN with the message, after the message handler in force; does not
   * return. If the current function is a Lua function, "chunk:line:" is put before the
   * message. */
  void (*raise_message)(lua_State *L, const char *msg);
  /* Reads or writes a number or boolean in a userdata of kind USERDATA_CDATA, without
   * allocating or raising. Returns false if the userdata holds another value, for which
   * its metamethod is to be called. NULL until there is such userdata. */
  bool (*cdata_get)(const Userdata *u, const TValue *key, TValue *result);
  bool (*cdata_set)(const Userdata *u, const TValue *key, const TValue *value);
  /* Makes the interpreter check for requests to the domain (peer.h) before the next
   * instruction of L, the domain's running thread. Async-signal-safe. */
  void (*interrupt)(lua_State *L);
  /* Closes the variables pending on the thread, whose error is on top, before the panic
   * function is called. Returns the status of the error, which is then the only value on
   * the thread's stack. */
  int (*reset_thread)(lua_State *L, int status);
  /* Describe a frame to the sampler (memprof_stack.c). frame_name writes the name of the
   * frame's function (FUNCTION_NAME_SIZE bytes), its source (LUA_IDSIZE bytes), and the
   * lines where it is defined, 0 if unknown. frame_position gives the line and column of
   * the instruction `pc` of a function, 0 if unknown. Neither allocates or raises. */
  void (*frame_name)(lua_State *L, CallInfo *frame, char *name, char *source, uint32_t *line,
                     uint32_t *last_line);
  void (*frame_position)(const Prototype *p, uint32_t pc, uint32_t *line, uint32_t *column);
  /* Returns 1 + the id of the guest's innermost open span, or 0. */
  uint16_t (*innermost_span)(const lua_State *L);
  /* call_protected calls f without arguments and results where finalizers may run. It
   * returns the status, with the error on top unless that is LUA_OK. raise_again raises
   * this error again. */
  int (*call_protected)(lua_State *L, lua_CFunction f);
  void (*raise_again)(lua_State *L, int status);
  /* Frees, after the last finalizer, the memory of module ffi outside the heap. NULL
   * until the module is opened. */
  void (*close_ffi)(void *ffi);
  void *ffi;
  /* The function with which module ffi calls C functions; its first argument is the C
   * function. NULL until the module is opened. ffi_name returns the name of a C function,
   * or NULL if it has none; *symbol tells C functions apart. */
  int (*ffi_call)(lua_State *L);
  const char *(*ffi_name)(const Userdata *u, const void **symbol);
  /* The profile of calls (vm/call_profile.h). interlude is called when an interlude
   * begins or ends; it is NULL while there is no profile. profile_obey is called at a
   * safepoint if the profile is asked for, profile_end at the end of the domain. */
  void (*interlude)(struct Domain *d, Interlude what, bool begins);
  void (*profile_obey)(struct Domain *d);
  void (*profile_end)(struct Domain *d);
  /* The last stacks (vm/last_stack.h). stack_obey is called at a safepoint or a
   * collection if a stack may be asked for. stack_note writes a stack for a reason from
   * <eventring/stack.h>. Both are NULL if nobody wants stacks. */
  void (*stack_obey)(struct Domain *d);
  /* Called at a safepoint if the lines of instructions are asked for (vm/noting.h). */
  void (*lines_obey)(struct Domain *d);
  void (*stack_note)(struct Domain *d, int reason, int64_t value);
} RuntimeHooks;

#endif
