/* SPDX-License-Identifier: MIT */
/* json_read.c: a pull reader of JSON. */
#include "json_read.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 64, NUMBER_TEXT = 64 };

void json_begin(struct json_in *in, const char *text, size_t size) {
  *in = (struct json_in){.start = text, .at = text, .end = text + size};
}

static void skip_space(struct json_in *in) {
  while (in->at < in->end && memchr(" \t\r\n", *in->at, 4)) in->at++;
}

/* The next character that is no white space; NUL: none. */
static char next(struct json_in *in) {
  skip_space(in);
  return !in->bad && in->at < in->end ? *in->at : '\0';
}

static bool take(struct json_in *in, char c) {
  if (next(in) != c) {
    in->bad = true;
    return false;
  }
  in->at++;
  return true;
}

void json_open(struct json_in *in, char bracket) {
  in->first = take(in, bracket);
}

/* The container ends here, or another member follows, before which is a comma. */
static bool has_member(struct json_in *in, char close) {
  if (next(in) == close) {
    in->at++;
    in->first = false; /* this one is a member of the outer one */
    return false;
  }
  if (!in->first) take(in, ',');
  in->first = false;
  return !in->bad;
}

bool json_item(struct json_in *in) { return !in->bad && has_member(in, ']'); }

bool json_key(struct json_in *in, char *key, size_t room) {
  if (in->bad || !has_member(in, '}')) return false;
  json_string(in, key, room);
  return take(in, ':');
}

/* ---- Strings ---------------------------------------------------------------------------- */

struct text {
  char *at, *end; /* room for a NUL is behind `end` */
  bool full;
};

static void put_character(struct text *to, uint32_t c) {
  char bytes[4];
  size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = size; i-- > 1; c >>= 6) bytes[i] = (char)(0x80 | (c & 0x3f));
  bytes[0] = (char)(size == 1 ? c : (0xf00u >> size & 0xff) | c);
  if (to->full || (size_t)(to->end - to->at) < size) {
    to->full = true;
    return;
  }
  memcpy(to->at, bytes, size);
  to->at += size;
}

static uint32_t hex4(struct json_in *in) {
  uint32_t value = 0;
  for (int i = 0; i < 4; i++) {
    static const char digits[] = "0123456789abcdef";
    char c = in->at < in->end ? *in->at++ : '\0';
    const char *digit = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;
    if (!digit) in->bad = true;
    else value = value << 4 | (uint32_t)(digit - digits);
  }
  return in->bad ? 0 : value;
}

static uint32_t escaped(struct json_in *in) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  char c = in->at < in->end ? *in->at++ : '\0';
  const char *known = c ? strchr(from, c) : NULL;
  if (known) return (uint32_t)(uint8_t)to[known - from];
  if (c != 'u') in->bad = true;
  if (in->bad) return 0;
  uint32_t high = hex4(in);
  if (high < 0xd800 || high > 0xdfff) return high;
  if (high > 0xdbff || in->end - in->at < 6 || in->at[0] != '\\' || in->at[1] != 'u')
    return 0xfffd; /* half a pair */
  in->at += 2;
  uint32_t low = hex4(in);
  return low >= 0xdc00 && low <= 0xdfff ? 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)
                                        : 0xfffd;
}

/* A character of UTF-8 that is not complete becomes one that says so. */
static uint32_t plain(struct json_in *in) {
  uint8_t first = (uint8_t)*in->at++;
  if (first < 0x80) return first;
  int more = first >= 0xf0 && first < 0xf5 ? 3 : first >= 0xe0 ? 2 : 1;
  if (first < 0xc2 || first >= 0xf5) return 0xfffd;
  uint32_t c = first & (0x3fu >> more);
  for (; more > 0 && in->at < in->end && ((uint8_t)*in->at & 0xc0) == 0x80; more--)
    c = c << 6 | ((uint8_t)*in->at++ & 0x3f);
  return more == 0 && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) ? c : 0xfffd;
}

void json_string(struct json_in *in, char *text, size_t room) {
  struct text to = {.at = text, .end = text + room - 1};
  if (take(in, '"')) {
    while (in->at < in->end && *in->at != '"' && !in->bad) {
      if ((uint8_t)*in->at < ' ') in->bad = true;
      else if (*in->at != '\\') put_character(&to, plain(in));
      else in->at++, put_character(&to, escaped(in));
    }
    if (!in->bad) take(in, '"');
  }
  *(in->bad ? text : to.at) = '\0';
}

/* ---- Other values ----------------------------------------------------------------------- */

double json_number(struct json_in *in) {
  char text[NUMBER_TEXT], *end;
  size_t size = 0;
  char c = next(in);
  if (c != '-' && (c < '0' || c > '9')) in->bad = true; /* strtod knows more: "inf", "0x1" */
  while (!in->bad && in->at < in->end && memchr("+-.eE0123456789", *in->at, 15)) {
    if (size == sizeof text - 1) in->bad = true;
    else text[size++] = *in->at++;
  }
  if (in->bad) return 0;
  text[size] = '\0';
  double value = strtod(text, &end);
  in->bad = *end != '\0';
  return in->bad ? 0 : value;
}

static void skip_word(struct json_in *in) {
  static const char *const words[] = {"true", "false", "null"};
  for (size_t i = 0; i < 3; i++) {
    size_t size = strlen(words[i]);
    if ((size_t)(in->end - in->at) < size || memcmp(in->at, words[i], size) != 0) continue;
    in->at += size;
    return;
  }
  in->bad = true;
}

static void skip_deep(struct json_in *in, int depth) {
  char c = next(in), text[8];
  if (depth == MOST_DEPTH) {
    in->bad = true;
  } else if (c == '{') {
    for (json_open(in, c); json_key(in, text, sizeof text);) skip_deep(in, depth + 1);
  } else if (c == '[') {
    for (json_open(in, c); json_item(in);) skip_deep(in, depth + 1);
  } else if (c == '"') {
    json_string(in, text, sizeof text);
  } else if (c == '-' || (c >= '0' && c <= '9')) {
    json_number(in);
  } else {
    skip_word(in);
  }
}

void json_skip(struct json_in *in) { skip_deep(in, 0); }

bool json_end(struct json_in *in) {
  skip_space(in);
  return !in->bad && in->at == in->end;
}
