/* SPDX-License-Identifier: MIT */
/* child_answer.h: the text that a child of a process writes when the process answers a
 * question (eventring/question.h). It is checked like anything that another process
 * chose. */
#ifndef EVENTRING_TOOL_CHILD_ANSWER_H
#define EVENTRING_TOOL_CHILD_ANSWER_H

#include "reader.h"

struct child_answer {
  pid_t pid;   /* 0: there is none */
  /* what it wrote, with a byte 0 behind it, for the caller to free; NULL: nothing */
  char *text;
  size_t size;
  bool over;   /* its last line is there */
  bool ended;  /* its last line will not come: the child has ended without it */
};

/* Reads what the child `number`, with which the process answered, has written, once that
   is complete or `end` (of now_ns) has come; then ends the child. It reads at most `most`
   bytes, and never more than 16 MiB. */
void child_answer_await(struct child_answer *answer, struct reader *reader,
                        const struct eventring_info *process, uint32_t number, size_t most,
                        uint64_t end);

#endif
