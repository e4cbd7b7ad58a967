/* SPDX-License-Identifier: MIT */
/* last_stacks.h: shows the last stacks that a recording has of its domains. */
#ifndef EVENTRING_TOOL_LAST_STACKS_H
#define EVENTRING_TOOL_LAST_STACKS_H

#include "eventring/stack.h"
#include "follow.h"
#include "view.h"

/* A function on a stack. */
struct last_frame {
  const char *name, *source; /* "": not known */
  const char *number;        /* of the line; "": not known */
  uint32_t line;
  char text[EVENTRING_MAX_STACK_TEXT + 1]; /* theirs */
};
/* Takes the next line of the text of a stack, and moves *text behind it. False: there is
   none. */
bool last_frame_next(const char **text, struct last_frame *frame);
/* Prints a function as a line of a stack. `number`: as above; `remark`: what follows
   it. */
void stack_line_print(const char *name, const char *source, const char *number,
                      const char *remark);

/* Rows of a JSON array, of slot *domain of the cursor; UINT64_MAX: of all. */
view_function last_stack_view;
void last_stack_rows(struct view_to *to, const void *domain);
/* Prints those of slot `domain`, UINT64_MAX: of all; at most `most` functions of each.
   Their ages count back from `end_ns` (eva_end). Returns how many there are. */
unsigned last_stacks_print(eventring_cursor *cursor, uint64_t domain, uint64_t end_ns,
                           unsigned most);

/* What --json of these prints. */
view_function last_stacks_view;
/* `stack FILE` of the command. Returns the exit status. */
int last_stacks_show(const char *path, uint64_t domain, const struct view_choice *as);
/* The stacks that a live process writes when it is asked, because its memory cannot be
   read (`why`). Returns the exit status. */
int last_stacks_ask(pid_t pid, uint64_t domain, const struct view_choice *as, const char *why);

#endif
