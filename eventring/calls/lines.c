/* SPDX-License-Identifier: MIT */
/* lines.c: an allocator of blocks of one size under a budget.
 *
 * All blocks lie one behind the other in one mapping of the size of the budget. So a
 * block has a number, and no two blocks share a cache line. The mapping is made when the
 * first block is taken, and the kernel supplies pages as they are touched: unused budget
 * costs only address space. Several allocators may draw on one pool, so that what one
 * allocator does not need is left to the others.
 */
#include "calls/lines.h"

#include <stdint.h>
#include <sys/mman.h>

static size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

void evc_lines_init(struct evc_lines *lines, size_t budget, size_t block_bytes) {
  size_t block = round_up(block_bytes ? block_bytes : 1, EVC_LINE);
  size_t most = PTRDIFF_MAX / 2;
  budget = budget < block ? block : budget < most ? budget : most;
  *lines = (struct evc_lines){.block_bytes = block, .budget = budget};
}

void evc_lines_init_in(struct evc_lines *lines, void *memory, size_t bytes,
                       size_t block_bytes) {
  evc_lines_init(lines, bytes, block_bytes);
  lines->budget = bytes; /* this may be less than a block */
  lines->memory = memory;
  lines->borrowed = true;
}

void evc_lines_draw_on(struct evc_lines *lines, size_t *pool, size_t cost) {
  lines->pool = pool;
  lines->cost = cost;
}

static bool take_memory(struct evc_lines *lines) {
  void *memory = mmap(NULL, lines->budget, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  lines->memory = memory;
  return true;
}

void *evc_lines_take(struct evc_lines *lines) {
  void *block = lines->returned;
  if (block) {
    lines->returned = *(void **)block;
    return block;
  }
  if (lines->budget - lines->used < lines->block_bytes) return NULL;
  if (lines->pool && *lines->pool < lines->cost) return NULL;
  if (!lines->memory && !take_memory(lines)) return NULL;
  if (lines->pool) *lines->pool -= lines->cost;
  block = lines->memory + lines->used;
  lines->used += lines->block_bytes;
  return block;
}

void evc_lines_give_back(struct evc_lines *lines, void *block) {
  *(void **)block = lines->returned;
  lines->returned = block;
}

void evc_lines_end(struct evc_lines *lines) {
  if (lines->memory && !lines->borrowed) munmap(lines->memory, lines->budget);
  lines->memory = NULL;
  lines->returned = NULL;
  lines->used = 0;
}
