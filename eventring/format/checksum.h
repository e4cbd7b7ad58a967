/* SPDX-License-Identifier: MIT */
/* checksum.h: checksums of blocks and of the front (doc/FORMAT.md, section 8). */
#ifndef EVENTRING_CHECKSUM_H
#define EVENTRING_CHECKSUM_H

#include <stdint.h>

#include "format/format.h"

#pragma GCC visibility push(hidden)

/* Returns the checksum of words[0 .. count-1] of a block, its header included. Takes
   FORMAT_SEAL_WORD as 0. `count` is from FORMAT_BLOCK_HEADER_WORDS to
   FORMAT_BLOCK_WORDS. */
uint32_t evr_checksum(const uint64_t *words, uint32_t count);

/* The state of a checksum to which words are added one by one; begins zeroed. */
struct evr_sums {
  uint64_t plain, weighted;
};
static inline void evr_sums_add(struct evr_sums *sums, const uint64_t *words, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    sums->plain += words[i];
    sums->weighted += sums->plain; /* adds 1 to the weight of all words so far */
  }
}
uint32_t evr_sums_checksum(const struct evr_sums *sums);

/* Returns the checksum of the words written so far of a block of records. Takes
   FORMAT_SEAL_WORD and FORMAT_SO_FAR_WORD as 0. */
uint32_t evr_checksum_so_far(const uint64_t *words, uint32_t count);
/* Returns the checksum of the file header. */
uint32_t evr_header_checksum(const struct format_header *header);
/* Returns the checksum of the status page and the `tables`: the domain table and the run
   table, FORMAT_TABLES_BYTES together. */
uint32_t evr_front_checksum(const struct format_status *status, const uint64_t *tables);

/* Returns the members `committed` and `checksum` of a block header as one word. */
static inline uint64_t evr_seal(uint32_t count, uint32_t checksum) {
  return count | (uint64_t)checksum << 32;
}

#pragma GCC visibility pop

#endif /* EVENTRING_CHECKSUM_H */
