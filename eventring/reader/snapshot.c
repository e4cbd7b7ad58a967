/* SPDX-License-Identifier: MIT */
/* snapshot.c: a copy of a recording as it is now, which gets its name when it is
 * complete. Until then it has the name with EVR_PART_SUFFIX, and is locked like a
 * producer's file, so that nobody takes it for the rest of an unfinished copy
 * (parts.c). */
#include "reader/cursor.h"
#include "eventring/saver.h"
#include "reader/parts.h"

#include "format/process.h"
#include "format/rename_new.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Locks the new file. Fails with E_BUSY if the file was removed between creating and
   locking, when others may have taken it for the rest of an unfinished copy. On a file
   system without locks, nobody removes it. */
static int lock_part(int fd, const char *path, struct eventring_error *error) {
  struct stat st;
  evr_lock_file(fd);
  if (fstat(fd, &st) == 0 && st.st_nlink > 0) return EVENTRING_OK;
  return evr_fail(error, EVENTRING_E_BUSY, 0, "%.300s was removed", path);
}

static int write_copy(eventring_cursor *c, int fd, const char *path,
                      struct eventring_error *error) {
  const struct eventring_saver_options options = {.checked = true, .copy = true};
  eventring_saver *saver;
  bool more = true;
  int status = eventring_saver_open(&saver, c, &options, error);
  if (status != EVENTRING_OK) return status;
  while (status == EVENTRING_OK && more)
    status = eventring_saver_write(saver, fd, path, true, &more, error);
  eventring_saver_close(saver);
  return status;
}

static int fail(struct eventring_error *error, int cause, const char *what, const char *path) {
  int code = cause == EEXIST ? EVENTRING_E_EXISTS : evr_code_of_errno(cause);
  return evr_fail(error, code, cause, "cannot %s %.300s", what, path);
}

static int write_part(eventring_cursor *c, int directory, const char *part, const char *name,
                      const char *path, struct eventring_error *error) {
  int fd = openat(directory, part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return fail(error, errno, "create", part);
  int status = lock_part(fd, path, error), cause = 0;
  if (status == EVENTRING_OK) status = write_copy(c, fd, path, error);
  if (status == EVENTRING_OK && (cause = evr_rename_new(directory, part, name)) != 0)
    status = fail(error, cause, "name a copy", path);
  if (status != EVENTRING_OK) unlinkat(directory, part, 0);
  if (close(fd) == 0 || status != EVENTRING_OK) return status;
  status = fail(error, errno, "write", path);
  unlinkat(directory, name, 0);
  return status;
}

/* Makes the copy. `name` is the name of the file in the directory, `path` its path in
   messages. */
static int copy(eventring_cursor *c, int directory, const char *name, const char *path,
                struct eventring_error *error) {
  char part[PATH_MAX];
  struct stat st;
  if (snprintf(part, sizeof part, "%s" EVR_PART_SUFFIX, name) >= (int)sizeof part)
    return evr_fail(error, EVENTRING_E_NAME, 0, "%.300s: too long a name", path);
  if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
    return fail(error, EEXIST, "create", path);
  return write_part(c, directory, part, name, path, error);
}

int eventring_snapshot(eventring_cursor *c, const char *path, struct eventring_error *error) {
  if (!c || !path) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no cursor or path");
  return copy(c, AT_FDCWD, path, path, error);
}

int evr_snapshot_in(eventring_cursor *c, int directory, const char *path,
                    struct eventring_error *error) {
  const char *slash = strrchr(path, '/');
  return copy(c, directory, slash ? slash + 1 : path, path, error);
}
