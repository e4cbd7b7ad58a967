/* SPDX-License-Identifier: MIT */
/* top_child.h: runs a command of `eventring` in a child of this process, and takes its
 * text.
 *
 * What the screen of `top` shows of one process is the text of the commands that answer
 * such questions; so the code, and the documentation, exist once. A child can take its
 * time, and fail, while the screen goes on. It is a fork without exec: the same program,
 * without a search for its file.
 */
#ifndef EVENTRING_TOOL_TOP_CHILD_H
#define EVENTRING_TOOL_TOP_CHILD_H

#include <sys/types.h>

#include "tool.h"

enum { TOP_CHILD_WORDS = 12 };

struct top_child {
  pid_t pid;          /* 0: none runs */
  /* that its text comes from; meaningless while no child runs; -1: all text is here */
  int fd;
  char *text;         /* what has come; terminated */
  size_t size;
  int status;         /* of the child that has ended: exit status, or 128 and its
                         signal */
  uint64_t began_ns, ended_ns, cpu_ns; /* of the child that has ended */
  bool is_unwanted;   /* its text is not wanted any more */
};

/* Starts `eventring WORDS...` (NULL at the end), whose lines are `columns` wide. Returns
   false, with errno, if it cannot. */
bool top_child_start(struct top_child *child, const char *const *words, size_t columns);
/* Takes what has come, without waiting. Returns true if the child has ended just now:
   `text` is complete. */
bool top_child_read(struct top_child *child);
/* Ends a child that runs, waits for that, and frees its text. */
void top_child_end(struct top_child *child);

#endif
