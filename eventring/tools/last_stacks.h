/* SPDX-License-Identifier: MIT */
/* last_stacks.h: shows the last stacks that a recording has of its domains. */
#ifndef EVENTRING_TOOL_LAST_STACKS_H
#define EVENTRING_TOOL_LAST_STACKS_H

#include "analysis/json.h"
#include "follow.h"

/* Prints those of slot `domain`, UINT64_MAX: of all; at most `most` functions of each. Their ages
   count back from `end_ns` (eva_end). Returns how many there are. */
unsigned last_stacks_print(eventring_cursor *cursor, uint64_t domain, uint64_t end_ns,
                           unsigned most);
/* An array of them. */
unsigned last_stacks_put(struct eva_json *json, eventring_cursor *cursor, uint64_t domain,
                         uint64_t end_ns);

/* `stack FILE` of the command. Returns the exit status. */
int last_stacks_show(const char *path, uint64_t domain, bool json);
/* The stacks that a live process writes when it is asked, because its memory cannot be read
   (`why`). Returns the exit status. */
int last_stacks_ask(pid_t pid, uint64_t domain, bool json, const char *why);

#endif
