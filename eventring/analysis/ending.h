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
  const char *error; /* text of the error that was noted, "" without */
};

struct eva_ending eva_ending_of(const struct eventring_info *info);
struct eva_ending eva_ending_of_found(const struct eventring_found *found);
struct eva_ending eva_ending_of_process(const struct eventring_process *process);

/* Did the process end with an error or a status that is not 0, was it killed, or did a
   signal end it that does not ask for an orderly end? */
bool eva_ended_badly(const struct eva_ending *ending);
/* The same, or did any signal end it? */
bool eva_ended_unusually(const struct eva_ending *ending);

enum { EVA_ENDING = 64 };
/* "stopped", "exit status 1", "SIGSEGV", "killed": into `text` (EVA_ENDING bytes), which it
   returns. "" while the process lives, and when nobody knows. */
char *eva_ending_text(char *text, const struct eva_ending *ending);

/* "stopped", "exit", "signal", "killed"; NULL when it has not ended or does not say. */
const char *eva_ending_name(const struct eva_ending *ending);

#endif
