/* SPDX-License-Identifier: MIT */
/* vm/statements.c: statements, and the chunk as a whole.
 *
 * After each statement the temporaries are gone: free_reg is the number of registers of
 * the active variables.
 */
#include <string.h>

#include "codegen.h"
#include "compile_state.h"
#include "parser.h"
#include "scope.h"
#include "str.h"

#define next_token(cs) lexer_next(&(cs)->lexer)

static void parse_statement(CompileState *cs);

void parse_statements(CompileState *cs) {
  while (!parse_at_block_end(cs, true)) {
    bool is_return = parse_token(cs) == TOKEN_RETURN;
    parse_statement(cs);
    if (is_return) return; /* the last of its block */
  }
}

static void parse_block(CompileState *cs) {
  ScopeBlock block;
  scope_enter(cs->fs, &block, false);
  parse_statements(cs);
  scope_leave(cs->fs);
}

/* ---- assignments --------------------------------------------------------- */

/* Adjusts nvalues expressions, the last of them `last`, to nvars values in registers. */
static void adjust_values(FuncState *fs, int nvars, int nvalues, Expr *last) {
  int missing = nvars - nvalues;
  if (expr_is_open(last)) {
    int wanted = missing + 1;
    expr_set_results(fs, last, wanted < 0 ? 0 : wanted);
  } else {
    if (last->kind != EXPR_VOID) expr_to_next(fs, last);
    if (missing > 0) emit_nil(fs, fs->free_reg, missing);
  }
  if (missing > 0) reg_reserve(fs, missing);
  else fs->free_reg += missing; /* there are more values than variables */
}

/* The targets of a multiple assignment, the last one first. */
typedef struct Target {
  struct Target *before;
  Expr e;
} Target;

/* Replaces the variable `assigned` with register `to` where a target has it as table or
 * key; returns whether it does. */
static bool redirect_target(Expr *target, const Expr *assigned, int to) {
  bool changed = false;
  if (target->kind == EXPR_INDEX_UP) {
    if (assigned->kind == EXPR_UPVALUE && target->u.at.table == assigned->u.index) {
      target->kind = EXPR_INDEX_FIELD;
      target->u.at.table = (uint8_t)to;
      changed = true;
    }
  } else if (assigned->kind == EXPR_LOCAL) {
    if (target->u.at.table == assigned->u.local.reg) {
      target->u.at.table = (uint8_t)to;
      changed = true;
    }
    if (target->kind == EXPR_INDEX && target->u.at.key == assigned->u.local.reg) {
      target->u.at.key = to;
      changed = true;
    }
  }
  return changed;
}

/* Resolves the conflict of a variable that is assigned to and is also the table or key of
 * an earlier target. Such a target uses a copy of the variable, made before the
 * assignment. */
static void resolve_conflicts(CompileState *cs, Target *earlier, const Expr *variable) {
  FuncState *fs = cs->fs;
  int copy = fs->free_reg;
  bool conflict = false;
  for (Target *t = earlier; t; t = t->before)
    if (expr_is_indexed(&t->e)) conflict |= redirect_target(&t->e, variable, copy);
  if (!conflict) return;
  if (variable->kind == EXPR_LOCAL) emit_ABC(fs, OP_MOVE, copy, variable->u.local.reg, 0);
  else emit_ABC(fs, OP_GETUPVAL, copy, variable->u.index, 0);
  reg_reserve(fs, 1);
}

/* Parses the rest of an assignment, after its n-th target. The source of the first target
   begins at `from`. */
static void parse_assignment(CompileState *cs, Target *target, int n, const char *from) {
  FuncState *fs = cs->fs;
  if (!expr_is_variable(&target->e)) compile_error(cs, "syntax error");
  scope_check_assignable(cs, &target->e);
  if (parse_accept(cs, ',')) {
    Target next = {.before = target};
    parse_suffixed(cs, &next.e);
    if (!expr_is_indexed(&next.e)) resolve_conflicts(cs, target, &next.e);
    compile_enter_level(cs);
    parse_assignment(cs, &next, n + 1, from);
    compile_leave_level(cs);
  } else {
    Expr value;
    const char *end = cs->lexer.lexeme;
    parse_consume(cs, '=');
    if (n == 1 && parse_token(cs) == TOKEN_FUNCTION)
      cs->name = lexer_spelled(&cs->lexer, from, end);
    int nvalues = parse_expressions(cs, &value);
    if (nvalues == n) { /* the last value needs no register */
      expr_one_result(fs, &value);
      expr_store(fs, &target->e, &value);
      return;
    }
    adjust_values(fs, n, nvalues, &value);
  }
  Expr value = expr_in_register(fs->free_reg - 1);
  expr_store(fs, &target->e, &value);
}

