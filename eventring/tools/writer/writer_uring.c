/* SPDX-License-Identifier: MIT */
/* writer_uring.c: io_uring. Without liburing at build time there is none. */
#include "backend.h"

#include <errno.h>

#ifdef HAVE_LIBURING

#include <liburing.h>
#include <stdlib.h>

struct uring {
  struct write_backend backend;
  struct io_uring ring;
  int fd;
};

enum { OFFER_AGAIN_NS = 1000000 };

/* What the kernel did not take yet it is offered again. Has it taken all? */
static bool offer(struct uring *uring) {
  if (io_uring_sq_ready(&uring->ring)) io_uring_submit(&uring->ring);
  return !io_uring_sq_ready(&uring->ring);
}

static int start(struct write_backend *self, const void *from, size_t size, uint64_t offset,
                 void *token) {
  struct uring *uring = (struct uring *)self;
  struct io_uring_sqe *entry = io_uring_get_sqe(&uring->ring);
  if (!entry) return EAGAIN;
  io_uring_prep_write(entry, uring->fd, from, (unsigned)size, offset);
  io_uring_sqe_set_data(entry, token);
  offer(uring);
  return 0;
}

static bool collect(struct write_backend *self, uint64_t timeout_ns, void **token,
                    ssize_t *result) {
  struct uring *uring = (struct uring *)self;
  struct io_uring_cqe *entry = NULL;
  /* nothing may be in flight but what was not taken: that is not to be waited for */
  if (!offer(uring) && timeout_ns > OFFER_AGAIN_NS) timeout_ns = OFFER_AGAIN_NS;
  struct __kernel_timespec time = {.tv_sec = (long long)(timeout_ns / 1000000000),
                                   .tv_nsec = (long long)(timeout_ns % 1000000000)};
  int error = io_uring_peek_cqe(&uring->ring, &entry);
  if (error && timeout_ns) error = io_uring_wait_cqe_timeout(&uring->ring, &entry, &time);
  if (error || !entry) return false;
  *token = io_uring_cqe_get_data(entry);
  *result = entry->res;
  io_uring_cqe_seen(&uring->ring, entry);
  return true;
}

static void close_uring(struct write_backend *self) {
  struct uring *uring = (struct uring *)self;
  io_uring_queue_exit(&uring->ring);
  free(uring);
}

struct write_backend *uring_backend(int fd, unsigned depth) {
  struct uring *uring = calloc(1, sizeof *uring);
  if (!uring) return NULL;
  uring->backend = (struct write_backend){start, collect, close_uring};
  uring->fd = fd;
  int error = io_uring_queue_init(2 * depth, &uring->ring, 0);
  if (error == 0) return &uring->backend;
  free(uring);
  errno = -error;
  return NULL;
}

#else

struct write_backend *uring_backend(int fd, unsigned depth) {
  (void)fd, (void)depth;
  errno = ENOSYS;
  return NULL;
}

#endif
