/* SPDX-License-Identifier: MIT */
/* process_memory.h: reads the memory of another process, without stopping it.
 *
 * The data is as hostile as a foreign file: each address may be wrong, and each value may
 * change between two reads. A read that fails returns false and changes nothing else. One
 * thread at a time for a struct remote_memory.
 */
#ifndef EVENTRING_REMOTE_PROCESS_MEMORY_H
#define EVENTRING_REMOTE_PROCESS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct remote_memory {
  pid_t pid;
  int error; /* errno of the last read that failed; 0 if it was short */
};

/* Copies `size` bytes. Returns false if some of them are unreadable. */
bool remote_read(struct remote_memory *memory, uint64_t address, void *to, size_t size);
bool remote_read_pointer(struct remote_memory *memory, uint64_t address, uint64_t *value);
bool remote_read_u32(struct remote_memory *memory, uint64_t address, uint32_t *value);
bool remote_read_u8(struct remote_memory *memory, uint64_t address, uint8_t *value);
/* Copies the `count` ranges one after another, in this order, to `to`, with one system
   call for each 1024 of them. Returns false if some of them are unreadable. */
bool remote_read_ranges(struct remote_memory *memory, const struct iovec *ranges, size_t count,
                        void *to);
/* Writes `size` bytes. Returns false if they cannot be written. */
bool remote_write(struct remote_memory *memory, uint64_t address, const void *from, size_t size);

/* Returns a word of 1, 2, 4 or 8 bytes from bytes that were read. */
static inline uint64_t remote_word(const void *bytes, size_t size) {
  uint64_t value = 0;
  __builtin_memcpy(&value, bytes, size <= sizeof value ? size : sizeof value);
  return value;
}

#endif
