/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_lexer.c: tokens of C declarations: words, numbers, characters, strings,
 * comments, and `$`, which a parameter replaces. Of the preprocessor's output, line
 * markers are skipped and #pragma pack is obeyed. */
#include "ffi_lexer.h"
#include "object.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- words --------------------------------------------------------------- */

static const struct { const char *text; int token; } keywords[] = {
#define KEYWORD(id, text) {text, CT_##id},
#define ALIAS(id, text) {text, CT_##id},
#include "ffi_keywords.def"
#undef KEYWORD
#undef ALIAS
};

static const char *const keyword_names[] = {
#define KEYWORD(id, text) [CT_##id - CT_FIRST_KEYWORD] = text,
#define ALIAS(id, text)
#include "ffi_keywords.def"
#undef KEYWORD
#undef ALIAS
};

static const char *const other_names[] = {
  "end", "name", "number", "string", "type", "...", "<<", ">>", "&&", "||", "==", "!=", "<=", ">=",
  "->"};

const char *clexer_token_text(int token, char *buffer) {
  if (token > CT_FIRST_KEYWORD)
    snprintf(buffer, CTOKEN_TEXT, "%s", keyword_names[token - CT_FIRST_KEYWORD]);
  else if (token >= CT_END) snprintf(buffer, CTOKEN_TEXT, "%s", other_names[token - CT_END]);
  else snprintf(buffer, CTOKEN_TEXT, "%c", token);
  return buffer;
}

static int keyword_of(const String *name) {
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
    if (keywords[i].text[0] == name->data[0] && strcmp(keywords[i].text, name->data) == 0)
      return keywords[i].token;
  return CT_NAME;
}

/* ---- errors -------------------------------------------------------------- */

/* Raises an error. Making its message collects, but the types of the text exist only in
 * part: finalizers must not run before they are undone (parse_or_undo). */
_Noreturn static void raise_at(CLexer *x, CPosition position, const char *format, va_list arguments,
                               const char *near) {
  char message[256];
  vsnprintf(message, sizeof message, format, arguments);
  gc_hold(x->L->domain);
  luaL_error(x->L, "%s:%d:%d: %s%s", x->what, (int)position.line, (int)position.column, message,
             near);
  __builtin_unreachable();
}

void clexer_error_at(CLexer *x, CPosition position, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  raise_at(x, position, format, arguments, "");
}

void clexer_error(CLexer *x, const char *format, ...) {
  char near[80] = " at the end";
  if (x->token != CT_END) {
    int size = (int)(x->p - x->start);
    snprintf(near, sizeof near, " near '%.*s'", size < 40 ? size : 40, x->start);
  }
  va_list arguments;
  va_start(arguments, format);
  raise_at(x, clexer_position(x), format, arguments, near);
}

/* ---- space --------------------------------------------------------------- */

static void new_line(CLexer *x) {
  x->line++;
  x->line_start = x->p;
}

static void skip_comment(CLexer *x) {
  CPosition position = {x->line, (unsigned)(x->p - x->line_start) + 1};
  for (x->p += 2; x->end - x->p >= 2; x->p++) {
    if (x->p[0] == '*' && x->p[1] == '/') {
      x->p += 2;
      return;
    }
    if (*x->p == '\n') {
      x->line++;
      x->line_start = x->p + 1;
    }
  }
  clexer_error_at(x, position, "comment without an end");
}

static void skip_line(CLexer *x) {
  while (x->p < x->end && *x->p != '\n') x->p++;
}

static bool line_word(const char **p, const char *end, const char *word) {
  size_t n = strlen(word);
  while (*p < end && (**p == ' ' || **p == '\t')) (*p)++;
  if ((size_t)(end - *p) < n || memcmp(*p, word, n) != 0) return false;
  *p += n;
  return true;
}

static void push_pack(CLexer *x, CPosition position) {
  if (x->pack_depth == sizeof x->pack_stack / sizeof *x->pack_stack)
    clexer_error_at(x, position, "too many '#pragma pack(push)'");
  x->pack_stack[x->pack_depth++] = x->pack;
}

