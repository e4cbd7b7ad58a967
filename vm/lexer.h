/* SPDX-License-Identifier: MIT */
/* vm/lexer.h: from source text to tokens (design: top of lexer.c). */
#ifndef SAROS_VM_LEXER_H
#define SAROS_VM_LEXER_H

#include "arena.h"
#include "position.h"

enum Token {
  TOKEN_BEFORE_FIRST = 256, /* kinds below this one are single characters */
#define WORD(id, text) TOKEN_##id,
#define SYMBOL(id, text) TOKEN_##id,
#define CLASS(id, text) TOKEN_##id,
#include "tokens.def"
#undef WORD
#undef SYMBOL
#undef CLASS
  TOKEN_COUNT,
  TOKEN_NONE = 0 /* for messages that name no token */
};

typedef struct TokenValue {
  int kind; /* enum Token, or a character */
  union {
    int64_t i; /* INTEGER */
    double n;  /* FLOAT */
    String *s; /* text of a NAME or STRING */
  } u;
} TokenValue;

#define WORD_SLOTS 64 /* size of the table of reserved words; a power of two */

typedef struct Lexer {
  lua_State *L;
  Arena *arena;
  const char *cursor, *end;
  int line;       /* line of `token` (more precisely, of the cursor) */
  int last_line;  /* line of the token consumed before `token` */
  /* columns where `token`, the token before it, and `ahead` start, in bytes from 1; 0 if
     the token does not start on its line */
  size_t column, last_column, ahead_column;
  const char *line_start;                   /* start of `line` in the source */
  TokenValue token;
  TokenValue ahead;               /* kind is EOF if there is none */
  const char *lexeme, *lexeme_end; /* the source of the token scanned last */
  char *buffer;                   /* decoded text of a string with escapes */
  uint32_t buffer_length, buffer_capacity;
  const char *chunk_name;         /* as given to lua_load */
  struct LongString *long_strings; /* the chunk's long strings, each content once */
  /* by the hash of a reserved word, its token - TOKEN_BEFORE_FIRST, or 0 for a free
     slot */
  uint8_t words[WORD_SLOTS];
} Lexer;

/* Starts at the first token, which is in `token` only after lexer_next has been called.
 * `source` need not end in a NUL and must outlive the lexer. */
void lexer_init(Lexer *lx, Arena *arena, const char *source, size_t size, const char *chunk_name);
/* Moves to the next token. Raises LUA_ERRSYNTAX, LUA_ERRMEM. */
void lexer_next(Lexer *lx);
/* Returns the kind of the token after the current one. */
int lexer_peek(Lexer *lx);
/* Returns the position of the current token, or with lexer_last_position that of the
   token consumed before it. */
ALWAYS_INLINE Position lexer_position(const Lexer *lx) {
  return position_make((uint32_t)lx->line, lx->column);
}
ALWAYS_INLINE Position lexer_last_position(const Lexer *lx) {
  return position_make((uint32_t)lx->last_line, lx->last_column);
}
/* Returns the chunk's only String for these bytes: equal names have the same address,
 * also names that are too long to be interned by the domain. */
String *lexer_string(Lexer *lx, const char *s, size_t length);
/* Returns the name that a piece of the source spells, without blanks: "M.a.b:c"; for
 * t[i].f and g().f only the last part, "f". Returns NULL if there is none. */
String *lexer_spelled(Lexer *lx, const char *from, const char *end);
/* Returns a token as messages show it (on the stack of L). */
const char *token_text(Lexer *lx, int kind);
/* Raises "chunk:line: message near 'token'" at the current line, without "near 'token'"
 * if kind is TOKEN_NONE. */
_Noreturn void lexer_error(Lexer *lx, const char *message, int kind);

#endif
