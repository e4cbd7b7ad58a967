/* SPDX-License-Identifier: MIT */
/* runtime/throw.h: the one way to raise an error. */
#ifndef SAROS_RUNTIME_THROW_H
#define SAROS_RUNTIME_THROW_H

#include <setjmp.h>

#include "object.h"

/* A point to which an error unwinds the C stack. */
typedef struct ErrorJump {
  struct ErrorJump *prev;
  lua_State *L, *caller; /* the thread that it was made for, and the one that ran before */
  volatile int status; /* LUA_OK until an error arrives */
  /* of a Run: the frames inside this one do not catch the error; NULL: not known */
  struct CallInfo *searched;
  jmp_buf buf;
} ErrorJump;

/* Unwinds to the innermost protected point; the error value is on top of the
 * stack (or, for LUA_ERRMEM, is the preallocated message). */
_Noreturn void error_throw(lua_State *L, int status);
/* Raises LUA_ERRRUN with a printf-formatted message, prefixed with the current position. */
_Noreturn void error_run(lua_State *L, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void error_memory(lua_State *L);

#endif
