/* SPDX-License-Identifier: MIT */
/* vm/parser.h: what the two halves of the parser share: expressions (parser.c) and
 * statements (statements.c). */
#ifndef SAROS_VM_PARSER_H
#define SAROS_VM_PARSER_H

#include "compile_state.h"

/* ---- tokens -------------------------------------------------------------- */

ALWAYS_INLINE int parse_token(const CompileState *cs) { return cs->lexer.token.kind; }
bool parse_accept(CompileState *cs, int kind);  /* passes the token if it is there */
/* Raises unless the token is there; does not pass it. */
void parse_expect(CompileState *cs, int kind);
void parse_consume(CompileState *cs, int kind); /* raises unless it is there; passes it */
/* Passes `closer`, which belongs to `opener` at `line`. */
void parse_close(CompileState *cs, int closer, int opener, int line);
String *parse_name(CompileState *cs);
bool parse_at_block_end(CompileState *cs, bool with_until);

/* ---- expressions --------------------------------------------------------- */

void parse_expression(CompileState *cs, Expr *e);
/* Parses expressions separated by commas, all but the last into registers; returns their
   number. */
int parse_expressions(CompileState *cs, Expr *last);
/* Parses a name or a parenthesis with its fields, indexes, calls. */
void parse_suffixed(CompileState *cs, Expr *e);
void parse_field(CompileState *cs, Expr *e); /* at '.' or ':': the field after it */
/* Returns, at the '(' of a function, the column of the word `function`, or the column of
 * the '(' if the word is on another line. */
size_t function_column(const Lexer *lx, Position word);
/* Notes, at the beginning of a value, the name that the value gets if it is a
   function. */
ALWAYS_INLINE void parse_named(CompileState *cs, String *name) {
  if (parse_token(cs) == TOKEN_FUNCTION) cs->name = name;
}
/* Parses a function from its '(' on. The function begins at line and column, and its name
   is in cs->name. */
void parse_function(CompileState *cs, Expr *e, bool is_method, int line, size_t column);

/* ---- statements ---------------------------------------------------------- */

void parse_statements(CompileState *cs);

#endif
