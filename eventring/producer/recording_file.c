/* SPDX-License-Identifier: MIT */
/* recording_file.c: the file of a recording: its name, what has that name, its end.
 *
 * The file is created with O_EXCL|O_NOFOLLOW; whatever has its name already is neither
 * opened for writing nor followed. A regular file of this user that no live process has
 * locked was left by a dead process of the same pid (a container that is started again is
 * pid 1 again): it is renamed to `<name>-<start>.eventring`, never replaced. At the end
 * the file is unlinked only if the name still refers to the inode of the recording.
 *
 * If no directory was configured and the current one cannot be used, the file is made in
 * $XDG_RUNTIME_DIR, in the directory for services of this user or of the machine
 * (state_directory.h), or else in /tmp. Such a directory must be one in which no other
 * user but root can rename or remove the file: it belongs to this user or to root, and is
 * sticky if others may write to it. This is checked through the open descriptor of the
 * directory, and everything after that uses this descriptor. A user who takes the name
 * first can prevent the recording, but nothing else: no link is followed, nothing is
 * opened for writing, and only a regular file of this user is renamed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/error.h"
#include "format/process.h"
#include "format/rename_new.h"
#include "format/state_directory.h"
#include "format/unlink_same.h"
#include "producer/file_name.h"
#include "producer/recording.h"

enum { MOST_COPIES = 9 };

static int name_file(struct evr_recording *r, const struct eventring_config *config,
                     unsigned copy, struct eventring_error *error) {
  const struct evr_naming naming = {config->name, r->header.program, getpid(), copy};
  return evr_file_name(r->name, &naming, error);
}

/* Joins directory and name to a path; returns false when it is too long. */
static bool join_path(char *path, size_t room, const char *directory, const char *name) {
  size_t length = strlen(directory), size = strlen(name) + 1;
  bool slash = directory[1] != 0; /* "/" already ends in a slash */
  if (length + slash + size > room) return false;
  memcpy(path, directory, length);
  if (slash) path[length++] = '/';
  memcpy(path + length, name, size);
  return true;
}

/* Lists the directories that may replace the current one. Makes the user's state
   directory if only its last component is missing. */
unsigned evr_recording_substitutes(const char *directories[EVR_SUBSTITUTES]) {
  static char path[PATH_MAX];
  unsigned count = 0;
  const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
  if (runtime && runtime[0] == '/') directories[count++] = runtime;
  const char *state = evr_state_directory(path);
  if (state && (mkdir(state, 0700) == 0 || errno == EEXIST)) directories[count++] = state;
  directories[count++] = EVR_SYSTEM_DIRECTORY;
  directories[count++] = "/tmp";
  return count;
}

static bool is_safe(int directory) {
  struct stat st;
  if (fstat(directory, &st) != 0) return false;
  bool others_write = st.st_mode & (S_IWGRP | S_IWOTH);
  return (st.st_uid == 0 || st.st_uid == geteuid()) && (!others_write || st.st_mode & S_ISVTX);
}

/* Opens the directory and makes the absolute path of the file. */
static int open_directory(struct evr_recording *r, const char *directory,
                          struct eventring_error *error) {
  char absolute[PATH_MAX];
  if (!directory || !directory[0]) directory = ".";
  int fd = evr_above_standard(open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd < 0) {
    int code = errno == EACCES ? EVENTRING_E_PERMISSION : EVENTRING_E_DIRECTORY;
    return evr_fail(error, code, errno, "cannot use the directory \"%.200s\"", directory);
  }
  int failure = evr_descriptor_set(&r->directory, fd);
  if (failure)
    return evr_fail(error, EVENTRING_E_SYSTEM, failure, "cannot use the directory \"%.200s\"",
                    directory);
  if (r->elsewhere && !is_safe(fd))
    return evr_fail(error, EVENTRING_E_PERMISSION, 0,
                    "cannot use the directory \"%.200s\": another user can rename files in it",
                    directory);
  if (!realpath(directory, absolute))
    return evr_fail(error, EVENTRING_E_DIRECTORY, errno,
                    "cannot use the directory \"%.200s\"", directory);
  /* leave room for the ".2" of a further copy */
  if (!join_path(r->path, sizeof r->path - 2, absolute, r->name))
    return evr_fail(error, EVENTRING_E_DIRECTORY, ENAMETOOLONG,
                    "cannot use the directory \"%.200s\"", directory);
  return EVENTRING_OK;
}

/* Makes the name of a further copy, in the same directory. */
static int name_copy(struct evr_recording *r, const struct eventring_config *config,
                     unsigned copy, struct eventring_error *error) {
  size_t directory = strlen(r->path) - strlen(r->name);
  int status = name_file(r, config, copy, error);
  if (status != EVENTRING_OK) return status;
  memcpy(r->path + directory, r->name, strlen(r->name) + 1);
  return EVENTRING_OK;
}

/* ---- What has its name ------------------------------------------------------------- */

static int in_the_way(const struct evr_recording *r, struct eventring_error *error,
                      const char *what) {
  return evr_fail(error, EVENTRING_E_EXISTS, 0, "%.300s is %s", r->path, what);
}

/* Tells whether this very process holds the lock of this file, through another copy of
   the library. */
static bool is_of_this_process(int fd) {
  struct format_header h;
  return pread(fd, &h, sizeof h, 0) == (ssize_t)sizeof h &&
         memcmp(h.magic, FORMAT_MAGIC, sizeof h.magic) == 0 && h.pid == getpid();
}

/* Returns the start of a dead recording in seconds since the epoch; if the file does not
   say, the time of its last change. */
