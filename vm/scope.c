/* SPDX-License-Identifier: MIT */
/* vm/scope.c: variables, blocks, labels.
 *
 * CompileState.vars is a stack of the variables of all functions being compiled; the
 * variables of a function start at its first_var, and the first `nactive` of these are
 * visible. Registers are given in order of activation; compile-time constants take none.
 * Numbers of variables (nactive in blocks, labels) count from first_var.
 *
 * A name that is a local of an enclosing function becomes an upvalue of every function in
 * between. The block that declares it is marked (has_captured), because it must close the
 * upvalue.
 *
 * Labels are visible in their block and in nested blocks of the same function, also
 * before their declaration: a goto whose label is unknown waits in CompileState.gotos,
 * moves out of each block that ends without the label, and is resolved by scope_label or
 * fails at the end of the function. If one of the blocks it left has captured variables,
 * the label begins with a CLOSE. `break` is a goto to a label without name at the end of
 * the loop.
 */
#include "scope.h"

#include <string.h>

#include "arena.h"
#include "codegen.h"
#include "compile_state.h"
#include "str.h"

/* ---- variables ----------------------------------------------------------- */

Var *scope_var(FuncState *fs, uint32_t number) {
  return &fs->cs->vars[fs->first_var + number];
}

static uint64_t name_bit(const String *name) { return UINT64_C(1) << ((uintptr_t)name >> 5 & 63); }

uint32_t scope_declare(CompileState *cs, String *name) {
  FuncState *fs = cs->fs;
  if (cs->nvars + 1 - fs->first_var > MAX_LOCALS)
    compile_error_limit(fs, MAX_LOCALS, "local variables");
  cs->vars = arena_grow(&cs->arena, cs->vars, cs->nvars, &cs->var_capacity, sizeof *cs->vars);
  cs->vars[cs->nvars] = (Var){.name = name, .kind = VAR_REGULAR};
  cs->fs->named |= name_bit(name);
  if (name == cs->env_name) cs->fs->has_env = true;
  return cs->nvars++ - fs->first_var;
}

uint32_t scope_declare_hidden(CompileState *cs, const char *name) {
  return scope_declare(cs, lexer_string(&cs->lexer, name, strlen(name)));
}

/* Returns the number of registers of the first n variables. */
static int registers_of(FuncState *fs, uint32_t n) {
  while (n-- > 0) {
    const Var *var = scope_var(fs, n);
    if (var->kind != VAR_COMPTIME) return var->reg + 1;
  }
  return 0;
}

int scope_registers(FuncState *fs) {
  return registers_of(fs, fs->nactive);
}

int scope_registers_before(FuncState *fs, const ScopeBlock *block) {
  return registers_of(fs, block->nactive);
}

static uint32_t add_debug_entry(FuncState *fs, String *name) {
  fs->locals =
      arena_grow(&fs->cs->arena, fs->locals, fs->nlocals, &fs->local_capacity, sizeof *fs->locals);
  fs->locals[fs->nlocals] = (LocalVar){.name = name, .start_pc = fs->ncode};
  return fs->nlocals++;
}

void scope_activate(CompileState *cs, uint32_t n) {
  FuncState *fs = cs->fs;
  int reg = scope_registers(fs);
  while (n-- > 0) {
    Var *var = scope_var(fs, fs->nactive++);
    var->reg = (uint8_t)reg++;
    var->debug = add_debug_entry(fs, var->name);
  }
}

LocalVar *scope_debug(FuncState *fs, uint32_t number) {
  return &fs->locals[scope_var(fs, number)->debug];
}

/* Ends the scope of all variables from number `first` on. */
static void deactivate_from(FuncState *fs, uint32_t first) {
  fs->cs->nvars = fs->first_var + first;
  for (; fs->nactive > first; fs->nactive--) {
    uint32_t number = fs->nactive - 1;
    if (scope_var(fs, number)->kind != VAR_COMPTIME) scope_debug(fs, number)->end_pc = fs->ncode;
  }
}

/* ---- names --------------------------------------------------------------- */

static bool find_local(FuncState *fs, const String *name, Expr *result) {
  if (!(fs->named & name_bit(name)) || (name == fs->cs->env_name && !fs->has_env)) return false;
  for (uint32_t n = fs->nactive; n-- > 0;) {
    const Var *var = scope_var(fs, n);
    if (var->name != name) continue;
    expr_set(result, var->kind == VAR_COMPTIME ? EXPR_COMPTIME : EXPR_LOCAL);
    if (var->kind == VAR_COMPTIME) {
      result->u.index = (int)(fs->first_var + n);
    } else {
      result->u.local.reg = var->reg;
      result->u.local.var = fs->first_var + n;
    }
    return true;
  }
  return false;
}

