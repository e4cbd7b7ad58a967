/* SPDX-License-Identifier: MIT */
/* copy_file.h: copies the content of a file. */
#ifndef EVENTRING_COPY_FILE_H
#define EVENTRING_COPY_FILE_H

#include <errno.h>
#include <stdbool.h>
#include <sys/sendfile.h>
#include <sys/types.h>
#include <unistd.h>

static inline bool evr_copy_run(int from, int to, off_t at, off_t end) {
  if (lseek(to, at, SEEK_SET) != at) return false;
  while (at < end)
    if (sendfile(to, from, &at, (size_t)(end - at)) <= 0) return false;
  return true;
}

/* Makes `to` as long as `from`, with the same bytes and holes. Moves the positions of
   both files. Returns false with errno on failure. Async-signal-safe. */
static inline bool evr_copy_file(int from, int to) {
  off_t size = lseek(from, 0, SEEK_END), at = 0;
  if (size < 0 || ftruncate(to, 0) != 0 || ftruncate(to, size) != 0) return false;
  while (at < size && (at = lseek(from, at, SEEK_DATA)) >= 0) {
    off_t end = lseek(from, at, SEEK_HOLE);
    if (end < at || !evr_copy_run(from, to, at, end)) return false;
    at = end;
  }
  return at >= 0 || errno == ENXIO; /* ENXIO: a hole up to the end */
}

#endif /* EVENTRING_COPY_FILE_H */