static void pop_pack(CLexer *x, CPosition position) {
  if (x->pack_depth == 0) clexer_error_at(x, position, "'#pragma pack(pop)' without a push");
  x->pack = x->pack_stack[--x->pack_depth];
}

/* Reads the number of #pragma pack; 0, no limit, if ")" follows at once. */
static uint32_t pack_number(CLexer *x, CPosition position, const char **p, const char *end) {
  uint32_t pack = 0;
  while (*p < end && (**p == ' ' || **p == '\t')) (*p)++;
  const char *begin = *p;
  const bool is_there = begin < end && *begin != ')';
  while (*p < end && **p >= '0' && **p <= '9' && pack < 1000)
    pack = pack * 10 + (uint32_t)(*(*p)++ - '0');
  if (pack > 16 || (pack & (pack - 1)) != 0 || (is_there && *p == begin))
    clexer_error_at(x, position, "'#pragma pack' takes 1, 2, 4, 8 or 16");
  return pack;
}

static void set_pack(CLexer *x, CPosition position, const char *p, const char *end) {
  if (!line_word(&p, end, "(")) clexer_error_at(x, position, "'(' expected after '#pragma pack'");
  if (line_word(&p, end, "pop")) {
    pop_pack(x, position);
  } else {
    const bool pushes = line_word(&p, end, "push");
    if (pushes) push_pack(x, position);
    if (!pushes || line_word(&p, end, ",")) x->pack = pack_number(x, position, &p, end);
  }
  if (!line_word(&p, end, ")")) clexer_error_at(x, position, "')' expected after '#pragma pack'");
}

/* Skips a line that begins with '#'. */
static void skip_directive(CLexer *x) {
  CPosition position = {x->line, (unsigned)(x->p - x->line_start) + 1};
  const char *p = x->p + 1;
  skip_line(x);
  const char *end = x->p;
  if (line_word(&p, end, "pragma")) {
    if (line_word(&p, end, "pack")) set_pack(x, position, p, end);
    return;
  }
  if (line_word(&p, end, "line") || (p < end && *p >= '0' && *p <= '9')) return;
  clexer_error_at(
      x, position,
      "there is no preprocessor here: pass the text through one, or write what it would make");
}

static bool only_space_before(const CLexer *x) {
  for (const char *p = x->line_start; p < x->p; p++)
    if (*p != ' ' && *p != '\t') return false;
  return true;
}

static void skip_space(CLexer *x) {
  for (; x->p < x->end; ) {
    char c = *x->p;
    char next = x->end - x->p >= 2 ? x->p[1] : '\0';
    if (c == '\n') x->p++, new_line(x);
    else if (isspace((unsigned char)c) || (c == '\\' && next == '\n')) x->p++;
    else if (c == '/' && next == '*') skip_comment(x);
    else if (c == '/' && next == '/') skip_line(x);
    else if (c == '#' && only_space_before(x)) skip_directive(x);
    else return;
  }
}

/* ---- numbers, characters, strings ---------------------------------------- */

static int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* Returns the type of a constant: the first one that its suffix allows and that holds
   it. */
static BasicType constant_type(uint64_t value, bool is_unsigned, unsigned longs, bool is_decimal) {
  bool u = is_unsigned || (!is_decimal && longs == 0 && value > INT32_MAX && value <= UINT32_MAX) ||
           value > (uint64_t)INT64_MAX;
  if (longs == 2) return u ? BASIC_ULLONG : BASIC_LLONG;
  if (longs == 1 || value > (u ? (uint64_t)UINT32_MAX : (uint64_t)INT32_MAX))
    return u ? BASIC_ULONG : BASIC_LONG;
  return u ? BASIC_UINT : BASIC_INT;
}

static void number_suffix(CLexer *x, bool is_decimal) {
  bool is_unsigned = false;
  unsigned longs = 0;
  for (; x->p < x->end; x->p++) {
    char c = (char)(*x->p | 0x20);
    if (c == 'u' && !is_unsigned) is_unsigned = true;
    else if (c == 'l' && longs < 2) longs++;
    else break;
  }
  if (x->p < x->end && (isalnum((unsigned char)*x->p) || *x->p == '_' || *x->p == '.')) {
    while (x->p < x->end && (isalnum((unsigned char)*x->p) || *x->p == '.')) x->p++;
    clexer_error(x, "malformed integer constant");
  }
  x->value_type = constant_type(x->value, is_unsigned, longs, is_decimal);
}

