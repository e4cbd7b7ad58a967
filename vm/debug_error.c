/* SPDX-License-Identifier: MIT */
/* vm/debug_error.c: errors of operators, with the name of the variable at fault.
 *
 * The operand's address shows where it is: in an upvalue of the running function or in
 * one of its registers; symbolic execution of the bytecode (varinfo.c) then finds which
 * variable or field that register holds. So a name is found only if the operands are
 * passed by their own address, not as copies. Without a name the message is shorter, not
 * wrong.
 */
#include "debug_error.h"

#include <string.h>

#include "call.h"
#include "debuginfo.h"
#include "meta.h"
#include "number.h"
#include "opcodes.h"
#include "opinfo.h"
#include "thread.h"
#include "throw.h"
#include "varinfo.h"

/* ---- finding the variable ------------------------------------------------ */

static const char *upvalue_of(const LuaClosure *f, const TValue *o, const char **name) {
  for (int i = 0; i < f->p->nupvalues; i++) {
    if (f->upvalues[i]->v != o) continue;
    const String *s = f->p->upvalues[i].name;
    *name = s != NULL ? s->data : "?";
    return "upvalue";
  }
  return NULL;
}

/* Returns the register at o of the frame, or -1. A method call that fails has already
 * copied its object into the register behind that of the method. */
static int register_of(const CallInfo *ci, const TValue *o, Instruction current) {
  const TValue *base = ci->func + 1;
  if ((uintptr_t)o < (uintptr_t)base || (uintptr_t)o >= (uintptr_t)ci->top) return -1;
  int reg = (int)(o - base);
  bool is_self = op_base(current) == OP_SELF || op_base(current) == OP_SELFK;
  return is_self && reg == (int)INS_A(current) + 1 ? (int)INS_B(current) : reg;
}

/* Returns the kind of variable that the value o of the running function is, and its name,
   or NULL if that is not known. */
static const char *variable_of(lua_State *L, const TValue *o, const char **name) {
  CallInfo *ci = L->ci;
  if (!is_lua_frame(ci)) return NULL;
  const LuaClosure *f = frame_closure(ci);
  const char *kind = upvalue_of(f, o, name);
  if (kind != NULL) return kind;
  int pc = (int)(ci->u.lua.pc - f->p->code) - 1;
  if (pc < 0) return NULL;
  int reg = register_of(ci, o, f->p->code[pc]);
  return reg < 0 ? NULL : varinfo_of_register(f->p, pc, reg, name);
}

/* A variable in a message: " (kind 'name')", or nothing if it is not known. */
typedef struct Variable {
  const char *open, *kind, *quote, *name, *close;
} Variable;
#define VARIABLE_FORMAT "%s%s%s%s%s"
#define VARIABLE_PARTS(v) (v).open, (v).kind, (v).quote, (v).name, (v).close

static Variable variable_text(const char *kind, const char *name) {
  if (kind == NULL) return (Variable){"", "", "", "", ""};
  return (Variable){" (", kind, " '", name, "')"};
}

static Variable describe_operand(lua_State *L, const TValue *o) {
  const char *name = NULL;
  const char *kind = variable_of(L, o, &name);
  return variable_text(kind, name);
}

/* ---- the errors ---------------------------------------------------------- */

_Noreturn static void raise_type_error(lua_State *L, const TValue *o, const char *operation,
                                       Variable v) {
  error_run(L, "attempt to %s a %s value" VARIABLE_FORMAT, operation, type_name_of(L, o),
            VARIABLE_PARTS(v));
}

void error_type(lua_State *L, const TValue *o, const char *operation) {
  raise_type_error(L, o, operation, describe_operand(L, o));
}

/* Raises the error of a call. The call is named by its instruction, which also shows
   metamethods. */
void error_call(lua_State *L, const TValue *o) {
  const char *name = NULL;
  const char *kind = debug_name_of_call(L, L->ci, &name);
  raise_type_error(L, o, "call", kind != NULL ? variable_text(kind, name) : describe_operand(L, o));
}

void error_for(lua_State *L, const TValue *o, const char *what) {
  error_run(L, "bad 'for' %s (number expected, got %s)", what, type_name_of(L, o));
}

void error_concat(lua_State *L, const TValue *a, const TValue *b) {
  error_type(L, is_string(a) || is_number(a) ? b : a, "concatenate");
}

void error_arith(lua_State *L, const TValue *a, const TValue *b, const char *operation) {
  error_type(L, is_number(a) ? b : a, operation);
}

void error_to_int(lua_State *L, const TValue *a, const TValue *b) {
  int64_t i;
  Variable v = describe_operand(L, number_to_int(a, &i, FLOAT_EXACT) ? b : a);
  error_run(L, "number" VARIABLE_FORMAT " has no integer representation", VARIABLE_PARTS(v));
}

void error_compare(lua_State *L, const TValue *a, const TValue *b) {
  const char *left = type_name_of(L, a), *right = type_name_of(L, b);
  if (strcmp(left, right) == 0) error_run(L, "attempt to compare two %s values", left);
  error_run(L, "attempt to compare %s with %s", left, right);
}

void error_with_handler(lua_State *L) {
  if (L->errfunc != 0) {
    const TValue *handler = stack_restore(L, L->errfunc);
    value_copy(L->top, L->top - 1);
    value_copy(L->top - 1, handler);
    L->top++;
    vm_call_noyield(L, L->top - 2, 1);
  }
  error_throw(L, LUA_ERRRUN);
}
