/* SPDX-License-Identifier: MIT */
/* runtime/runtime_hooks.h: calls from the runtime up to the layers above it. */
#ifndef SAROS_RUNTIME_RUNTIME_HOOKS_H
#define SAROS_RUNTIME_RUNTIME_HOOKS_H

#include "object.h"

#define FUNCTION_NAME_SIZE 128 /* bytes of the name of a function, its end included */

/* What the runtime does in the middle of a program. */
typedef enum Interlude { INTERLUDE_COLLECTOR, INTERLUDE_FINALIZERS, INTERLUDE_WAIT } Interlude;

struct Domain;
struct CallInfo;

/* Functions of upper layers that lower ones need; filled by the vm before use. */
typedef struct RuntimeHooks {
  /* Calls a finalizer: function and argument are on top of the stack; must not
   * raise (the vm turns errors into warnings). */
  void (*call_finalizer)(lua_State *L);
  /* Raises LUA_ERRRUN with the message, prefixed by "chunk:line:" when the current
   * function is Lua, after the message handler in force; does not return. */
  void (*raise_message)(lua_State *L, const char *msg);
  /* Reads or writes a number or boolean in a userdata of kind USERDATA_CDATA, without
   * allocating or raising; false: not one of these, its metamethod has to do it. NULL
   * until there is such userdata. */
  bool (*cdata_get)(const Userdata *u, const TValue *key, TValue *result);
  bool (*cdata_set)(const Userdata *u, const TValue *key, const TValue *value);
  /* Makes the interpreter check for requests to the domain (peer.h) before the next
   * instruction of L, the domain's running thread. Async-signal-safe. */
  void (*interrupt)(lua_State *L);
  /* Before the panic function: closes the variables pending on the thread, whose
   * error is on top; returns the status of the error that is then its only value. */
  int (*reset_thread)(lua_State *L, int status);
  /* What the sampler says of a frame (memprof_stack.c): the name of its function,
   * FUNCTION_NAME_SIZE bytes, its source, LUA_IDSIZE bytes, and the lines where it is defined,
   * 0: unknown. And where the instruction `pc` of a function stands; 0: unknown. Neither
   * allocates or raises. */
  void (*frame_name)(lua_State *L, CallInfo *frame, char *name, char *source, uint32_t *line,
                     uint32_t *last_line);
  void (*frame_place)(const Prototype *p, uint32_t pc, uint32_t *line, uint32_t *column);
  /* The innermost open span of the guest's: its id plus 1; 0: none. */
  uint16_t (*innermost_span)(const lua_State *L);
  /* Calls f without arguments and results where finalizers may run; returns its status, with
   * the error on top if it is none of LUA_OK. The second raises that again. */
  int (*call_protected)(lua_State *L, lua_CFunction f);
  void (*raise_again)(lua_State *L, int status);
  /* Frees, after the last finalizer, the memory of module ffi outside the heap; NULL
   * until it is opened. */
  void (*close_ffi)(void *ffi);
  void *ffi;
  /* The function that module ffi calls functions of C with, its first argument being one;
   * NULL until it is opened. Their name, and what tells them apart; NULL: it has none. */
  int (*ffi_call)(lua_State *L);
  const char *(*ffi_name)(const Userdata *u, const void **symbol);
  /* The profile of calls (vm/call_profile.h): an interlude begins or ends, NULL while there
   * is no profile; a safepoint, where it is asked for; the end of the domain. */
  void (*interlude)(struct Domain *d, Interlude what, bool begins);
  void (*profile_obey)(struct Domain *d);
  void (*profile_end)(struct Domain *d);
  /* The last stacks (vm/last_stack.h): a safepoint, or a collection, where they may be asked
   * for; something happened, for a reason of <eventring/stack.h>. NULL: nobody wants them. */
  void (*stack_obey)(struct Domain *d);
  /* A safepoint, when the lines of instructions are asked for (vm/noting.h). */
  void (*lines_obey)(struct Domain *d);
  void (*stack_note)(struct Domain *d, int reason, int64_t value);
} RuntimeHooks;

#endif
