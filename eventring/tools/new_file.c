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
  return complain("cannot create %s: %s", path, strerror(error));
}

static bool exists(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0;
}

static bool name_partial(struct new_file *file) {
  size_t size = strlen(file->path) + sizeof ".partial";
  file->partial = need_zeroed(1, size);
  snprintf(file->partial, size, "%s.partial", file->path);
  if (!exists(file->partial)) return true;
  complain("cannot create %s: %s exists, of a command that is at work or was killed", file->path,
           file->partial);
  free(file->partial);
  file->partial = NULL;
  return false;
}

static int create_partial(struct new_file *file) {
  if (!name_partial(file)) return -1;
  int fd = open(file->partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  fail(file->path, errno);
  free(file->partial);
  file->partial = NULL;
  return -1;
}

bool new_file_begin(struct new_file *file, const char *path) {
  *file = (struct new_file){.path = path};
  return exists(path) ? fail(path, EEXIST) : name_partial(file);
}

int new_file_create(struct new_file *file, const char *path) {
  *file = (struct new_file){.path = path};
  if (exists(path)) return fail(path, EEXIST), -1;
  return create_partial(file);
}

/* (The library has the same, for itself: format/rename_new.c.) */
static bool is_same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Is it open already, as /dev/stdout and /dev/fd/N are? `at`: the descriptor in hand. */
static bool is_given(const struct stat *st, int at) {
  enum { MOST_GIVEN = 64 };
  struct stat given;
  for (int fd = STDIN_FILENO; fd < MOST_GIVEN; fd++)
    if (fd != at && fstat(fd, &given) == 0 && is_same(&given, st)) return true;
  return false;
}

/* 0, or why it is not written to. */
static int check_special(const struct stat *st, int at) {
  bool device = S_ISCHR(st->st_mode), file = S_ISREG(st->st_mode);
  if (!device && !file && !S_ISFIFO(st->st_mode)) return EEXIST;
  if (is_given(st, at)) return 0;
  if (file) return EEXIST;
  return st->st_uid == geteuid() || (device && st->st_uid == 0) ? 0 : EPERM;
}

/* What was checked is what is opened, whatever has the name by then. */
int special_open(const char *path) {
  char checked[64];
  struct stat st;
  int at = open(path, O_PATH | O_CLOEXEC), fd = -1;
  if (at < 0) return -1;
  int error = fstat(at, &st) == 0 ? check_special(&st, at) : errno;
  snprintf(checked, sizeof checked, "/proc/self/fd/%d", at);
  if (!error) fd = open(checked, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
  if (!error && fd < 0) error = errno;
  close(at);
  errno = error;
  return fd;
}

int rename_new_at(int in, const char *from, int into, const char *to) {
  struct stat st;
  if (renameat2(in, from, into, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (linkat(in, from, into, to, 0) == 0) return unlinkat(in, from, 0) == 0 ? 0 : errno;
  if (errno == EEXIST) return errno;
  if (fstatat(into, to, &st, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  return renameat(in, from, into, to) == 0 ? 0 : errno;
}

int new_file_replace(struct new_file *file, const char *path) {
  struct stat st;
  int fd = special_open(path);
  *file = (struct new_file){.path = path, .replaces = true};
  if (fd >= 0) return fd;
  if (errno != EEXIST && errno != ENOENT) return fail(path, errno), -1;
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) return fail(path, EEXIST), -1;
  return create_partial(file);
}

static int give_name(const struct new_file *file) {
  if (!file->replaces) return rename_new_at(AT_FDCWD, file->partial, AT_FDCWD, file->path);
  return rename(file->partial, file->path) == 0 ? 0 : errno;
}

bool new_file_keep(struct new_file *file) {
  if (!file->partial) return true; /* it had its name */
  int error = give_name(file);
  if (error) {
    fail(file->path, error);
    unlink(file->partial);
  }
  free(file->partial);
  return error == 0;
}

void new_file_drop(struct new_file *file) {
  if (file->partial) unlink(file->partial);
  free(file->partial);
}

void new_file_forget(struct new_file *file) { free(file->partial); }
