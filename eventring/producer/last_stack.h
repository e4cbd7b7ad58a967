/* SPDX-License-Identifier: MIT */
/* last_stack.h: what the library asks the host for: see last_stack.c. */
#ifndef EVENTRING_LAST_STACK_H
#define EVENTRING_LAST_STACK_H

#include "eventring/stack.h"

/* From the start of the helper to its first look. */
enum { EVR_FIRST_LOOK_NS = 20 * 1000000 };

#pragma GCC visibility push(hidden)

struct evr_domain;
/* Asks the host for the stack of a domain, or, if `d` is NULL, for that of the calling
   thread as the host sees it. Without the mutex. */
void evr_stack_wanted(struct evr_domain *d, enum eventring_stack_reason reason, int64_t value,
                      bool in_handler);

/* Notes whether there is a helper, which makes the requests of
   eventring_stack_ask_each. */
void evr_stack_helped(bool helped);
/* Begins or ends a request for stacks, if it is due. Returns after how many ns it is to
   be called again, UINT64_MAX if no request is due. Called by the helper only. */
uint64_t evr_stack_turn(void);

#pragma GCC visibility pop

#endif /* EVENTRING_LAST_STACK_H */
