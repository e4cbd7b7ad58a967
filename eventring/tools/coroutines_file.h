/* SPDX-License-Identifier: MIT */
/* coroutines_file.h: shows what a recording has of coroutines: those with open spans. */
#ifndef EVENTRING_TOOL_COROUTINES_FILE_H
#define EVENTRING_TOOL_COROUTINES_FILE_H

#include "view.h"

struct coroutines_request {
  struct view_choice as;
  uint64_t domain; /* UINT64_MAX: all */
  uint64_t top, least_ns;
};

/* The view that --json prints of a file. */
view_function coroutines_file_view;
/* Runs `coroutines FILE`. Returns the exit status. */
int coroutines_file_show(const char *path, const struct coroutines_request *request);

#endif
