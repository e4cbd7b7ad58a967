/* SPDX-License-Identifier: MIT */
/* directory.h: opens a directory that others may have put links on the way to. */
#ifndef EVENTRING_DIRECTORY_H
#define EVENTRING_DIRECTORY_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Opens the directory PATH (O_PATH), through symbolic links of this user and of root
   only; with `make`, makes it, for this user alone, if it is not there. Returns the
   descriptor, or -1 with errno; ELOOP: another user's link is on the way, or there are
   too many. */
int evr_open_directory(const char *path, bool make);

#pragma GCC visibility pop

#endif /* EVENTRING_DIRECTORY_H */
