/* SPDX-License-Identifier: MIT */
/* start.h: starts the recording of a process that was started without one (`eventring
   control --start`). */
#ifndef EVENTRING_TOOL_START_H
#define EVENTRING_TOOL_START_H

#include <sys/types.h>

#include "tool.h"

/* Makes the process record into `directory` (NULL: the current one), or resume if it is
   on standby or paused, and waits until it does. If the process is asleep, reports that
   it will begin later. Returns the exit status, after a message if something is wrong. */
int start_recording(const struct command *self, pid_t pid, const char *directory);

/* Tells whether a process that does not record was asked to, and has not begun yet or has
   failed; writes which of these it is. */
enum { START_TEXT = 320 };
bool start_is_due(pid_t pid, char text[static START_TEXT]);

#endif
