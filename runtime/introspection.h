/* SPDX-License-Identifier: MIT */
/* runtime/introspection.h: what other processes may read of the stacks of this one
 * (doc/INTROSPECTION.md). */
#ifndef SAROS_RUNTIME_INTROSPECTION_H
#define SAROS_RUNTIME_INTROSPECTION_H

#include "domain.h"

/* The domain has a main thread, and can be read from now on; until it is removed. Any
   thread. With no place left it is not shown. */
void introspection_add(Domain *d);
void introspection_remove(Domain *d);
/* In a forked child, in which only the domain of the thread that forked goes on (or none,
   NULL). */
void introspection_keep_only(const Domain *d);

#endif
