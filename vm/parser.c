/* SPDX-License-Identifier: MIT */
/* vm/parser.c: expressions, table constructors, function bodies.
 *
 * Recursive descent, with one token of lookahead (two where a table constructor must
 * distinguish `name =` from an expression). Binary operators are parsed by precedence
 * climbing. Every recursion goes through compile_enter_level.
 */
#include "parser.h"

#include "codegen.h"
#include "compile_state.h"
#include "scope.h"
#include "str.h"

/* ---- tokens -------------------------------------------------------------- */

#define next_token(cs) lexer_next(&(cs)->lexer)

static _Noreturn void error_expected(CompileState *cs, int kind) {
  const char *text = token_text(&cs->lexer, kind);
  compile_error(cs, string_format(cs->L, "%s expected", text)->data);
}

bool parse_accept(CompileState *cs, int kind) {
  if (parse_token(cs) != kind) return false;
  next_token(cs);
  return true;
}

void parse_expect(CompileState *cs, int kind) {
  if (parse_token(cs) != kind) error_expected(cs, kind);
}

void parse_consume(CompileState *cs, int kind) {
  parse_expect(cs, kind);
  next_token(cs);
}

void parse_close(CompileState *cs, int closer, int opener, int line) {
  if (likely(parse_accept(cs, closer))) return;
  if (line == cs->lexer.line) error_expected(cs, closer);
  const char *closer_text = token_text(&cs->lexer, closer),
             *opener_text = token_text(&cs->lexer, opener);
  compile_error(cs, string_format(cs->L, "%s expected (to close %s at line %d)", closer_text,
                                  opener_text, line)
                        ->data);
}

String *parse_name(CompileState *cs) {
  parse_expect(cs, TOKEN_NAME);
  String *name = cs->lexer.token.u.s;
  next_token(cs);
  return name;
}

bool parse_at_block_end(CompileState *cs, bool with_until) {
  switch (parse_token(cs)) {
    case TOKEN_ELSE: case TOKEN_ELSEIF: case TOKEN_END: case TOKEN_EOF: return true;
    case TOKEN_UNTIL: return with_until;
    default: return false;
  }
}

/* ---- fields and indexes -------------------------------------------------- */

void parse_field(CompileState *cs, Expr *e) {
  expr_to_any_or_upvalue(cs->fs, e);
  next_token(cs); /* the dot or colon */
  Expr key = expr_string(parse_name(cs));
  expr_index(cs->fs, e, &key);
}

/* Parses a key in brackets, at its '[', as a value. */
static void parse_bracketed(CompileState *cs, Expr *key) {
  next_token(cs);
  parse_expression(cs, key);
  expr_to_value(cs->fs, key);
  parse_consume(cs, ']');
}

/* ---- table constructors -------------------------------------------------- */

#define ITEMS_PER_SETLIST 50

typedef struct Constructor {
  Expr table;       /* its register */
  /* the last list item read, or VOID if that item is in a register already */
  Expr item;
  uint32_t nstored; /* list items stored */
  int npending;     /* list items not stored yet */
  uint32_t nhash;
} Constructor;

/* Puts the last list item into a register; stores the items if enough are pending. */
static void settle_item(FuncState *fs, Constructor *c) {
  if (c->item.kind == EXPR_VOID) return;
  expr_to_next(fs, &c->item);
  c->item.kind = EXPR_VOID;
  if (c->npending < ITEMS_PER_SETLIST) return;
  emit_setlist(fs, c->table.u.reg, c->nstored, c->npending);
  c->nstored += (uint32_t)c->npending;
  c->npending = 0;
}

static void settle_last_item(FuncState *fs, Constructor *c) {
  if (c->npending == 0) return;
  if (expr_is_open(&c->item)) { /* stores all results, whose number is unknown */
    expr_set_results(fs, &c->item, LUA_MULTRET);
    emit_setlist(fs, c->table.u.reg, c->nstored, LUA_MULTRET);
    c->nstored--;
  } else {
    if (c->item.kind != EXPR_VOID) expr_to_next(fs, &c->item);
    emit_setlist(fs, c->table.u.reg, c->nstored, c->npending);
  }
  c->nstored += (uint32_t)c->npending;
}

