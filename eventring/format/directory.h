/* SPDX-License-Identifier: MIT */
/* directory.h: opens a directory whose path may contain other users' links. */
#ifndef EVENTRING_DIRECTORY_H
#define EVENTRING_DIRECTORY_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Opens the directory PATH (O_PATH). Follows only symbolic links of this user and of
   root. With `make`, makes a missing directory, for this user alone. Returns the
   descriptor, or -1 with errno, which is ELOOP if the path contains another user's link
   or too many links. */
int evr_open_directory(const char *path, bool make);

#pragma GCC visibility pop

#endif /* EVENTRING_DIRECTORY_H */
