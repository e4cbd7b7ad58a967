/* SPDX-License-Identifier: MIT */
/* activity.h: what a domain of another process does at a moment. */
#ifndef EVENTRING_REMOTE_ACTIVITY_H
#define EVENTRING_REMOTE_ACTIVITY_H

#include "remote/stack.h"

/* Where the words of the rules were found before. All zero: not yet. */
struct remote_activity {
  bool known;
  uint64_t bases[EVENTRING_MAX_RULES]; /* what the pointer led to, by rule */
};

/* Sets the activity, its text and its subject in `about`, whose address is set. With
   `kept`, which is of this domain, this mostly takes one system call; it may be NULL. */
void remote_activity_read(struct remote_host *host, struct remote_activity *kept,
                          struct remote_domain *about);

#endif
