/* SPDX-License-Identifier: MIT */
/* sample_diff.h: finds what changed between profiles of samples (`diff --profile`). */
#ifndef EVENTRING_TOOL_SAMPLE_DIFF_H
#define EVENTRING_TOOL_SAMPLE_DIFF_H

#include "profile_diff.h"

/* Tells whether the file is JSON, as `profile --json` writes it. */
bool sample_diff_knows(const char *path);
/* The view that --json prints. */
view_function sample_diff_view;
/* Compares profiles of samples. `paths` is as for profile_diff; all files have samples.
   Returns the exit status. */
int sample_diff(const struct profile_diff *options, char **paths, size_t count);

#endif