static int scan_number(CLexer *x) {
  int base = 10;
  if (*x->p == '0' && x->end - x->p >= 2) {
    char c = (char)(x->p[1] | 0x20);
    base = c == 'x' ? 16 : c == 'b' ? 2 : 8;
    x->p += base == 8 ? 1 : 2;
    if (base != 8 && (x->p == x->end || digit_value(*x->p) >= base))
      clexer_error(x, "malformed integer constant");
  }
  x->value = 0;
  x->token = CT_NUMBER;
  for (; x->p < x->end && digit_value(*x->p) < base; x->p++)
    if (__builtin_mul_overflow(x->value, (uint64_t)base, &x->value) ||
        __builtin_add_overflow(x->value, (uint64_t)digit_value(*x->p), &x->value))
      clexer_error(x, "integer constant is too large");
  number_suffix(x, base == 10);
  return CT_NUMBER;
}

static int scan_escape(CLexer *x) {
  static const char letters[] = "abfnrtv", codes[] = "\a\b\f\n\r\t\v";
  char c = *x->p++;
  const char *letter = c != '\0' ? strchr(letters, c) : NULL;
  if (letter != NULL) return codes[letter - letters];
  int value = 0;
  if (c == 'x') {
    while (x->p < x->end && digit_value(*x->p) < 16)
      value = (value << 4 | digit_value(*x->p++)) & 0xff;
    return (char)value;
  }
  if (c < '0' || c > '7') return c;
  value = c - '0';
  for (int i = 0; i < 2 && x->p < x->end && *x->p >= '0' && *x->p <= '7'; i++)
    value = value * 8 + (*x->p++ - '0');
  return (char)value;
}

/* Scans one character between quotes; raises at the end of the line. */
static char scan_quoted(CLexer *x) {
  if (x->p >= x->end || *x->p == '\n') clexer_error(x, "quote without an end");
  char c = *x->p++;
  if (c != '\\') return c;
  if (x->p >= x->end) clexer_error(x, "quote without an end");
  return (char)scan_escape(x);
}

static int scan_character(CLexer *x) {
  x->p++;
  x->token = CT_NUMBER;
  x->value = (uint64_t)(int64_t)scan_quoted(x);
  x->value_type = BASIC_INT;
  if (x->p >= x->end || *x->p != '\'') clexer_error(x, "malformed character constant");
  x->p++;
  return CT_NUMBER;
}

static int scan_string(CLexer *x) {
  char text[256];
  size_t n = 0;
  x->token = CT_STRING;
  x->p++;
  while (x->p >= x->end || *x->p != '"') {
    char c = scan_quoted(x);
    if (n == sizeof text) clexer_error(x, "string is too long");
    text[n++] = c;
  }
  x->p++;
  x->name = string_new(x->L, text, n);
  return CT_STRING;
}

/* ---- parameters ---------------------------------------------------------- */

static int scan_parameter(CLexer *x) {
  x->p++;
  x->token = '$';
  if (x->parameter > x->last_parameter) clexer_error(x, "no parameter for '$'");
  const TValue *o = argument(x->L, x->parameter++);
  const Cdata *cd = cdata_of(o);
  if (is_string(o)) {
    x->name = as_string(o);
    return CT_NAME;
  }
  if (is_int(o)) {
    x->value = (uint64_t)o->v.i;
    x->value_type = o->v.i == (int32_t)o->v.i ? BASIC_INT : BASIC_LONG;
    return CT_NUMBER;
  }
  x->type = cd != NULL ? cd->type : ctype_of(o);
  if (x->type != NULL) return CT_TYPE;
  clexer_error(x, "parameter for '$' is a %s, not a type, name or integer",
               luaL_typename(x->L, x->parameter - 1));
}

/* ---- the next token ------------------------------------------------------ */

static int scan_word(CLexer *x) {
  const char *start = x->p;
  while (x->p < x->end && (isalnum((unsigned char)*x->p) || *x->p == '_')) x->p++;
  x->name = string_new(x->L, start, (size_t)(x->p - start));
  return keyword_of(x->name);
}

