/* SPDX-License-Identifier: MIT */
/* forbidden.h: finds why the kernel does not let this process read the memory of another
   one. */
#ifndef EVENTRING_REMOTE_FORBIDDEN_H
#define EVENTRING_REMOTE_FORBIDDEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The facts by which the kernel decides. */
struct remote_rights {
  uid_t own_user;     /* user of this process */
  bool may_trace_all; /* this process has CAP_SYS_PTRACE */
  bool known;         /* the users of the other process are known */
  uid_t users[3];     /* real, effective and saved user of the other process */
  bool closed;        /* files of the other process in /proc belong to root: it is not
                         dumpable */
  int scope;          /* kernel.yama.ptrace_scope; 0 where the kernel has none */
};

void remote_rights_of(pid_t pid, struct remote_rights *rights);

/* Writes which of these rights forbids reading the memory, and what to set, as the rest
   of a sentence about the process. */
void remote_forbidden_text(const struct remote_rights *rights, char *text, size_t room);

#endif
