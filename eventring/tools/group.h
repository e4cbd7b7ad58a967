/* SPDX-License-Identifier: MIT */
/* group.h: records several processes at once, each into a file of its own.
 *
 * Each process has a recorder (recorder.h) with a thread and buffers of its own, so that
 * one that fails or ends does not touch the others. With `children`, recordings of
 * descendants are looked for as long as any process is recorded: of a launched PROGRAM in
 * the directory that was made for it, where nobody else writes; of a PID in the directory
 * of its recording, among those whose process has it as an ancestor.
 *
 * The group ends when all processes have ended, also those that a launched program leaves
 * behind (they become children of this one, which sees whether any is left, recorded or
 * not); or by a signal, a time or a size, which count for all together. */
#ifndef EVENTRING_TOOL_GROUP_H
#define EVENTRING_TOOL_GROUP_H

#include "recorder.h"

struct group_options {
  struct recorder_options recorder; /* path: the template of the files, see file_names.h */
  bool children;
  bool progress, summary;   /* on standard error */
  bool json;                /* summaries as JSON on standard output */
  const int *switch_signals; /* atomic: each file is switched so often */
};

struct group_result {
  unsigned processes;
  uint64_t saved, lost, bytes;
  bool incomplete; /* something was lost, or was overwritten before a launched process was found */
  bool failed;     /* something went wrong, and was reported */
  char **files;    /* one of each process, in the order in which they were found */
};

/* Records those of `targets`, PIDs or FILEs. -1 and the result, or the exit status if
   none of them can be recorded. */
int group_record(const struct group_options *options, char **targets, size_t count,
                 struct group_result *result);
/* The same of a PROGRAM; *theirs: the exit status of the command. */
int group_launch(const struct group_options *options, char **command, const char *prefix,
                 struct group_result *result, int *theirs);

void group_result_free(struct group_result *result);

#endif /* EVENTRING_TOOL_GROUP_H */
