/* SPDX-License-Identifier: MIT */
/* last_stack.h: what the library asks the host for: see last_stack.c. */
#ifndef EVENTRING_LAST_STACK_H
#define EVENTRING_LAST_STACK_H

#include "eventring/stack.h"

#pragma GCC visibility push(hidden)

struct evr_domain;
/* Asks the host for the stack of a domain, or, if `d` is NULL, for that of the calling
   thread as the host sees it. Without the mutex. */
void evr_stack_wanted(struct evr_domain *d, enum eventring_stack_reason reason, int64_t value,
                      bool in_handler);

#pragma GCC visibility pop

#endif /* EVENTRING_LAST_STACK_H */