static void parse_list_item(CompileState *cs, Constructor *c) {
  parse_expression(cs, &c->item);
  c->npending++;
}

static void parse_record_item(CompileState *cs, Constructor *c) {
  FuncState *fs = cs->fs;
  int saved_free = fs->free_reg;
  Expr table = c->table, key, value;
  if (parse_token(cs) == TOKEN_NAME) key = expr_string(parse_name(cs));
  else parse_bracketed(cs, &key);
  c->nhash++;
  parse_consume(cs, '=');
  if (key.kind == EXPR_STRING) parse_named(cs, key.u.s);
  expr_index(fs, &table, &key);
  parse_expression(cs, &value);
  expr_store(fs, &table, &value);
  fs->free_reg = saved_free;
}

static void parse_item(CompileState *cs, Constructor *c) {
  switch (parse_token(cs)) {
    case TOKEN_NAME:
      if (lexer_peek(&cs->lexer) == '=') parse_record_item(cs, c);
      else parse_list_item(cs, c);
      break;
    case '[': parse_record_item(cs, c); break;
    default: parse_list_item(cs, c);
  }
}

/* Parses a constructor, at its '{'. The table is in the next free register, where the
   collector may scan it. */
static void parse_constructor(CompileState *cs, Expr *e) {
  FuncState *fs = cs->fs;
  int line = cs->lexer.line;
  int pc = emit_with_aux(fs, OP_NEWTABLE, fs->free_reg, 0, 0, 0);
  /* the position of the '{'; see debuginfo.h */
  fs->positions[pc + 1] = lexer_position(&cs->lexer);
  Constructor c = {.table = expr_in_register(fs->free_reg), .item = expr_new(EXPR_VOID)};
  reg_reserve(fs, 1);
  parse_consume(cs, '{');
  while (parse_token(cs) != '}') {
    settle_item(fs, &c);
    parse_item(cs, &c);
    if (!parse_accept(cs, ',') && !parse_accept(cs, ';')) break;
  }
  parse_close(cs, '}', '{', line);
  settle_last_item(fs, &c);
  emit_table_size(fs, pc, c.nstored, c.nhash);
  *e = c.table;
}

/* ---- functions ----------------------------------------------------------- */

static void parse_parameters(CompileState *cs) {
  FuncState *fs = cs->fs;
  uint32_t n = 0;
  if (parse_token(cs) != ')') {
    do {
      if (parse_token(cs) == TOKEN_NAME) {
        scope_declare(cs, parse_name(cs));
        n++;
      } else if (parse_accept(cs, TOKEN_DOTS)) {
        fs->is_vararg = true;
      } else {
        compile_error(cs, "<name> or '...' expected");
      }
    } while (!fs->is_vararg && parse_accept(cs, ','));
  }
  scope_activate(cs, n);
  fs->nparams = (uint8_t)fs->nactive;
  if (fs->is_vararg) emit_ABC(fs, OP_VARARGPREP, fs->nparams, 0, 0);
  reg_reserve(fs, (int)fs->nactive);
}

size_t function_column(const Lexer *lx, Position word) {
  return position_line(word) == (uint32_t)lx->line ? position_column(word) : lx->column;
}

void parse_function(CompileState *cs, Expr *e, bool is_method, int line, size_t column) {
  ScopeBlock block;
  FuncState *fs = compile_open_function(cs, &block, line);
  parse_consume(cs, '(');
  if (is_method) {
    scope_declare_hidden(cs, "self");
    scope_activate(cs, 1);
  }
  parse_parameters(cs);
  parse_consume(cs, ')');
  parse_statements(cs);
  fs->last_line_defined = cs->lexer.line;
  parse_close(cs, TOKEN_END, TOKEN_FUNCTION, line);
  Prototype *p = compile_close_function(cs);
  fs = cs->fs;
  expr_set(e, EXPR_PENDING);
  e->u.pc = emit_ABx(fs, OP_CLOSURE, 0, (int)compile_add_prototype(fs, p));
  /* with the column where the function begins; see debuginfo.h */
  emit_set_position(fs, position_make((uint32_t)cs->lexer.last_line, column));
  expr_to_next(fs, e); /* at the top, where the collector may scan the closure */
}

