/* SPDX-License-Identifier: MIT */
/* memory.h: the memory of a recording that goes on in this process, as the side that
 * records lends it to the side that reads. Neither knows the other: who knows both fills
 * this in (self.c). */
#ifndef EVENTRING_MEMORY_H
#define EVENTRING_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct evr_memory {
  void *recording; /* what the functions below are called with */
  /* Where `size` bytes at `offset` of the file are mapped, all of them within the front,
     the catalogue or one block; NULL: nowhere yet. They stay there until the release. Any
     thread. A member that is NULL means that nothing is lent. */
  const uint64_t *(*words_at)(const void *recording, uint64_t offset, size_t size);
  /* Descriptor of the file, which stays the lender's; -1: it has none any more. */
  int (*descriptor)(const void *recording);
  /* Gives all of it back, once. Any thread. */
  void (*release)(void *recording);
};

#pragma GCC visibility pop

#endif /* EVENTRING_MEMORY_H */
