/* SPDX-License-Identifier: MIT */
/* top_child.h: runs a command of `eventring` in a child of this process, and takes its
 * text.
 *
 * What the screen of `top` shows of one process is the text of the commands that answer
 * it; so there is one code for it, and a page of documentation. A child can take its
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
  int fd;             /* that its text comes from; meaningless while none runs, -1: it is all here */
  char *text;         /* what has come; terminated */
  size_t size;
  int status;         /* of the one that has ended: exit status, or 128 and its signal */
  uint64_t began_ns, ended_ns, cpu_ns; /* of the same */
  bool is_unwanted;   /* nobody waits for its text any more */
};

/* Starts `eventring WORDS...` (NULL at the end), whose lines are `columns` wide. False:
   errno says why not. */
bool top_child_start(struct top_child *child, const char *const *words, size_t columns);
/* Takes what has come, without waiting. Returns true when it has ended just now: `text`
   is all. */
bool top_child_read(struct top_child *child);
/* Ends one that runs, and waits for that; frees. */
void top_child_end(struct top_child *child);

#endif
