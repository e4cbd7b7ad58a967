/* SPDX-License-Identifier: MIT */
/* slow_sink.c: preloaded into `eventring record`, makes each write take SLOW_SINK_US
 * longer, as a disk with this latency does. Writes that are under way at the same time
 * wait together. This applies to the front of the file, too, which is rewritten now and
 * then. A program that `eventring` launches is not affected. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

static void wait_for_disk(void) {
  const char *us = getenv("SLOW_SINK_US");
  bool is_recorder = strcmp(program_invocation_short_name, "eventring") == 0;
  long left = us && is_recorder ? strtol(us, NULL, 10) : 0;
  struct timespec time = {left / 1000000, left % 1000000 * 1000};
  while (left && nanosleep(&time, &time) != 0) continue;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
  ssize_t (*next)(int, const void *, size_t, off_t) =
      (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
  wait_for_disk();
  return next(fd, bytes, size, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
  return pwrite(fd, bytes, size, at);
}
