/* SPDX-License-Identifier: MIT */
/* top_terminal.h: finds what the terminal can do. */
#ifndef EVENTRING_TOOL_TOP_TERMINAL_H
#define EVENTRING_TOOL_TOP_TERMINAL_H

#include <stdbool.h>

/* Tells whether standard output is a terminal that is known by $TERM and can move its
   cursor. */
bool top_terminal_moves(void);

#endif
