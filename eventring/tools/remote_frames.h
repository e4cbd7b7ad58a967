/* SPDX-License-Identifier: MIT */
/* remote_frames.h: shows the frames of a stack of a live process. */
#ifndef EVENTRING_TOOL_REMOTE_FRAMES_H
#define EVENTRING_TOOL_REMOTE_FRAMES_H

#include "remote/stack_read.h"
#include "view.h"

/* Rows of a JSON array, the innermost frame first. With `locals`, frames have their
   variables. */
view_function remote_frame_view;
void remote_frames_put(struct view_to *to, struct remote_functions *functions,
                       const struct remote_stack *stack, bool locals);
/* Prints the frames as lines. */
void remote_frames_print(struct remote_functions *functions, const struct remote_stack *stack,
                         bool locals);

#endif
