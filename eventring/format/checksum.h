/* SPDX-License-Identifier: MIT */
/* checksum.h: the checksum of a finished block (doc/FORMAT.md, section 8). */
#ifndef EVENTRING_CHECKSUM_H
#define EVENTRING_CHECKSUM_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Of words[0 .. count-1], the header first, with its FORMAT_SEAL_WORD taken as 0.
   `count` is from FORMAT_BLOCK_HEADER_WORDS to FORMAT_BLOCK_WORDS. */
uint32_t evr_checksum(const uint64_t *words, uint32_t count);

/* committed and checksum as the header has them, in one word. */
static inline uint64_t evr_seal(uint32_t count, uint32_t checksum) {
  return count | (uint64_t)checksum << 32;
}

#pragma GCC visibility pop

#endif /* EVENTRING_CHECKSUM_H */
