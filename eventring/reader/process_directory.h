/* SPDX-License-Identifier: MIT */
/* process_directory.h: can the process of a recording make files in a directory? */
#ifndef EVENTRING_PROCESS_DIRECTORY_H
#define EVENTRING_PROCESS_DIRECTORY_H

#include <sys/types.h>

#include "eventring/types.h"

#pragma GCC visibility push(hidden)

/* Returns E_DIRECTORY, with a text that names it, when the live process `pid`, which has the file
   of `fd` open, cannot make files in `directory`, as it names it: it is not there and cannot be
   made in its parent, it is no directory, or has no write permission for this user, who is the
   process's. 0 where that cannot be seen from here: the process is in another container or
   chroot, or this user may not see what it has open. */
int evr_process_can_write(pid_t pid, int fd, const char *directory, struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_PROCESS_DIRECTORY_H */
