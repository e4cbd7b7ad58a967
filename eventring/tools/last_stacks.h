/* SPDX-License-Identifier: MIT */
/* last_stacks.h: shows the last stacks of the domains of a recording. */
#ifndef EVENTRING_TOOL_LAST_STACKS_H
#define EVENTRING_TOOL_LAST_STACKS_H

#include "eventring/stack.h"
#include "reader.h"
#include "view.h"

/* A function on a stack. */
struct last_frame {
  const char *name, *source; /* "": not known */
  const char *number;        /* the line, as text; "": not known */
  uint32_t line;
  char text[EVENTRING_MAX_STACK_TEXT + 1]; /* room for these texts */
};
/* Takes the next line of a stack's text, and moves *text behind it. Returns false if
   there is none. */
bool last_frame_next(const char **text, struct last_frame *frame);
/* Prints a function as a line of a stack. `number` is as in struct last_frame; `remark`
   follows it. */
void stack_line_print(const char *name, const char *source, const char *number,
                      const char *remark);

/* The rows of a JSON array, for slot *domain of the cursor, or for all slots if it is
   UINT64_MAX. */
view_function last_stack_view;
void last_stack_rows(struct view_to *to, const void *domain);
/* Prints the last stacks of slot `domain` (UINT64_MAX for all slots), with at most `most`
   functions of each. Ages count back from `end_ns` (eva_end). Returns how many stacks
   there are. */
unsigned last_stacks_print(eventring_cursor *cursor, uint64_t domain, uint64_t end_ns,
                           unsigned most);

/* The view that --json prints of last stacks. */
view_function last_stacks_view;
/* Runs `stack FILE`. Returns the exit status. */
int last_stacks_show(const char *path, uint64_t domain, const struct view_choice *as);
/* Asks a live process to write its stacks, and shows them, because its memory cannot be
   read (`why`). Returns the exit status. */
int last_stacks_ask(pid_t pid, uint64_t domain, const struct view_choice *as, const char *why);

#endif
