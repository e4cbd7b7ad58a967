/* SPDX-License-Identifier: MIT */
/* child_answer.h: the text that a child of a process writes, as the process answers a
 * question (eventring/question.h). What it says is checked like anything that another
 * process chose. */
#ifndef EVENTRING_TOOL_CHILD_ANSWER_H
#define EVENTRING_TOOL_CHILD_ANSWER_H

#include "follow.h"

struct child_answer {
  pid_t pid;   /* 0: there is none */
  char *text;  /* what it wrote, and a byte 0 behind it; NULL: nothing. For the caller to free */
  size_t size;
  bool over;   /* its last line is there ... */
  bool ended;  /* ... or will not be: it has ended without */
};

/* Reads what the child `number`, which the process answered, has written when it is over,
   or when `end` (of now_ns) comes; then ends the child. `most`: bytes; never more than 16
   MiB. */
void child_answer_await(struct child_answer *answer, struct reader *reader,
                        const struct eventring_info *process, uint32_t number, size_t most,
                        uint64_t end);

#endif
