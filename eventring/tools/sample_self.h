/* SPDX-License-Identifier: MIT */
/* sample_self.h: samples of a process whose memory may not be read, taken by itself. */
#ifndef EVENTRING_TOOL_SAMPLE_SELF_H
#define EVENTRING_TOOL_SAMPLE_SELF_H

#include "sample.h"

enum { SAMPLE_SELF_MOST_HZ = 100 };

/* Opens the recording of a process that can be asked for its stacks. -1, or the exit
   status after a message, which begins with `why` its memory cannot be read. */
int sample_self_open(eventring_cursor **cursor, pid_t pid, const char *why);
/* Has each domain write its stack, and waits for that, for `ns` at most. Returns how many
   have done so; *asked_ns: those whose stack is not older. -1: it has ended. */
int sample_self_ask(eventring_cursor *cursor, uint64_t ns, uint64_t *asked_ns);
/* As sample_process and sample_profile together. */
int sample_self(pid_t pid, struct launch *launch, const struct sample_options *options,
                enum sample_detail detail, const char *why, struct time_profile *profile);

#endif
