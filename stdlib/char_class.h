/* SPDX-License-Identifier: MIT */
/* stdlib/char_class.h: what each byte is (letter, digit, ...) in the current
 * locale, as bitmaps that pattern matching can combine. */
#ifndef SAROS_STDLIB_CHAR_CLASS_H
#define SAROS_STDLIB_CHAR_CLASS_H

#include <stdbool.h>
#include <stdint.h>

/* A set of bytes: bit c % 64 of word c / 64. */
typedef struct ByteSet {
  uint64_t words[4];
} ByteSet;

/* The classes of patterns, in the order of their letters: acdglpsuwxz. */
enum CharClass {
  CLASS_ALPHA,
  CLASS_CONTROL,
  CLASS_DIGIT,
  CLASS_GRAPHIC,
  CLASS_LOWER,
  CLASS_PUNCTUATION,
  CLASS_SPACE,
  CLASS_UPPER,
  CLASS_ALNUM,
  CLASS_HEX,
  CLASS_ZERO, /* the byte 0: a class of Lua 5.1 that patterns may still use */
  CLASS_COUNT
};

/* Immutable once published. */
typedef struct CharClasses {
  ByteSet members[CLASS_COUNT];
  ByteSet others[CLASS_COUNT]; /* complements of members */
  unsigned char lower[256];
  unsigned char upper[256];
  bool ascii_case; /* lower and upper change A to Z and a to z, and nothing else */
  /* the byte has a backslash before it, or is written as a number, in quoted text */
  bool quoted[256];
} CharClasses;

static inline bool byte_set_has(const ByteSet *set, unsigned char c) {
  return (set->words[c >> 6] >> (c & 63)) & 1;
}

static inline void byte_set_add(ByteSet *set, unsigned char c) {
  set->words[c >> 6] |= UINT64_C(1) << (c & 63);
}

/* Returns the tables, built for the locale that was in force then, or NULL if memory is
 * short. The tables stay valid for the life of the process. Any thread may call this. */
const CharClasses *char_classes(void);

/* Rebuilds the tables; to be called after a successful setlocale. If memory is short, the
 * former tables stay in force. Any thread may call this. */
void char_classes_refresh(void);

/* Returns the set that `letter` names in a pattern (%a, or its complement %A), or NULL if
 * it names none. */
const ByteSet *char_class_set(const CharClasses *classes, unsigned char letter);

#endif
