/* SPDX-License-Identifier: MIT */
/* file_name.h: the name of a recording's file. */
#ifndef EVENTRING_FILE_NAME_H
#define EVENTRING_FILE_NAME_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "eventring/types.h"

#pragma GCC visibility push(hidden)

/* Bytes of a name with the terminating 0; leaves room for a name `<name>-<start>-<n>`. */
enum { EVR_MOST_NAME = NAME_MAX + 1 - 32 };

struct evr_naming {
  const char *pattern; /* eventring_config.name; the pid is used if it is NULL or empty */
  const char *program; /* replaces %n */
  pid_t pid;
  unsigned copy; /* number of this copy of the library in the process; from 2 on it is in
                    the name */
};

/* Writes the name, which ends in EVENTRING_SUFFIX, to `name` (EVR_MOST_NAME bytes).
   Returns E_CONFIG if the pattern is not valid, or the name is too long. */
int evr_file_name(char *name, const struct evr_naming *naming, struct eventring_error *error);

/* Splits config->stream into the directory ("" for the current one) and the template of
   the name of a stream. Returns false when the path is missing or too long. */
enum { EVR_MOST_TEMPLATE = 512 };
bool evr_split_stream(const char *stream, char directory[PATH_MAX],
                      char name[EVR_MOST_TEMPLATE + 1]);

#pragma GCC visibility pop

#endif /* EVENTRING_FILE_NAME_H */
