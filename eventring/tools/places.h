/* SPDX-License-Identifier: MIT */
/* places.h: where to look for the files of dead processes: the directories (and
   files) given, or else the current one and that of SAROS_EVENTRING_PREFIX. */
#ifndef EVENTRING_TOOL_PLACES_H
#define EVENTRING_TOOL_PLACES_H

#include "tool.h"

struct places {
  const char **directories;
  size_t count;
  const char **files; /* operands that are no directories, when allowed */
  size_t file_count;
};

/* Sorts the operands. -1, or the exit status after a message that one of them does not
   exist or is not allowed. places_free in either case. */
int places_take(struct places *places, char **words, size_t count,
                bool files_allowed);
/* Whether a file lies directly in one of the directories. */
bool places_hold(const struct places *places, const char *path);
void places_free(struct places *places);

#endif
