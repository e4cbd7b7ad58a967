/* SPDX-License-Identifier: MIT */
/* save.c: makes the copy of a trigger that has fired: a snapshot, with all records. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eventring/conditions.h"
#include "format/directory.h"
#include "format/error.h"
#include "reader/parts.h"
#include "trigger/helper.h"

static uint32_t last_number; /* number of the last copy; only the helper uses it */

static const char *subject_name(enum eventring_subject subject) {
  static const char *const names[] = {
      [EVENTRING_SUBJECT_NONE] = "",
#define NAME(name, text) [EVENTRING_SUBJECT_##name] = text,
      EVENTRING_SUBJECTS(NAME)
#undef NAME
  };
  return names[subject <= EVENTRING_SUBJECT_NAME ? subject : 0];
}

/* Opens the directory of the recording, or the trigger's, which is made if it is not
   there. The copy is made in the directory that was opened, even if its path means
   another one by then. */
static int open_directory(const struct evr_watch_job *job, const char *recording,
                          char directory[PATH_MAX], int *fd, struct eventring_error *error) {
  const char *slash = strrchr(recording, '/');
  size_t size = slash ? (size_t)(slash - recording) : 0;
  bool own = job->directory[0];
  if (!own) snprintf(directory, PATH_MAX, "%.*s/", (int)size, recording);
  else snprintf(directory, PATH_MAX, "%s/", job->directory);
  *fd = evr_open_directory(directory, own);
  if (*fd >= 0) return EVENTRING_OK;
  if (errno == ELOOP)
    return evr_fail(error, EVENTRING_E_PERMISSION, 0,
                    "%.300s: a symbolic link of another user is on the way", directory);
  return evr_fail(error, EVENTRING_E_DIRECTORY, errno, "cannot %s directory %.300s",
                  own ? "make" : "use the", directory);
}

/* Makes the name of the copy: the recording's name without suffix, a number, the
   subject. */
static int name_copy(const struct evr_watch_job *job, const char *recording,
                     const char *directory, int fd, char path[PATH_MAX],
                     struct eventring_error *error) {
  struct stat st;
  const char *name = strrchr(recording, '/');
  name = name ? name + 1 : recording;
  size_t size = strlen(name), suffix = strlen(EVENTRING_SUFFIX);
  if (size > suffix && strcmp(name + size - suffix, EVENTRING_SUFFIX) == 0) size -= suffix;
  do {
    int length = snprintf(path, PATH_MAX, "%s%.*s-trigger%u-%s" EVENTRING_SUFFIX, directory,
                          (int)size, name, ++last_number, subject_name(job->subject));
    if (length >= PATH_MAX - (int)sizeof EVR_PART_SUFFIX)
      return evr_fail(error, EVENTRING_E_NAME, 0, "%.300s: too long a path", path);
  } while (fstatat(fd, strrchr(path, '/') + 1, &st, AT_SYMLINK_NOFOLLOW) == 0);
  return EVENTRING_OK;
}

static int check_room(const struct evr_watch_job *job, eventring_cursor *cursor,
                      struct eventring_info *info, struct eventring_error *error) {
  char figure[64];
  int status = eventring_cursor_info(cursor, info);
  if (status != EVENTRING_OK) return evr_fail(error, status, 0, "cannot read the recording");
  if (info->disk_size <= job->room) return EVENTRING_OK;
  snprintf(figure, sizeof figure, "%llu", (unsigned long long)info->disk_size);
  return evr_fail(error, EVENTRING_E_FULL, 0, "the recording has %s bytes, and size= has no "
                  "room for them any more", figure);
}

static int copy(const struct evr_watch_job *job, eventring_cursor *cursor, uint64_t *bytes,
                struct eventring_error *error) {
  char directory[PATH_MAX], path[PATH_MAX];
  struct eventring_info info = {.size = sizeof info};
  struct stat st;
  int fd, status = check_room(job, cursor, &info, error);
  if (status == EVENTRING_OK) status = open_directory(job, info.path, directory, &fd, error);
  if (status != EVENTRING_OK) return status;
  evr_remove_parts(fd); /* else the disk would fill with parts */
  do {
    status = name_copy(job, info.path, directory, fd, path, error);
    if (status == EVENTRING_OK) status = evr_snapshot_in(cursor, fd, path, error);
  } while (status == EVENTRING_E_EXISTS);
  if (status == EVENTRING_OK &&
      fstatat(fd, strrchr(path, '/') + 1, &st, AT_SYMLINK_NOFOLLOW) == 0)
    *bytes = (uint64_t)st.st_blocks * 512;
  close(fd);
  return status;
}

int evr_save(const struct evr_watch_job *job, uint64_t *bytes, struct eventring_error *error) {
  eventring_cursor *cursor;
  int status = eventring_open_self(&cursor, 0, error);
  if (status != EVENTRING_OK) return status;
  status = copy(job, cursor, bytes, error);
  eventring_close(cursor);
  return status;
}
