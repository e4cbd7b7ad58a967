/* SPDX-License-Identifier: MIT */
/* signals.h: SIGINT, SIGTERM and SIGHUP, which end a command, at a better moment. */
#ifndef EVENTRING_TOOL_SIGNALS_H
#define EVENTRING_TOOL_SIGNALS_H

#include <signal.h>

/* Holds them back in this thread, and in those that it starts. What comes takes effect
   when they are released, with what signals_hold returned. Where a file is written in one
   go, it is complete then. */
sigset_t signals_hold(void);
void signals_release(const sigset_t *before);

#endif
