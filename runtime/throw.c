/* SPDX-License-Identifier: MIT */
/* runtime/throw.c: raising errors.
 *
 * All errors leave through error_throw. The innermost ErrorJump (throw.h) catches it; the
 * code that makes an ErrorJump restores the state that it saved. Without one the panic
 * function of the domain is called and the process ends.
 */
#include "throw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "domain.h"
#include "eventring/stack.h"
#include "str.h"
#include "thread.h"

/* Pushes the message of a status that has no value on the stack, for the panic
 * function. */
static void push_status_message(lua_State *L, int status) {
  if (status == LUA_ERRMEM) set_string(L->top, L->domain->memory_error);
  else if (status == LUA_ERRERR) set_string(L->top, string_from_c(L, "error in error handling"));
  else return;
  L->top++;
}

_Noreturn COLD static void call_panic(lua_State *L, int status) {
  Domain *d = L->domain;
  if (d->memory_error != NULL) push_status_message(L, status);
  if (d->hooks.reset_thread != NULL) status = d->hooks.reset_thread(L, status);
  L->status = (uint8_t)status; /* lua_status returns it to the panic function */
  if (d->panic != NULL) d->panic(L);
  abort();
}

_Noreturn COLD void error_throw(lua_State *L, int status) {
  Domain *d = L->domain;
  ErrorJump *jump = d->error_jump;
  if (jump == NULL) call_panic(L, status);
  jump->status = status;
  longjmp(jump->buf, 1);
}

_Noreturn COLD void error_memory(lua_State *L) {
  Domain *d = L->domain;
  if (d->hooks.stack_note != NULL) d->hooks.stack_note(d, EVENTRING_STACK_MEMORY, 0);
  error_throw(L, LUA_ERRMEM);
}

/* Raises a formatted message. A text longer than the buffer is put into the heap, where
 * the collector frees it. */
_Noreturn COLD void error_run(lua_State *L, const char *fmt, ...) {
  char buffer[512], *text = buffer;
  va_list args;
  va_start(args, fmt);
  size_t len = string_print(buffer, sizeof buffer, fmt, args);
  va_end(args);
  if (len >= sizeof buffer) {
    String *s = string_new_long(L, len);
    text = s->data;
    va_start(args, fmt);
    string_print(text, len + 1, fmt, args);
    va_end(args);
  }
  /* raise_message does not return */
  if (L->domain->hooks.raise_message != NULL) L->domain->hooks.raise_message(L, text);
  string_format(L, "%s", text);
  error_throw(L, LUA_ERRRUN);
}
