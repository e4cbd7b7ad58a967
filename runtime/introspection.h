/* SPDX-License-Identifier: MIT */
/* runtime/introspection.h: what other processes may read of the stacks of this one
 * (doc/INTROSPECTION.md). */
#ifndef SAROS_RUNTIME_INTROSPECTION_H
#define SAROS_RUNTIME_INTROSPECTION_H

#include "domain.h"
#include "eventring/introspection.h"

/* Shows the domain, which has a main thread now, to readers in other processes until
   introspection_remove hides it. If no slot is left, the domain is not shown. Any
   thread. */
void introspection_add(Domain *d);
void introspection_remove(Domain *d);
/* Gets the domain in the n-th slot; *d is NULL if the slot is free. Returns false if
   there are no more than n slots. Any thread, async-signal-safe. A domain of another
   thread may end at any moment. */
bool introspection_domain(unsigned n, Domain **d);
/* Removes all domains but d. For a forked child, in which only the domain of the thread
   that forked continues (NULL if none does). */
void introspection_keep_only(const Domain *d);

/* Written by other processes of the same user. Safepoints test its `word` while nothing
   is recorded (probes.c). */
HIDDEN extern struct eventring_request introspection_request;
/* Takes the request of another process. Returns false if there is none for this thread to
   obey, or if the request is refused. Sets *directory to where the file is to be made, or
   to "" if the environment says where; it is valid until the reply. Any thread. */
bool introspection_take_request(const char **directory);
/* Reports the result of the request: 0, or an errno that says why it was not obeyed. */
void introspection_reply(int why);
/* Returns the time until which each instruction is to be noted for readers in other
   processes: in ns of CLOCK_MONOTONIC, or 0 if nobody has asked. Any thread. */
uint64_t introspection_lines_until(void);
/* Clears the bit with which a process has asked safepoints for the lines. */
void introspection_lines_seen(void);

#endif
