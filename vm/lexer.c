/* SPDX-License-Identifier: MIT */
/* vm/lexer.c: from source text to tokens.
 *
 * The whole source is in memory, so the lexer works on a cursor and an end and takes
 * names, numerals and strings without escapes straight out of the text; only a string
 * with escapes or a foreign line end is copied into `buffer`. Characters are unsigned;
 * END (-1) follows the last one.
 *
 * Reserved words are found in a table of 64 bytes that lexer_init fills from tokens.def
 * (22 insertions). So no domain has to be prepared for compiling, and no String is made
 * for a reserved word. Every other word is a String of the domain. Short words are
 * interned in the domain, long ones in `long_strings`, so the compiler may compare names
 * by address.
 *
 * Failures: lexer_error raises LUA_ERRSYNTAX with the position and the text of the
 * offending lexeme; the message shows a string in its decoded form. The arena owns all
 * scratch memory.
 */
#include "lexer.h"

#include <limits.h>
#include <string.h>

#include "debuginfo.h"
#include "number.h"
#include "str.h"
#include "throw.h"

#define END (-1)
#define MOST_SPELLED 100 /* bytes of a name with parts; longer ones are cut */

enum { CHAR_ALPHA = 1, CHAR_DIGIT = 2, CHAR_HEX = 4, CHAR_SPACE = 8, CHAR_PRINT = 16 };

/* The classes of ASCII characters, whatever the locale says. */
static const uint8_t char_class[256] = {
  ['\t'] = CHAR_SPACE, ['\v' ... '\f'] = CHAR_SPACE, [' '] = CHAR_SPACE | CHAR_PRINT,
  ['!' ... '/'] = CHAR_PRINT,
  ['0' ... '9'] = CHAR_DIGIT | CHAR_HEX | CHAR_PRINT,
  [':' ... '@'] = CHAR_PRINT,
  ['A' ... 'F'] = CHAR_ALPHA | CHAR_HEX | CHAR_PRINT,
  ['G' ... 'Z'] = CHAR_ALPHA | CHAR_PRINT,
  ['[' ... '^'] = CHAR_PRINT, ['_'] = CHAR_ALPHA | CHAR_PRINT, ['`'] = CHAR_PRINT,
  ['a' ... 'f'] = CHAR_ALPHA | CHAR_HEX | CHAR_PRINT,
  ['g' ... 'z'] = CHAR_ALPHA | CHAR_PRINT,
  ['{' ... '~'] = CHAR_PRINT,
};
#define has_class(c, mask) ((c) != END && (char_class[c] & (mask)))

static const struct { const char *text; uint8_t length; bool quoted, word; } tokens[] = {
#define WORD(id, text) {text, sizeof text - 1, true, true},
#define SYMBOL(id, text) {text, sizeof text - 1, true, false},
#define CLASS(id, text) {text, sizeof text - 1, false, false},
#include "tokens.def"
#undef WORD
#undef SYMBOL
#undef CLASS
};
#define token_info(kind) tokens[(kind) - TOKEN_BEFORE_FIRST - 1]

/* ---- characters ---------------------------------------------------------- */

ALWAYS_INLINE int current_char(const Lexer *lx) {
  return lx->cursor < lx->end ? (unsigned char)*lx->cursor : END;
}

ALWAYS_INLINE int following_char(const Lexer *lx) {
  return lx->end - lx->cursor > 1 ? (unsigned char)lx->cursor[1] : END;
}

ALWAYS_INLINE bool is_newline(int c) {
  return c == '\n' || c == '\r';
}

/* Passes a line end: \n, \r, \r\n or \n\r. */
static void pass_newline(Lexer *lx) {
  int first = current_char(lx);
  lx->cursor++;
  int second = current_char(lx);
  if (is_newline(second) && second != first) lx->cursor++;
  lx->line_start = lx->cursor;
  if (unlikely(++lx->line == INT_MAX)) lexer_error(lx, "chunk has too many lines", TOKEN_NONE);
}

/* ---- the buffer ---------------------------------------------------------- */

static void buffer_byte(Lexer *lx, int byte) {
  lx->buffer = arena_grow(lx->arena, lx->buffer, lx->buffer_length, &lx->buffer_capacity, 1);
  lx->buffer[lx->buffer_length++] = (char)byte;
}

static void buffer_bytes(Lexer *lx, const char *s, size_t length) {
  for (size_t i = 0; i < length; i++) buffer_byte(lx, (unsigned char)s[i]);
}

