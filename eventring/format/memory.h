/* SPDX-License-Identifier: MIT */
/* memory.h: the memory of this process's present recording, which the producer lends to
 * readers in the process. Producer and reader do not know each other; self.c, which knows
 * both, fills this in. */
#ifndef EVENTRING_MEMORY_H
#define EVENTRING_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct evr_memory {
  void *recording; /* the first argument of the functions below */
  /* Where `size` bytes at `offset` of the file are mapped, all of them within the front,
     the catalogue or one block; NULL: nowhere yet. They stay there until the release. Any
     thread. When this member is NULL, nothing is lent. */
  const uint64_t *(*words_at)(const void *recording, uint64_t offset, size_t size);
  /* The descriptor of the file, which stays the lender's; -1: it has none any more. */
  int (*descriptor)(const void *recording);
  /* Gives everything back, once. Any thread. */
  void (*release)(void *recording);
};

#pragma GCC visibility pop

#endif /* EVENTRING_MEMORY_H */
