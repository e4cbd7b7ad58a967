/* SPDX-License-Identifier: MIT */
/* ending.h: how a recording ended, in words.
 *
 * Errors: none. Any thread.
 */
#ifndef EVENTRING_ANALYSIS_ENDING_H
#define EVENTRING_ANALYSIS_ENDING_H

#include <stdbool.h>

#include "eventring/tools.h"

struct eva_ending {
  enum eventring_liveness liveness;
  enum eventring_end_reason reason;
  uint32_t detail;
  const char *error; /* text of the error that was noted; "": no error was */
};

struct eva_ending eva_ending_of(const struct eventring_info *info);
struct eva_ending eva_ending_of_found(const struct eventring_found *found);
struct eva_ending eva_ending_of_process(const struct eventring_process *process);

/* Tells whether the process ended with an error or a status that is not 0, was killed, or
   was ended by a signal that does not ask for an orderly end. */
bool eva_ended_badly(const struct eva_ending *ending);
/* Tells whether the process ended badly (eva_ended_badly) or by any signal. */
bool eva_ended_unusually(const struct eva_ending *ending);

enum { EVA_ENDING = 64 };
/* Writes how the recording ended into `text` (EVA_ENDING bytes) and returns it:
   "stopped", "exit status 1", "SIGSEGV", "killed". It is "" while the process lives, and
   when the end is not known. */
char *eva_ending_text(char *text, const struct eva_ending *ending);

/* Returns "stopped", "exit", "signal", "deleted" or "killed"; NULL: it has not ended, or
   the recording does not say how. */
const char *eva_ending_name(const struct eva_ending *ending);

#endif
