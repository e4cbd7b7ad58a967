/* SPDX-License-Identifier: MIT */
/* child_answer.h: the text that a child of a process writes when the process answers a
 * question (eventring/question.h). The text is checked like all data that another process
 * controls. */
#ifndef EVENTRING_TOOL_CHILD_ANSWER_H
#define EVENTRING_TOOL_CHILD_ANSWER_H

#include "reader.h"

struct child_answer {
  pid_t pid;   /* 0: there is no child */
  /* what the child wrote, with a NUL at the end, for the caller to free; NULL if
     nothing */
  char *text;
  size_t size;
  bool over;   /* the last line of the text has come */
  bool ended;  /* the child has ended without writing the last line */
};

/* Waits until the text of the child `number`, with which the process answered, is
   complete or `end` (of now_ns) has come. Then reads it, at most `most` bytes and never
   more than 16 MiB, and ends the child. */
void child_answer_await(struct child_answer *answer, struct reader *reader,
                        const struct eventring_info *process, uint32_t number, size_t most,
                        uint64_t end);

#endif
