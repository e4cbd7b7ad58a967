/* SPDX-License-Identifier: MIT */
/* unlink_same.h: removing a file that is known by more than its name. */
#ifndef EVENTRING_UNLINK_SAME_H
#define EVENTRING_UNLINK_SAME_H

#include <sys/types.h>

#pragma GCC visibility push(hidden)

/* Removes a name from the directory if it still refers to this inode. Returns 0, or an
   errno, which is ENOENT if the name refers to nothing or to another file.
   Async-signal-safe. */
int evr_unlink_same(int directory, const char *name, dev_t device, ino_t inode);

#pragma GCC visibility pop

#endif /* EVENTRING_UNLINK_SAME_H */
