/* SPDX-License-Identifier: MIT */
/* processes.h: gives each process of a recording a number of its own, as timelines need
 * it: its pid. In a merged recording another process may have the same pid (in another
 * namespace, or at another time); then 2^22, the end of pids, is added until the number
 * is free. */
#ifndef EVENTRING_EXPORT_PROCESSES_H
#define EVENTRING_EXPORT_PROCESSES_H

#include <stdbool.h>

#include "eventring/read.h"

struct export_processes {
  uint32_t *pid; /* pid of each process by its number; 0 if not assigned yet */
  uint32_t room;
};

/* Returns the number for process `number` (eventring_cursor_process; 0 is the process
   that *info describes), and stores its name. *is_new tells whether this is the first
   call for the process. Returns 0 when out of memory. */
uint32_t export_process_pid(struct export_processes *processes, eventring_cursor *cursor,
                            const struct eventring_info *info, uint32_t number,
                            char name[EVENTRING_MAX_PROGRAM + 1], bool *is_new);
void export_processes_free(struct export_processes *processes);

#endif
