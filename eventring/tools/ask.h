/* SPDX-License-Identifier: MIT */
/* ask.h: asks the domains of a live process (eventring/question.h) and waits for what
 * they answer. */
#ifndef EVENTRING_TOOL_ASK_H
#define EVENTRING_TOOL_ASK_H

#include "domain_state.h"
#include "eventring/question.h"
#include "follow.h"

/* For how long an answer is waited for. A domain that is asleep is not waited for longer
   than it takes to see that, unless its user has said how long (`--wait`). */
struct ask_patience {
  uint64_t ns;    /* UINT64_MAX: its user has not said */
  uint64_t usual; /* then so long, but not for those that are asleep */
};

struct ask {
  struct reader *reader;
  pid_t pid, own_pid;                      /* of the process: as it is called here, and there */
  uint32_t answers[EVENTRING_MAX_DOMAINS]; /* by slot; 0: none */
  bool asked[EVENTRING_MAX_DOMAINS];       /* was there a domain when the question was asked? */
  struct sleep_watch watches[EVENTRING_MAX_DOMAINS]; /* of those that have not answered */
};

/* Lets a PROGRAM that was launched run for a while. False: it has ended. */
bool ask_let_run(struct reader *reader, uint64_t ns);
/* Asks, and waits until all domains have answered. A domain that does not answer is no
   error. -1, or the exit status after a message. */
int ask_domains(struct ask *ask, struct reader *reader, uint32_t kinds,
                struct ask_patience patience);
/* Why a domain has not answered: "asleep in C function io.read", "in C function
   string.rep". */
void ask_why_silent(char text[static DOMAIN_STATE_TEXT], const struct ask *ask, unsigned slot);
/* The same of the first that has not. False: all have, and there are some. Where no
   domain is recorded yet, as of a process that stands by, it is what the process does. */
bool ask_is_silent(char text[static DOMAIN_STATE_TEXT], const struct ask *ask);
/* Asks those that were asked before for nothing: so they come by, and wait for the
   children that answered, which have ended. */
void ask_nothing(const struct ask *before);
/* Sleeps for some milliseconds; takes note of the end of a PROGRAM. */
void ask_rest(struct reader *reader);

#endif
