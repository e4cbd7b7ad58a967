/* SPDX-License-Identifier: MIT */
/* question.h: what a tool asks of a process that records.
 *
 * A tool of the same user writes a question into the control page; each domain of the
 * process answers it at its next safepoint, by an action of its host. The answer depends
 * on the kind of the question. Only a number for each domain passes through the control
 * page, most often the pid of a process in which the answer is found. A process that
 * reaches no safepoint does not answer.
 *
 * One tool asks at a time. The process closes a question that nobody has closed after
 * EVENTRING_QUESTION_SECONDS.
 *
 * Threads: all functions are for the owner of the domain.
 */
#ifndef EVENTRING_QUESTION_H
#define EVENTRING_QUESTION_H

#include "eventring.h"
#include "eventring/probe.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Kinds, one bit each. */
enum eventring_question_kind {
  EVENTRING_ASKS_MEMORY = 1, /* what the domain's memory is used for: counters memory_* */
  /* what holds its objects: a text, in file descriptor 3 of the process whose pid is the
     answer */
  EVENTRING_ASKS_RETAIN = 2,
  EVENTRING_ASKS_COROUTINES = 4, /* what holds its coroutines; the answer as for RETAIN */
  /* the profile of calls that the domain keeps, up to now (calls.h) */
  EVENTRING_ASKS_PROFILE = 8
};
enum { EVENTRING_QUESTION_SECONDS = 5 };

struct eventring_question {
  uint32_t number; /* 1 or more */
  uint32_t kinds; /* bits of enum eventring_question_kind; other bits are to be ignored */
};

/* ---- Producer: owner of the domain ------------------------------------------------- */

/* A host that answers says so when it starts the recording (struct eventring_config,
   `answers`). It checks for questions at safepoints: at collections, and wherever the
   word of eventring_calls_word (<eventring/calls.h>) is not 0. */

/* Returns true and fills in the question that is open, if this domain has not answered
   it. Costs a few loads when none is open. */
bool eventring_question_open(eventring_domain *domain, struct eventring_question *question);
/* Answers for this domain, with a number from 1 on. The answer is ignored when the
   question is no longer open. */
void eventring_question_answer(eventring_domain *domain,
                               const struct eventring_question *question, uint32_t answer);

/* A domain whose thread has not run for half a second may be asleep in a system call for
   long. Its host may answer a question from a copy of the memory: the library calls
   config.answer_aside on a thread of its own, holding its locks, so the host must not
   call the library there. The function makes a child by clone(2) without a signal at its
   end, in which the answer is found like an answer of the domain itself, and returns the
   child's pid, or 0. If the domain has run while the copy was made, the copy is torn: the
   library kills the child and asks again. The library waits for (reaps) the child when it
   has ended. */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* EVENTRING_QUESTION_H */