static long long start_of(int fd, const struct stat *st) {
  struct format_header h;
  if (pread(fd, &h, sizeof h, 0) == (ssize_t)sizeof h &&
      memcmp(h.magic, FORMAT_MAGIC, sizeof h.magic) == 0 && h.version == FORMAT_VERSION &&
      h.start_wall_ns > 0)
    return h.start_wall_ns / 1000000000;
  return st->st_mtim.tv_sec;
}

/* Renames a dead recording. Returns 0 or an errno. */
static int set_aside(const struct evr_recording *r, long long start) {
  char name[sizeof r->name + 64];
  int stem = (int)(strlen(r->name) - strlen(EVENTRING_SUFFIX));
  for (int n = 1; n < 100; n++) {
    char again[8] = "";
    if (n > 1) snprintf(again, sizeof again, "-%d", n);
    snprintf(name, sizeof name, "%.*s-%lld%s%s", stem, r->name, start, again,
             EVENTRING_SUFFIX);
    int error = evr_rename_new(r->directory.fd, r->name, name);
    if (error != EEXIST) return error == ENOENT ? 0 : error;
  }
  return EEXIST;
}

/* Frees the name of the file: renames what a dead process of this pid has left. Returns
   TAKEN when another copy of the library in this process has the name. */
enum { TAKEN = 1 };
static int free_name(struct evr_recording *r, struct eventring_error *error) {
  struct stat st;
  if (fstatat(r->directory.fd, r->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? EVENTRING_OK
                           : evr_fail(error, evr_code_of_errno(errno), errno,
                                      "cannot examine %.300s", r->path);
  if (S_ISLNK(st.st_mode)) return in_the_way(r, error, "a symbolic link");
  if (!S_ISREG(st.st_mode)) return in_the_way(r, error, "not a regular file");
  if (st.st_uid != geteuid()) return in_the_way(r, error, "another user's file");
  int fd = openat(r->directory.fd, r->name,
                  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  int locked = fd >= 0 ? evr_file_locked(fd) : 0;
  long long start = fd >= 0 ? start_of(fd, &st) : st.st_mtim.tv_sec;
  bool taken = locked > 0 && is_of_this_process(fd);
  if (fd >= 0) close(fd);
  if (taken) return TAKEN;
  if (locked > 0) return in_the_way(r, error, "in use by another process");
  int failure = set_aside(r, start);
  if (!failure) return EVENTRING_OK;
  return evr_fail(error, evr_code_of_errno(failure), failure, "cannot rename %.300s",
                  r->path);
}

/* Creates a file. Returns a descriptor above the standard ones, or -1 with errno; then
   there is no file. Async-signal-safe. */
static int create_new(int directory, const char *name) {
  const int made = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                          0600);
  const int fd = evr_above_standard(made);
  if (made < 0 || fd >= 0) return fd;
  const int failure = errno;
  unlinkat(directory, name, 0);
  errno = failure;
  return -1;
}

static int create_file(struct evr_recording *r, const struct eventring_config *config,
                       struct eventring_error *error) {
  unsigned copy = 1;
  int fd = -1;
  for (int attempt = 0; attempt < 3 + MOST_COPIES; attempt++) {
    fd = create_new(r->directory.fd, r->name);
    if (fd >= 0) break;
    if (errno != EEXIST) {
      int code = errno == ENOENT ? EVENTRING_E_DIRECTORY : evr_code_of_errno(errno);
      return evr_fail(error, code, errno, "cannot create %.300s", r->path);
    }
    int status = free_name(r, error);
    if (status == TAKEN && copy < MOST_COPIES) status = name_copy(r, config, ++copy, error);
    if (status < EVENTRING_OK) return status;
  }
  if (fd < 0) return in_the_way(r, error, "created again and again by another");
  int failure = evr_descriptor_set(&r->extents.file, fd);
  if (failure) return evr_fail(error, EVENTRING_E_SYSTEM, failure, "%.300s", r->path);
  r->locked = evr_lock_file(fd) == 0;
  return EVENTRING_OK;
}

int evr_recording_create_file(struct evr_recording *r, const struct eventring_config *given,
                              struct eventring_error *error) {
  char directory[PATH_MAX], name[EVR_MOST_TEMPLATE + 1];
  struct eventring_config config = *given;
  if (r->streams.rings) {
    if (!evr_split_stream(given->stream, directory, name))
      return evr_fail(error, EVENTRING_E_CONFIG, 0, "\"%.200s\" is no path for a stream",
                      given->stream);
    config.directory = directory;
    config.name = name;
  }
  int status = name_file(r, &config, 1, error);
  if (status == EVENTRING_OK) status = open_directory(r, config.directory, error);
  return status == EVENTRING_OK ? create_file(r, &config, error) : status;
}

struct name_at { /* the file's name in its directory, or its path if the program has
                    closed the descriptor of the directory */
  int directory;
  const char *name;
};

static struct name_at name_of(const struct evr_recording *r) {
  return evr_descriptor_holds(&r->directory) ? (struct name_at){r->directory.fd, r->name}
                                             : (struct name_at){AT_FDCWD, r->path};
}

int evr_recording_unlink_other(const struct evr_recording *r, const struct evr_descriptor *file) {
  const struct name_at at = name_of(r);
  int failure = evr_unlink_same(at.directory, at.name, file->device, file->inode);
  return failure == ENOENT ? 0 : failure;
}

int evr_recording_unlink(const struct evr_recording *r) {
  return evr_recording_unlink_other(r, &r->extents.file);
}

/* Creates the file again at its name. The directory may have been deleted, too, and made
   again. */
int evr_recording_create_again(const struct evr_recording *r) {
  const struct name_at at = name_of(r);
  int fd = create_new(at.directory, at.name);
  if (fd < 0 && errno == ENOENT) fd = create_new(AT_FDCWD, r->path);
  return fd;
}
