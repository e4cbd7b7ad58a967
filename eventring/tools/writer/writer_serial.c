/* SPDX-License-Identifier: MIT */
/* writer_serial.c: writes in the caller's thread, which blocks; for comparison. */
#include "backend.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct serial {
  struct write_backend backend;
  int fd;
  bool has_result;
  void *token;
  ssize_t result;
};

static int start(struct write_backend *self, const void *from, size_t size, uint64_t offset,
                 void *token) {
  struct serial *serial = (struct serial *)self;
  ssize_t result = pwrite(serial->fd, from, size, (off_t)offset);
  serial->result = result < 0 ? -errno : result;
  serial->token = token;
  serial->has_result = true;
  return 0;
}

static bool collect(struct write_backend *self, uint64_t timeout_ns, void **token,
                    ssize_t *result) {
  struct serial *serial = (struct serial *)self;
  (void)timeout_ns;
  bool has = serial->has_result;
  serial->has_result = false;
  *token = serial->token;
  *result = serial->result;
  return has;
}

static void close_serial(struct write_backend *self) { free(self); }

struct write_backend *serial_backend(int fd, unsigned depth) {
  struct serial *serial = calloc(1, sizeof *serial);
  (void)depth;
  if (!serial) return NULL;
  serial->backend = (struct write_backend){start, collect, close_serial};
  serial->fd = fd;
  return &serial->backend;
}
