/* SPDX-License-Identifier: MIT */
/* lines.h: an allocator of blocks of one size, in whole cache lines, under a budget: see
 * lines.c. */
#ifndef EVENTRING_LINES_H
#define EVENTRING_LINES_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

enum { EVC_LINE = 64 };

struct evc_lines {
  size_t block_bytes; /* a multiple of EVC_LINE */
  size_t budget;      /* bytes, a multiple of EVC_LINE */
  size_t used;        /* bytes from `memory` on that were ever handed out */
  char *memory;       /* NULL if not taken yet */
  void *returned;     /* blocks that were given back: a list, each block has the address
                         of the next */
  bool borrowed;      /* the caller owns the memory */
  size_t *pool;       /* bytes that its users may still take; NULL if there is no pool */
  size_t cost;        /* bytes of the pool for each new block */
};

/* Begins an allocator of at most `budget` bytes, rounded up to one block. Takes no memory
   yet. */
void evc_lines_init(struct evc_lines *lines, size_t budget, size_t block_bytes);
/* Begins an allocator in memory of the caller, which begins at a cache line. */
void evc_lines_init_in(struct evc_lines *lines, void *memory, size_t bytes, size_t block_bytes);
/* Makes each new block take `cost` bytes out of the pool, which allocators may share. */
void evc_lines_draw_on(struct evc_lines *lines, size_t *pool, size_t cost);
/* Returns a block, or NULL if the budget is used up, or there is no memory. A new block
   is all zero; a block that is used again is not. */
void *evc_lines_take(struct evc_lines *lines);
void evc_lines_give_back(struct evc_lines *lines, void *block);
/* Frees the allocator's memory. */
void evc_lines_end(struct evc_lines *lines);

#pragma GCC visibility pop

#endif /* EVENTRING_LINES_H */
