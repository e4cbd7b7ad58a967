/* SPDX-License-Identifier: MIT */
/* line_notes.h: makes a process note each instruction while its lines are sampled
   (design: line_notes.c). */
#ifndef EVENTRING_TOOL_LINE_NOTES_H
#define EVENTRING_TOOL_LINE_NOTES_H

#include "remote/host.h"

struct line_notes { /* the state for one process; zeroed at first */
  bool impossible; /* the process cannot or must not be asked */
  bool raised;     /* the words that its safepoints test are raised */
  uint64_t until_ns, raised_ns;
};

/* Makes the domains note each instruction from soon on; must be called several times a
   second. `noted` is true if all domains do so (remote_domain_notes). `now` is
   CLOCK_MONOTONIC. */
void line_notes_keep(struct line_notes *notes, struct remote_host *host, bool noted, uint64_t now);
/* Makes the domains stop noting. */
void line_notes_end(struct line_notes *notes, struct remote_host *host);

#endif
