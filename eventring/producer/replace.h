/* SPDX-License-Identifier: MIT */
/* replace.h: blocks that are put together in private memory, and replace older ones. */
#ifndef EVENTRING_REPLACE_H
#define EVENTRING_REPLACE_H

#include <stdint.h>

#include "format/format.h"

#pragma GCC visibility push(hidden)

/* Seals the first `end` words of `words`, a block, and stores it over `to`, which its
   caller alone writes, as block number `sequence`. Readers that look meanwhile, and those
   of a process that was killed meanwhile, see that it is not whole (steps W1 to W4 of
   lane.c). */
void evr_block_replace(struct format_block *to, uint64_t *words, uint32_t end, uint64_t sequence);

#pragma GCC visibility pop

#endif /* EVENTRING_REPLACE_H */
