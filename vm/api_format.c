/* SPDX-License-Identifier: MIT */
/* vm/api_format.c: C API: lua_pushfstring.
 *
 * A format has the conversions %s %d %I %f %p %c %U %% and nothing else: no flags, widths
 * or precisions, so that results do not depend on the locale more than tostring does. The
 * text grows in a buffer on the C stack; when the buffer is full, the text moves to a
 * string object of twice the size. Nothing anchors that object, because nothing here
 * collects before the result is pushed.
 */
#include "api.h"

#include <stdio.h>
#include <string.h>

#include "gc_inline.h"
#include "number.h"
#include "throw.h"

typedef struct Text {
  lua_State *L;
  char *data;
  size_t len, capacity;
  char first[256];
} Text;

static void text_reserve(Text *t, size_t more) {
  if (likely(t->capacity - t->len >= more)) return;
  size_t capacity = t->capacity;
  while (capacity - t->len < more) {
    if (capacity > (size_t)PTRDIFF_MAX / 2) error_memory(t->L);
    capacity *= 2;
  }
  String *s = string_new_long(t->L, capacity);
  memcpy(s->data, t->data, t->len);
  t->data = s->data;
  t->capacity = capacity;
}

static void text_add(Text *t, const char *s, size_t len) {
  text_reserve(t, len);
  memcpy(t->data + t->len, s, len);
  t->len += len;
}

static void text_add_number(Text *t, const TValue *number) {
  text_reserve(t, NUMBER_TEXT_MAX);
  t->len += number_to_text(number, t->data + t->len);
}

static void text_add_pointer(Text *t, const void *p) {
  char buffer[2 + 2 * sizeof p], *start = buffer + sizeof buffer;
  uintptr_t address = (uintptr_t)p;
  if (address == 0) {
    text_add(t, "(nil)", 5); /* what printf of the C library prints for NULL */
    return;
  }
  for (; address != 0; address >>= 4) *--start = "0123456789abcdef"[address & 15];
  *--start = 'x';
  *--start = '0';
  text_add(t, start, (size_t)(buffer + sizeof buffer - start));
}

/* Adds a code as UTF-8 as first defined: up to six bytes, for values below 2^31. */
static void text_add_utf8(Text *t, unsigned long code) {
  char buffer[6], *p = buffer + sizeof buffer;
  rt_assert(code <= 0x7fffffffu);
  if (code < 0x80) {
    *--p = (char)code;
  } else {
    unsigned long first_limit = 0x3f; /* largest value that still fits the first byte */
    do {
      *--p = (char)(0x80 | (code & 0x3f));
      code >>= 6;
      first_limit >>= 1;
    } while (code > first_limit);
    *--p = (char)((~first_limit << 1) | code);
  }
  text_add(t, p, (size_t)(buffer + sizeof buffer - p));
}

static void text_add_string(Text *t, const char *s) {
  if (s == NULL) s = "(null)";
  text_add(t, s, strlen(s));
}

/* Takes the arguments here and not in functions of their own: passing a va_list on and
 * continuing with it is not portable. */
static void text_format(Text *t, const char *fmt, va_list args) {
  TValue number;
  for (const char *mark; (mark = strchr(fmt, '%')) != NULL; fmt = mark + 2) {
    text_add(t, fmt, (size_t)(mark - fmt));
    switch (mark[1]) {
      case 's': text_add_string(t, va_arg(args, const char *)); break;
      case 'd': set_int(&number, va_arg(args, int)); text_add_number(t, &number); break;
      case 'I': set_int(&number, va_arg(args, lua_Integer)); text_add_number(t, &number); break;
      case 'f': set_float(&number, va_arg(args, lua_Number)); text_add_number(t, &number); break;
      case 'p': text_add_pointer(t, va_arg(args, void *)); break;
      case 'U': text_add_utf8(t, va_arg(args, unsigned long)); break;
      case '%': text_add(t, "%", 1); break;
      case 'c': {
        char c = (char)va_arg(args, int);
        text_add(t, &c, 1);
        break;
      }
      default: error_run(t->L, "invalid option '%%%c' to 'lua_pushfstring'", mark[1]);
    }
  }
  text_add(t, fmt, strlen(fmt));
}

const char *lua_pushvfstring(lua_State *L, const char *fmt, va_list argp) {
  Text text = {.L = L, .data = text.first, .len = 0, .capacity = sizeof text.first};
  text_format(&text, fmt, argp);
  String *s = string_new(L, text.data, text.len);
  api_push_string(L, s);
  gc_check(L);
  return s->data;
}

const char *lua_pushfstring(lua_State *L, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *result = lua_pushvfstring(L, fmt, args);
  va_end(args);
  return result;
}
