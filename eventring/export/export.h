/* SPDX-License-Identifier: MIT */
/* export.h: recordings in the formats of other tools.
 *
 * Each format has a file of its own, which includes only the public headers and the
 * analysis. It writes to a stream that the caller opens, closes and checks for errors
 * (ferror). It gets texts as they are in the recording, and escapes them in its own way.
 */
#ifndef EVENTRING_EXPORT_H
#define EVENTRING_EXPORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { EXPORT_VALUES = 6 }; /* most figures of a row */

struct export_function {
  const char *name, *source; /* "" if not known */
  uint32_t line;
};

/* A frame, and the stack of its caller. */
struct export_stack {
  uint32_t parent;   /* less than its own index; 0 if none */
  uint32_t function; /* index; 0 if not known */
  uint32_t line;     /* 0 if not known */
};

struct export_label { /* there is no label if `key` is NULL */
  const char *key, *text;
};
enum { EXPORT_LABELS = 4 };

struct export_row {
  uint32_t stack; /* index; 0 if none */
  double value[EXPORT_VALUES];
  struct export_label label[EXPORT_LABELS];
};

struct export_value {
  const char *name, *unit; /* "live_space", "bytes" */
  const char *about;       /* for people: "bytes that are alive"; `name` is used if
                              NULL */
};

struct export_profile {
  const char *program;
  const char *resource; /* attributes that the user gives, KEY=VALUE,...; NULL if none */
  int64_t start_wall_ns;
  uint64_t duration_ns;
  const struct export_value *values;
  size_t value_count, main_value; /* main_value: the value to show first, or alone */
  const struct export_function *functions; /* index 0 is a "?" */
  size_t function_count;
  const struct export_stack *stacks; /* index 0 is not used */
  size_t stack_count;
  const struct export_row *rows;
  size_t row_count;
};

/* Returns 0, or -1 when out of memory. */
#define EXPORT_PROFILE(name, suffix, form, summary) \
  int export_##name(const struct export_profile *profile, FILE *out);
#include "export/formats.def"

#endif
