/* SPDX-License-Identifier: MIT */
/* options.h: parses the words of a subcommand, by a table that is also its help. */
#ifndef EVENTRING_TOOL_OPTIONS_H
#define EVENTRING_TOOL_OPTIONS_H

#include <sys/types.h>

#include "tool.h"

/* Tells whether a text is the number of a process, and reads it. */
bool read_process_number(const char *text, pid_t *pid);

/* What an option's argument is and what its target points to. */
enum option_kind {
  OPTION_FLAG,    /* no argument; target bool */
  OPTION_TEXT,    /* any text; target const char * */
  /* any text; target char *, which gets the arguments of all uses, joined by commas; NULL
     or allocated, for the caller to free */
  OPTION_LIST,
  OPTION_CHOICE,  /* one of some names; target CHOICE */
  OPTION_COUNT,   /* digits; target uint64_t */
  OPTION_BETWEEN, /* digits; target BETWEEN */
  OPTION_LEVEL,   /* digits after `=', or no argument, which means 0; target BETWEEN */
  OPTION_SIZE,    /* digits, with K, M, G or T behind them for powers of 1024; target
                     uint64_t */
  /* a decimal number of seconds, at most 1e9, or with ms, us, m, h behind it; target
     uint64_t, in nanoseconds */
  OPTION_SECONDS,
  OPTION_TIME,    /* a moment of a recording; target struct time_point */
  OPTION_SCHEMA   /* no argument; the target is a view_function, whose JSON Schema is
                     printed instead */
};

/* A moment is given as seconds, as for OPTION_SECONDS, after the start of the recording,
   or, with `-' before the seconds, before its end (its newest event). Or it is given as
   2026-11-22T10:00:00[.FRACTION][Z]; without the Z it is local time. */
enum time_base { TIME_NOT_SAID, TIME_AFTER_START, TIME_BEFORE_END, TIME_OF_DAY };
struct time_point {
  enum time_base base;
  uint64_t ns; /* ns from the base; for a time of day, since 1970 */
};

struct option_spec {
  const char *name;     /* without the dashes */
  char letter;          /* the x of -x; 0 if there is none */
  enum option_kind kind;
  void *target;         /* unchanged if the option is not given */
  /* name of the argument in the help, with the `=' for a level; NULL for flags */
  const char *argument;
  const char *help;
};

/* The targets CHOICE and BETWEEN. CHOICE gets the index of a name in a list that ends
   with NULL, BETWEEN a number within bounds. */
struct option_choice {
  unsigned *index;
  const char *const *names;
};
#define CHOICE(index, names) (&(struct option_choice){(unsigned *)(index), names})
struct option_between {
  uint64_t *number, least, most;
};
#define BETWEEN(number, least, most) (&(struct option_between){number, least, most})

/* Options that several commands have. */
#define DOMAIN_SPEC(target)                                                                 \
  {"domain", 'd', OPTION_BETWEEN, BETWEEN(target, 0, EVENTRING_MAX_DOMAINS - 1), "N",        \
   "only domain N"}
#define ENV_PREFIX_SPEC(target)                \
  {"env-prefix", 0, OPTION_TEXT, target, "NAME", \
   "of the variables that make PROGRAM record (SAROS_EVENTRING)"}

/* What is left after the options. */
struct operands {
  char **words; /* points into the words given, reordered */
  size_t count;
  char **command; /* the words after `--`, NULL-terminated, or NULL */
};

/* Parses `words`, which end with a NULL. `--name value`, `--name=value`, `-x value`,
   `-xvalue` and operands may be mixed; everything behind `--` is the command. --help
   prints the help. --values-of OPTION, which is for completion and not in the help,
   prints the names that OPTION takes, with status 2 if it takes nothing. Returns
   STATUS_GO_ON, or, after a message, the exit status with which the subcommand must
   end. */
int options_parse(const struct command *self, const struct option_spec *specs,
                  size_t spec_count, int count, char **words,
                  struct operands *operands);

/* Prints what is wrong and how to get help. Returns STATUS_USAGE. */
int usage_error(const struct command *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Checks that the operands are one PID or FILE, or the `-- PROGRAM...` if with_command.
   Returns STATUS_GO_ON if they are, else the usage error. */
int require_target(const struct command *self, const struct operands *operands,
                   bool with_command);

/* Checks that the operands are one or several PIDs or FILEs, or the `-- PROGRAM...`.
   Returns STATUS_GO_ON if they are, else the usage error. */
int require_targets(const struct command *self, const struct operands *operands);

/* Reads the one PID into `pid`. Returns STATUS_GO_ON, or the usage error. */
int require_process(const struct command *self, const struct operands *operands, pid_t *pid);

#define OPTION_SPECS(specs) specs, sizeof(specs) / sizeof((specs)[0])

#endif
