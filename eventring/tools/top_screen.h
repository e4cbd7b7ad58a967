/* SPDX-License-Identifier: MIT */
/* top_screen.h: shows the screen of `eventring top`. */
#ifndef EVENTRING_TOOL_TOP_SCREEN_H
#define EVENTRING_TOOL_TOP_SCREEN_H

#include "top_list.h"

/* Shows the processes until the user quits, a signal comes, or limit_ns is over (0: no
   limit). Returns the exit status; or -1, after a message, if this terminal cannot show a
   screen, or the command was built without ncurses. */
int top_screen(struct top_list *list, uint64_t limit_ns);

#endif
