/* SPDX-License-Identifier: MIT */
/* new_file.c: a file, or a folder, that gets its name when it is complete. */
#include "new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool.h"

static bool fail(const char *path, int error) {
  complain("cannot create %s: %s", path, strerror(error));
  return false;
}

static bool exists(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0;
}

bool new_file_begin(struct new_file *file, const char *path) {
  size_t size = strlen(path) + sizeof ".partial";
  *file = (struct new_file){.path = path};
  if (exists(path)) return fail(path, EEXIST);
  file->partial = need_zeroed(1, size);
  snprintf(file->partial, size, "%s.partial", path);
  if (!exists(file->partial)) return true;
  complain("cannot create %s: %s exists, of a command that is at work or was killed", path,
           file->partial);
  free(file->partial);
  return false;
}

int new_file_create(struct new_file *file, const char *path) {
  if (!new_file_begin(file, path)) return -1;
  int fd = open(file->partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  fail(path, errno);
  free(file->partial);
  return -1;
}

/* (The library has the same, for itself: format/rename_new.c.) */
int rename_new(const char *from, const char *to) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (link(from, to) == 0) return unlink(from) == 0 ? 0 : errno;
  if (errno == EEXIST) return errno;
  if (exists(to)) return EEXIST;
  return rename(from, to) == 0 ? 0 : errno;
}

bool new_file_keep(struct new_file *file) {
  int error = rename_new(file->partial, file->path);
  if (error) {
    fail(file->path, error);
    unlink(file->partial);
  }
  free(file->partial);
  return error == 0;
}

void new_file_drop(struct new_file *file) {
  unlink(file->partial);
  free(file->partial);
}

void new_file_forget(struct new_file *file) { free(file->partial); }
