/* SPDX-License-Identifier: MIT */
/* runtime/heap_internal.h: blocks and their lists, shared by the files of the heap. */
#ifndef SAROS_RUNTIME_HEAP_INTERNAL_H
#define SAROS_RUNTIME_HEAP_INTERNAL_H

#include "heap.h"

/* ---- lists of blocks ----------------------------------------------------- */

static inline void list_push_first(BlockList *list, Block *b) {
  b->prev = NULL;
  b->next = list->first;
  if (list->first) list->first->prev = b;
  else list->last = b;
  list->first = b;
}

static inline void list_push_last(BlockList *list, Block *b) {
  b->next = NULL;
  b->prev = list->last;
  if (list->last) list->last->next = b;
  else list->first = b;
  list->last = b;
}

static inline void list_remove(BlockList *list, Block *b) {
  if (b->prev) b->prev->next = b->next;
  else list->first = b->next;
  if (b->next) b->next->prev = b->prev;
  else list->last = b->prev;
}

static inline Chunk *chunk_of_block(const Block *b) {
  return (Chunk *)((uintptr_t)b - b->offset);
}

static inline char *block_start(const Block *b) { return b->start; }

static inline uint8_t *block_lines(const Block *b) {
  return &chunk_of_block(b)->lines[b->index * HEAP_BLOCK_LINES];
}

static inline void set_up_block(Chunk *c, uint32_t i) {
  Block *b = &c->blocks[i];
  b->offset = (uint16_t)((char *)b - (char *)c);
  b->index = (uint8_t)i;
}

static inline void push_free(Heap *h, Block *b, bool warm) {
  b->state = BLOCK_FREE;
  b->idle = 0;
  b->free_lines = HEAP_BLOCK_LINES;
  if (warm) list_push_first(&h->free, b);
  else list_push_last(&h->free, b);
  h->nfree++;
  h->nheld += !b->released;
  chunk_of_block(b)->free_blocks++;
}

static inline void remove_free(Heap *h, Block *b) {
  list_remove(&h->free, b);
  h->nfree--;
  h->nheld -= !b->released;
  chunk_of_block(b)->free_blocks--;
}

#endif
