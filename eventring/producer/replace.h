/* SPDX-License-Identifier: MIT */
/* replace.h: blocks that are built in private memory and replace older ones. */
#ifndef EVENTRING_REPLACE_H
#define EVENTRING_REPLACE_H

#include <stdint.h>

#include "format/format.h"

#pragma GCC visibility push(hidden)

/* Seals the first `end` words of the block `words` and stores it over `to`, as block
   number `sequence`. Only the caller writes `to`. Readers can see when a block is not
   whole, because it is just being stored or the process was killed meanwhile (steps W1 to
   W4 of lane.c). */
void evr_block_replace(struct format_block *to, uint64_t *words, uint32_t end, uint64_t sequence);

#pragma GCC visibility pop

#endif /* EVENTRING_REPLACE_H */
