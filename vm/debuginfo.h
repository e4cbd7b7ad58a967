/* vm/debuginfo.h: names, lines and errors that tell where and what (debug.c, varinfo.c). */
#ifndef SAROS_VM_DEBUGINFO_H
#define SAROS_VM_DEBUGINFO_H

#include "domain.h"

int frame_current_line(CallInfo *ci);            /* -1 when unknown */
/* errors of operators, with variable names: each raises */
_Noreturn void error_type(lua_State *L, const TValue *o, const char *operation);      /* attempt to %s a %s value%s */
_Noreturn void error_call(lua_State *L, const TValue *o);
_Noreturn void error_for(lua_State *L, const TValue *o, const char *what);            /* bad 'for' %s (number expected, got %s); what: "initial value", "limit", "step" */
_Noreturn void error_concat(lua_State *L, const TValue *a, const TValue *b);
_Noreturn void error_arith(lua_State *L, const TValue *a, const TValue *b, const char *operation);
_Noreturn void error_to_int(lua_State *L, const TValue *a, const TValue *b);          /* number has no integer representation */
_Noreturn void error_compare(lua_State *L, const TValue *a, const TValue *b);
/* Calls the message handler in force and throws LUA_ERRRUN: the error value is on top. */
_Noreturn void error_with_handler(lua_State *L);
const char *chunk_id(char *out, const char *source, size_t len);  /* printable form of a chunk name, LUA_IDSIZE bytes */

/* Which variable does a value / a called function come from (symbolic execution of the bytecode). */
const char *varinfo_of_register(const Prototype *p, int pc, int reg, const char **name); /* kind ("local", "global", ...) or NULL */
const char *varinfo_of_call(lua_State *L, const Prototype *p, int pc, const char **name);

/* Name of the n-th local variable of a frame (from 1; varargs from -1 down), or of
 * any other live slot, and the slot; NULL when there is none. */
const char *debug_find_local(lua_State *L, CallInfo *ci, int n, TValue **slot);

/* Name of the function that the frame `caller` is calling: its kind ("global",
 * "method", "metamethod", "hook", ...), or NULL when nothing is known. */
const char *debug_name_of_call(lua_State *L, CallInfo *caller, const char **name);

/* Line and count hooks, called by the hooking dispatch before each instruction, to which pc
 * points; the frame's own pc points behind it. */
void debug_trace_instruction(lua_State *L, const Instruction *pc);

#endif
