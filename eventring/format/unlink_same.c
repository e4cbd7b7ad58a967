/* SPDX-License-Identifier: MIT */
/* unlink_same.c: removing a file that is known by more than its name. */
#include "format/unlink_same.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int evr_unlink_same(int directory, const char *name, dev_t device, ino_t inode) {
  struct stat st;
  if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  if (st.st_dev != device || st.st_ino != inode) return ENOENT;
  return unlinkat(directory, name, 0) == 0 ? 0 : errno;
}
