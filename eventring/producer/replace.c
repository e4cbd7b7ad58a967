/* SPDX-License-Identifier: MIT */
/* replace.c: a block replaces an older one. */
#include "producer/replace.h"

#include "format/atomics.h"
#include "format/checksum.h"

void evr_block_replace(struct format_block *to, uint64_t *words, uint32_t end, uint64_t sequence) {
  words[0] = sequence;
  words[FORMAT_SEAL_WORD] = evr_seal(end, evr_checksum(words, end));
  __atomic_store_n(&to->sequence, 0, __ATOMIC_RELEASE); /* W1 */
  evr_fence_release();                                  /* W2 */
  evr_store_words((uint64_t *)to + 1, words + 1, (end - 1) * sizeof *words);
  if (end < FORMAT_BLOCK_WORDS) /* a shorter block may replace a longer one */
    evr_store_zeros((uint64_t *)to + end, FORMAT_BLOCK_WORDS - end);
  /* release: pairs with the acquire load R1 in mapped_records (reader/block.c): a reader
     that sees the number sees the words */
  __atomic_store_n(&to->sequence, sequence, __ATOMIC_RELEASE); /* W4 */
}
