/* SPDX-License-Identifier: MIT */
/* start.h: has a process record that was started without (`eventring control --start`). */
#ifndef EVENTRING_TOOL_START_H
#define EVENTRING_TOOL_START_H

#include "tool.h"

/* Do the words of `control` ask for it? */
bool start_is_asked(int count, char **words);
/* `control --start` with all its words; returns the exit status. */
int start_command(const struct command *self, int count, char **words);

#endif