/* ---- messages ------------------------------------------------------------ */

/* Raises "chunk:line: message near text", without "near text" if text is NULL. */
static _Noreturn void error_near(Lexer *lx, const char *message, const char *text) {
  char chunk[LUA_IDSIZE];
  chunk_id(chunk, lx->chunk_name, strlen(lx->chunk_name));
  if (text)
    string_format(lx->L, "%s:%d: %s near %s", chunk, lx->line, message, text);
  else
    string_format(lx->L, "%s:%d: %s", chunk, lx->line, message);
  error_throw(lx->L, LUA_ERRSYNTAX);
}

static const char *format_text(Lexer *lx, const char *format, const char *argument) {
  return string_format(lx->L, format, argument)->data;
}

/* Raises with a text that consists of a decoded beginning (buffer) and raw source after
   it. */
static _Noreturn void error_in_lexeme(Lexer *lx, const char *message, const char *raw,
                                      const char *raw_end) {
  if (raw_end > raw) buffer_bytes(lx, raw, (size_t)(raw_end - raw));
  buffer_byte(lx, 0);
  error_near(lx, message, format_text(lx, "'%s'", lx->buffer));
}

/* Returns the token scanned last, as it is in the source, but decoded. */
static const char *lexeme_text(Lexer *lx, const String *decoded) {
  lx->buffer_length = 0;
  if (decoded == NULL) {
    buffer_bytes(lx, lx->lexeme, (size_t)(lx->lexeme_end - lx->lexeme));
  } else {
    size_t delimiter = 1; /* length of a quote or [==[ */
    if (*lx->lexeme == '[') delimiter += 1 + strspn(lx->lexeme + 1, "=");
    buffer_bytes(lx, lx->lexeme, delimiter);
    buffer_bytes(lx, decoded->data, string_len(decoded));
    buffer_bytes(lx, lx->lexeme_end - delimiter, delimiter);
  }
  buffer_byte(lx, 0);
  return format_text(lx, "'%s'", lx->buffer);
}

const char *token_text(Lexer *lx, int kind) {
  if (kind < TOKEN_BEFORE_FIRST) {
    if (has_class(kind, CHAR_PRINT)) return string_format(lx->L, "'%c'", kind)->data;
    return string_format(lx->L, "'<\\%d>'", kind)->data;
  }
  const char *text = token_info(kind).text;
  return token_info(kind).quoted ? format_text(lx, "'%s'", text) : text;
}

void lexer_error(Lexer *lx, const char *message, int kind) {
  const char *text = NULL;
  switch (kind) {
    case TOKEN_NONE: break;
    case TOKEN_STRING:
      /* no error is raised between lexer_peek and lexer_next */
      text = lexeme_text(lx, lx->token.u.s);
      break;
    case TOKEN_NAME: case TOKEN_FLOAT: case TOKEN_INTEGER: text = lexeme_text(lx, NULL); break;
    default: text = token_text(lx, kind);
  }
  error_near(lx, message, text);
}

/* ---- reserved words and names -------------------------------------------- */

/* Returns the hash of a word; reserved words do not collide (checked when the table is
   filled). */
ALWAYS_INLINE unsigned word_hash(const char *s, size_t length) {
  return ((unsigned char)s[0] + (unsigned char)s[length - 1] + (unsigned)length * 8) &
         (WORD_SLOTS - 1);
}

static void fill_words(Lexer *lx) {
  for (unsigned i = 0; i < sizeof tokens / sizeof tokens[0] && tokens[i].word; i++) {
    uint8_t *slot = &lx->words[word_hash(tokens[i].text, tokens[i].length)];
    rt_assert(*slot == 0);
    *slot = (uint8_t)(i + 1);
  }
}

typedef struct LongString {
  struct LongString *next;
  String *string;
} LongString;

#define LONG_STRING_CHAINS 64

static uint32_t content_hash(const char *s, size_t length) {
  uint32_t hash = (uint32_t)length;
  for (size_t i = 0, step = (length >> 5) + 1; i < length; i += step)
    hash = (hash ^ (unsigned char)s[i]) * 0x01000193u;
  return hash ^ (hash >> 15);
}

/* Returns the String of a long text. The domain does not intern long strings; a chunk
   shares them. */
