/* SPDX-License-Identifier: MIT */
/* top_child.h: runs a command of `eventring` in a child of this process, and reads its
 * text.
 *
 * What the screen of `top` shows of one process is the text of other commands, so code
 * and documentation exist once. A child can take its time, and fail, while the screen
 * goes on. It is a fork without exec: the same program, without a search for its file.
 */
#ifndef EVENTRING_TOOL_TOP_CHILD_H
#define EVENTRING_TOOL_TOP_CHILD_H

#include <sys/types.h>

#include "tool.h"

enum { TOP_CHILD_WORDS = 12 };

struct top_child {
  pid_t pid;          /* 0: none runs */
  /* for its text; undefined while no child runs; -1: all text has come */
  int fd;
  char *text;         /* text so far; NUL-terminated */
  size_t size;
  int status;         /* of the last ended child: exit status, or 128 + signal */
  uint64_t began_ns, ended_ns, cpu_ns; /* of the last ended child */
  bool is_unwanted;   /* its text is no longer wanted */
};

/* Starts `eventring WORDS...` (NULL at the end), with lines of `columns` columns. Returns
   false, with errno, on failure. */
bool top_child_start(struct top_child *child, const char *const *words, size_t columns);
/* Reads what has come, without waiting. Returns true if the child has ended just now, so
   that `text` is complete. */
bool top_child_read(struct top_child *child);
/* Ends a running child, waits for it, and frees its text. */
void top_child_end(struct top_child *child);

#endif
