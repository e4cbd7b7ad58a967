/* SPDX-License-Identifier: MIT */
/* control_status.h: prints what a process records, for `eventring control --status`. */
#ifndef EVENTRING_TOOL_CONTROL_STATUS_H
#define EVENTRING_TOOL_CONTROL_STATUS_H

#include "view.h"

const struct view *control_status_view(void);
/* Prints the status. Returns the exit status, after a message. */
int control_status(eventring_cursor *cursor, const struct view_choice *as);

#endif
