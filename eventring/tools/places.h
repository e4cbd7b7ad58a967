/* SPDX-License-Identifier: MIT */
/* places.h: where to look for the files of dead processes: the directories (and files)
   given, or else the current one, that of SAROS_EVENTRING_PREFIX, those of services
   (format/state_place.h), and those where the library records if it cannot in the current
   one. */
#ifndef EVENTRING_TOOL_PLACES_H
#define EVENTRING_TOOL_PLACES_H

#include "eventring/tools.h"
#include "tool.h"

struct places {
  char **directories;
  size_t count;
  size_t asked; /* how many, from the first, were asked for or are the user's own */
  const char **files; /* operands that are no directories, if allowed */
  size_t file_count;
};

/* Sorts the operands. Returns -1, or the exit status after a message that one of them
   does not exist or is not allowed. places_free must be called in either case. */
int places_take(struct places *places, char **words, size_t count,
                bool files_allowed);
/* Returns the directory that a path is in. The caller frees it. */
char *directory_of(const char *path);
/* Tells whether an unreadable file is worth a line: not if another user has put it into a
   directory that all use. */
bool places_concern(const struct places *places, const char *path);
/* Tells whether a file lies directly in one of the directories. */
bool places_hold(const struct places *places, const char *path);
/* Calls eventring_discover for the directories. */
int places_discover(const struct places *places,
                    int (*callback)(void *context, const struct eventring_found *found),
                    void *context);
void places_free(struct places *places);

#endif
