/* SPDX-License-Identifier: MIT */
/* process_directory.c: see process_directory.h.
 *
 * A path means the same here and in the process only if both have the same root and the
 * same mounts; a relative path starts at the process's current directory. The permissions
 * tested are those of this process. They are the permissions of the other process only if
 * both belong to the same user. */
#include "reader/process_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/error.h"

static bool is_same(const char *own, const char *other) {
  struct stat a, b;
  return stat(own, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

/* Tells whether the process sees the files that we see. */
static bool sees_the_same(pid_t pid) {
  char root[64], mounts[64];
  snprintf(root, sizeof root, "/proc/%ld/root", (long)pid);
  snprintf(mounts, sizeof mounts, "/proc/%ld/ns/mnt", (long)pid);
  return is_same("/", root) && is_same("/proc/self/ns/mnt", mounts);
}

/* Tells whether the process has the file open. If not, it is another process with the
   same pid in this pid namespace. */
static bool has_open(pid_t pid, int fd) {
  char path[64];
  struct stat own, other;
  bool found = false;
  snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
  DIR *list = fstat(fd, &own) == 0 ? opendir(path) : NULL;
  for (struct dirent *entry; list && !found && (entry = readdir(list)) != NULL;)
    found = fstatat(dirfd(list), entry->d_name, &other, 0) == 0 && own.st_dev == other.st_dev &&
            own.st_ino == other.st_ino;
  if (list) closedir(list);
  return found;
}

static bool is_own(pid_t pid) {
  char path[64];
  struct stat st;
  snprintf(path, sizeof path, "/proc/%ld", (long)pid);
  return stat(path, &st) == 0 && st.st_uid == geteuid();
}

/* Returns 0, or an errno that says why the directory cannot be used. Write permission is
   tested only for a process of this user (`own`). */
static int trouble_of(const char *path, bool own) {
  struct stat st;
  if (stat(path, &st) != 0) return errno;
  if (!S_ISDIR(st.st_mode)) return ENOTDIR;
  return own && faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) != 0 ? errno : 0;
}

/* Cuts the last name off a path. */
static void cut_to_parent(char *path) {
  size_t size = strlen(path);
  while (size > 1 && path[size - 1] == '/') size--;
  while (size > 0 && path[size - 1] != '/') size--;
  path[size] = '\0';
}

int evr_process_can_write(pid_t pid, int fd, const char *directory,
                          struct eventring_error *error) {
  char path[PATH_MAX];
  if (pid <= 0 || !has_open(pid, fd) || !sees_the_same(pid)) return EVENTRING_OK;
  const bool own = is_own(pid);
  int size = directory[0] == '/'
                 ? snprintf(path, sizeof path, "%s", directory)
                 : snprintf(path, sizeof path, "/proc/%ld/cwd/%s", (long)pid, directory);
  int trouble = size < (int)sizeof path ? trouble_of(path, own) : ENAMETOOLONG;
  if (trouble == ENOENT) {
    cut_to_parent(path);
    trouble = trouble_of(path, own);
    if (trouble)
      return evr_fail(error, EVENTRING_E_DIRECTORY, trouble, "dir=%.300s: cannot be made",
                      directory);
  }
  if (!trouble) return EVENTRING_OK;
  return evr_fail(error, EVENTRING_E_DIRECTORY, trouble, "dir=%.300s", directory);
}
