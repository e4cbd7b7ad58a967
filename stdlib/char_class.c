/* SPDX-License-Identifier: MIT */
/* stdlib/char_class.c: tables of character classes.
 *
 * The C library's isalpha and its kin depend on the locale, which belongs to the process.
 * The tables are computed at the first use and again after each change of locale that the
 * os library makes; a host program that calls setlocale itself can call
 * char_classes_refresh.
 *
 * Publication. `current` points to the tables in force. New tables are filled first and
 * then published by a compare-and-exchange with release order (publish_tables). The
 * release pairs with each acquire load of `current`: a thread that reads the pointer sees
 * the filled tables. Superseded tables are never freed, because another domain may be
 * matching with them. To bound this leak, new tables that are equal to the tables in
 * force are dropped instead of published.
 */
#include "char_class.h"
#include "object.h"
#include "stress.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const CharClasses *current;

/* Computes word `at`, the bits of 64 bytes, of all sets: so the bits gather in
   registers. */
static void classify_word(CharClasses *classes, int at) {
  uint64_t members[CLASS_COUNT] = {0};
  for (int bit = 0; bit < 64; bit++) {
    int c = at * 64 + bit;
#define GATHER(class, test) members[class] |= (uint64_t)((test) != 0) << bit
    GATHER(CLASS_ALPHA, isalpha(c));
    GATHER(CLASS_CONTROL, iscntrl(c));
    GATHER(CLASS_DIGIT, isdigit(c));
    GATHER(CLASS_GRAPHIC, isgraph(c));
    GATHER(CLASS_LOWER, islower(c));
    GATHER(CLASS_PUNCTUATION, ispunct(c));
    GATHER(CLASS_SPACE, isspace(c));
    GATHER(CLASS_UPPER, isupper(c));
    GATHER(CLASS_ALNUM, isalnum(c));
    GATHER(CLASS_HEX, isxdigit(c));
    GATHER(CLASS_ZERO, c == 0);
#undef GATHER
  }
  for (int class = 0; class < CLASS_COUNT; class++) {
    classes->members[class].words[at] = members[class];
    classes->others[class].words[at] = ~members[class];
  }
}

static CharClasses *build_tables(void) {
  CharClasses *classes = stress_allocation_fails() ? NULL : calloc(1, sizeof *classes);
  if (classes == NULL) return NULL;
  for (int at = 0; at < 4; at++) classify_word(classes, at);
  classes->ascii_case = true;
  for (int c = 0; c < 256; c++) {
    bool is_upper = c >= 'A' && c <= 'Z', is_lower = c >= 'a' && c <= 'z';
    classes->lower[c] = (unsigned char)tolower(c);
    classes->upper[c] = (unsigned char)toupper(c);
    classes->quoted[c] = c == '"' || c == '\\' || iscntrl(c);
    classes->ascii_case &= classes->lower[c] == (is_upper ? c + 32 : c) &&
                           classes->upper[c] == (is_lower ? c - 32 : c);
  }
  return classes;
}

/* Builds tables and publishes them in the place of `former`, unless they are equal to
 * `former` or another thread was faster; then the new tables are freed. */
static void publish_tables(const CharClasses *former) {
  CharClasses *fresh = build_tables();
  if (fresh == NULL) return;
  bool redundant = former != NULL && memcmp(former, fresh, sizeof *fresh) == 0;
  /* release: pairs with the acquire loads of `current` in char_classes and
     char_classes_refresh, which thus see the tables filled */
  if (redundant ||
      !__atomic_compare_exchange_n(&current, &former, fresh, false, __ATOMIC_RELEASE,
                                   __ATOMIC_RELAXED))
    free(fresh);
}

const CharClasses *char_classes(void) {
  /* acquire, here and below: pairs with the release in publish_tables */
  const CharClasses *classes = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
  if (likely(classes != NULL)) return classes;
  publish_tables(NULL);
  return __atomic_load_n(&current, __ATOMIC_ACQUIRE);
}

void char_classes_refresh(void) {
  /* acquire: pairs with the release in publish_tables, which reads the former tables */
  publish_tables(__atomic_load_n(&current, __ATOMIC_ACQUIRE));
}

const ByteSet *char_class_set(const CharClasses *classes, unsigned char letter) {
  /* By lower-case letter: its class plus one. */
  static const unsigned char class_of[128] = {
      ['a'] = 1 + CLASS_ALPHA, ['c'] = 1 + CLASS_CONTROL, ['d'] = 1 + CLASS_DIGIT,
      ['g'] = 1 + CLASS_GRAPHIC, ['l'] = 1 + CLASS_LOWER, ['p'] = 1 + CLASS_PUNCTUATION,
      ['s'] = 1 + CLASS_SPACE, ['u'] = 1 + CLASS_UPPER, ['w'] = 1 + CLASS_ALNUM,
      ['x'] = 1 + CLASS_HEX, ['z'] = 1 + CLASS_ZERO,
  };
  if (letter < 'A' || letter > 'z') return NULL;
  unsigned class = class_of[letter | 0x20];
  if (class == 0) return NULL;
  return letter >= 'a' ? &classes->members[class - 1] : &classes->others[class - 1];
}
