/* SPDX-License-Identifier: MIT */
/* lua_mutate.c: takes a text for a sequence of words, numbers, blanks and other
 * characters. Removes, doubles or moves runs of them, or replaces them by a word of the
 * vocabulary: the tokens of the language (tokens.def), names of library functions,
 * numbers at the edges, pieces of statements. */
#include "lua_mutate.h"

#include <ctype.h>
#include <string.h>

#define MAX_TOKENS 4096

static const char *const vocabulary[] = {
#define WORD(id, text) text " ",
#define SYMBOL(id, text) text,
#define CLASS(id, text)
#include "tokens.def"
#undef WORD
#undef SYMBOL
#undef CLASS
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "#",
    "&",
    "|",
    "~",
    "<",
    ">",
    "=",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ";",
    ":",
    ",",
    ".",
    "()",
    "{}",
    "''",
    "\"\\u{7fffffff}\"",
    "[==[x]==]",
    "--[[c]]",
    "<const> ",
    "<close> ",
    "_ENV",
    "self",
    "0",
    "1",
    "-1",
    "255",
    "256",
    "65536",
    "0x7fffffffffffffff",
    "9223372036854775808",
    "1e308",
    "-0.0",
    "0x.1p-1074",
    "1//0",
    "0/0",
    "a",
    "b",
    "c",
    "t",
    "f",
    "x",
    "i",
    "pcall",
    "xpcall",
    "error",
    "select",
    "next",
    "pairs",
    "ipairs",
    "tostring",
    "tonumber",
    "type",
    "load",
    "rawset",
    "rawget",
    "rawlen",
    "rawequal",
    "setmetatable",
    "getmetatable",
    "collectgarbage",
    "assert",
    "print",
    "coroutine.wrap",
    "coroutine.yield",
    "coroutine.create",
    "coroutine.resume",
    "coroutine.close",
    "coroutine.running",
    "table.insert",
    "table.remove",
    "table.concat",
    "table.sort",
    "table.unpack",
    "table.pack",
    "table.move",
    "string.rep",
    "string.format",
    "string.gsub",
    "string.gmatch",
    "string.find",
    "string.pack",
    "string.unpack",
    "string.dump",
    "string.byte",
    "utf8.char",
    "utf8.codes",
    "utf8.len",
    "math.tointeger",
    "math.type",
    "math.fmod",
    "debug.traceback",
    "debug.getinfo",
    "debug.getlocal",
    "debug.setlocal",
    "debug.upvalueid",
    "debug.upvaluejoin",
    "debug.setupvalue",
    "debug.getupvalue",
    "__index",
    "__newindex",
    "__call",
    "__gc",
    "__close",
    "__mode",
    "__eq",
    "__lt",
    "__le",
    "__concat",
    "__len",
    "__add",
    "__unm",
    "__tostring",
    "__name",
    "__pairs",
    "__metatable",
    "local a <close> = setmetatable({}, {__close = function() error(1) end}) ",
    "for i = 1, 3 do ",
    "for k, v in pairs(t) do ",
    "while x do ",
    "repeat ",
    "until x ",
    "if x then ",
    "end ",
    "local function f(...) ",
    "function t:m(a, ...) ",
    "return f(...) ",
    "goto l ",
    "::l:: ",
    "break ",
    "coroutine.wrap(function(...) ",
    "pcall(function(...) ",
    "end)",
    "return function() return a end ",
    "t[#t + 1] = {} ",
    "collectgarbage('step') ",
    "collectgarbage() ",
    "setmetatable(t, {__index = function(t, k) return k end}) ",
};

typedef struct Text {
  char *bytes;
  size_t size, room;
  size_t starts[MAX_TOKENS + 1]; /* offset of each token, and of the end of the last */
  size_t ntokens;
  uint64_t random;
} Text;

static uint32_t random_below(Text *t, size_t n) {
  t->random = t->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return n == 0 ? 0 : (uint32_t)((t->random >> 33) % n);
}

static int kind_of(unsigned char c) {
  return isalnum(c) || c == '_' ? 1 : isspace(c) ? 2 : 0;
}

static void split(Text *t) {
  t->ntokens = 0;
  for (size_t i = 0; i < t->size && t->ntokens < MAX_TOKENS;) {
    int kind = kind_of((unsigned char)t->bytes[i]);
    t->starts[t->ntokens++] = i++;
    while (kind != 0 && i < t->size && kind_of((unsigned char)t->bytes[i]) == kind) i++;
    t->starts[t->ntokens] = i;
  }
}

/* Chooses a run of up to `most` tokens: [*from, *to) in bytes. */
static void choose_run(Text *t, size_t most, size_t *from, size_t *to) {
  size_t first = random_below(t, t->ntokens), n = 1 + random_below(t, most);
  if (n > t->ntokens - first) n = t->ntokens - first;
  *from = t->starts[first];
  *to = t->starts[first + n];
}

static void replace(Text *t, size_t from, size_t to, const char *by, size_t length) {
  if (from > to || t->size - (to - from) + length > t->room) return;
  memmove(t->bytes + from + length, t->bytes + to, t->size - to);
  if (length > 0) memcpy(t->bytes + from, by, length);
  t->size = t->size - (to - from) + length;
}

static void put_word(Text *t, size_t from, size_t to) {
  const char *word = vocabulary[random_below(t, sizeof vocabulary / sizeof vocabulary[0])];
  replace(t, from, to, word, strlen(word));
}

/* Puts a copy of [from, to) at the place `at`, or over [at, end). */
static void copy_run(Text *t, size_t from, size_t to, size_t at, size_t end) {
  char copy[2048];
  size_t length = to - from < sizeof copy ? to - from : sizeof copy;
  memcpy(copy, t->bytes + from, length);
  replace(t, at, end, copy, length);
}

static void mutate_once(Text *t) {
  size_t from, to, at, end;
  split(t);
  if (t->ntokens == 0) {
    put_word(t, 0, 0);
    return;
  }
  choose_run(t, 1u << random_below(t, 6), &from, &to);
  choose_run(t, 1u << random_below(t, 4), &at, &end);
  switch (random_below(t, 6)) {
    case 0: replace(t, from, to, NULL, 0); break;
    case 1: copy_run(t, from, to, at, at); break;
    case 2: copy_run(t, from, to, at, end); break;
    case 3: put_word(t, at, at); break;
    default: put_word(t, at, end); break;
  }
}

size_t mutate_tokens(uint8_t *data, size_t size, size_t room, unsigned seed) {
  static Text t;
  t.bytes = (char *)data;
  t.size = size;
  t.room = room;
  t.random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
  for (uint32_t n = 1 + random_below(&t, 4); n > 0; n--) mutate_once(&t);
  return t.size;
}