static void parse_call_or_assignment(CompileState *cs) {
  Target target = {.before = NULL};
  const char *from = cs->lexer.lexeme;
  parse_suffixed(cs, &target.e);
  if (parse_token(cs) == '=' || parse_token(cs) == ',') {
    parse_assignment(cs, &target, 1, from);
  } else {
    if (target.e.kind != EXPR_CALL) compile_error(cs, "syntax error");
    expr_set_results(cs->fs, &target.e, 0);
  }
}

/* ---- local --------------------------------------------------------------- */

static uint8_t parse_attribute(CompileState *cs) {
  if (!parse_accept(cs, '<')) return VAR_REGULAR;
  const char *attribute = parse_name(cs)->data;
  parse_consume(cs, '>');
  if (strcmp(attribute, "const") == 0) return VAR_CONST;
  if (strcmp(attribute, "close") == 0) return VAR_CLOSE;
  compile_error_semantic(cs, string_format(cs->L, "unknown attribute '%s'", attribute)->data);
}

/* Parses names with attributes; returns their number. *to_close: number of the variable
 * to be closed, or -1. */
static int parse_local_names(CompileState *cs, int *to_close) {
  int n = 0;
  *to_close = -1;
  do {
    uint32_t number = scope_declare(cs, parse_name(cs));
    uint8_t kind = parse_attribute(cs);
    scope_var(cs->fs, number)->kind = kind;
    if (kind == VAR_CLOSE) {
      if (*to_close >= 0)
        compile_error_semantic(cs, "multiple to-be-closed variables in local list");
      *to_close = (int)number;
    }
    n++;
  } while (parse_accept(cs, ','));
  return n;
}

/* Parses expressions like parse_expressions, for the nvars variables that are declared
   last. */
static int parse_local_values(CompileState *cs, int nvars, Expr *last) {
  for (int n = 1;; n++) {
    if (n <= nvars) parse_named(cs, scope_var(cs->fs, cs->fs->nactive + (uint32_t)n - 1)->name);
    parse_expression(cs, last);
    if (!parse_accept(cs, ',')) return n;
    expr_to_next(cs->fs, last);
  }
}

static void parse_local(CompileState *cs) {
  FuncState *fs = cs->fs;
  Expr value = expr_new(EXPR_VOID);
  int to_close, nvalues = 0, nvars = parse_local_names(cs, &to_close);
  if (parse_accept(cs, '=')) nvalues = parse_local_values(cs, nvars, &value);
  Var *last = scope_var(fs, fs->nactive + (uint32_t)nvars - 1);
  if (nvars == nvalues && last->kind == VAR_CONST && expr_as_constant(cs, &value, &last->value)) {
    last->kind = VAR_COMPTIME; /* needs no register */
    scope_activate(cs, (uint32_t)nvars - 1);
    fs->nactive++;
  } else {
    adjust_values(fs, nvars, nvalues, &value);
    scope_activate(cs, (uint32_t)nvars);
  }
  if (to_close >= 0) {
    scope_mark_tbc(fs);
    emit_ABC(fs, OP_TBC, scope_var(fs, (uint32_t)to_close)->reg, 0, 0);
  }
}

static void parse_local_function(CompileState *cs) {
  FuncState *fs = cs->fs;
  Expr e;
  Position word = lexer_last_position(&cs->lexer);
  String *name = parse_name(cs);
  uint32_t number = scope_declare(cs, name);
  scope_activate(cs, 1); /* the function is visible in its own body */
  cs->name = name;
  parse_function(cs, &e, false, cs->lexer.line, function_column(&cs->lexer, word));
  /* debuggers see the variable from where it has its value */
  scope_debug(fs, number)->start_pc = fs->ncode;
}

/* ---- function ------------------------------------------------------------ */

