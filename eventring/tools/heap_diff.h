/* SPDX-License-Identifier: MIT */
/* heap_diff.h: shows what grew between two heap profiles: `diff --heap`. */
#ifndef EVENTRING_TOOL_HEAP_DIFF_H
#define EVENTRING_TOOL_HEAP_DIFF_H

#include "heap_view.h"
#include "view.h"

struct heap_diff {
  enum heap_by by;
  struct view_choice as;
  uint64_t top;
};
/* The view that --json prints. */
view_function heap_diff_view;
/* Compares the heaps of two recordings. Returns the exit status. */
int heap_diff(const struct heap_diff *options, char **paths);

#endif
