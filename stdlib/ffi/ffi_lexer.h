/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_lexer.h: tokens of C declarations. */
#ifndef SAROS_STDLIB_FFI_LEXER_H
#define SAROS_STDLIB_FFI_LEXER_H

#include "ffi_core.h"

/* Tokens: a character stands for itself; the others follow. */
typedef enum CToken {
  CT_END = 256,
  CT_NAME,
  CT_NUMBER,
  CT_STRING,
  CT_TYPE /* a ctype given for `$` */,
  CT_ELLIPSIS,
  CT_SHIFT_LEFT,
  CT_SHIFT_RIGHT,
  CT_AND,
  CT_OR,
  CT_EQUAL,
  CT_NOT_EQUAL,
  CT_LESS_EQUAL,
  CT_GREATER_EQUAL,
  CT_ARROW,
  CT_FIRST_KEYWORD,
#define KEYWORD(id, text) CT_##id,
#define ALIAS(id, text)
#include "ffi_keywords.def"
#undef KEYWORD
#undef ALIAS
  CT_COUNT
} CToken;

typedef struct CLexer {
  lua_State *L;
  Ffi *ffi;
  const char *p, *end;
  const char *line_start;
  const char *what;      /* the text in messages: "input" */
  unsigned line;
  /* Parameters for `$`: indices of the stack */
  int parameter, last_parameter;
  /* The present token */
  int token;             /* the present token: a CToken or a character */
  const char *start;     /* first character of the present token */
  unsigned token_line, token_column;
  String *name;          /* CT_NAME, CT_STRING; keywords too */
  uint64_t value;        /* CT_NUMBER */
  BasicType value_type;
  CType *type;           /* CT_TYPE */
  uint32_t pack;         /* the value of #pragma pack; 0 if there is none */
  uint32_t pack_stack[8];
  unsigned pack_depth;
} CLexer;

void clexer_init(CLexer *x, lua_State *L, Ffi *ffi, const char *text, size_t size, int parameter,
                 int last_parameter);
void clexer_next(CLexer *x);
/* Raises "input:LINE:COLUMN: message near 'token'", for the present token. */
_Noreturn void clexer_error(CLexer *x, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A position in the text, noted for errors about it. */
typedef struct CPosition { unsigned line, column; } CPosition;
#define clexer_position(x) ((CPosition){(x)->token_line, (x)->token_column})
_Noreturn void clexer_error_at(CLexer *x, CPosition position, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool clexer_accept(CLexer *x, int token);
/* Skips C code that is not a declaration, from the present token on, whatever it
 * contains: up to a character of `stops` outside of all brackets, which becomes the next
 * token. If `stops` is "", skips up to the bracket that closes the present token, and
 * passes it. */
void clexer_skip_code(CLexer *x, const char *stops);
void clexer_expect(CLexer *x, int token);
/* Writes a token as messages show it; the buffer has CTOKEN_TEXT bytes. */
#define CTOKEN_TEXT 48
const char *clexer_token_text(int token, char *buffer);

#endif
