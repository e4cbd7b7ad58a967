/* SPDX-License-Identifier: MIT */
/* ask.h: asks the domains of a live process (eventring/question.h) and waits for their
 * answers. */
#ifndef EVENTRING_TOOL_ASK_H
#define EVENTRING_TOOL_ASK_H

#include "domain_state.h"
#include "eventring/question.h"
#include "reader.h"

/* How long to wait for an answer. The wait for a sleeping domain ends when it is known to
   be asleep, unless the user has given a time (`--wait`). */
struct ask_patience {
  uint64_t ns;    /* UINT64_MAX: the user has given none */
  uint64_t usual; /* ns to wait if the user has given none; not for sleeping domains */
};

struct ask {
  struct reader *reader;
  pid_t pid, own_pid;                      /* pid of the process as seen from here, and as
                                              the process sees it */
  uint32_t answers[EVENTRING_MAX_DOMAINS]; /* by slot; 0 if none has come */
  bool asked[EVENTRING_MAX_DOMAINS];       /* the domain existed when the question was
                                              asked */
  /* whether domains that have not answered are asleep */
  struct sleep_watch watches[EVENTRING_MAX_DOMAINS];
};

/* Lets a PROGRAM that was launched run for a while. Returns false if it has ended. */
bool ask_let_run(struct reader *reader, uint64_t ns);
/* Asks the domains and waits until all have answered. Domains that do not answer are no
   error. Returns STATUS_GO_ON, or the exit status after a message. */
int ask_domains(struct ask *ask, struct reader *reader, uint32_t kinds,
                struct ask_patience patience);
/* Writes why a domain has not answered: "asleep in C function io.read", "in C function
   string.rep". */
void ask_why_silent(char text[static DOMAIN_STATE_TEXT], const struct ask *ask, unsigned slot);
/* Writes why the first silent domain has not answered, as ask_why_silent does. If no
   domain is recorded yet, as in a process on standby, writes what the process does.
   Returns false if there are domains and all have answered. */
bool ask_is_silent(char text[static DOMAIN_STATE_TEXT], const struct ask *ask);
/* Asks the domains of `before` an empty question. Each domain then reaches a safepoint
   and reaps its child, which has answered and ended. */
void ask_nothing(const struct ask *before);
/* Sleeps for some milliseconds, and notices the end of a PROGRAM. */
void ask_rest(struct reader *reader);

#endif
