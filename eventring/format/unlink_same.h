/* SPDX-License-Identifier: MIT */
/* unlink_same.h: removing a file that is known by more than its name. */
#ifndef EVENTRING_UNLINK_SAME_H
#define EVENTRING_UNLINK_SAME_H

#include <sys/types.h>

#pragma GCC visibility push(hidden)

/* Removes a name of the directory if it means this inode. Returns 0, or an errno; ENOENT:
   it means nothing, or something else, by now. Async-signal-safe. */
int evr_unlink_same(int directory, const char *name, dev_t device, ino_t inode);

#pragma GCC visibility pop

#endif /* EVENTRING_UNLINK_SAME_H */
