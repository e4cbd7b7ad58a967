/* SPDX-License-Identifier: MIT */
/* processes.c: the processes of a recording. */
#include "export/processes.h"
#include "eventring/tools.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PROCESSES = 1 << 16, END_OF_PIDS = 1 << 22 };

static bool is_taken(const struct export_processes *p, uint32_t pid) {
  for (uint32_t i = 0; i < p->room; i++)
    if (p->pid[i] == pid) return true;
  return false;
}

static bool grow(struct export_processes *p, uint32_t number) {
  if (number < p->room) return true;
  uint32_t room = 2 * number + 8;
  uint32_t *pid = realloc(p->pid, room * sizeof *pid);
  if (!pid) return false;
  memset(pid + p->room, 0, (room - p->room) * sizeof *pid);
  p->pid = pid;
  p->room = room;
  return true;
}

uint32_t export_process_pid(struct export_processes *p, eventring_cursor *cursor,
                            const struct eventring_info *info, uint32_t number,
                            char name[EVENTRING_MAX_PROGRAM + 1], bool *is_new) {
  struct eventring_process process;
  *is_new = false;
  if (number >= MOST_PROCESSES) number = 0;
  if (!grow(p, number)) return 0;
  if (p->pid[number]) return p->pid[number];
  bool is_part = number && eventring_cursor_process(cursor, number, &process) == 0;
  uint32_t pid = (uint32_t)(is_part ? process.pid : info->pid) % END_OF_PIDS;
  memcpy(name, is_part ? process.program : info->program, EVENTRING_MAX_PROGRAM + 1);
  while (!pid || is_taken(p, pid)) pid += END_OF_PIDS;
  *is_new = true;
  return p->pid[number] = pid;
}

void export_processes_free(struct export_processes *p) { free(p->pid); }
