/* SPDX-License-Identifier: MIT */
/* writer_aio.c: POSIX AIO. (glibc implements it with threads, one write per descriptor at
 * a time.) */
#include "backend.h"

#include <aio.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct slot {
  struct aiocb block;
  void *token;
  bool used;
};

struct aio {
  struct write_backend backend;
  int fd;
  unsigned depth;
  struct slot *slots;
  const struct aiocb **list; /* room for aio_suspend */
};

static int start(struct write_backend *self, const void *from, size_t size, uint64_t offset,
                 void *token) {
  struct aio *aio = (struct aio *)self;
  for (unsigned i = 0; i < aio->depth; i++) {
    struct slot *slot = &aio->slots[i];
    if (slot->used) continue;
    memset(&slot->block, 0, sizeof slot->block);
    slot->block.aio_fildes = aio->fd;
    slot->block.aio_buf = (void *)(uintptr_t)from;
    slot->block.aio_nbytes = size;
    slot->block.aio_offset = (off_t)offset;
    slot->block.aio_sigevent.sigev_notify = SIGEV_NONE;
    slot->token = token;
    if (aio_write(&slot->block) != 0) return errno;
    slot->used = true;
    return 0;
  }
  return EAGAIN;
}

static bool take(struct aio *aio, void **token, ssize_t *result) {
  for (unsigned i = 0; i < aio->depth; i++) {
    struct slot *slot = &aio->slots[i];
    int error = slot->used ? aio_error(&slot->block) : EINPROGRESS;
    if (error == EINPROGRESS) continue;
    ssize_t got = aio_return(&slot->block);
    slot->used = false;
    *token = slot->token;
    *result = error ? -error : got;
    return true;
  }
  return false;
}

static bool collect(struct write_backend *self, uint64_t timeout_ns, void **token,
                    ssize_t *result) {
  struct aio *aio = (struct aio *)self;
  if (take(aio, token, result)) return true;
  if (!timeout_ns) return false;
  struct timespec time = {.tv_sec = (time_t)(timeout_ns / 1000000000),
                          .tv_nsec = (long)(timeout_ns % 1000000000)};
  int count = 0;
  for (unsigned i = 0; i < aio->depth; i++)
    if (aio->slots[i].used) aio->list[count++] = &aio->slots[i].block;
  /* it does not matter whether the time is up or a signal came */
  aio_suspend(aio->list, count, &time);
  return take(aio, token, result);
}

static void close_aio(struct write_backend *self) {
  struct aio *aio = (struct aio *)self;
  free(aio->slots);
  free(aio->list);
  free(aio);
}

struct write_backend *aio_backend(int fd, unsigned depth) {
  struct aio *aio = calloc(1, sizeof *aio);
  if (!aio) return NULL;
  *aio = (struct aio){.backend = {start, collect, close_aio}, .fd = fd, .depth = depth,
                      .slots = calloc(depth, sizeof *aio->slots),
                      .list = calloc(depth, sizeof *aio->list)};
  if (aio->slots && aio->list) return &aio->backend;
  close_aio(&aio->backend);
  errno = ENOMEM;
  return NULL;
}
