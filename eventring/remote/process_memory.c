/* SPDX-License-Identifier: MIT */
/* process_memory.c: reads the memory of another process. */
#include "remote/process_memory.h"

#include <errno.h>

enum { RANGES_AT_ONCE = 1024 }; /* the kernel's bound (UIO_MAXIOV) */

static bool read_some(struct remote_memory *memory, const struct iovec *ranges, size_t count,
                      char *to, size_t size) {
  struct iovec local = {.iov_base = to, .iov_len = size};
  ssize_t n = process_vm_readv(memory->pid, &local, 1, ranges, count, 0);
  if (n == (ssize_t)size) return true;
  memory->error = n < 0 ? errno : 0;
  return false;
}

bool remote_read(struct remote_memory *memory, uint64_t address, void *to, size_t size) {
  const struct iovec range = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};
  return read_some(memory, &range, 1, to, size);
}

bool remote_read_pointer(struct remote_memory *memory, uint64_t address, uint64_t *value) {
  return remote_read(memory, address, value, sizeof *value);
}

bool remote_read_u32(struct remote_memory *memory, uint64_t address, uint32_t *value) {
  return remote_read(memory, address, value, sizeof *value);
}

bool remote_read_u8(struct remote_memory *memory, uint64_t address, uint8_t *value) {
  return remote_read(memory, address, value, sizeof *value);
}

bool remote_read_ranges(struct remote_memory *memory, const struct iovec *ranges, size_t count,
                        void *to) {
  for (size_t done = 0; done < count;) {
    size_t some = count - done < RANGES_AT_ONCE ? count - done : RANGES_AT_ONCE, size = 0;
    for (size_t i = done; i < done + some; i++) size += ranges[i].iov_len;
    if (!read_some(memory, &ranges[done], some, to, size)) return false;
    to = (char *)to + size;
    done += some;
  }
  return true;
}

bool remote_write(struct remote_memory *memory, uint64_t address, const void *from, size_t size) {
  const struct iovec local = {.iov_base = (void *)(uintptr_t)from, .iov_len = size};
  const struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};
  ssize_t n = process_vm_writev(memory->pid, &local, 1, &remote, 1, 0);
  if (n == (ssize_t)size) return true;
  memory->error = n < 0 ? errno : 0;
  return false;
}