static int find_upvalue(const FuncState *fs, const String *name) {
  for (uint32_t i = 0; i < fs->nupvalues; i++)
    if (fs->upvalues[i].name == name) return (int)i;
  return -1;
}

static int add_upvalue(FuncState *fs, UpvalueDesc desc) {
  if (fs->nupvalues >= MAX_UPVALUES) compile_error_limit(fs, MAX_UPVALUES, "upvalues");
  fs->upvalues = arena_grow(&fs->cs->arena, fs->upvalues, fs->nupvalues, &fs->upvalue_capacity,
                            sizeof *fs->upvalues);
  fs->upvalues[fs->nupvalues] = desc;
  return (int)fs->nupvalues++;
}

void scope_main_upvalue(FuncState *fs) {
  add_upvalue(
      fs, (UpvalueDesc){.name = fs->cs->env_name, .in_stack = 1, .index = 0, .kind = VAR_REGULAR});
}

/* Marks the block that declares a local that an inner function uses. */
static void mark_captured(FuncState *fs, const Expr *local) {
  uint32_t number = local->u.local.var - fs->first_var;
  ScopeBlock *block = fs->block;
  while (block->nactive > number) block = block->outer;
  block->has_captured = true;
  fs->has_captured = true;
}

/* Makes an upvalue of fs for `variable`, a local or upvalue of the enclosing function. */
static int upvalue_for(FuncState *fs, String *name, const Expr *variable) {
  UpvalueDesc desc = {.name = name};
  if (variable->kind == EXPR_LOCAL) {
    desc.in_stack = 1;
    desc.index = variable->u.local.reg;
    desc.kind = fs->cs->vars[variable->u.local.var].kind;
  } else {
    desc.index = (uint8_t)variable->u.index;
    desc.kind = fs->outer->upvalues[variable->u.index].kind;
  }
  return add_upvalue(fs, desc);
}

/* Finds a name; leaves EXPR_VOID if it is the name of a global. Recurses once for each
 * nested function; the parser bounds the nesting of functions. */
static void find_name(FuncState *fs, String *name, Expr *result, bool used_here) {
  expr_set(result, EXPR_VOID);
  if (fs == NULL) return;
  if (find_local(fs, name, result)) {
    if (result->kind == EXPR_LOCAL && !used_here) mark_captured(fs, result);
    return;
  }
  int upvalue = find_upvalue(fs, name);
  if (upvalue < 0) {
    find_name(fs->outer, name, result, false);
    if (result->kind != EXPR_LOCAL && result->kind != EXPR_UPVALUE) return;
    upvalue = upvalue_for(fs, name, result);
  }
  expr_set(result, EXPR_UPVALUE);
  result->u.index = upvalue;
}

void scope_find(CompileState *cs, String *name, Expr *result) {
  FuncState *fs = cs->fs;
  find_name(fs, name, result, true);
  if (result->kind != EXPR_VOID) return;
  Expr key = expr_string(name);
  find_name(fs, cs->env_name, result, true);
  expr_to_any_or_upvalue(fs, result);
  expr_index(fs, result, &key);
}

void scope_check_assignable(CompileState *cs, const Expr *e) {
  const String *name = NULL;
  switch (e->kind) {
    case EXPR_COMPTIME: name = cs->vars[e->u.index].name; break;
    case EXPR_LOCAL: {
      const Var *var = &cs->vars[e->u.local.var];
      if (var->kind != VAR_REGULAR) name = var->name;
      break;
    }
    case EXPR_UPVALUE: {
      const UpvalueDesc *upvalue = &cs->fs->upvalues[e->u.index];
      if (upvalue->kind != VAR_REGULAR) name = upvalue->name;
      break;
    }
    default: return;
  }
  if (name)
    compile_error_semantic(
        cs, string_format(cs->L, "attempt to assign to const variable '%s'", name->data)->data);
}

/* ---- goto and labels ----------------------------------------------------- */

static Label *add_label(CompileState *cs, Label **list, uint32_t *n, uint32_t *capacity,
                        Label label) {
  if (*n >= MAX_GOTOS) compile_error_limit(cs->fs, MAX_GOTOS, "labels/gotos");
  *list = arena_grow(&cs->arena, *list, *n, capacity, sizeof **list);
  (*list)[*n] = label;
  return &(*list)[(*n)++];
}

void scope_goto(CompileState *cs, String *name, int line, int jumps) {
  Label waiting = {.name = name, .line = line, .pc = jumps, .nactive = cs->fs->nactive};
  add_label(cs, &cs->gotos, &cs->ngotos, &cs->goto_capacity, waiting);
}

Label *scope_find_label(CompileState *cs, const String *name) {
  for (uint32_t i = cs->fs->first_label; i < cs->nlabels; i++)
    if (cs->labels[i].name == name) return &cs->labels[i];
  return NULL;
}

