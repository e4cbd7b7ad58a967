/* SPDX-License-Identifier: MIT */
/* top_terminal.h: what the terminal can do. */
#ifndef EVENTRING_TOOL_TOP_TERMINAL_H
#define EVENTRING_TOOL_TOP_TERMINAL_H

#include <stdbool.h>

/* Returns true if standard output is a terminal that is known, by $TERM, and moves its
   cursor. */
bool top_terminal_moves(void);

#endif
