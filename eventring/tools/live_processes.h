/* SPDX-License-Identifier: MIT */
/* live_processes.h: the processes of this machine that record, watched over a long
 * time.
 *
 * To look into all processes of a machine (/proc/PID/maps) takes milliseconds. A process
 * that was seen not to record is looked at again after 1, 2, 4 ... seconds, at most each
 * 10; one that records is looked at by its file, which stays open. So a recording that
 * begins in a new process is there at the next refresh, one that begins later within 10
 * s.
 */
#ifndef EVENTRING_TOOL_LIVE_PROCESSES_H
#define EVENTRING_TOOL_LIVE_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eventring/tools.h"

struct live_process {
  pid_t pid;
  eventring_cursor *cursor; /* its recording, opened with OPEN_NOW; NULL: it does not record, as far
                               as is known */
  struct eventring_info info; /* as of the last refresh, while it has a cursor */
  bool is_double;   /* the recording is that of another process of the list: it is a child that has
                       its mappings */
  uint64_t look_at; /* when it is looked at again (now_ns) */
  uint64_t waited;  /* ns before that */
  bool is_there;    /* private */
};

struct live_processes {
  const pid_t *only; /* these alone; NULL: all */
  size_t only_count;
  struct live_process *list; /* by pid; those that have a cursor and are no double record */
  size_t count;
};

/* Brings the list up to date. */
void live_refresh(struct live_processes *live);
void live_free(struct live_processes *live);
/* Does it record? */
static inline bool live_records(const struct live_process *p) { return p->cursor && !p->is_double; }

#endif
