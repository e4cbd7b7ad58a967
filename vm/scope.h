/* SPDX-License-Identifier: MIT */
/* vm/scope.h: variables, blocks, labels (design: top of scope.c). */
#ifndef SAROS_VM_SCOPE_H
#define SAROS_VM_SCOPE_H

#include "compile_state.h"

/* Declares a variable of the current function; returns its number in the function. The
 * variable is visible only after scope_activate. */
uint32_t scope_declare(CompileState *cs, String *name);
uint32_t scope_declare_hidden(CompileState *cs, const char *name);
/* Makes the next n declared variables visible, each with the next register. */
void scope_activate(CompileState *cs, uint32_t n);
Var *scope_var(FuncState *fs, uint32_t number);
/* Returns the number of registers taken by the active variables. */
int scope_registers(FuncState *fs);
/* Returns the number of registers taken by the variables declared outside of a block. */
int scope_registers_before(FuncState *fs, const ScopeBlock *block);
/* Returns the debug entry of a variable that is active and has a register. */
LocalVar *scope_debug(FuncState *fs, uint32_t number);

/* Finds a name: local, upvalue, compile-time constant or field of _ENV. */
void scope_find(CompileState *cs, String *name, Expr *result);
void scope_main_upvalue(FuncState *fs);
/* Raises if the variable cannot be assigned to. */
void scope_check_assignable(CompileState *cs, const Expr *e);
/* Marks the innermost block as one with a variable to be closed. */
void scope_mark_tbc(FuncState *fs);

void scope_enter(FuncState *fs, ScopeBlock *block, bool is_loop);
void scope_leave(FuncState *fs);

/* Makes a goto or a break (name NULL). `jumps` is the list of jumps to be patched. */
void scope_goto(CompileState *cs, String *name, int line, int jumps);
Label *scope_find_label(CompileState *cs, const String *name);
/* Makes a goto to a label that exists already. */
void scope_goto_back(CompileState *cs, const Label *label);
/* Places a label here. `last` says that only void statements follow in its block. */
void scope_label(CompileState *cs, String *name, int line, bool last);

#endif
