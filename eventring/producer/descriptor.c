/* SPDX-License-Identifier: MIT */
/* descriptor.c: file descriptors in a process whose program may close them (see
   descriptor.h). */
#include "producer/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/process.h"

int evr_above_standard(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int failure = errno;
  close(fd);
  errno = failure;
  return above;
}

int evr_descriptor_set(struct evr_descriptor *d, int fd) {
  struct stat st;
  if (fstat(fd, &st) != 0) {
    int failure = errno;
    close(fd);
    return failure;
  }
  *d = (struct evr_descriptor){fd, st.st_dev, st.st_ino};
  return 0;
}

/* Tells whether the descriptor refers to this file. A descriptor that is open but cannot
   be examined counts as ours. */
static bool is_file_of(const struct evr_descriptor *d, int fd) {
  struct stat st;
  if (fd < 0) return false;
  if (fstat(fd, &st) != 0) return errno != EBADF;
  return st.st_dev == d->device && st.st_ino == d->inode;
}

bool evr_descriptor_holds(const struct evr_descriptor *d) {
  return is_file_of(d, __atomic_load_n(&d->fd, __ATOMIC_RELAXED));
}

void evr_descriptor_close(struct evr_descriptor *d) {
  if (evr_descriptor_holds(d)) close(d->fd);
  __atomic_store_n(&d->fd, -1, __ATOMIC_RELAXED);
}

int evr_descriptor_use(struct evr_descriptor *d, const char *path) {
  int fd = __atomic_load_n(&d->fd, __ATOMIC_RELAXED);
  if (fd < 0 || is_file_of(d, fd)) return fd;
  int again = evr_above_standard(open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (is_file_of(d, again)) {
    evr_lock_file(again); /* the lock ended with the descriptor */
    if (__atomic_compare_exchange_n(&d->fd, &fd, again, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
      return again;
  }
  if (again >= 0) close(again);
  fd = __atomic_load_n(&d->fd, __ATOMIC_RELAXED); /* another thread has opened the file
                                                     meanwhile */
  return is_file_of(d, fd) ? fd : -1;
}