void scope_goto_back(CompileState *cs, const Label *label) {
  FuncState *fs = cs->fs;
  int level = registers_of(fs, label->nactive);
  if (scope_registers(fs) > level) emit_ABC(fs, OP_CLOSE, level, 0, 0);
  jump_back(fs, label->pc);
}

static _Noreturn void error_jump_into_scope(CompileState *cs, const Label *waiting) {
  const char *variable = scope_var(cs->fs, waiting->nactive)->name->data;
  compile_error_semantic(
      cs, string_format(cs->L, "<goto %s> at line %d jumps into the scope of local '%s'",
                        waiting->name->data, waiting->line, variable)
              ->data);
}

/* Resolves the gotos of the current block that wait for the label; returns
 * whether one of them needs a CLOSE there. */
static bool resolve_gotos(CompileState *cs, const Label *label) {
  bool close = false;
  uint32_t kept = cs->fs->block->first_goto;
  for (uint32_t i = kept; i < cs->ngotos; i++) {
    Label *waiting = &cs->gotos[i];
    if (waiting->name != label->name) {
      cs->gotos[kept++] = *waiting;
      continue;
    }
    if (waiting->nactive < label->nactive) error_jump_into_scope(cs, waiting);
    close |= waiting->close;
    jump_patch(cs->fs, waiting->pc, label->pc);
  }
  cs->ngotos = kept;
  return close;
}

/* Places a label. Returns whether a CLOSE was emitted. */
static bool place_label(CompileState *cs, const Label *label) {
  if (!resolve_gotos(cs, label)) return false;
  emit_ABC(cs->fs, OP_CLOSE, scope_registers(cs->fs), 0, 0);
  return true;
}

void scope_label(CompileState *cs, String *name, int line, bool last) {
  FuncState *fs = cs->fs;
  const Label *twin = scope_find_label(cs, name);
  if (twin)
    compile_error_semantic(
        cs, string_format(cs->L, "label '%s' already defined on line %d", name->data, twin->line)
                ->data);
  /* at the end of a block, the block's variables already count as ended */
  Label label = {.name = name,
                 .line = line,
                 .pc = jump_label(fs),
                 .nactive = last ? fs->block->nactive : fs->nactive};
  add_label(cs, &cs->labels, &cs->nlabels, &cs->label_capacity, label);
  place_label(cs, &label);
}

static _Noreturn void error_undefined(CompileState *cs, const Label *waiting) {
  const String *message =
      waiting->name ? string_format(cs->L, "no visible label '%s' for <goto> at line %d",
                                    waiting->name->data, waiting->line)
                    : string_format(cs->L, "break outside loop at line %d", waiting->line);
  compile_error_semantic(cs, message->data);
}

/* ---- blocks -------------------------------------------------------------- */

void scope_mark_tbc(FuncState *fs) {
  fs->block->has_captured = true;
  fs->block->inside_tbc = true;
}

void scope_enter(FuncState *fs, ScopeBlock *block, bool is_loop) {
  *block = (ScopeBlock){
    .outer = fs->block,
    .first_label = fs->cs->nlabels,
    .first_goto = fs->cs->ngotos,
    .nactive = fs->nactive,
    .is_loop = is_loop,
    .inside_tbc = fs->block && fs->block->inside_tbc,
  };
  fs->block = block;
}

/* Moves the waiting gotos out of the block that has just ended. */
static void move_gotos_out(FuncState *fs, const ScopeBlock *ended) {
  int level = registers_of(fs, ended->nactive);
  for (uint32_t i = ended->first_goto; i < fs->cs->ngotos; i++) {
    Label *waiting = &fs->cs->gotos[i];
    if (registers_of(fs, waiting->nactive) > level) waiting->close |= ended->has_captured;
    waiting->nactive = ended->nactive;
  }
}

void scope_leave(FuncState *fs) {
  CompileState *cs = fs->cs;
  ScopeBlock *block = fs->block;
  int level = registers_of(fs, block->nactive);
  bool closed = false;
  deactivate_from(fs, block->nactive);
  if (block->is_loop) { /* the breaks arrive here */
    Label end = {.name = NULL, .pc = jump_label(fs), .nactive = fs->nactive};
    closed = place_label(cs, &end);
  }
  if (!closed && block->outer && block->has_captured) emit_ABC(fs, OP_CLOSE, level, 0, 0);
  fs->free_reg = level;
  cs->nlabels = block->first_label;
  fs->block = block->outer;
  if (block->outer) move_gotos_out(fs, block);
  else if (block->first_goto < cs->ngotos) error_undefined(cs, &cs->gotos[block->first_goto]);
}
