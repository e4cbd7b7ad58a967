/* SPDX-License-Identifier: MIT */
/* scan.h: the words of the language of conditions (doc/CONDITIONS.md). */
#ifndef EVENTRING_SCAN_H
#define EVENTRING_SCAN_H

#include <stdbool.h>

#include "eventring/types.h"

#pragma GCC visibility push(hidden)

/* A position in a text of `size` bytes. After an error, `failed` is true, `at` is its
   position, and nothing more is read. */
struct evr_scan {
  const char *text;
  size_t size, at;
  bool failed;
  struct eventring_error *error; /* may be NULL */
};

enum { EVR_MOST_WORD = 95 };
struct evr_word { /* a name in the text; size 0 if there is none */
  const char *text;
  size_t size;
};

/* Fails at the present position, with the text "column N: ..." that says what is expected
   and what was found. Returns E_CONFIG. */
int evr_scan_fail(struct evr_scan *scan, const char *expected);
/* Fails at byte `at`, with "column N: " and `text`. Returns E_CONFIG. */
int evr_scan_fail_at(struct evr_scan *scan, size_t at, const char *text);
void evr_scan_spaces(struct evr_scan *scan);
/* Takes this character and the spaces after it, if it is the next one. */
bool evr_scan_accept(struct evr_scan *scan, char c);
/* Takes a word and the spaces after it. A word has letters, digits, `_`, `.`, `:` and
   `-`, and begins with a letter or `_`. Its size is 0 if there is none. */
struct evr_word evr_scan_word(struct evr_scan *scan);
bool evr_word_is(struct evr_word word, const char *text);
/* Takes a text in quotes, 1 to EVR_MOST_WORD bytes of UTF-8 without control characters;
   \" and \\ mean a quote and a backslash. Stores the text in `to`, which has
   EVR_MOST_WORD + 1 bytes. */
void evr_scan_quoted(struct evr_scan *scan, char *to);
/* Takes a number of at most 2^63: digits with up to nine decimals, after a sign if `sign`
   allows one. */
double evr_scan_number(struct evr_scan *scan, bool sign);

#pragma GCC visibility pop

#endif /* EVENTRING_SCAN_H */
