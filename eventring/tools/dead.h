/* SPDX-License-Identifier: MIT */
/* dead.h: finds what a process that has ended has left behind. */
#ifndef EVENTRING_TOOL_DEAD_H
#define EVENTRING_TOOL_DEAD_H

#include <stdbool.h>
#include <sys/types.h>

/* Tells whether a process runs. (A zombie, which its parent has not waited for, does
   not.) */
bool process_runs(pid_t pid);
/* Returns the path of the newest recording of an ended process with this pid, among those
   that `list` finds; NULL if there is none. Files that another user has put into a
   directory where everybody may write do not count. The caller frees the path. */
char *dead_recording(pid_t pid);

#endif
