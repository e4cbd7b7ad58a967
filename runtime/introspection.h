/* SPDX-License-Identifier: MIT */
/* runtime/introspection.h: what other processes may read of the stacks of this one
 * (doc/INTROSPECTION.md). */
#ifndef SAROS_RUNTIME_INTROSPECTION_H
#define SAROS_RUNTIME_INTROSPECTION_H

#include "domain.h"
#include "eventring/introspection.h"

/* The domain has a main thread, and can be read from now on; until it is removed. Any
   thread. With no place left it is not shown. */
void introspection_add(Domain *d);
void introspection_remove(Domain *d);
/* The n-th place for domains; *d is NULL if it is free. False: there is none. Any thread,
   async-signal-safe; the domain may end at any moment, if it is another thread's. */
bool introspection_domain(unsigned n, Domain **d);
/* In a forked child, in which only the domain of the thread that forked goes on (or none,
   NULL). */
void introspection_keep_only(const Domain *d);

/* Written by other processes of the user. Its word is that which safepoints read while
   nothing is recorded (probes.c). */
HIDDEN extern struct eventring_request introspection_request;
/* False: there is none for this thread to obey, or it is refused. *directory: where the file
   is to be, "": as the environment says; valid until the reply. Any thread. */
bool introspection_take_request(const char **directory);
/* 0, or an errno: why it was not obeyed. */
void introspection_reply(int why);
/* Up to when each instruction is to be noted, for readers in other processes: ns of
   CLOCK_MONOTONIC; 0: nobody has asked. Any thread. */
uint64_t introspection_lines_until(void);
/* Safepoints need not come for that any more. */
void introspection_lines_seen(void);

#endif