static void parse_function_statement(CompileState *cs) {
  Expr variable, function;
  int line = cs->lexer.line;
  size_t column = cs->lexer.column;
  next_token(cs);
  const char *from = cs->lexer.lexeme;
  String *name = parse_name(cs);
  scope_find(cs, name, &variable);
  bool is_field = parse_token(cs) == '.';
  while (parse_token(cs) == '.') parse_field(cs, &variable);
  bool is_method = parse_token(cs) == ':';
  if (is_method) parse_field(cs, &variable);
  cs->name = is_field || is_method ? lexer_spelled(&cs->lexer, from, cs->lexer.lexeme) : name;
  parse_function(cs, &function, is_method, line, column);
  scope_check_assignable(cs, &variable);
  expr_store(cs->fs, &variable, &function);
  /* a function is defined where it begins */
  emit_set_position(cs->fs, position_make((uint32_t)line, column));
}

/* ---- goto, break, labels ------------------------------------------------- */

static void parse_break(CompileState *cs) {
  int line = cs->lexer.line;
  next_token(cs);
  scope_goto(cs, NULL, line, jump_new(cs->fs));
}

static void parse_goto(CompileState *cs) {
  int line = cs->lexer.line;
  String *name = parse_name(cs);
  const Label *label = scope_find_label(cs, name);
  if (label) scope_goto_back(cs, label);
  else scope_goto(cs, name, line, jump_new(cs->fs));
}

static void parse_label(CompileState *cs, int line) {
  String *name = parse_name(cs);
  parse_consume(cs, TOKEN_LABEL);
  /* void statements */
  while (parse_token(cs) == ';' || parse_token(cs) == TOKEN_LABEL) parse_statement(cs);
  scope_label(cs, name, line, parse_at_block_end(cs, false));
}

/* ---- while, repeat, if --------------------------------------------------- */

/* Parses a condition; returns the jumps to be taken if it is false. */
static int parse_condition(CompileState *cs) {
  Expr e;
  parse_expression(cs, &e);
  expr_jump_unless_true(cs->fs, &e);
  return e.false_list;
}

static void parse_while(CompileState *cs, int line) {
  FuncState *fs = cs->fs;
  ScopeBlock block;
  next_token(cs);
  int start = jump_label(fs);
  int exit = parse_condition(cs);
  scope_enter(fs, &block, true);
  parse_consume(cs, TOKEN_DO);
  parse_block(cs);
  jump_back(fs, start);
  parse_close(cs, TOKEN_END, TOKEN_WHILE, line);
  scope_leave(fs);
  jump_patch_here(fs, exit);
}

/* Parses a repeat loop. The condition is inside the scope of the body. If it is false,
 * the code falls through to the jump backwards. Captured variables are closed before that
 * jump or, if the condition is true, after it. */
static void parse_repeat(CompileState *cs, int line) {
  FuncState *fs = cs->fs;
  ScopeBlock loop, scope;
  Expr condition;
  int start = jump_label(fs);
  scope_enter(fs, &loop, true);
  scope_enter(fs, &scope, false);
  next_token(cs);
  parse_statements(cs);
  parse_close(cs, TOKEN_UNTIL, TOKEN_REPEAT, line);
  parse_expression(cs, &condition);
  if (!expr_is_true(fs, &condition)) {
    expr_jump_unless_false(fs, &condition);
    if (scope.has_captured) emit_ABC(fs, OP_CLOSE, scope_registers_before(fs, &scope), 0, 0);
    jump_back(fs, start);
    jump_patch_here(fs, condition.true_list);
  }
  scope_leave(fs);
  scope_leave(fs);
}

static bool is_always_true(const Expr *e) {
  switch (e->kind) {
    case EXPR_TRUE: case EXPR_INT: case EXPR_FLOAT: case EXPR_STRING: case EXPR_CONSTANT:
      return true;
    default: return false;
  }
}

/* Parses `then break` and `then goto` forwards as the jump of the condition itself.
   Returns false for anything else. */
static bool parse_conditional_jump(CompileState *cs, Expr *condition) {
  Lexer *lx = &cs->lexer;
  String *name = NULL;
  if (parse_token(cs) == TOKEN_GOTO) {
    if (is_always_true(condition)) return false; /* a jump without a test */
    /* hooks must see a jump that is on a line of its own */
    if (lx->line != lx->last_line || lexer_peek(lx) != TOKEN_NAME) return false;
    name = lx->ahead.u.s;
    if (scope_find_label(cs, name)) return false;
  } else if (parse_token(cs) != TOKEN_BREAK) {
    return false;
  }
  int line = lx->line;
  expr_jump_unless_false(cs->fs, condition);
  next_token(cs);
  if (name) next_token(cs);
  scope_goto(cs, name, line, condition->true_list);
  return true;
}

