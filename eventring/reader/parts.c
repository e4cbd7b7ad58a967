/* SPDX-License-Identifier: MIT */
/* parts.c: removes the files of unfinished copies. The writer of a copy holds a
 * producer's lock on it, so taking a read lock succeeds only if there is no writer. */
#include "reader/parts.h"
#include "eventring/tools.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eventring/conditions.h"
#include "format/error.h"
#include "format/process.h"
#include "format/unlink_same.h"
#include "reader/locate.h"

static bool is_part(const char *name) {
  static const char suffix[] = EVENTRING_SUFFIX EVR_PART_SUFFIX;
  size_t size = strlen(name);
  return size >= sizeof suffix && strcmp(name + size - (sizeof suffix - 1), suffix) == 0;
}

/* Tells whether a file belongs to this user and has no writer. Returns false where the
   file system has no locks, because this cannot be known there. */
static bool is_left(int fd, struct stat *st) {
  return fstat(fd, st) == 0 && st->st_uid == geteuid() && evr_lock_out_producer(fd) == 0;
}

static bool take(int directory, const char *name, bool dry_run, uint64_t *bytes) {
  struct stat st;
  int fd;
  if (evr_open_regular(directory, name, name, &fd, NULL) != EVENTRING_OK) return false;
  bool gone = is_left(fd, &st) &&
              (dry_run || evr_unlink_same(directory, name, st.st_dev, st.st_ino) == 0);
  close(fd);
  if (gone) *bytes = (uint64_t)st.st_blocks * 512;
  return gone;
}

typedef void removed_part(void *context, const char *path, uint64_t bytes);

/* Removes the parts in a directory, and closes it. Returns how many there were. */
static int remove_in(DIR *open, const char *directory, bool dry_run, removed_part *removed,
                     void *context) {
  char path[PATH_MAX];
  struct dirent *entry;
  uint64_t bytes;
  int count = 0;
  while ((entry = readdir(open)) != NULL) {
    if (!is_part(entry->d_name) || !take(dirfd(open), entry->d_name, dry_run, &bytes)) continue;
    snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
    if (removed) removed(context, path, bytes);
    count++;
  }
  closedir(open);
  return count;
}

int eventring_remove_parts(const char *directory, bool dry_run,
                           void (*removed)(void *context, const char *path, uint64_t bytes),
                           void *context) {
  DIR *open = directory ? opendir(directory) : NULL;
  if (!open) return directory ? evr_code_of_errno(errno) : EVENTRING_E_ARGUMENT;
  return remove_in(open, directory, dry_run, removed, context);
}

int evr_remove_parts(int directory) {
  int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *open = fd >= 0 ? fdopendir(fd) : NULL;
  if (open) return remove_in(open, "", false, NULL, NULL);
  int status = evr_code_of_errno(errno);
  if (fd >= 0) close(fd);
  return status;
}