static String *long_string(Lexer *lx, const char *s, size_t length) {
  if (lx->long_strings == NULL)
    lx->long_strings = arena_alloc(lx->arena, LONG_STRING_CHAINS * sizeof(LongString));
  LongString *chain = &lx->long_strings[content_hash(s, length) % LONG_STRING_CHAINS];
  for (LongString *l = chain->next; l; l = l->next)
    if (l->string->u.long_len == length && memcmp(l->string->data, s, length) == 0)
      return l->string;
  LongString *added = arena_alloc(lx->arena, sizeof(LongString));
  added->string = string_new(lx->L, s, length);
  added->next = chain->next;
  chain->next = added;
  return added->string;
}

String *lexer_string(Lexer *lx, const char *s, size_t length) {
  return length <= SHORT_STRING_MAX ? string_new(lx->L, s, length) : long_string(lx, s, length);
}

static int scan_name(Lexer *lx, TokenValue *token) {
  const char *start = lx->cursor, *p = start;
  while (p < lx->end && char_class[(unsigned char)*p] & (CHAR_ALPHA | CHAR_DIGIT)) p++;
  lx->cursor = p;
  size_t length = (size_t)(p - start);
  int word = lx->words[word_hash(start, length)];
  if (word && tokens[word - 1].length == length &&
      memcmp(tokens[word - 1].text, start, length) == 0)
    return TOKEN_BEFORE_FIRST + word;
  token->u.s = lexer_string(lx, start, length);
  return TOKEN_NAME;
}

/* ---- numerals ------------------------------------------------------------ */

/* Returns the end of everything that can belong to a numeral, right or wrong. */
static const char *numeral_end(const Lexer *lx) {
  const char *p = lx->cursor, *end = lx->end;
  char exponent = 'e';
  if (*p == '.') p++; /* ".0x1" is one malformed numeral */
  if (*p == '0' && end - p > 1 && (p[1] | 0x20) == 'x') exponent = 'p', p += 2;
  while (p < end) {
    if ((*p | 0x20) == exponent) {
      p++;
      if (p < end && (*p == '+' || *p == '-')) p++;
    } else if (*p == '.' || char_class[(unsigned char)*p] & CHAR_HEX) {
      p++;
    } else {
      break;
    }
  }
  /* a numeral touching a name is malformed */
  if (p < end && char_class[(unsigned char)*p] & CHAR_ALPHA) p++;
  return p;
}

/* Converts a decimal integer of at most 18 digits, which needs no general conversion;
   returns false for anything else. */
static bool simple_integer(const char *s, size_t length, int64_t *result) {
  if (length > 18) return false;
  int64_t value = 0;
  for (size_t i = 0; i < length; i++) {
    if (!(char_class[(unsigned char)s[i]] & CHAR_DIGIT)) return false;
    value = value * 10 + (s[i] - '0');
  }
  *result = value;
  return true;
}

static int scan_numeral(Lexer *lx, TokenValue *token) {
  const char *start = lx->cursor;
  lx->cursor = numeral_end(lx);
  size_t length = (size_t)(lx->cursor - start);
  if (simple_integer(start, length, &token->u.i)) return TOKEN_INTEGER;
  lx->buffer_length = 0;
  buffer_bytes(lx, start, length);
  buffer_byte(lx, 0);
  TValue value;
  if (number_parse(lx->buffer, &value) != length + 1) {
    lx->buffer_length = 0;
    error_in_lexeme(lx, "malformed number", start, lx->cursor);
  }
  if (is_int(&value)) {
    token->u.i = value.v.i;
    return TOKEN_INTEGER;
  }
  token->u.n = value.v.n;
  return TOKEN_FLOAT;
}

#define BYTES(b) ((b) * UINT64_C(0x0101010101010101)) /* b in each byte of a word */

/* ---- long brackets ------------------------------------------------------- */

/* Returns the number of '=' between the bracket at the cursor and a second bracket.
 * Without a second bracket returns -1, or -2 if there are '='. */
static int bracket_level(const Lexer *lx) {
  const char *p = lx->cursor;
  char bracket = *p++;
  while (p < lx->end && *p == '=') p++;
  int level = (int)(p - lx->cursor - 1);
  if (p < lx->end && *p == bracket) return level;
  return level == 0 ? -1 : -2;
}

static _Noreturn void error_unfinished_long(Lexer *lx, const char *what, int start_line) {
  const char *message =
      string_format(lx->L, "unfinished long %s (starting at line %d)", what, start_line)->data;
  lexer_error(lx, message, TOKEN_EOF);
}

/* Tells whether a byte of the word is b; `repeated` has b in each byte. The result has
 * bits of the bytes that are b; bits above the lowest such byte may be wrong. */
