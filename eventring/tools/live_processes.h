/* SPDX-License-Identifier: MIT */
/* live_processes.h: the processes of this machine that record, watched over a long time.
 *
 * Reading /proc/PID/maps of all processes of a machine takes milliseconds. A process that
 * was found not to record is checked again after 1, 2, 4 ... seconds, at most 10 seconds
 * apart; a process that records is checked by its file, which stays open. So a recording
 * that begins in a new process is found at the next refresh, a recording that begins
 * later within 10 s.
 */
#ifndef EVENTRING_TOOL_LIVE_PROCESSES_H
#define EVENTRING_TOOL_LIVE_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eventring/tools.h"

struct live_process {
  pid_t pid;
  /* recording of the process, opened with OPEN_NOW; NULL if it does not record, as far as
     is known */
  eventring_cursor *cursor;
  struct eventring_info info; /* info at the last refresh, if there is a cursor */
  /* the recording belongs to another process of the list; this process is a child that
     maps its file */
  bool is_double;
  uint64_t look_at; /* when the process is checked again (now_ns) */
  uint64_t waited;  /* ns from the previous check to `look_at` */
  bool is_there;    /* private */
};

struct live_processes {
  const pid_t *only; /* only these pids, or NULL for all */
  size_t only_count;
  /* sorted by pid; the processes with a cursor and without is_double record */
  struct live_process *list;
  size_t count;
};

/* Brings the list up to date. */
void live_refresh(struct live_processes *live);
void live_free(struct live_processes *live);
/* Tells whether a process records. */
static inline bool live_records(const struct live_process *p) { return p->cursor && !p->is_double; }

#endif