/* Parses the arguments of a call: '(', a string or a table. */
static void parse_arguments(CompileState *cs, Expr *args) {
  int line = cs->lexer.line;
  expr_set(args, EXPR_VOID);
  switch (parse_token(cs)) {
    case '(':
      next_token(cs);
      if (parse_token(cs) != ')') {
        parse_expressions(cs, args);
        if (expr_is_open(args)) expr_set_results(cs->fs, args, LUA_MULTRET);
      }
      parse_close(cs, ')', '(', line);
      break;
    case '{': parse_constructor(cs, args); break;
    case TOKEN_STRING:
      expr_set_string(args, cs->lexer.token.u.s);
      next_token(cs);
      break;
    default: compile_error(cs, "function arguments expected");
  }
}

/* Parses a call. The function (and, for a method, its object) is in the last
   registers. */
static void parse_call(CompileState *cs, Expr *f) {
  FuncState *fs = cs->fs;
  Position position = lexer_position(&cs->lexer);
  int base = f->u.reg, nargs = LUA_MULTRET;
  Expr args;
  parse_arguments(cs, &args);
  if (!expr_is_open(&args)) {
    if (args.kind != EXPR_VOID) expr_to_next(fs, &args);
    nargs = fs->free_reg - (base + 1);
  }
  expr_set(f, EXPR_CALL);
  f->u.pc = emit_ABC(fs, OP_CALL, base, nargs + 1, 2);
  emit_set_position(fs, position);
  fs->free_reg = base + 1; /* one result in place of the function, unless changed later */
}

/* ---- primary and suffixed expressions ------------------------------------ */

static void parse_primary(CompileState *cs, Expr *e) {
  switch (parse_token(cs)) {
    case TOKEN_NAME: scope_find(cs, parse_name(cs), e); break;
    case '(': {
      int line = cs->lexer.line;
      next_token(cs);
      parse_expression(cs, e);
      parse_close(cs, ')', '(', line);
      expr_discharge(cs->fs, e);
      break;
    }
    default: compile_error(cs, "unexpected symbol");
  }
}

void parse_suffixed(CompileState *cs, Expr *e) {
  FuncState *fs = cs->fs;
  parse_primary(cs, e);
  for (;;) {
    switch (parse_token(cs)) {
      case '.': parse_field(cs, e); break;
      case '[': {
        Expr key;
        expr_to_any_or_upvalue(fs, e);
        parse_bracketed(cs, &key);
        expr_index(fs, e, &key);
        break;
      }
      case ':':
        next_token(cs);
        expr_self(fs, e, parse_name(cs));
        parse_call(cs, e);
        break;
      case '(': case TOKEN_STRING: case '{':
        expr_to_next(fs, e);
        parse_call(cs, e);
        break;
      default: return;
    }
  }
}

/* ---- expressions --------------------------------------------------------- */

static void parse_dots(CompileState *cs, Expr *e) {
  if (!cs->fs->is_vararg) compile_error(cs, "cannot use '...' outside a vararg function");
  expr_set(e, EXPR_VARARG);
  e->u.pc = emit_ABC(cs->fs, OP_VARARG, 0, 0, 1);
}

static void parse_simple(CompileState *cs, Expr *e) {
  const TokenValue *token = &cs->lexer.token;
  switch (token->kind) {
    case TOKEN_FLOAT: expr_set(e, EXPR_FLOAT); e->u.n = token->u.n; break;
    case TOKEN_INTEGER: expr_set(e, EXPR_INT); e->u.i = token->u.i; break;
    case TOKEN_STRING: expr_set_string(e, token->u.s); break;
    case TOKEN_NIL: expr_set(e, EXPR_NIL); break;
    case TOKEN_TRUE: expr_set(e, EXPR_TRUE); break;
    case TOKEN_FALSE: expr_set(e, EXPR_FALSE); break;
    case TOKEN_DOTS: parse_dots(cs, e); break;
    case '{': parse_constructor(cs, e); return;
    case TOKEN_FUNCTION:
      next_token(cs);
      parse_function(cs, e, false, cs->lexer.line,
                     function_column(&cs->lexer, lexer_last_position(&cs->lexer)));
      return;
    default: parse_suffixed(cs, e); return;
  }
  next_token(cs);
}

