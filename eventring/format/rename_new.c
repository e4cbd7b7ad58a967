/* SPDX-License-Identifier: MIT */
/* rename_new.c: renames a file without replacing another one. */
#include "format/rename_new.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

int evr_rename_new(int directory, const char *from, const char *to) {
  if (syscall(SYS_renameat2, directory, from, directory, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  /* the file system cannot rename without replacing; a link does not replace anything
     either */
  if (linkat(directory, from, directory, to, 0) == 0)
    return unlinkat(directory, from, 0) == 0 ? 0 : errno;
  if (errno == EEXIST) return errno;
  struct stat st; /* the file system has no links, or the file is a directory */
  if (fstatat(directory, to, &st, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  return renameat(directory, from, directory, to) == 0 ? 0 : errno;
}
