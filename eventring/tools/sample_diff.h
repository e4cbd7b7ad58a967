/* SPDX-License-Identifier: MIT */
/* sample_diff.h: what changed between profiles of samples (`diff --profile`). */
#ifndef EVENTRING_TOOL_SAMPLE_DIFF_H
#define EVENTRING_TOOL_SAMPLE_DIFF_H

#include "profile_diff.h"

/* Tells whether the file is JSON, as `profile --json` writes it. */
bool sample_diff_knows(const char *path);
/* The view that --json prints. */
view_function sample_diff_view;
/* Compares profiles of samples. `paths` are as for profile_diff, all of such files.
   Returns the exit status. */
int sample_diff(const struct profile_diff *options, char **paths, size_t count);

#endif
