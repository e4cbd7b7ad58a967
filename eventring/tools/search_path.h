/* SPDX-License-Identifier: MIT */
/* search_path.h: finds the directories for the files of dead processes: the given
   directories (and files), or else the current directory, SAROS_EVENTRING_PREFIX, the
   directories of services (format/state_directory.h), and the directories where the
   library records if it cannot record in the current one. */
#ifndef EVENTRING_TOOL_SEARCH_PATH_H
#define EVENTRING_TOOL_SEARCH_PATH_H

#include "eventring/tools.h"
#include "tool.h"

struct search_path {
  char **directories;
  size_t count;
  size_t asked; /* number of the first directories, which were given or are the user's
                   own */
  const char **files; /* operands that are files, if allowed */
  size_t file_count;
};

/* Sorts the operands. Returns STATUS_GO_ON, or the exit status, after a message, if one
   of them does not exist or is not allowed. search_path_free must be called in both
   cases. */
int search_path_take(struct search_path *where, char **words, size_t count,
                bool files_allowed);
/* Returns the directory that a path is in. The caller frees it. */
char *directory_of(const char *path);
/* Tells whether to print a line for an unreadable file, which is not done if another user
   has put it into a shared directory. */
bool search_path_concerns(const struct search_path *where, const char *path);
/* Tells whether a file lies directly in one of the directories. */
bool search_path_holds(const struct search_path *where, const char *path);
/* Calls eventring_discover for the directories. */
int search_path_discover(const struct search_path *where,
                    int (*callback)(void *context, const struct eventring_found *found),
                    void *context);
void search_path_free(struct search_path *where);

#endif
