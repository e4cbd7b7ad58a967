/* SPDX-License-Identifier: MIT */
/* ask.h: asks the domains of a live process (eventring/question.h) and waits for what they
 * answer. */
#ifndef EVENTRING_TOOL_ASK_H
#define EVENTRING_TOOL_ASK_H

#include "eventring/question.h"
#include "follow.h"

struct ask {
  struct reader *reader;
  uint32_t answers[EVENTRING_MAX_DOMAINS]; /* by slot; 0: none */
  bool asked[EVENTRING_MAX_DOMAINS];       /* was there a domain when the question was asked? */
};

/* Lets a PROGRAM that was launched run for a while. False: it has ended. */
bool ask_let_run(struct reader *reader, uint64_t ns);
/* Asks, and waits until all domains have answered, for at most `wait_ns`. A domain that does
   not answer is no error. -1, or the exit status after a message. */
int ask_domains(struct ask *ask, struct reader *reader, uint32_t kinds, uint64_t wait_ns);
/* Asks those that were asked before for nothing: so they come by, and wait for the children
   that answered, which have ended. */
void ask_nothing(const struct ask *before);
/* Sleeps for some milliseconds; takes note of the end of a PROGRAM. */
void ask_rest(struct reader *reader);

#endif
