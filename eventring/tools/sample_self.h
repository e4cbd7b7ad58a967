/* SPDX-License-Identifier: MIT */
/* sample_self.h: samples a process whose memory cannot be read, by asking it for its
   stacks. */
#ifndef EVENTRING_TOOL_SAMPLE_SELF_H
#define EVENTRING_TOOL_SAMPLE_SELF_H

#include "sample.h"

enum { SAMPLE_SELF_MOST_HZ = 100 };

/* Opens the recording of a process that can be asked for its stacks. Returns
   STATUS_GO_ON, or the exit status after a message. The message begins with the reason
   why its memory cannot be read (`why`). */
int sample_self_open(eventring_cursor **cursor, pid_t pid, const char *why);
/* Makes each domain write its stack, and waits at most `ns` for the stacks. Returns how
   many have done so, or -1 if the process has ended. Sets *asked_ns to the time from
   which stacks are answers. */
int sample_self_ask(eventring_cursor *cursor, uint64_t ns, uint64_t *asked_ns);
/* Samples a process and makes the profile, as sample_process and sample_profile do
   together. */
int sample_self(pid_t pid, struct launch *launch, const struct sample_options *options,
                enum sample_detail detail, const char *why, struct time_profile *profile);

#endif