/* Parses [ELSEIF or IF] condition THEN block; jumps to the end of the whole statement go
   to *escapes. */
static void parse_branch(CompileState *cs, int *escapes) {
  FuncState *fs = cs->fs;
  ScopeBlock block;
  Expr condition;
  int when_false;
  next_token(cs);
  parse_expression(cs, &condition);
  parse_consume(cs, TOKEN_THEN);
  scope_enter(fs, &block, false);
  if (parse_conditional_jump(cs, &condition)) {
    while (parse_accept(cs, ';')) {}
    if (parse_at_block_end(cs, false)) {
      scope_leave(fs);
      return;
    }
    when_false = jump_new(fs);
  } else {
    expr_jump_unless_true(fs, &condition);
    when_false = condition.false_list;
  }
  parse_statements(cs);
  scope_leave(fs);
  if (parse_token(cs) == TOKEN_ELSE || parse_token(cs) == TOKEN_ELSEIF)
    jump_append(fs, escapes, jump_new(fs));
  jump_patch_here(fs, when_false);
}

static void parse_if(CompileState *cs, int line) {
  int escapes = NO_JUMP;
  parse_branch(cs, &escapes);
  while (parse_token(cs) == TOKEN_ELSEIF) parse_branch(cs, &escapes);
  if (parse_accept(cs, TOKEN_ELSE)) parse_block(cs);
  parse_close(cs, TOKEN_END, TOKEN_IF, line);
  jump_patch_here(cs->fs, escapes);
}

/* ---- for ----------------------------------------------------------------- */

typedef struct ForOps {
  OpCode prepare, loop;
  bool generic;
} ForOps;

static const ForOps numeric_for = {OP_FORPREP, OP_FORLOOP, false};
static const ForOps generic_for = {OP_TFORPREP, OP_TFORLOOP, true};

/* Parses DO block, for a loop whose hidden variables start at base and whose nvars
 * visible ones are declared. */
static void parse_for_body(CompileState *cs, const ForOps *ops, int base, Position position,
                           int nvars) {
  FuncState *fs = cs->fs;
  ScopeBlock block;
  parse_consume(cs, TOKEN_DO);
  int prepare = emit_ABx(fs, ops->prepare, base, 0);
  scope_enter(fs, &block, false);
  scope_activate(cs, (uint32_t)nvars);
  reg_reserve(fs, nvars);
  parse_block(cs);
  scope_leave(fs);
  jump_fix_for(fs, prepare, jump_label(fs), false);
  if (ops->generic) {
    emit_ABC(fs, OP_TFORCALL, base, 0, nvars);
    emit_set_position(fs, position);
  }
  int loop = emit_ABx(fs, ops->loop, base, 0);
  jump_fix_for(fs, loop, prepare + 1, true);
  emit_set_position(fs, position);
}

static void parse_to_next(CompileState *cs) {
  Expr e;
  parse_expression(cs, &e);
  expr_to_next(cs->fs, &e);
}

static void declare_for_state(CompileState *cs, int n) {
  while (n-- > 0) scope_declare_hidden(cs, "(for state)");
}

static void parse_numeric_for(CompileState *cs, String *name, Position position) {
  FuncState *fs = cs->fs;
  int base = fs->free_reg;
  declare_for_state(cs, 3);
  scope_declare(cs, name);
  parse_consume(cs, '=');
  parse_to_next(cs);
  parse_consume(cs, ',');
  parse_to_next(cs);
  if (parse_accept(cs, ',')) {
    parse_to_next(cs);
  } else {
    emit_int(fs, fs->free_reg, 1);
    reg_reserve(fs, 1);
  }
  scope_activate(cs, 3);
  parse_for_body(cs, &numeric_for, base, position, 1);
}

static void parse_generic_for(CompileState *cs, String *name) {
  FuncState *fs = cs->fs;
  Expr e;
  int base = fs->free_reg, nvars = 1;
  declare_for_state(cs, 4);
  scope_declare(cs, name);
  for (; parse_accept(cs, ','); nvars++) scope_declare(cs, parse_name(cs));
  parse_consume(cs, TOKEN_IN);
  Position position = lexer_position(&cs->lexer);
  int nvalues = parse_expressions(cs, &e);
  adjust_values(fs, 4, nvalues, &e);
  scope_activate(cs, 4);
  scope_mark_tbc(fs);
  reg_check(fs, 3); /* the call of the iterator */
  parse_for_body(cs, &generic_for, base, position, nvars);
}

