/* SPDX-License-Identifier: MIT */
/* conditions.h: the language of conditions, and triggers.
 *
 * A condition is a text such as `pause > 5ms` or `p99(minor) < 1ms`; doc/CONDITIONS.md
 * has the whole language. Triggers (below), `eventring check` and `eventring record --on`
 * use this language and this parser.
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
  X(PAUSE, "pause")     /* one pause of the program for its collector, ns */ \
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
  EVENTRING_EACH, /* no figure: the condition is about each value */
#define EVENTRING_ENUM(name, text) EVENTRING_FIGURE_##name,
  EVENTRING_FIGURES(EVENTRING_ENUM)
#undef EVENTRING_ENUM
  EVENTRING_QUANTILE /* `quantile` says which quantile: p50, p99.9 */
};

/* How the value is compared with the number. X(name, text, operator of C) */
#define EVENTRING_COMPARISONS(X) \
  X(LESS, "<", <) X(NOT_MORE, "<=", <=) X(MORE, ">", >) X(NOT_LESS, ">=", >=) \
  X(EQUAL, "==", ==) X(DIFFERENT, "!=", !=)
enum eventring_comparison {
#define EVENTRING_ENUM(name, text, op) EVENTRING_##name,
  EVENTRING_COMPARISONS(EVENTRING_ENUM)
#undef EVENTRING_ENUM
};

/* The unit of the number that the value is compared with. */
enum eventring_number_unit {
  EVENTRING_PLAIN, /* a plain number; for a heap, bytes */
  EVENTRING_TIME   /* a time, given in ns, us, ms or s; stored in ns */
};

struct eventring_condition {
  uint8_t subject;    /* enum eventring_subject */
  uint8_t figure;     /* enum eventring_figure */
  uint8_t comparison; /* enum eventring_comparison */
  uint8_t unit;       /* enum eventring_number_unit */
  bool cpu;           /* for PAUSE and SPAN: only the thread's time on a processor */
  uint32_t quantile;  /* quantile in 1/100000: 50000 is the median */
  double number;
  /* name of the subject, for SPAN, COUNTER and NAME; else "" */
  char name[EVENTRING_MAX_NAME + 1];
  /* only values in spans of this name count; "" for all values */
  char within[EVENTRING_MAX_NAME + 1];
};

/* Reads a condition at the start of `text`, which need not be terminated. If `end` is
   NULL, the whole text must be one condition. Otherwise *end is set to the number of
   bytes of the condition, trailing spaces included; other text may follow. Returns 0, or
   E_CONFIG with a text that names the column and the error; *end is then the place of the
   error. Any thread. */
int eventring_condition_parse(struct eventring_condition *condition, const char *text,
                              size_t size, size_t *end, struct eventring_error *error);
/* Writes a condition as a text that parses to the same condition (its number has nine
   decimals), cut to `room` bytes with the terminating 0. Returns its full length. 512
   bytes are always enough. Any thread. */
size_t eventring_condition_text(const struct eventring_condition *condition, char *text,
                                size_t room);
/* Tells whether a value, in ns, bytes or plain, fulfils the comparison. Any thread. */
static inline bool eventring_condition_holds(const struct eventring_condition *condition,
                                             double value) {
  switch ((enum eventring_comparison)condition->comparison) {
#define EVENTRING_CASE(name, text, op) case EVENTRING_##name: return value op condition->number;
    EVENTRING_COMPARISONS(EVENTRING_CASE)
#undef EVENTRING_CASE
  }
  return false;
}

/* ---- Values ------------------------------------------------------------- */

/* A measured value. For a span or a pause, off_cpu is the time in ns in which its thread
   was not on a processor (eventring_event_off_cpu), or below 0 if that is not known. For
   all other subjects off_cpu is 0. */
struct eventring_measured {
  double value, off_cpu;
};
/* Finds the value that a condition compares. Returns false if the value is not known. Any
   thread. */
static inline bool eventring_condition_value(const struct eventring_condition *condition,
                                             const struct eventring_measured *measured,
                                             double *value) {
  *value = measured->value - (condition->cpu ? measured->off_cpu : 0);
  return !condition->cpu || measured->off_cpu >= 0;
}

/* A pause is an outermost span of class gc of a domain; it lasts from its begin to its
   end. This structure follows the pauses of one domain; when zeroed, no pause is open.
   One thread at a time passes it the begins and ends of all gc spans of the domain, with
   their depth (struct eventring_event). */
struct eventring_pause {
  uint64_t since; /* time of the begin, on any clock */
  uint32_t depth;
  uint16_t id;
  bool open;
};
/* Takes a begin, at `since`: ns or ticks. One thread at a time. */
static inline void eventring_pause_begin(struct eventring_pause *pause, uint32_t depth,
                                         uint16_t id, uint64_t since) {
  if (pause->open && depth > pause->depth) return; /* the begin lies within the pause */
  pause->since = since;
  pause->depth = depth;
  pause->id = id;
  pause->open = true;
}
/* Takes an end, and tells whether it is the end of the pause. (The end of an enclosing
   span means that the end of the pause was missed.) One thread at a time. */