static int scan_punctuation(CLexer *x) {
  static const struct { char text[4]; int token;
  } longer[] = {{"...", CT_ELLIPSIS}, {"<<", CT_SHIFT_LEFT}, {">>", CT_SHIFT_RIGHT},
                {"&&", CT_AND},       {"||", CT_OR},         {"==", CT_EQUAL},
                {"!=", CT_NOT_EQUAL}, {"<=", CT_LESS_EQUAL}, {">=", CT_GREATER_EQUAL},
                {"->", CT_ARROW}};
  for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
    size_t n = strlen(longer[i].text);
    if ((size_t)(x->end - x->p) < n || memcmp(x->p, longer[i].text, n) != 0) continue;
    x->p += n;
    return longer[i].token;
  }
  unsigned char c = (unsigned char)*x->p++;
  if (c < 0x20 || c >= 0x7f || strchr("{}()[];,:=*&<>+-/%|^~!?.", c) == NULL) {
    x->token = c;
    if (isprint(c)) clexer_error(x, "'%c' has no place in a declaration", c);
    clexer_error_at(x, clexer_position(x), "byte %u has no place in a declaration", c);
  }
  return c;
}

void clexer_next(CLexer *x) {
  skip_space(x);
  x->start = x->p;
  x->token_line = x->line;
  x->token_column = (unsigned)(x->p - x->line_start) + 1;
  if (x->p >= x->end) {
    x->token = CT_END;
    return;
  }
  unsigned char c = (unsigned char)*x->p;
  if (isalpha(c) || c == '_') x->token = scan_word(x);
  else if (isdigit(c)) x->token = scan_number(x);
  else if (c == '\'') x->token = scan_character(x);
  else if (c == '"') x->token = scan_string(x);
  else if (c == '$') x->token = scan_parameter(x);
  else x->token = scan_punctuation(x);
}

/* ---- code that is skipped ------------------------------------------------- */

/* Skips a string or a character constant; x->p is at its first quote. */
static void skip_quoted(CLexer *x) {
  char quote = *x->p++;
  while (x->p < x->end && *x->p != quote) {
    if (*x->p == '\n') break;
    x->p += *x->p == '\\' && x->end - x->p >= 2 ? 2 : 1;
  }
  if (x->p >= x->end || *x->p != quote) clexer_error(x, "quote without an end");
  x->p++;
}

static bool is_one_of(char c, const char *set) { return c != '\0' && strchr(set, c) != NULL; }

/* Skips code up to the character at which it ends, which is not taken. */
static void skip_to(CLexer *x, const char *stops) {
  char text[CTOKEN_TEXT];
  CPosition position = clexer_position(x);
  unsigned depth = 0;
  x->p = x->start;
  for (;;) {
    skip_space(x);
    if (x->p >= x->end)
      clexer_error_at(x, position, "'%s' without an end", clexer_token_text(x->token, text));
    char c = *x->p;
    if (c == '"' || c == '\'') {
      skip_quoted(x);
      continue;
    }
    if (depth == 0 && is_one_of(c, stops)) return;
    x->p++;
    if (is_one_of(c, "({[")) depth++;
    else if (is_one_of(c, ")}]") && (depth == 0 || (--depth == 0 && *stops == '\0'))) return;
  }
}

void clexer_skip_code(CLexer *x, const char *stops) {
  skip_to(x, stops);
  clexer_next(x);
}

bool clexer_accept(CLexer *x, int token) {
  if (x->token != token) return false;
  clexer_next(x);
  return true;
}

void clexer_expect(CLexer *x, int token) {
  char text[CTOKEN_TEXT];
  if (!clexer_accept(x, token)) clexer_error(x, "'%s' expected", clexer_token_text(token, text));
}

void clexer_init(CLexer *x, lua_State *L, Ffi *ffi, const char *text, size_t size, int parameter_,
                 int last_parameter) {
  memset(x, 0, sizeof *x);
  x->L = L;
  x->ffi = ffi;
  x->p = x->line_start = text;
  x->end = text + size;
  x->what = "input";
  x->line = 1;
  x->parameter = parameter_;
  x->last_parameter = last_parameter;
  clexer_next(x);
}
