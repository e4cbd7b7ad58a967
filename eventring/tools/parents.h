/* SPDX-License-Identifier: MIT */
/* parents.h: reads what the system knows of a process. */
#ifndef EVENTRING_TOOL_PARENTS_H
#define EVENTRING_TOOL_PARENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns the parent of a process, or 0 if the process is gone. Sets *state, unless
   `state` is NULL, to the state in /proc/PID/stat, 'Z' if the process has ended. */
pid_t process_parent(pid_t pid, char *state);

/* Returns for how long a process has run, in nanoseconds, with the precision of the
   kernel's tick (10 ms); UINT64_MAX if it is gone, or there is no /proc. */
uint64_t process_age_ns(pid_t pid);

#endif
