/* SPDX-License-Identifier: MIT */
/* dead.h: what a process that has ended has left behind. */
#ifndef EVENTRING_TOOL_DEAD_H
#define EVENTRING_TOOL_DEAD_H

#include <stdbool.h>
#include <sys/types.h>

/* Does it run? One that only waits for its parent to take note of its end does not. */
bool process_runs(pid_t pid);
/* The path of the newest recording of a process of this number that runs no more, among
   those that `list` finds; NULL: there is none. Files that another user has put into a
   directory where everybody may write are none. To be freed. */
char *dead_recording(pid_t pid);

#endif
