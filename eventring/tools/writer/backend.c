/* SPDX-License-Identifier: MIT */
/* backend.c: the ways of writing, by name. */
#include "backend.h"

#include <errno.h>
#include <string.h>

static const struct {
  const char *name;
  struct write_backend *(*open)(int fd, unsigned depth);
} kinds[WRITER_KINDS] = {[WRITER_SERIAL] = {"serial", serial_backend},
                         [WRITER_THREADS] = {"threads", threads_backend},
                         [WRITER_AIO] = {"aio", aio_backend}};

const char *writer_name(enum writer_kind kind) { return kinds[kind].name; }

int writer_kind_named(const char *name) {
  for (int kind = 0; kind < WRITER_KINDS; kind++)
    if (strcmp(kinds[kind].name, name) == 0) return kind;
  return -1;
}

struct write_backend *write_backend_open(enum writer_kind kind, int fd, unsigned depth) {
  return kinds[kind].open(fd, depth);
}
