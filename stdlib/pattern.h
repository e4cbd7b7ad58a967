/* SPDX-License-Identifier: MIT */
/* stdlib/pattern.h: Lua's patterns, compiled and matched.  See pattern_compile.c
 * for the form of a compiled pattern, pattern_match.c for the matching. */
#ifndef SAROS_STDLIB_PATTERN_H
#define SAROS_STDLIB_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "char_class.h"
#include "lua.h"

#define PATTERN_CAPTURE_MAX 32
/* Repetitions that may be open for backtracking at once. */
#define PATTERN_DEPTH_MAX 200

typedef enum PatternOp {
  PATTERN_CHAR,     /* the byte `byte` */
  PATTERN_ANY,      /* any byte */
  PATTERN_SET,      /* a byte of `set` */
  PATTERN_GREEDY,   /* the longest run of `single`, at least `minimum` */
  PATTERN_OPTIONAL, /* one byte of `single` if possible, otherwise none */
  PATTERN_LAZY,     /* as few bytes of `single` as possible */
  PATTERN_OPEN,     /* start of capture `index` */
  PATTERN_CLOSE,    /* end of capture `index` */
  PATTERN_POSITION, /* capture `index` is the position here */
  PATTERN_BACKREF,  /* the text of capture `index` again */
  PATTERN_BALANCE,  /* from `byte` to the `closing` that balances it */
  PATTERN_FRONTIER, /* the byte before is not in `set`, the byte here is */
  PATTERN_END,      /* end of the subject */
  PATTERN_ACCEPT,   /* the end of the pattern */
  PATTERN_ERROR     /* the pattern is malformed here: `index` says how */
} PatternOp;

typedef struct PatternNode {
  uint8_t op;
  /* what a repetition repeats: PATTERN_CHAR, PATTERN_ANY or PATTERN_SET */
  uint8_t single;
  uint8_t minimum; /* least number of bytes of a repetition, 0 or 1 */
  bool possessive; /* with fewer bytes the rest cannot match either */
  uint8_t byte;
  uint8_t closing;
  uint8_t index;   /* number of the capture, from 0; or a PatternError */
  uint8_t culprit; /* for a PatternError, the capture's number as written */
  const ByteSet *set;
} PatternNode;

typedef struct Pattern {
  PatternNode *nodes;       /* ends with PATTERN_ACCEPT or PATTERN_ERROR */
  /* the node that every match begins with, if it takes a byte; otherwise NULL */
  const PatternNode *first;
  /* if a match fails behind a run of `first`, later starts in the run fail, too */
  bool skip_run;
  int captures;
  size_t size; /* number of nodes */
} Pattern;

/* The state of one or several attempts to match a pattern against a subject. */
typedef struct Match {
  lua_State *L;
  const Pattern *pattern;
  const char *start; /* the subject */
  const char *end;
  int depth; /* number of repetitions that may still be opened */
  ptrdiff_t work_left; /* safe_point.h */
  struct {
    const char *start;
    ptrdiff_t length; /* length of the capture, or one of the two constants below */
  } captures[PATTERN_CAPTURE_MAX];
} Match;

#define CAPTURE_UNFINISHED (-1)
#define CAPTURE_POSITION (-2)

/* Returns the size of the storage that pattern_compile needs for a pattern of `length`
 * bytes, aligned for pointers. */
size_t pattern_storage_size(size_t length);
/* A pattern no longer than this fits into PATTERN_SMALL_STORAGE bytes. */
#define PATTERN_SMALL_LENGTH 60
#define PATTERN_SMALL_STORAGE 1632

/* Compiles text[0, length), without a leading '^', which the caller handles. Never fails:
 * an error in the pattern becomes a node that raises the error when matching arrives
 * there. `storage` must outlive `pattern`. */
void pattern_compile(Pattern *pattern, void *storage, const char *text, size_t length,
                     const CharClasses *classes);

/* Prepares to match `pattern` against subject[0, length). */
void pattern_begin(Match *m, lua_State *L, const Pattern *pattern, const char *subject,
                   size_t length);

/* Matches at `s` exactly. Returns the end of the match, or NULL. Raises the errors of
 * malformed and of too complex patterns. */
const char *pattern_match_at(Match *m, const char *s);

/* Finds the first match that starts at `from` or later and does not end at `refused`
 * (NULL refuses none). Returns the end of the match, and sets *found to its start; or
 * returns NULL. */
const char *pattern_search(Match *m, const char *from, const char *refused, const char **found);

/* What is wrong with a pattern. */
typedef enum PatternError {
  PATTERN_ENDS_WITH_ESCAPE,
  PATTERN_UNCLOSED_SET,
  PATTERN_BALANCE_WITHOUT_ARGUMENTS,
  PATTERN_FRONTIER_WITHOUT_SET,
  PATTERN_UNOPENED_CAPTURE,
  PATTERN_TOO_MANY_CAPTURES,
  PATTERN_BAD_BACKREF
} PatternError;

#endif
