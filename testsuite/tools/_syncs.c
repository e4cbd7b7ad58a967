/* SPDX-License-Identifier: MIT */
/* _syncs.c: preloaded into a program, notes in the file SYNCS, in order, what the program
   writes with pwrite ("write PATH"), and what it waits for to be on disk ("sync PATH").
   With SYNC_FAILS=file or =directory such a wait fails. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void note(const char *what, int fd) {
  char link[64], path[4096], line[4200];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  int log = open(getenv("SYNCS"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (size < 0 || log < 0) abort();
  path[size] = '\0';
  int length = snprintf(line, sizeof line, "%s %s\n", what, path);
  if (write(log, line, (size_t)length) != length) abort();
  close(log);
}

int fsync(int fd) {
  static int (*next)(int);
  const char *fails = getenv("SYNC_FAILS");
  struct stat st;
  if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  if (fstat(fd, &st) != 0) return -1;
  note("sync", fd);
  if (fails && !strcmp(fails, S_ISDIR(st.st_mode) ? "directory" : "file")) {
    errno = EIO;
    return -1;
  }
  return next(fd);
}

static ssize_t noted(const char *name, int fd, const void *from, size_t size, off_t offset) {
  ssize_t (*next)(int, const void *, size_t, off_t) =
      (ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, name);
  note("write", fd);
  return next(fd, from, size, offset);
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t offset) {
  return noted("pwrite", fd, from, size, offset);
}

ssize_t pwrite64(int fd, const void *from, size_t size, off_t offset) {
  return noted("pwrite64", fd, from, size, offset);
}
