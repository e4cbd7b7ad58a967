/* SPDX-License-Identifier: MIT */
/* vm/parser.h: what the two halves of the parser share: expressions (parser.c)
 * and statements (statements.c). */
#ifndef SAROS_VM_PARSER_H
#define SAROS_VM_PARSER_H

#include "compile.h"

/* ---- tokens -------------------------------------------------------------- */

ALWAYS_INLINE int parse_token(const CompileState *cs) { return cs->lexer.token.kind; }
bool parse_accept(CompileState *cs, int kind);  /* passes the token if it is there */
void parse_expect(CompileState *cs, int kind);  /* raises unless it is there; stays */
void parse_consume(CompileState *cs, int kind); /* raises unless it is there; passes it */
/* Passes `closer`, which belongs to `opener` at `line`. */
void parse_close(CompileState *cs, int closer, int opener, int line);
String *parse_name(CompileState *cs);
bool parse_at_block_end(CompileState *cs, bool with_until);

/* ---- expressions --------------------------------------------------------- */

void parse_expression(CompileState *cs, Expr *e);
/* Expressions with commas, all but the last in registers; returns their number. */
int parse_expressions(CompileState *cs, Expr *last);
/* A name or a parenthesis with its fields, indexes, calls. */
void parse_suffixed(CompileState *cs, Expr *e);
void parse_field(CompileState *cs, Expr *e); /* at '.' or ':': the field after it */
/* At the '(' of a function: the column of the word `function`, unless that is on another
 * line. */
size_t function_column(const Lexer *lx, Position word);
/* At the beginning of a value: if that is a function, it is defined by this name. */
ALWAYS_INLINE void parse_named(CompileState *cs, String *name) {
  if (parse_token(cs) == TOKEN_FUNCTION) cs->name = name;
}
/* From its '(' on; line and column: of its beginning. Its name is in cs->name. */
void parse_function(CompileState *cs, Expr *e, bool is_method, int line, size_t column);

/* ---- statements ---------------------------------------------------------- */

void parse_statements(CompileState *cs);

#endif
