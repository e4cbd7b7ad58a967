/* SPDX-License-Identifier: MIT */
/* run_pairs.h: runs two programs in turn, for `eventring diff -- A -- B`. */
#ifndef EVENTRING_TOOL_RUN_PAIRS_H
#define EVENTRING_TOOL_RUN_PAIRS_H

#include "runs.h"

/* Splits the words behind the first `--`, which are NULL-terminated, into two programs:
   the next `--` ends the first program and is replaced by NULL. Returns false if there is
   no further `--`, or a program has no word. */
bool run_pairs_split(char **words, char **programs[2]);

/* Runs the programs in turn, `runs->count` (even) runs in all, and reads the figures of
   each while it runs. Their standard output is discarded, their standard input is empty.
   `prefix` begins the names of the variables of their recordings. Returns STATUS_GO_ON,
   or the exit status after a message; or the status of a run if that is not 0. While a
   program runs, handles SIGINT, SIGTERM and SIGHUP as launch.h says. For one thread. */
int run_pairs(struct runs *runs, char **const programs[2], const char *prefix);

#endif
