/* SPDX-License-Identifier: MIT */
/* domain_state.h: says in words what a domain of another process does. */
#ifndef EVENTRING_TOOL_DOMAIN_STATE_H
#define EVENTRING_TOOL_DOMAIN_STATE_H

#include "remote/stack_read.h"

enum { DOMAIN_STATE_TEXT = REMOTE_NAME + 64 };

/* Writes what a domain does, from its stack: "in C function string.find", "receiving from
   channel 3". */
void domain_state_text(char text[static DOMAIN_STATE_TEXT], const struct remote_domain *about,
                       const struct remote_stack *stack, enum remote_result result);

/* Writes what the domain of a thread does, which the process calls `own_tid`, with what
   the system knows of the thread: "asleep in C function io.read", "stopped by a signal".
   Writes "" if nothing is known. */
void domain_thread_text(char text[static DOMAIN_STATE_TEXT], pid_t pid, pid_t own_tid);

/* ---- Is it asleep? ------------------------------------------------------------ */

/* A thread that is checked again and again; zeroed before the first check. */
struct sleep_watch {
  pid_t tid;         /* thread id as seen from here */
  bool stopped;      /* at the last check it was stopped by a signal, so no thread of the
                        process ran */
  bool sleeps;       /* at the last check it was stopped or asleep */
  uint64_t switches; /* how often it had left a processor at the last check */
  uint64_t since_ns; /* earliest time from which it is known to have been asleep */
};
/* Checks the thread that the process calls `own_tid`. Returns true if it has not run for
   `ns` between an earlier check and this one, so that it is asleep in the kernel or
   stopped. */
bool sleep_watch_look(struct sleep_watch *watch, pid_t pid, pid_t own_tid, uint64_t ns);

#endif
