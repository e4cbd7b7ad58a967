/* SPDX-License-Identifier: MIT */
/* locate.h: files by pid, by path, by directory. */
#ifndef EVENTRING_LOCATE_H
#define EVENTRING_LOCATE_H

#include "format/error.h"

#pragma GCC visibility push(hidden)

/* Opens a regular file in a directory (or AT_FDCWD) for reading. Does not follow a link
   at the end and does not block. Errors name the file `path`. */
int evr_open_regular(int directory, const char *name, const char *path, int *fd,
                     struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_LOCATE_H */
