/* SPDX-License-Identifier: MIT */
/* serve_child.h: runs a command of `eventring` for a request of `eventring serve`, in a process of
 * its own: what goes wrong there harms no other request. */
#ifndef EVENTRING_TOOL_SERVE_CHILD_H
#define EVENTRING_TOOL_SERVE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVE_MESSAGE = 2048 };

struct serve_child {
  int status;                  /* exit status; -1: it did not end by itself */
  bool late;                   /* it took longer than it may, and was ended */
  char message[SERVE_MESSAGE]; /* what it wrote to standard error, as far as it has room */
};

/* Runs `words`, which ends with a NULL and begins with the name of the command, with `out` as its
   standard output, for at most limit_ns, and not longer than until `*stop` is true. It ends with
   the thread that calls this. False: it could not be started (errno). Any thread. */
bool serve_child_run(struct serve_child *child, const char *const *words, int out,
                     uint64_t limit_ns, const bool *stop);

#endif
