/* SPDX-License-Identifier: MIT */
/* domain_state.h: what a domain of another process does, in words. */
#ifndef EVENTRING_TOOL_DOMAIN_STATE_H
#define EVENTRING_TOOL_DOMAIN_STATE_H

#include "remote/stack.h"

enum { DOMAIN_STATE_TEXT = REMOTE_NAME + 64 };

/* "in C function string.find", "receiving from channel 3", by its stack as it was
   read. */
void domain_state_text(char text[static DOMAIN_STATE_TEXT], const struct remote_domain *about,
                       const struct remote_stack *stack, enum remote_result result);

/* The same of the domain of this thread, which the process calls `own_tid`, as the system
   knows of it, too: "asleep in C function io.read", "stopped by a signal". "" where
   nothing is known. */
void domain_thread_text(char text[static DOMAIN_STATE_TEXT], pid_t pid, pid_t own_tid);

/* ---- Is it asleep? ------------------------------------------------------------ */

/* A thread that is looked at again and again; zeroed before the first look. */
struct sleep_watch {
  pid_t tid;         /* as it is called here */
  bool stopped;      /* at the last look: by a signal, so that no thread of the process runs */
  bool sleeps;       /* likewise, or asleep ... */
  uint64_t switches; /* ... when it had left a processor so often ... */
  uint64_t since_ns; /* ... and had been asleep since then at least */
};
/* Looks at the thread that the process calls `own_tid`. Returns true if it has not run
   for `ns`, between this look and an earlier one: it is asleep in the kernel, or
   stopped. */
bool sleep_watch_look(struct sleep_watch *watch, pid_t pid, pid_t own_tid, uint64_t ns);

#endif
