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
  /* descriptor for the child's text; -1 when all text has come; undefined while no child
     runs */
  int fd;
  char *text;         /* text so far; NUL-terminated */
  size_t size;
  int status;         /* exit status of the last ended child, or 128 + signal */
  uint64_t began_ns, ended_ns, cpu_ns; /* of the last ended child */
  bool is_unwanted;   /* the child's text is no longer wanted */
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
