/* SPDX-License-Identifier: MIT */
/* backend.h: one way of writing, below writer.c, which has the rules. */
#ifndef EVENTRING_TOOL_BACKEND_H
#define EVENTRING_TOOL_BACKEND_H

#include "writer.h"

struct write_backend {
  /* Starts a write of `size` bytes; `token` comes back with the result. At most as many
     writes as the backend's depth are in flight. Returns 0 or an errno, EAGAIN if the
     caller is to try again later. */
  int (*start)(struct write_backend *self, const void *from, size_t size, uint64_t offset,
               void *token);
  /* Waits at most `timeout_ns` (0: not at all) for the end of a write. If one has ended,
     stores its token, and the bytes written or -errno, and returns true. */
  bool (*collect)(struct write_backend *self, uint64_t timeout_ns, void **token,
                  ssize_t *result);
  /* Frees the backend, when nothing is in flight any more. */
  void (*close)(struct write_backend *self);
};

/* Makes the backend of a kind. Returns NULL, with errno, if it cannot. */
struct write_backend *write_backend_open(enum writer_kind kind, int fd, unsigned depth);

struct write_backend *serial_backend(int fd, unsigned depth);
struct write_backend *threads_backend(int fd, unsigned depth);
struct write_backend *aio_backend(int fd, unsigned depth);

#endif /* EVENTRING_TOOL_BACKEND_H */