static UnaryOp unary_operator(int token) {
  switch (token) {
    case TOKEN_NOT: return UNARY_NOT;
    case '-': return UNARY_MINUS;
    case '~': return UNARY_BNOT;
    case '#': return UNARY_LEN;
    default: return UNARY_NONE;
  }
}

static BinaryOp binary_operator(int token) {
  switch (token) {
    case '+': return BINARY_ADD;
    case '-': return BINARY_SUB;
    case '*': return BINARY_MUL;
    case '%': return BINARY_MOD;
    case '^': return BINARY_POW;
    case '/': return BINARY_DIV;
    case TOKEN_IDIV: return BINARY_IDIV;
    case '&': return BINARY_BAND;
    case '|': return BINARY_BOR;
    case '~': return BINARY_BXOR;
    case TOKEN_SHL: return BINARY_SHL;
    case TOKEN_SHR: return BINARY_SHR;
    case TOKEN_CONCAT: return BINARY_CONCAT;
    case TOKEN_EQ: return BINARY_EQ;
    case '<': return BINARY_LT;
    case TOKEN_LE: return BINARY_LE;
    case TOKEN_NE: return BINARY_NE;
    case '>': return BINARY_GT;
    case TOKEN_GE: return BINARY_GE;
    case TOKEN_AND: return BINARY_AND;
    case TOKEN_OR: return BINARY_OR;
    default: return BINARY_NONE;
  }
}

/* How tightly an operator binds its left and its right operand; a lower number on the
 * right makes it right-associative. */
static const struct { uint8_t left, right;
} precedence[] = {
    [BINARY_OR] = {1, 1},     [BINARY_AND] = {2, 2},    [BINARY_EQ] = {3, 3},
    [BINARY_NE] = {3, 3},     [BINARY_LT] = {3, 3},     [BINARY_LE] = {3, 3},
    [BINARY_GT] = {3, 3},     [BINARY_GE] = {3, 3},     [BINARY_BOR] = {4, 4},
    [BINARY_BXOR] = {5, 5},   [BINARY_BAND] = {6, 6},   [BINARY_SHL] = {7, 7},
    [BINARY_SHR] = {7, 7},    [BINARY_CONCAT] = {9, 8}, [BINARY_ADD] = {10, 10},
    [BINARY_SUB] = {10, 10},  [BINARY_MUL] = {11, 11},  [BINARY_DIV] = {11, 11},
    [BINARY_IDIV] = {11, 11}, [BINARY_MOD] = {11, 11},  [BINARY_POW] = {14, 13},
};
#define UNARY_PRECEDENCE 12

/* Parses an expression whose operators bind more tightly than `limit`; returns the
 * operator after it. */
static BinaryOp parse_operators(CompileState *cs, Expr *e, int limit) {
  compile_enter_level(cs);
  UnaryOp unary = unary_operator(parse_token(cs));
  if (unary != UNARY_NONE) {
    Position position = lexer_position(&cs->lexer);
    next_token(cs);
    parse_operators(cs, e, UNARY_PRECEDENCE);
    op_unary(cs->fs, unary, e, position);
  } else {
    parse_simple(cs, e);
  }
  BinaryOp op = binary_operator(parse_token(cs));
  while (op != BINARY_NONE && precedence[op].left > limit) {
    Expr right;
    Position position = lexer_position(&cs->lexer);
    next_token(cs);
    op_left(cs->fs, op, e);
    BinaryOp following = parse_operators(cs, &right, precedence[op].right);
    op_binary(cs->fs, op, e, &right, position);
    op = following;
  }
  compile_leave_level(cs);
  return op;
}

void parse_expression(CompileState *cs, Expr *e) {
  parse_operators(cs, e, 0);
}

int parse_expressions(CompileState *cs, Expr *last) {
  int n = 1;
  parse_expression(cs, last);
  while (parse_accept(cs, ',')) {
    expr_to_next(cs->fs, last);
    parse_expression(cs, last);
    n++;
  }
  return n;
}
