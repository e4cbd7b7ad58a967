/* SPDX-License-Identifier: MIT */
/* lent_memory.h: the memory of this process's present recording, which the producer lends
 * to readers in the same process. Producer and reader do not know each other; self.c
 * knows both and connects them. */
#ifndef EVENTRING_FORMAT_LENT_MEMORY_H
#define EVENTRING_FORMAT_LENT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct evr_memory {
  void *recording; /* the first argument of the functions below */
  /* Returns where `size` bytes at `offset` of the file are mapped; all of them lie within
     the front, the catalogue or one block. Returns NULL if they are not mapped yet. They
     stay mapped until `release`. Any thread. When this member is NULL, nothing is
     lent. */
  const uint64_t *(*words_at)(const void *recording, uint64_t offset, size_t size);
  /* Returns the descriptor of the file, which the lender still owns, or -1. */
  int (*descriptor)(const void *recording);
  /* Ends the loan. To be called once. Any thread. */
  void (*release)(void *recording);
};

#pragma GCC visibility pop

#endif /* EVENTRING_FORMAT_LENT_MEMORY_H */
