/* SPDX-License-Identifier: MIT */
/* locate.h: files by pid, by path, by directory. */
#ifndef EVENTRING_LOCATE_H
#define EVENTRING_LOCATE_H

#include "eventring/read.h"
#include "format/error.h"

#pragma GCC visibility push(hidden)

/* Opens a regular file in a directory (or AT_FDCWD) for reading. Does not follow a link
   at the end and does not block. Errors name the file `path`. */
int evr_open_regular(int directory, const char *name, const char *path, int *fd,
                     struct eventring_error *error);

/* Opens the regular file `path` for reading. With the flag EVENTRING_OPEN_FOLLOW, follows
   a link at the end; with EVENTRING_OPEN_OWN, refuses another user's file. */
int evr_open_file(const char *path, unsigned flags, int *fd, struct eventring_error *error);
/* Opens a recording as eventring_open_path and eventring_open_pid do, but never through
   the memory of the calling process's own recording (self.c). */
int evr_open_path(eventring_cursor **cursor, const char *path, unsigned flags,
                  struct eventring_error *error);
int evr_open_pid(eventring_cursor **cursor, pid_t pid, unsigned flags,
                 struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_LOCATE_H */
