/* SPDX-License-Identifier: MIT */
/* tasks.h: reads what the system reports about the OS threads of a process. */
#ifndef EVENTRING_REMOTE_TASKS_H
#define EVENTRING_REMOTE_TASKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct remote_task {
  pid_t tid;     /* its number in this pid namespace; 0 if not found */
  char state;    /* state in proc_pid_stat(5): 'R', 'S', 'D', 'T' ...; 0 if not known */
  uint64_t cpu_ns; /* processor time used; 0 if not known */
};

/* Finds the thread that has the number `own_tid` in its process, which is another number
   here if the process is in a container. */
struct remote_task remote_task_find(pid_t pid, pid_t own_tid);
/* Reads what a task does now. Returns false if it has ended. */
bool remote_task_read(pid_t pid, struct remote_task *task);
/* Reads how often a task has left a processor: as long as that does not change and the
   task sleeps, it has not run. Returns false if it has ended. */
bool remote_task_switches(pid_t pid, pid_t tid, uint64_t *switches);
/* Tells whether two processes share one memory, as a child of vfork does before it
   executes a program. Returns false if the kernel does not say so (kcmp). */
bool remote_share_memory(pid_t pid, pid_t other);
/* Returns what a task does as text, for example "stopped by a signal", or "" if it is not
   known. */
const char *remote_task_text(const struct remote_task *task);

#endif
