/* SPDX-License-Identifier: MIT */
/* heap_diff.h: what grew between two heap profiles: `diff --heap`. */
#ifndef EVENTRING_TOOL_HEAP_DIFF_H
#define EVENTRING_TOOL_HEAP_DIFF_H

#include "options.h"

struct heap_diff {
  const char *by_name; /* as of `heap`; NULL: by line */
  bool json;
  uint64_t top;
};
/* Compares the heaps of two recordings; the exit status. */
int heap_diff(const struct command *self, const struct heap_diff *options, char **paths);

#endif
