/* SPDX-License-Identifier: MIT */
/* dead.h: what a process that has ended has left behind. */
#ifndef EVENTRING_TOOL_DEAD_H
#define EVENTRING_TOOL_DEAD_H

#include <stdbool.h>
#include <sys/types.h>

/* Tells whether a process runs. (A zombie, whose parent has not waited for it yet, does
   not.) */
bool process_runs(pid_t pid);
/* Returns the path of the newest recording of a process with this number that does not
   run any more, among those that `list` finds; NULL if there is none. Files that another
   user has put into a directory where everybody may write do not count. The caller frees
   it. */
char *dead_recording(pid_t pid);

#endif
