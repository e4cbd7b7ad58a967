/* SPDX-License-Identifier: MIT */
/* runtime/throw.h: the only way to raise an error. */
#ifndef SAROS_RUNTIME_THROW_H
#define SAROS_RUNTIME_THROW_H

#include <setjmp.h>

#include "object.h"

/* A point to which an error unwinds the C stack. */
typedef struct ErrorJump {
  struct ErrorJump *prev;
  /* the thread for which the ErrorJump was made, and the thread that ran before */
  lua_State *L, *caller;
  volatile int status; /* LUA_OK until an error arrives */
  /* for a Run, the frame at which the search for a frame that catches the error begins,
   * since no frame inside of it can catch the error; NULL for the current frame */
  struct CallInfo *searched;
  jmp_buf buf;
} ErrorJump;

/* Unwinds to the innermost protected point. The error value is on top of the stack (or,
 * for LUA_ERRMEM, is the preallocated message). */
_Noreturn void error_throw(lua_State *L, int status);
/* Raises LUA_ERRRUN with a printf-formatted message, with the current position before
 * it. */
_Noreturn void error_run(lua_State *L, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void error_memory(lua_State *L);

#endif
