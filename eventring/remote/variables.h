/* SPDX-License-Identifier: MIT */
/* variables.h: reads the local variables of a frame of another process, as text. */
#ifndef EVENTRING_REMOTE_VARIABLES_H
#define EVENTRING_REMOTE_VARIABLES_H

#include "remote/stack_read.h"

enum { REMOTE_VALUE = 160 /* bytes of a value's text with its NUL; longer ones are cut */ };

struct remote_variable {
  char name[64];
  const char *type;           /* "string"; the host's text */
  char text[REMOTE_VALUE];    /* a literal of Lua, or "table: 0x55..."; printable ASCII */
};

/* Calls `each` for the local variables that exist at the frame's pc, with their present
   values; executes nothing in the process. Returns their number. */
size_t remote_variables(struct remote_functions *functions, const struct remote_frame *frame,
                        void (*each)(void *closure, const struct remote_variable *variable),
                        void *closure);

#endif
