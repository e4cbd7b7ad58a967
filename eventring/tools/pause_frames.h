/* SPDX-License-Identifier: MIT */
/* pause_frames.h: `eventring pauses --frames`: the frames that took too long, and why. */
#ifndef EVENTRING_TOOL_PAUSE_FRAMES_H
#define EVENTRING_TOOL_PAUSE_FRAMES_H

#include "query.h"

struct frame_choice {
  uint64_t limit_ns;     /* UINT64_MAX: no --frames */
  const char *span;      /* name of the frames' spans; NULL if not given */
};
#define FRAME_CHOICE_NONE {UINT64_MAX, NULL}

/* The options, in a table of options. */
#define FRAME_SPECS(choice)                                                    \
  {"frames", 0, OPTION_SECONDS, &(choice)->limit_ns, "TIME",                   \
   "the frames that took longer than TIME, and why: 16.7ms"},                  \
  {"frame-span", 0, OPTION_TEXT, &(choice)->span, "NAME",                      \
   "with --frames: their spans have this name (frame)"}

/* Runs `pauses --frames` with the options of `q`. Returns the exit status. */
int pause_frames(struct query *q, const struct operands *operands,
                 const struct frame_choice *choice);
/* The view that pause_frames prints as JSON. */
view_function pause_frames_view;

#endif
