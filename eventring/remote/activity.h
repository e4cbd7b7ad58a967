/* SPDX-License-Identifier: MIT */
/* activity.h: finds what a domain of another process does at a moment. */
#ifndef EVENTRING_REMOTE_ACTIVITY_H
#define EVENTRING_REMOTE_ACTIVITY_H

#include "remote/stack_read.h"

/* Where the words of the rules were found before. All zero: not found yet. */
struct remote_activity {
  bool known;
  uint64_t bases[EVENTRING_MAX_RULES]; /* value of the pointer of each rule */
};

/* Sets the activity, its text and its subject in `about`, whose address is set. With
   `kept`, which belongs to this domain and may be NULL, this mostly takes one system
   call. */
void remote_activity_read(struct remote_host *host, struct remote_activity *kept,
                          struct remote_domain *about);

#endif
