/* SPDX-License-Identifier: MIT */
/* scan.c: reads the words, names and numbers of the language of conditions. */
#include "conditions/scan.h"

#include <stdio.h>
#include <string.h>

#include "format/error.h"
#include "format/text.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_space(char c) { return c == ' ' || c == '\t'; }

/* Returns the next character, or 0 (no character of the language) at the end. */
static char next(const struct evr_scan *s) {
  return !s->failed && s->at < s->size ? s->text[s->at] : 0;
}

/* ---- Errors ------------------------------------------------------------------------ */

int evr_scan_fail_at(struct evr_scan *s, size_t at, const char *text) {
  if (s->failed) return EVENTRING_E_CONFIG;
  s->failed = true;
  s->at = at;
  return evr_fail(s->error, EVENTRING_E_CONFIG, 0, "column %zu: %s", at + 1, text);
}

/* Describes the text at the present position, up to a space, and cut to 23 bytes. */
static void describe(const struct evr_scan *s, char *found, size_t room) {
  char part[24];
  size_t size = 0, left = s->size - s->at;
  while (size < left && size < sizeof part - 1 && !is_space(s->text[s->at + size])) size++;
  memcpy(part, s->text + s->at, size);
  part[size] = 0;
  evr_text_clean_bytes(part, size);
  evr_text_clean_message(part, sizeof part);
  if (size) snprintf(found, room, "found `%s'", part);
  else snprintf(found, room, "the text ends here");
}

int evr_scan_fail(struct evr_scan *s, const char *expected) {
  char found[48], text[300];
  if (s->failed) return EVENTRING_E_CONFIG;
  describe(s, found, sizeof found);
  snprintf(text, sizeof text, "expected %s, %s", expected, found);
  return evr_scan_fail_at(s, s->at, text);
}

/* ---- Words ------------------------------------------------------------------------- */

void evr_scan_spaces(struct evr_scan *s) {
  while (is_space(next(s))) s->at++;
}

bool evr_scan_accept(struct evr_scan *s, char c) {
  if (next(s) != c) return false;
  s->at++;
  evr_scan_spaces(s);
  return true;
}

struct evr_word evr_scan_word(struct evr_scan *s) {
  struct evr_word word = {s->text + s->at, 0};
  if (!is_letter(next(s))) return word;
  while (is_letter(next(s)) || is_digit(next(s)) || next(s) == '.' || next(s) == ':' ||
         next(s) == '-') {
    s->at++;
    word.size++;
  }
  evr_scan_spaces(s);
  return word;
}

bool evr_word_is(struct evr_word word, const char *text) {
  return strlen(text) == word.size && memcmp(word.text, text, word.size) == 0;
}

void evr_scan_quoted(struct evr_scan *s, char *to) {
  size_t begin = s->at, size = 0;
  to[0] = 0;
  if (next(s) != '"') {
    evr_scan_fail(s, "a name in quotes");
    return;
  }
  for (s->at++; next(s) && next(s) != '"'; s->at++) {
    bool escaped = next(s) == '\\' && s->at + 1 < s->size;
    if (escaped && s->text[s->at + 1] != '"' && s->text[s->at + 1] != '\\') escaped = false;
    s->at += escaped;
    if (size == EVR_MOST_WORD) {
      evr_scan_fail_at(s, begin, "a name of more than 95 bytes");
      return;
    }
    to[size++] = s->text[s->at];
  }
  to[size] = 0;
  if (next(s) != '"') evr_scan_fail_at(s, begin, "this quote is not closed");
  else if (!size) evr_scan_fail_at(s, begin, "an empty name");
  else if (evr_text_check(to, size) != EVR_TEXT_OK)
    evr_scan_fail_at(s, begin, "a name that is not UTF-8 or has control characters");
  s->at += !s->failed;
  evr_scan_spaces(s);
}

enum { MOST_DECIMALS = 9 };

static void read_decimals(struct evr_scan *s, double *number) {
  double decimals = 0, unit = 1;
  size_t begin = ++s->at;
  if (!is_digit(next(s))) evr_scan_fail(s, "a digit");
  for (; is_digit(next(s)); s->at++, unit *= 10) decimals = decimals * 10 + (next(s) - '0');
  if (s->at - begin > MOST_DECIMALS) evr_scan_fail_at(s, begin, "more than nine decimals");
  *number += decimals / unit;
}

double evr_scan_number(struct evr_scan *s, bool sign) {
  double number = 0;
  size_t begin = s->at;
  bool negative = sign && evr_scan_accept(s, '-');
  if (!is_digit(next(s))) {
    evr_scan_fail(s, "a number");
    return 0;
  }
  for (; is_digit(next(s)); s->at++) number = number * 10 + (next(s) - '0');
  if (next(s) == '.') read_decimals(s, &number);
  if (number > 0x1p63) evr_scan_fail_at(s, begin, "a number beyond 2^63");
  return negative ? -number : number;
}