ALWAYS_INLINE uint64_t has_byte(uint64_t word, uint64_t repeated) {
  uint64_t difference = word ^ repeated;
  return (difference - BYTES(1)) & ~difference & BYTES(0x80);
}

/* Returns the next position from p on where a long bracket or a line may end. */
static const char *end_of_long_text(const char *p, const char *end) {
  for (uint64_t word; end - p >= (ptrdiff_t)sizeof word; p += sizeof word) {
    memcpy(&word, p, sizeof word);
    if (has_byte(word, BYTES(']')) | has_byte(word, BYTES('\n')) | has_byte(word, BYTES('\r')))
      break;
  }
  while (p < end && *p != ']' && !is_newline(*p)) p++;
  return p;
}

/* Scans a long string, from its opening bracket at the cursor, or skips a comment (token
   NULL). */
static void scan_long_bracket(Lexer *lx, int level, TokenValue *token) {
  int start_line = lx->line;
  lx->cursor += level + 2;
  if (is_newline(current_char(lx))) pass_newline(lx);
  const char *pending = lx->cursor; /* not yet in the buffer */
  bool buffered = false;            /* some line end was not a plain \n */
  lx->buffer_length = 0;
  for (;;) {
    int c = current_char(lx);
    if (c == END) error_unfinished_long(lx, token ? "string" : "comment", start_line);
    if (c == ']' && bracket_level(lx) == level) break;
    if (!is_newline(c)) {
      lx->cursor = end_of_long_text(lx->cursor + 1, lx->end);
      continue;
    }
    const char *line_end = lx->cursor;
    pass_newline(lx);
    if (token && !(c == '\n' && lx->cursor == line_end + 1)) {
      buffer_bytes(lx, pending, (size_t)(line_end - pending));
      buffer_byte(lx, '\n');
      pending = lx->cursor;
      buffered = true;
    }
  }
  if (token && !buffered) {
    token->u.s = lexer_string(lx, pending, (size_t)(lx->cursor - pending));
  } else if (token) {
    buffer_bytes(lx, pending, (size_t)(lx->cursor - pending));
    token->u.s = lexer_string(lx, lx->buffer, lx->buffer_length);
  }
  lx->cursor += level + 2;
}

/* ---- quoted strings ------------------------------------------------------ */

/* Raises unless `good`. The message shows the string up to and including the current
   character. */
static void check_escape(Lexer *lx, bool good, const char *message, const char *escape) {
  if (likely(good)) return;
  error_in_lexeme(lx, message, escape, lx->cursor + (lx->cursor < lx->end));
}

