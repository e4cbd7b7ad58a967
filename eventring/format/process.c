/* SPDX-License-Identifier: MIT */
/* process.c: whether a producer is alive.
 *
 * A producer holds a write lock on its file (an open-file-description lock: it ends with
 * the last descriptor, however the process ends, and works in every pid namespace).
 * Checking for a lock takes none. Where the file system has no locks, the pid and the
 * start time of the process decide.
 */
#include "format/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t evr_process_start(pid_t pid) {
  char path[64], line[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t length = read(fd, line, sizeof line - 1);
  close(fd);
  if (length <= 0) return 0;
  line[length] = 0;
  /* the name, in parentheses, may contain any character; the start time is field 22,
     counted from the pid */
  char *field = strrchr(line, ')');
  for (int i = 2; field && i < 22; i++) field = strchr(field + 1, ' ');
  return field ? strtoull(field, NULL, 10) : 0;
}

pid_t evr_process_own_pid(pid_t pid) {
  static const char key[] = "NSpid:";
  char path[64], *line = NULL;
  size_t room = 0;
  pid_t own = 0;
  snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
  FILE *status = fopen(path, "re");
  while (status && own == 0 && getline(&line, &room, status) > 0) {
    const char *last = strrchr(line, '\t'); /* the last of the numbers, outermost first */
    if (last && strncmp(line, key, sizeof key - 1) == 0) own = (pid_t)strtol(last, NULL, 10);
  }
  free(line);
  if (status) fclose(status);
  return own;
}

int evr_lock_file(int fd) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
}

int evr_lock_out_producer(int fd) {
  struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
  return fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
}

bool evr_hold_dead(int fd, pid_t pid, uint64_t start) {
  int cause = evr_lock_out_producer(fd);
  if (cause == EAGAIN || cause == EACCES) return false;
  /* a producer that could not lock its file is recognized by its start time */
  return !(pid > 0 && start && evr_process_start(pid) == start);
}

int evr_file_locked(int fd) {
  struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
  if (fcntl(fd, F_OFD_GETLK, &lock) != 0) return -1;
  return lock.l_type != F_UNLCK;
}
