/* SPDX-License-Identifier: MIT */
/* conditions.h: the language of conditions, and triggers.
 *
 * A condition is a text such as `pause > 5ms` or `p99(minor) < 1ms`; doc/CONDITIONS.md
 * has the whole language. Triggers (below), `eventring check` and `eventring record --on`
 * use it, and all of them this parser.
 */
#ifndef EVENTRING_CONDITIONS_H
#define EVENTRING_CONDITIONS_H

#include "eventring.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- Conditions -------------------------------------------------------- */

/* What a condition is about. X(name, text) */
#define EVENTRING_SUBJECTS(X) \
  X(PAUSE, "pause")     /* what the program waits for the collector at once, ns */ \
  X(HEAP, "heap")       /* bytes in use, of all domains together */ \
  X(LOST, "lost")       /* events lost */ \
  X(ERROR, "error")     /* 1 when an error ends the process, else 0 */ \
  X(SIGNAL, "signal")   /* number of the signal that ends it, else 0 */ \
  X(SPAN, "span")       /* a span by its name, ns */ \
  X(COUNTER, "counter") /* a counter by its name */ \
  X(NAME, "name")       /* whatever has this name */
enum eventring_subject {
  EVENTRING_SUBJECT_NONE,
#define EVENTRING_ENUM(name, text) EVENTRING_SUBJECT_##name,
  EVENTRING_SUBJECTS(EVENTRING_ENUM)
#undef EVENTRING_ENUM
};

/* Which figure is taken of the values of a subject. X(name, text) */
#define EVENTRING_FIGURES(X) \
  X(COUNT, "count") X(SUM, "sum") X(MIN, "min") X(MAX, "max") X(MEAN, "mean") X(LAST, "last")
enum eventring_figure {
  EVENTRING_EACH, /* none: the condition is about each value */
#define EVENTRING_ENUM(name, text) EVENTRING_FIGURE_##name,
  EVENTRING_FIGURES(EVENTRING_ENUM)
#undef EVENTRING_ENUM
  EVENTRING_QUANTILE /* `quantile` says which: p50, p99.9 */
};

/* How it is compared. X(name, text, operator of C) */
#define EVENTRING_COMPARISONS(X) \
  X(LESS, "<", <) X(NOT_MORE, "<=", <=) X(MORE, ">", >) X(NOT_LESS, ">=", >=) \
  X(EQUAL, "==", ==) X(DIFFERENT, "!=", !=)
enum eventring_comparison {
#define EVENTRING_ENUM(name, text, op) EVENTRING_##name,
  EVENTRING_COMPARISONS(EVENTRING_ENUM)
#undef EVENTRING_ENUM
};

/* Of the number that it is compared with. */
enum eventring_number_unit {
  EVENTRING_PLAIN, /* a number; of a heap: bytes */
  EVENTRING_TIME   /* was given in ns, us, ms or s; is in ns */
};

struct eventring_condition {
  uint8_t subject;    /* enum eventring_subject */
  uint8_t figure;     /* enum eventring_figure */
  uint8_t comparison; /* enum eventring_comparison */
  uint8_t unit;       /* enum eventring_number_unit */
  uint32_t quantile;  /* in 1/100000: 50000 is the median */
  double number;
  char name[EVENTRING_MAX_NAME + 1];   /* of the subjects SPAN, COUNTER, NAME; else "" */
  char within[EVENTRING_MAX_NAME + 1]; /* only what is in spans of this name; "": all */
};

/* Reads a condition at the start of `text`, which need not be terminated. `end` NULL: the
   whole text must be one. Otherwise *end is the number of bytes read, with spaces behind
   it: what follows is none of the condition, or the text is over. Returns 0, or E_CONFIG
   with a text that says at which column what is wrong; *end is then that place. Any
   thread. */
int eventring_condition_parse(struct eventring_condition *condition, const char *text,
                              size_t size, size_t *end, struct eventring_error *error);
/* Writes a condition as a text that parses to the same condition (its number has nine
   decimals), cut to `room` bytes
   with the terminating 0. Returns its full length. 512 bytes are always enough. */
size_t eventring_condition_text(const struct eventring_condition *condition, char *text,
                                size_t room);
/* Does a value, in ns, bytes or as it is, fulfil the comparison? */
bool eventring_condition_holds(const struct eventring_condition *condition, double value);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* EVENTRING_CONDITIONS_H */
