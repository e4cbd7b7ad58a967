/* SPDX-License-Identifier: MIT */
/* profile_diff.h: finds what changed between profiles, of calls or of samples (`diff
 * --profile`). */
#ifndef EVENTRING_TOOL_PROFILE_DIFF_H
#define EVENTRING_TOOL_PROFILE_DIFF_H

#include "view.h"

struct profile_diff {
  struct view_choice as;
  uint64_t top; /* 0: 20; in JSON all */
};

/* The view that --json prints. */
view_function call_diff_view;
/* Compares runs. `paths` has files of A and of B in turn; `count` is even. Returns the
   exit status. */
int profile_diff(const struct profile_diff *options, char **paths, size_t count);

#endif
