/* SPDX-License-Identifier: MIT */
/* signals.h: delays SIGINT, SIGTERM and SIGHUP, which end a command, to a better
   moment. */
#ifndef EVENTRING_TOOL_SIGNALS_H
#define EVENTRING_TOOL_SIGNALS_H

#include <signal.h>

/* Holds these signals back in this thread, and in threads that it starts. They take
   effect when signals_release gets the returned set, so a file that is written in between
   is complete. */
sigset_t signals_hold(void);
void signals_release(const sigset_t *before);

#endif
