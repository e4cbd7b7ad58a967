/* SPDX-License-Identifier: MIT */
/* start.h: has a process record that was started without (`eventring control
   --start`). */
#ifndef EVENTRING_TOOL_START_H
#define EVENTRING_TOOL_START_H

#include <sys/types.h>

#include "tool.h"

/* Has the process record into `directory` (NULL: the current one), or go on if it stands
   by or pauses, and waits until it does; of one that is asleep it says that it begins
   later. Returns the exit status; what is wrong is said. */
int start_recording(const struct command *self, pid_t pid, const char *directory);

/* Was a process that does not record asked to, and is yet to begin, or could not? */
enum { START_TEXT = 320 };
bool start_is_due(pid_t pid, char text[static START_TEXT]);

#endif
