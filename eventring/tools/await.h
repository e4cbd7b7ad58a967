/* SPDX-License-Identifier: MIT */
/* await.h: waits until a condition is fulfilled in a live recording, for `record
   --on`. */
#ifndef EVENTRING_TOOL_AWAIT_H
#define EVENTRING_TOOL_AWAIT_H

#include "eventring/conditions.h"
#include "reader.h"

struct await {
  const char *text;   /* the condition, as given; NULL: do not wait */
  /* how much of the past the rings shall hold meanwhile; UINT64_MAX: no change */
  uint64_t before_ns;
  struct eventring_condition condition;
};

/* Parses the condition. Returns STATUS_GO_ON, or the usage error. */
int await_check(const struct command *self, struct await *await);
/* Waits for the condition, with a cursor of its own on the recording that the reader has
   opened. Returns STATUS_GO_ON; or the exit status, after a message, if the recording
   ended first or SIGINT or SIGTERM came. */
int await_condition(const struct await *await, const struct reader *reader);

#endif
