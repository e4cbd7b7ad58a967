/* SPDX-License-Identifier: MIT */
/* new_file.c: makes a file, or a folder, that gets its name when it is complete. */
#include "new_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tool.h"

static bool fail(const char *path, int error) {
  return complain("cannot create %s: %s", path, strerror(error));
}

static bool exists(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0;
}

static bool is_same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Tells whether a file is this user's, and has not been replaced. */
static bool is_own(const char *partial, const struct stat *st) {
  struct stat named;
  return st->st_uid == geteuid() && lstat(partial, &named) == 0 && is_same(st, &named);
}

/* Tells whether a file in a folder may have this name. */
typedef bool is_ours_function(const char *name);

/* ---- A folder ----------------------------------------------------------------- */

static int open_folder(const char *partial) {
  return open(partial, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Makes a folder and opens it. If another command took it for a leftover and removed it
   before it was opened, errno is EEXIST. */
static int make_folder(const char *partial) {
  if (mkdir(partial, 0700) != 0) return -1;
  int fd = open_folder(partial);
  if (fd < 0 && errno == ENOENT) errno = EEXIST;
  return fd;
}

/* Calls `act` with the name of each file. If `act` returns false, stops and returns
   false. */
static bool each_in(int fd, is_ours_function *is_ours,
                    bool (*act)(int fd, is_ours_function *is_ours, const char *name)) {
  int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *folder = again < 0 ? NULL : fdopendir(again);
  bool going = folder != NULL;
  for (struct dirent *entry; going && (entry = readdir(folder)) != NULL;)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      going = act(fd, is_ours, entry->d_name);
  if (folder) closedir(folder);
  else if (again >= 0) close(again);
  return going;
}

static bool is_ours_in(int fd, is_ours_function *is_ours, const char *name) {
  struct stat st;
  return is_ours(name) && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(st.st_mode);
}

static bool remove_in(int fd, is_ours_function *is_ours, const char *name) {
  (void)is_ours;
  return unlinkat(fd, name, 0) == 0;
}

/* Removes the folder, if it contains only what its makers put there. */
static bool remove_folder(const char *partial, int fd, is_ours_function *is_ours) {
  return each_in(fd, is_ours, is_ours_in) && each_in(fd, is_ours, remove_in) &&
         rmdir(partial) == 0;
}

/* ---- Files and folders (which have `is_ours`) ------------------------------------ */

static int make(const char *partial, is_ours_function *is_ours) {
  if (is_ours) return make_folder(partial);
  return open(partial, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* Locks a file as a producer locks its own; or a folder, which takes another kind of
   lock, because it is not open for writing. */
static bool lock(int fd, is_ours_function *is_ours) {
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return (is_ours ? flock(fd, LOCK_EX | LOCK_NB) : fcntl(fd, F_OFD_SETLK, &all)) == 0;
}

static bool remove_it(const char *partial, int fd, is_ours_function *is_ours) {
  return is_ours ? remove_folder(partial, fd, is_ours) : unlink(partial) == 0;
}

/* Removes a partial file or folder if nobody has locked it: the command that made it was
   killed. */
static bool remove_left(const char *partial, is_ours_function *is_ours) {
  struct stat st;
  int fd = is_ours ? open_folder(partial)
                   : open(partial, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT;
  bool gone = fstat(fd, &st) == 0 && (is_ours || S_ISREG(st.st_mode)) && lock(fd, is_ours) &&
              is_own(partial, &st) && remove_it(partial, fd, is_ours);
  close(fd);
  return gone;
}

/* Makes a file or folder and locks it. On a file system without locks, other commands
   cannot know whether there is a writer, and leave the file alone. If another command has
   removed it between creation and lock, it is made again. */
static int make_locked(const char *partial, is_ours_function *is_ours) {
  enum { TRIES = 8 };
  struct stat st;
  for (int i = 0; i < TRIES; i++) {
    int fd = make(partial, is_ours);
    if (fd < 0 && errno != EEXIST) return fd;
    if (fd < 0 && !remove_left(partial, is_ours)) break;
    if (fd < 0) continue;
    lock(fd, is_ours);
    if (fstat(fd, &st) == 0 && st.st_nlink > 0) return fd;
    close(fd);
  }
  errno = EEXIST;
  return -1;
}

int partial_open(const char *partial) { return make_locked(partial, NULL); }

static void set_partial(struct new_file *file) {
  size_t size = strlen(file->path) + sizeof ".partial";
  file->partial = need_zeroed(1, size);
  snprintf(file->partial, size, "%s.partial", file->path);
}

static void remove_partial(const struct new_file *file) {
  remove_it(file->partial, file->held, file->is_ours);
}

/* Keeps the lock beyond the close of `fd`: otherwise a closed file without its name would
   be taken for a leftover. Returns false, with errno, if it cannot. */
static bool hold(struct new_file *file, int fd) {
  file->held = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (file->held >= 0) return true;
  int error = errno;
  unlink(file->partial);
  close(fd);
  errno = error;
  return false;
}

/* Releases the lock, after the file got its name or was removed. */
static void release(struct new_file *file) {
  if (file->held >= 0) close(file->held);
  free(file->partial);
}

/* Reports why a partial file cannot be created. Returns -1. */
static int fail_partial(struct new_file *file) {
  if (errno == EEXIST)
    complain("cannot create %s: %s exists; a command is at work on it, "
             "or it is not what one left", file->path, file->partial);
  else fail(file->path, errno);
  free(file->partial);
  file->partial = NULL;
  return -1;
}

static int create_partial(struct new_file *file) {
  set_partial(file);
  int fd = partial_open(file->partial);
  return fd >= 0 && hold(file, fd) ? fd : fail_partial(file);
}

bool new_folder_create(struct new_file *file, const char *path, bool (*is_ours)(const char *name)) {
  *file = (struct new_file){.path = path, .held = -1, .is_ours = is_ours};
  if (exists(path)) return fail(path, EEXIST);
  set_partial(file);
  file->held = make_locked(file->partial, is_ours);
  return file->held >= 0 || fail_partial(file) >= 0;
}

bool is_standard_output(const char *path) { return strcmp(path, "-") == 0; }

const char *shown_path(const char *path) {
  return is_standard_output(path) ? "standard output" : path;
}

bool standard_output_takes(const char *what) {
  return !isatty(STDOUT_FILENO) ||
         complain("%s is not written to a terminal (-o FILE, or `-o -' into a pipe)", what);
}

static int create_standard_output(void) {
  int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (fd < 0) complain("cannot write to standard output: %s", strerror(errno));
  return fd;
}

int new_file_create(struct new_file *file, const char *path) {
  *file = (struct new_file){.path = shown_path(path), .held = -1};
  if (is_standard_output(path)) return create_standard_output();
  if (exists(path)) return fail(path, EEXIST), -1;
  return create_partial(file);
}

/* Tells whether a file is open at another descriptor than `at`, as /dev/stdout and
   /dev/fd/N are. */
static bool is_given(const struct stat *st, int at) {
  enum { MOST_GIVEN = 64 };
  struct stat given;
  for (int fd = STDIN_FILENO; fd < MOST_GIVEN; fd++)
    if (fd != at && fstat(fd, &given) == 0 && is_same(&given, st)) return true;
  return false;
}

/* Returns 0, or why a file must not be written to. */
static int check_special(const struct stat *st, int at) {
  bool device = S_ISCHR(st->st_mode), file = S_ISREG(st->st_mode);
  if (!device && !file && !S_ISFIFO(st->st_mode)) return EEXIST;
  if (is_given(st, at)) return 0;
  if (file) return EEXIST;
  return st->st_uid == geteuid() || (device && st->st_uid == 0) ? 0 : EPERM;
}

/* Opens exactly the file that was checked, even if its name leads elsewhere by now. */
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

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

/* Renames without replacing. (The library has the same code: format/rename_new.c. Makes
 * the call by its number, since musl 1.2.3 has no renameat2.) */
int rename_new_at(int in, const char *from, int into, const char *to) {
  struct stat st;
  if (syscall(SYS_renameat2, in, from, into, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (linkat(in, from, into, to, 0) == 0) return unlinkat(in, from, 0) == 0 ? 0 : errno;
  if (errno == EEXIST) return errno;
  if (fstatat(into, to, &st, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  return renameat(in, from, into, to) == 0 ? 0 : errno;
}

int new_file_replace(struct new_file *file, const char *path) {
  struct stat st;
  int fd = special_open(path);
  *file = (struct new_file){.path = path, .held = -1, .replaces = true};
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
  if (!file->partial) return true; /* it has had its name from the start */
  int error = give_name(file);
  if (error) {
    fail(file->path, error);
    remove_partial(file);
  }
  release(file);
  return error == 0;
}

void new_file_drop(struct new_file *file) {
  if (file->partial) remove_partial(file);
  release(file);
}
