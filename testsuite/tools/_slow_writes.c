/* SPDX-License-Identifier: MIT */
/* _slow_writes.c: preloaded into a program, makes each of its calls of pwrite take
 * WRITE_MS milliseconds longer, as a busy disk or processor does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static ssize_t slowly(const char *name, int fd, const void *from, size_t size, off_t offset) {
  ssize_t (*next)(int, const void *, size_t, off_t) =
      (ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, name);
  nanosleep(&(struct timespec){.tv_nsec = atol(getenv("WRITE_MS")) * 1000000}, NULL);
  return next(fd, from, size, offset);
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t offset) {
  return slowly("pwrite", fd, from, size, offset);
}

ssize_t pwrite64(int fd, const void *from, size_t size, off_t offset) {
  return slowly("pwrite64", fd, from, size, offset);
}