static int hex_value(int c) {
  return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

static int hex_digit(Lexer *lx, const char *escape) {
  int c = current_char(lx);
  check_escape(lx, has_class(c, CHAR_HEX), "hexadecimal digit expected", escape);
  lx->cursor++;
  return hex_value(c);
}

static int hex_escape(Lexer *lx, const char *escape) {
  lx->cursor++; /* the x */
  int high = hex_digit(lx, escape);
  return high * 16 + hex_digit(lx, escape);
}

static int decimal_escape(Lexer *lx, const char *escape) {
  int value = 0;
  for (int i = 0; i < 3 && has_class(current_char(lx), CHAR_DIGIT); i++)
    value = value * 10 + (*lx->cursor++ - '0');
  check_escape(lx, value <= UCHAR_MAX, "decimal escape too large", escape);
  return value;
}

/* Adds a code as UTF-8 in its original form: up to six bytes for up to 31 bits. */
static void buffer_utf8(Lexer *lx, uint32_t code) {
  char bytes[6];
  int n = 0;
  uint32_t first_limit = 0x3f; /* greatest value that fits into the first byte */
  if (code < 0x80) {
    buffer_byte(lx, (int)code);
    return;
  }
  do {
    bytes[n++] = (char)(0x80 | (code & 0x3f));
    code >>= 6;
    first_limit >>= 1;
  } while (code > first_limit);
  buffer_byte(lx, (int)((~first_limit << 1 | code) & 0xff));
  while (n > 0) buffer_byte(lx, (unsigned char)bytes[--n]);
}

static void utf8_escape(Lexer *lx, const char *escape) {
  lx->cursor++; /* the u */
  check_escape(lx, current_char(lx) == '{', "missing '{'", escape);
  lx->cursor++;
  uint32_t code = (uint32_t)hex_digit(lx, escape);
  while (has_class(current_char(lx), CHAR_HEX)) {
    check_escape(lx, code <= 0x7fffffffu >> 4, "UTF-8 value too large", escape);
    code = code * 16 + (uint32_t)hex_value(current_char(lx));
    lx->cursor++;
  }
  check_escape(lx, current_char(lx) == '}', "missing '}'", escape);
  lx->cursor++;
  buffer_utf8(lx, code);
}

static void pass_whitespace(Lexer *lx) {
  lx->cursor++; /* the z */
  for (;;) {
    int c = current_char(lx);
    if (is_newline(c)) pass_newline(lx);
    else if (has_class(c, CHAR_SPACE)) lx->cursor++;
    else return;
  }
}

static void plain_escape(Lexer *lx, int byte) {
  lx->cursor++;
  buffer_byte(lx, byte);
}

/* Scans an escape; the cursor is at its backslash. */
static void scan_escape(Lexer *lx) {
  const char *escape = lx->cursor++;
  int c = current_char(lx);
  switch (c) {
    case 'a': plain_escape(lx, '\a'); break;
    case 'b': plain_escape(lx, '\b'); break;
    case 'f': plain_escape(lx, '\f'); break;
    case 'n': plain_escape(lx, '\n'); break;
    case 'r': plain_escape(lx, '\r'); break;
    case 't': plain_escape(lx, '\t'); break;
    case 'v': plain_escape(lx, '\v'); break;
    case '\\': case '"': case '\'': plain_escape(lx, c); break;
    case '\n': case '\r': pass_newline(lx); buffer_byte(lx, '\n'); break;
    case 'x': buffer_byte(lx, hex_escape(lx, escape)); break;
    case 'u': utf8_escape(lx, escape); break;
    case 'z': pass_whitespace(lx); break;
    case END: break; /* the caller reports the unfinished string */
    default:
      check_escape(lx, has_class(c, CHAR_DIGIT), "invalid escape sequence", escape);
      buffer_byte(lx, decimal_escape(lx, escape));
  }
}

/* Scans the rest of a string with escapes: buffer holds the opening quote and what was
   read. */
static void scan_escaped_string(Lexer *lx, int quote) {
  for (;;) {
    int c = current_char(lx);
    if (c == quote) return;
    if (c == END) lexer_error(lx, "unfinished string", TOKEN_EOF);
    if (is_newline(c)) error_in_lexeme(lx, "unfinished string", NULL, NULL);
    if (c == '\\') {
      scan_escape(lx);
    } else {
      buffer_byte(lx, c);
      lx->cursor++;
    }
  }
}

static void scan_string(Lexer *lx, TokenValue *token) {
  const char *start = lx->cursor, *p = start + 1;
  char quote = *start;
  while (p < lx->end && *p != quote && *p != '\\' && !is_newline(*p)) p++;
  lx->cursor = p;
  if (p < lx->end && *p == quote) {
    token->u.s = lexer_string(lx, start + 1, (size_t)(p - start - 1));
  } else {
    lx->buffer_length = 0;
    buffer_bytes(lx, start, (size_t)(p - start));
    scan_escaped_string(lx, quote);
    token->u.s = lexer_string(lx, lx->buffer + 1, lx->buffer_length - 1);
  }
  lx->cursor++;
}

/* ---- tokens -------------------------------------------------------------- */

static void pass_comment(Lexer *lx) {
  lx->cursor += 2;
  if (current_char(lx) == '[') {
    int level = bracket_level(lx);
    if (level >= 0) {
      scan_long_bracket(lx, level, NULL);
      return;
    }
  }
  while (lx->cursor < lx->end && !is_newline(*lx->cursor)) lx->cursor++;
}

/* Moves to the first character of a token. */
static void pass_blanks(Lexer *lx) {
  for (;;) {
    int c = current_char(lx);
    if (is_newline(c)) pass_newline(lx);
    else if (has_class(c, CHAR_SPACE)) lx->cursor++;
    else if (c == '-' && following_char(lx) == '-') pass_comment(lx);
    else return;
  }
}

static int one_char(Lexer *lx) {
  return (unsigned char)*lx->cursor++;
}

/* Returns the two-character token `kind` if `second` follows, otherwise one character. */
static int maybe_pair(Lexer *lx, int second, int kind) {
  if (following_char(lx) != second) return one_char(lx);
  lx->cursor += 2;
  return kind;
}

static int scan_open_bracket(Lexer *lx, TokenValue *token) {
  int level = bracket_level(lx);
  if (level == -1) return one_char(lx);
  if (level == -2) {
    const char *p = lx->cursor + 1;
    while (p < lx->end && *p == '=') p++;
    lx->buffer_length = 0;
    error_in_lexeme(lx, "invalid long string delimiter", lx->cursor, p);
  }
  scan_long_bracket(lx, level, token);
  return TOKEN_STRING;
}

static int scan_dot(Lexer *lx, TokenValue *token) {
  if (has_class(following_char(lx), CHAR_DIGIT)) return scan_numeral(lx, token);
  if (following_char(lx) != '.') return one_char(lx);
  lx->cursor += 2;
  if (current_char(lx) != '.') return TOKEN_CONCAT;
  lx->cursor++;
  return TOKEN_DOTS;
}

static int scan_relation(Lexer *lx, int c) {
  if (c == '<')
    return following_char(lx) == '<' ? maybe_pair(lx, '<', TOKEN_SHL)
                                     : maybe_pair(lx, '=', TOKEN_LE);
  return following_char(lx) == '>' ? maybe_pair(lx, '>', TOKEN_SHR) : maybe_pair(lx, '=', TOKEN_GE);
}

static int scan_token(Lexer *lx, TokenValue *token) {
  int c = current_char(lx);
  switch (c) {
    case END: return TOKEN_EOF;
    case '[': return scan_open_bracket(lx, token);
    case '=': return maybe_pair(lx, '=', TOKEN_EQ);
    case '<': case '>': return scan_relation(lx, c);
    case '/': return maybe_pair(lx, '/', TOKEN_IDIV);
    case '~': return maybe_pair(lx, '=', TOKEN_NE);
    case ':': return maybe_pair(lx, ':', TOKEN_LABEL);
    case '"': case '\'': scan_string(lx, token); return TOKEN_STRING;
    case '.': return scan_dot(lx, token);
    default:
      if (char_class[c] & CHAR_ALPHA) return scan_name(lx, token);
      if (char_class[c] & CHAR_DIGIT) return scan_numeral(lx, token);
      return one_char(lx);
  }
}

static void scan_next(Lexer *lx, TokenValue *token) {
  pass_blanks(lx);
  lx->lexeme = lx->cursor;
  token->kind = scan_token(lx, token);
  lx->lexeme_end = lx->cursor;
}

/* Returns the column of the token scanned last; 0 if it began on an earlier line (a
   string). */
ALWAYS_INLINE size_t lexeme_column(const Lexer *lx) {
  return lx->lexeme >= lx->line_start ? (size_t)(lx->lexeme - lx->line_start) + 1 : 0;
}

String *lexer_spelled(Lexer *lx, const char *from, const char *end) {
  char name[MOST_SPELLED];
  size_t n = 0;
  for (; from < end; from++) {
    const int c = (unsigned char)*from;
    const bool joins = c == '.' || c == ':';
    if (is_newline(c) || has_class(c, CHAR_SPACE)) continue;
    if (!joins && !has_class(c, CHAR_ALPHA | CHAR_DIGIT)) n = 0;
    else if (n < sizeof name && (n > 0 || !joins)) name[n++] = (char)c;
  }
  return n > 0 ? lexer_string(lx, name, n) : NULL;
}

void lexer_next(Lexer *lx) {
  lx->last_line = lx->line;
  lx->last_column = lx->column;
  if (unlikely(lx->ahead.kind != TOKEN_EOF)) {
    lx->token = lx->ahead;
    lx->column = lx->ahead_column;
    lx->ahead.kind = TOKEN_EOF;
  } else {
    scan_next(lx, &lx->token);
    lx->column = lexeme_column(lx);
  }
}

int lexer_peek(Lexer *lx) {
  rt_assert(lx->ahead.kind == TOKEN_EOF);
  TokenValue token;
  int line = lx->line;
  scan_next(lx, &token);
  lx->ahead = token;
  lx->ahead_column = lexeme_column(lx);
  if (lx->line != line) lx->column = 0; /* `line` is the line of the next token now */
  return token.kind;
}

void lexer_init(Lexer *lx, Arena *arena, const char *source, size_t size, const char *chunk_name) {
  *lx = (Lexer){.L = arena->L,
                .arena = arena,
                .cursor = source,
                .end = source + size,
                .line = 1,
                .last_line = 1,
                .line_start = source,
                .chunk_name = chunk_name};
  lx->ahead.kind = TOKEN_EOF;
  fill_words(lx);
}
