/* SPDX-License-Identifier: MIT */
/* space.c: disk space and mapped pages for a recording (see space.h). */
#include "producer/space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "format/guard.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older kernels return EINVAL */
#endif

int evr_space_check_file_size(uint64_t end) {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         end > limit.rlim_cur ? EFBIG : 0;
}

int evr_space_check_free(const struct statfs *fs, uint64_t bytes) {
  bool known = fs->f_blocks > 0 && fs->f_bsize > 0;
  return known && fs->f_bavail < bytes / (uint64_t)fs->f_bsize ? ENOSPC : 0;
}

static int reserve_by_call(int fd, uint64_t offset, uint64_t bytes) {
  int failure;
  do failure = posix_fallocate(fd, (off_t)offset, (off_t)bytes);
  while (failure == EINTR);
  return failure;
}

static int reserve_by_writing(int fd, uint64_t offset, uint64_t bytes) {
  static const uint8_t zeros[65536];
  while (bytes) {
    ssize_t done = pwrite(fd, zeros, bytes < sizeof zeros ? bytes : sizeof zeros,
                          (off_t)offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 ? errno : ENOSPC;
    offset += (uint64_t)done;
    bytes -= (uint64_t)done;
  }
  return 0;
}

/* Reserves space. On a disk, writes zeros: the file system then has room for these bytes,
   uses larger pages than for a fresh allocation, and a file that is removed before it
   reaches the disk costs nothing (with allocated extents its last close takes
   milliseconds). tmpfs allocates pages without copying into them. */
int evr_space_reserve(int fd, bool in_memory, uint64_t offset, uint64_t bytes) {
  int failure = evr_space_check_file_size(offset + bytes);
  if (failure) return failure;
  return in_memory ? reserve_by_call(fd, offset, bytes)
                   : reserve_by_writing(fd, offset, bytes);
}

void evr_space_touch_ahead(uint8_t *map, size_t bytes) {
  if (madvise(map, bytes, MADV_POPULATE_WRITE) == 0) return;
  for (size_t i = 0; i < bytes; i += 4096)
    __atomic_fetch_or((uint64_t *)(map + i), 0, __ATOMIC_RELAXED);
}

/* Returns the address space of this process in bytes, or 0 if it is not known. */
static uint64_t address_space_used(void) {
  char text[64];
  int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
  if (fd >= 0) close(fd);
  if (length <= 0) return 0;
  text[length] = 0;
  return strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

enum { LEAST_ROOM = 4 << 20 }; /* what a program may need before it does anything */

bool evr_space_leaves_room(uint64_t bytes) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  uint64_t used = address_space_used();
  uint64_t left = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
  return left >= LEAST_ROOM && left / 4 >= bytes;
}

uint8_t *evr_space_map(int fd, uint64_t offset, uint64_t bytes, const void *together) {
  void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
  if (map == MAP_FAILED) return NULL;
  if (evr_guard_add(map, bytes, PROT_READ | PROT_WRITE, together)) return map;
  munmap(map, bytes);
  errno = ENOMEM;
  return NULL;
}

void evr_space_protect(uint8_t *map, uint64_t bytes) { mprotect(map, bytes, PROT_READ); }

void evr_space_unmap(uint8_t *map, uint64_t bytes) {
  if (!map) return;
  evr_guard_remove(map);
  munmap(map, bytes);
}

void *evr_space_zeroed(size_t bytes) {
  void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return map == MAP_FAILED ? NULL : map;
}

void evr_space_free(void *memory, size_t bytes) { munmap(memory, bytes); }
