/* SPDX-License-Identifier: MIT */
/* process_directory.h: whether the process of a recording can make files in a
   directory. */
#ifndef EVENTRING_PROCESS_DIRECTORY_H
#define EVENTRING_PROCESS_DIRECTORY_H

#include <sys/types.h>

#include "eventring/types.h"

#pragma GCC visibility push(hidden)

/* Checks that the live process `pid`, which has the file of `fd` open, can make files in
   `directory`, a path as the process understands it. Returns E_DIRECTORY, with a text
   that names the directory, if it is missing and cannot be made in its parent, or if it
   is no directory. Also returns E_DIRECTORY if the process belongs to this user and may
   not write there. Returns 0 also if this cannot be determined: the process is in another
   container or chroot, or this user may not see its open files. */
int evr_process_can_write(pid_t pid, int fd, const char *directory, struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_PROCESS_DIRECTORY_H */