static inline bool eventring_pause_end(struct eventring_pause *pause, uint32_t depth) {
  if (!pause->open || depth > pause->depth) return false;
  pause->open = false;
  return depth == pause->depth;
}

/* ---- Triggers ---------------------------------------------------------- */

/* A trigger is a condition that this process evaluates while it records, on its own
   events as they are written. When it is fulfilled, a copy of the recording is made: all
   records, and the present blocks of the rings. The text of a trigger:

     CONDITION [, dir=PATH] [, cooldown=TIME] [, max=N] [, size=SIZE]

   dir: the directory of the copies, which is made if it is missing (its parent must
   exist); the path may be in quotes; default: the directory of the recording. cooldown:
   the least time from one copy to the next, default 10s. max: how many copies are made at
   most, default 10. size: how many bytes on the disk all copies of the trigger together
   take at most (K, M, G), default 1G.

   Conditions of triggers are about pause, span, heap, counter, error or signal, without a
   figure and without `within`. A trigger on pause or span fires at the end of each pause
   or span that fulfils the condition. A trigger on heap or counter fires when a value
   fulfils the condition and the value before did not. `error` fires at
   eventring_note_error, `signal` at eventring_note_signal.

   Setting a trigger switches on the class that it needs (gc for pause and heap, user for
   span and counter). While there are triggers, events take the library's slow path in the
   rings that triggers watch; without triggers nothing is slower.

   The event that fires costs its thread some microseconds; a thread of the library makes
   the copy, as NAME-triggerN-WHAT.eventring: NAME is the name of the recording without
   suffix, N a number, WHAT the subject. While the copy is written, `.part` is appended to
   its name. If a killed process leaves such a part, the next copy in the directory
   removes it, and so does eventring_remove_parts. The recording and the copy have an
   event "trigger CONDITION" of kind LIFECYCLE with the value (ns, bytes, number). A copy
   that cannot be saved is reported to eventring_config.warn, with the code
   EVENTRING_UNSAVED, once for each trigger. The end of the recording waits at most five
   seconds for the copies that are due; eventring_note_signal waits at most one second. */

enum {
  EVENTRING_MAX_TRIGGERS = 64,     /* triggers that may be set at the same time */
  /* bytes of the text of a trigger, or of a list of triggers */
  EVENTRING_MAX_TRIGGER_TEXT = 480
};

/* Checks a list of triggers, with `;` between them. Returns their number, or E_CONFIG
   with a text that names the column and the error. Any thread. */
int eventring_triggers_check(const char *text, size_t size, struct eventring_error *error);
/* Sets a trigger of this process and returns its number, 1 or more, which is not used
   again. The trigger stays until it is removed, whether the process records or not, also
   in the children of forks, which count its copies anew. Returns E_CONFIG if the text is
   no trigger, E_FULL if EVENTRING_MAX_TRIGGERS are set. Any thread. */
int eventring_trigger_set(const char *text, size_t size, struct eventring_error *error);
/* Removes a trigger. A copy that is being made is finished. Returns 0 or E_NOT_FOUND. Any
   thread. */
int eventring_trigger_remove(int number);

/* Who has set a trigger. */
enum eventring_trigger_owner {
  EVENTRING_BY_PROGRAM = 1, /* eventring_trigger_set */
  EVENTRING_BY_CONFIG = 2,  /* eventring_config.triggers */
  EVENTRING_BY_CONTROL = 3  /* another process (EVENTRING_CONTROL_TRIGGERS) */
};
struct eventring_trigger {
  int number;
  enum eventring_trigger_owner owner;
  struct eventring_condition condition;
  uint64_t cooldown_ns, most, most_bytes;
  /* "" for the directory of the recording */
  char directory[EVENTRING_MAX_TRIGGER_TEXT + 1];
  uint64_t fired;   /* how often the condition was fulfilled */
  uint64_t saved;   /* copies that were made */
  uint64_t bytes;   /* bytes that these copies take on the disk */
  uint64_t skipped; /* copies not made: cooldown, a limit, or a copy being made */
  uint64_t failed;  /* copies that could not be made */
};
/* Fills *trigger with the trigger at `index`, from 0 on, of those that are set. Returns 0
   or E_NOT_FOUND. Any thread. */
int eventring_trigger_at(unsigned index, struct eventring_trigger *trigger);
/* Waits until no copy is due or being made, at most `ns` nanoseconds. Returns 0, or
   E_BUSY when the time has passed. Any thread. */
int eventring_triggers_wait(uint64_t ns);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* EVENTRING_CONDITIONS_H */
