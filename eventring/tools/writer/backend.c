/* SPDX-License-Identifier: MIT */
/* backend.c: the ways of writing. */
#include "backend.h"

const char *const writer_names[] = {[WRITER_SERIAL] = "serial", [WRITER_THREADS] = "threads",
                                    [WRITER_AIO] = "aio", NULL};

struct write_backend *write_backend_open(enum writer_kind kind, int fd, unsigned depth) {
  static struct write_backend *(*const open[])(int fd, unsigned depth) = {
      [WRITER_SERIAL] = serial_backend, [WRITER_THREADS] = threads_backend,
      [WRITER_AIO] = aio_backend};
  return open[kind](fd, depth);
}
