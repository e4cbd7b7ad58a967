/* SPDX-License-Identifier: MIT */
/* runtime/runtime_hooks.h: calls from the runtime up to the layers above it. */
#ifndef SAROS_RUNTIME_RUNTIME_HOOKS_H
#define SAROS_RUNTIME_RUNTIME_HOOKS_H

#include "object.h"

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
  /* Frees, after the last finalizer, the memory of module ffi outside the heap; NULL
   * until it is opened. */
  void (*close_ffi)(void *ffi);
  void *ffi;
} RuntimeHooks;

#endif
