/* SPDX-License-Identifier: MIT */
/* places.h: where to look for the files of dead processes: the directories (and files)
   given, or else the current one, that of SAROS_EVENTRING_PREFIX, those of services
   (format/state_place.h), and those where the library records when it cannot in the
   current one. */
#ifndef EVENTRING_TOOL_PLACES_H
#define EVENTRING_TOOL_PLACES_H

#include "eventring/tools.h"
#include "tool.h"

struct places {
  char **directories;
  size_t count;
  size_t asked; /* the first of them were asked for, or are the user's own */
  const char **files; /* operands that are no directories, when allowed */
  size_t file_count;
};

/* Sorts the operands. -1, or the exit status after a message that one of them does not
   exist or is not allowed. places_free in either case. */
int places_take(struct places *places, char **words, size_t count,
                bool files_allowed);
/* The directory that a path is in; to be freed. */
char *directory_of(const char *path);
/* Whether an unreadable file is worth a line: not if somebody else has put it into a
   directory that all use. */
bool places_concern(const struct places *places, const char *path);
/* Whether a file lies directly in one of the directories. */
bool places_hold(const struct places *places, const char *path);
/* eventring_discover in the directories. */
int places_discover(const struct places *places,
                    int (*callback)(void *context, const struct eventring_found *found),
                    void *context);
void places_free(struct places *places);

#endif