static void parse_for(CompileState *cs) {
  ScopeBlock block;
  int line = cs->lexer.line;
  Position position = lexer_position(&cs->lexer);
  scope_enter(cs->fs, &block, true); /* the block of the hidden variables */
  next_token(cs);
  String *name = parse_name(cs);
  switch (parse_token(cs)) {
    case '=': parse_numeric_for(cs, name, position); break;
    case ',': case TOKEN_IN: parse_generic_for(cs, name); break;
    default: compile_error(cs, "'=' or 'in' expected");
  }
  parse_close(cs, TOKEN_END, TOKEN_FOR, line);
  scope_leave(cs->fs);
}

/* ---- return -------------------------------------------------------------- */

/* Parses the values to return; returns their first register, and sets *n to their
   number. */
static int parse_return_values(CompileState *cs, int *n) {
  FuncState *fs = cs->fs;
  Expr e;
  int first = scope_registers(fs);
  *n = parse_expressions(cs, &e);
  if (expr_is_open(&e)) {
    expr_set_results(fs, &e, LUA_MULTRET);
    if (e.kind == EXPR_CALL && *n == 1 && !fs->block->inside_tbc)
      code_set_op(&fs->code[e.u.pc], OP_TAILCALL);
    *n = LUA_MULTRET;
  } else if (*n == 1) {
    first = expr_to_any(fs, &e);
  } else {
    expr_to_next(fs, &e);
  }
  return first;
}

/* Gives the return after a tail call the line of the call: for line hooks, passing on the
 * results of a C function is not a step of its own. */
static void share_call_line(FuncState *fs) {
  int before = fs->last_pc - 1;
  if (code_op(fs->code[before]) == OP_TAILCALL) emit_set_position(fs, fs->positions[before]);
}

static void parse_return(CompileState *cs) {
  FuncState *fs = cs->fs;
  int n = 0, first = scope_registers(fs);
  next_token(cs);
  if (!parse_at_block_end(cs, true) && parse_token(cs) != ';') first = parse_return_values(cs, &n);
  emit_return(fs, first, n);
  if (n == LUA_MULTRET) share_call_line(fs);
  parse_accept(cs, ';');
}

/* ---- all statements ------------------------------------------------------ */

static void parse_statement(CompileState *cs) {
  int line = cs->lexer.line; /* the line for messages about a block that is not closed */
  compile_enter_level(cs);
  switch (parse_token(cs)) {
    case ';': next_token(cs); break;
    case TOKEN_IF: parse_if(cs, line); break;
    case TOKEN_WHILE: parse_while(cs, line); break;
    case TOKEN_DO:
      next_token(cs);
      parse_block(cs);
      parse_close(cs, TOKEN_END, TOKEN_DO, line);
      break;
    case TOKEN_FOR: parse_for(cs); break;
    case TOKEN_REPEAT: parse_repeat(cs, line); break;
    case TOKEN_FUNCTION: parse_function_statement(cs); break;
    case TOKEN_LOCAL:
      next_token(cs);
      if (parse_accept(cs, TOKEN_FUNCTION)) parse_local_function(cs);
      else parse_local(cs);
      break;
    case TOKEN_LABEL:
      next_token(cs);
      parse_label(cs, line);
      break;
    case TOKEN_RETURN: parse_return(cs); break;
    case TOKEN_BREAK: parse_break(cs); break;
    case TOKEN_GOTO:
      next_token(cs);
      parse_goto(cs);
      break;
    default: parse_call_or_assignment(cs);
  }
  rt_assert(cs->fs->free_reg >= scope_registers(cs->fs) && cs->fs->max_stack >= cs->fs->free_reg);
  cs->fs->free_reg = scope_registers(cs->fs);
  compile_leave_level(cs);
}

Prototype *parse_chunk(CompileState *cs) {
  ScopeBlock block;
  FuncState *fs = compile_open_function(cs, &block, 0);
  fs->is_vararg = true;
  emit_ABC(fs, OP_VARARGPREP, 0, 0, 0);
  scope_main_upvalue(fs);
  next_token(cs);
  parse_statements(cs);
  parse_expect(cs, TOKEN_EOF);
  return compile_close_function(cs);
}
