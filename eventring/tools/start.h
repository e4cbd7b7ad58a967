/* SPDX-License-Identifier: MIT */
/* start.h: makes a process record that was started without recording (`eventring control
   --start`). */
#ifndef EVENTRING_TOOL_START_H
#define EVENTRING_TOOL_START_H

#include <sys/types.h>

#include "tool.h"

/* Makes the process record into `directory` (NULL: the current one), or resume if it
   stands by or pauses, and waits until it does; if it is asleep, reports that it begins
   later. Returns the exit status, after a message if something is wrong. */
int start_recording(const struct command *self, pid_t pid, const char *directory);

/* Tells whether a process that does not record was asked to, and has yet to begin, or
   could not; and writes which. */
enum { START_TEXT = 320 };
bool start_is_due(pid_t pid, char text[static START_TEXT]);

#endif
