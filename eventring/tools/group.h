/* SPDX-License-Identifier: MIT */
/* group.h: records several processes at once, each into a file of its own.
 *
 * Each process has a recorder (recorder.h) with a thread and buffers of its own, so a
 * recorder that fails or ends does not affect the others. With `children`, the group
 * looks for recordings of descendants as long as any process is recorded. For a launched
 * PROGRAM it looks in the directory that was made for it, where nothing else writes. For
 * a PID it looks in the directory of that process's recording, for recordings of its
 * descendants.
 *
 * The group ends when all processes have ended, or by a signal, a time or a size, which
 * apply to all processes together. Processes that a launched program leaves behind count,
 * too, recorded or not. They become children of this process, so it knows whether any is
 * left. */
#ifndef EVENTRING_TOOL_GROUP_H
#define EVENTRING_TOOL_GROUP_H

#include "recorder.h"

struct group_options {
  struct recorder_options recorder; /* `path` is the template of the files, see
                                       file_names.h */
  bool children;
  bool progress, summary;   /* print progress, or a summary, on standard error */
  bool json;                /* summaries as JSON on standard output */
  const int *switch_signals; /* atomic: how often each file is to be switched */
};

struct group_result {
  unsigned processes;
  uint64_t saved, lost, bytes;
  /* something was lost, or was overwritten before a launched process was found */
  bool incomplete;
  bool failed;     /* an error occurred and was reported */
  char **files;    /* one file of each process, in the order in which the processes were
                      found */
};

/* Records all of `targets`, PIDs or FILEs, that can be recorded. Returns STATUS_GO_ON
   with the result, or the exit status if none can. */
int group_record(const struct group_options *options, char **targets, size_t count,
                 struct group_result *result);
/* Records a PROGRAM. Sets *theirs to the exit status of the command. Returns STATUS_GO_ON
   with the result, or the exit status if it cannot be started. */
int group_launch(const struct group_options *options, char **command, const char *prefix,
                 struct group_result *result, int *theirs);

void group_result_free(struct group_result *result);

#endif /* EVENTRING_TOOL_GROUP_H */
