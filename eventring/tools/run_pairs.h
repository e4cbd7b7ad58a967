/* SPDX-License-Identifier: MIT */
/* run_pairs.h: runs two programs in turn, for `eventring diff -- A -- B`. */
#ifndef EVENTRING_TOOL_RUN_PAIRS_H
#define EVENTRING_TOOL_RUN_PAIRS_H

#include "runs.h"

/* Splits the words behind the first `--`, which are NULL-terminated, into two programs:
   the next `--` ends the first program and is replaced by NULL. Returns false if there is
   none, or a program has no word. */
bool run_pairs_split(char **words, char **programs[2]);

/* Runs the programs in turn, `runs->count` runs in all, which is even, and reads the
   figures of each as it runs. Their standard output is discarded, their standard input is
   empty. `prefix` is that of the variables of their recordings. Returns STATUS_GO_ON, or
   the exit status: after a message of this program, or that of a run which is not 0.
   Handles SIGINT, SIGTERM and SIGHUP as launch.h says, while a program runs. For one
   thread. */
int run_pairs(struct runs *runs, char **const programs[2], const char *prefix);

#endif
