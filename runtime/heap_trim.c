/* SPDX-License-Identifier: MIT */
/* runtime/heap_trim.c: giving free memory back to the system.
 *
 * Each major cycle ends with a walk over the chunks that notes which blocks are free. It
 * gives back blocks that were free at a walk of an earlier period (of a second at least)
 * and have not been taken since. So a program that needs the same memory in each cycle
 * keeps it: a call that takes pages away interrupts every processor that runs one of the
 * program's domains, and touching them again is slow. The memory that waits is limited to
 * the amount that is kept in any case, and some more. What exceeds that is given back at
 * once, and everything at the end of a full collection.
 *
 * Chunks come first, then extents (heap_extent.c), in the same way.
 */
#include "heap_internal.h"

#include <string.h>
#include <sys/mman.h>

#include "heap.h"
#include "mappings.h"

#define TRIM_LOOK 4096      /* bytes given back that take as long as examining a chunk */
#define PATIENCE_BLOCKS 256 /* free blocks beyond those kept that may stay a while */
#define PATIENCE_NS UINT64_C(1000000000)

static void unmap_chunk(Heap *h, Chunk **link) {
  Chunk *c = *link;
  for (uint32_t i = 1; i < c->nblocks; i++) remove_free(h, &c->blocks[i]);
  h->nblocks -= c->nblocks - 1u;
  *link = c->next;
  if (h->mapped == c) h->mapped = c->next;
  mapping_unmap(c, (size_t)c->mapped_blocks << HEAP_BLOCK_SHIFT);
}

void heap_trim_start(Heap *h, uint32_t keep) {
  mapping_drop_old();
  h->trim_link = &h->chunks;
  h->trim_extent = &h->extents;
  h->trim_keep = keep;
  uint64_t now = mapping_now();
  if (now - h->idle_since < PATIENCE_NS) return;
  h->idle_since = now;
  h->idle_mark = h->idle_mark == 1 ? 2 : 1;
}

static bool is_impatient(const Heap *h) { return h->nheld > 2 * h->trim_keep + PATIENCE_BLOCKS; }

/* Tells whether a block is free and has not been taken since a walk of an earlier period;
 * with `now`, whether it is free at all. */
static bool is_idle(const Heap *h, const Block *b, bool now) {
  return b->state == BLOCK_FREE && (now || (b->idle != 0 && b->idle != h->idle_mark));
}

static bool is_all_idle(const Heap *h, const Chunk *c, bool now) {
  if (c->free_blocks != c->nblocks - 1u) return false;
  uint32_t i = 1;
  while (i < c->nblocks && is_idle(h, &c->blocks[i], now)) i++;
  return i == c->nblocks;
}

#define PAGE 4096
#define PAGE_LINES (PAGE / HEAP_LINE_SIZE)

static bool is_free_page(const uint8_t *lines) {
  uint64_t used = 0;
  for (uint32_t i = 0; i < PAGE_LINES; i += 8) {
    uint64_t w;
    memcpy(&w, lines + i, sizeof w);
    used |= w;
  }
  return used == 0;
}

/* Gives back the free pages of a swept block that is partly in use. Done only at the end
 * of a full collection: these pages are likely to be used again. */
static void release_parts(Block *b) {
  _Static_assert(HEAP_BLOCK_SIZE / PAGE == 8, "a bit of released_pages for each");
  for (uint32_t i = 0; i < HEAP_BLOCK_SIZE / PAGE; i++) {
    if ((b->released_pages >> i & 1) || !is_free_page(block_lines(b) + i * PAGE_LINES)) continue;
    madvise(block_start(b) + (size_t)i * PAGE, PAGE, MADV_DONTNEED);
    b->released_pages |= (uint8_t)(1u << i);
  }
}

/* Gives back the idle blocks of a chunk, beyond those that are kept, and notes which of
 * the others are free; returns the bytes given back. */
static size_t trim_blocks(Heap *h, Chunk *c, bool now) {
  size_t done = 0;
  for (uint32_t i = 1, n; i < c->nblocks; i += n > 0 ? n : 1) {
    Block *b = &c->blocks[i];
    uint32_t most = h->nheld > h->trim_keep ? h->nheld - h->trim_keep : 0;
    for (n = 0; n < most && i + n < c->nblocks && !b[n].released && is_idle(h, &b[n], now);) n++;
    if (n == 0) {
      if (b->state == BLOCK_FREE && b->idle == 0) b->idle = h->idle_mark;
    } else if (c->hosted) {
      for (uint32_t k = 0; k < n; k++) heap_hosted_vacate(h, &b[k]);
    } else {
      madvise(block_start(b), (size_t)n << HEAP_BLOCK_SHIFT, MADV_DONTNEED);
      for (uint32_t k = 0; k < n; k++) b[k].released = 1;
      h->nheld -= n;
    }
    done += (size_t)n << HEAP_BLOCK_SHIFT;
  }
  return done;
}

/* Trims the next chunk; returns the bytes given back and the cost. The first of the list
 * is never unmapped. Of a hosted chunk only the blocks are given back, and the header
 * when none is left. */
static size_t trim_chunk(Heap *h, bool now) {
  Chunk *c = *h->trim_link;
  bool may_go = !c->hosted && h->trim_link != &h->chunks && c != h->home &&
                h->nfree >= h->trim_keep + HEAP_CHUNK_BLOCKS;
  if (may_go && is_all_idle(h, c, now)) {
    unmap_chunk(h, h->trim_link);
    return HEAP_CHUNK_SIZE;
  }
  size_t done = trim_blocks(h, c, now);
  if (c->hosted && c->vacant_blocks == HEAP_CHUNK_BLOCKS - 1) heap_hosted_drop(h, h->trim_link);
  else h->trim_link = &c->next;
  return done + TRIM_LOOK;
}

/* Tells whether extents hold so much free memory that it need not wait: more than may
 * wait in blocks, and nearly all of the extents. Otherwise what was in use until now is
 * likely to be used again. */
static bool has_many_extents(const Heap *h) {
  size_t most = (2 * (size_t)h->trim_keep + PATIENCE_BLOCKS) << HEAP_BLOCK_SHIFT;
  return h->extent_idle > most && h->extent_idle > h->extent_bytes / 4 * 3;
}

void heap_trim_parts(Heap *h) {
  for (Chunk *c = h->chunks; c != NULL; c = c->next)
    for (uint32_t i = 1; !c->hosted && i < c->nblocks; i++)
      if (c->blocks[i].state == BLOCK_RECYCLABLE) release_parts(&c->blocks[i]);
}

bool heap_trim(Heap *h, size_t most) {
  bool all = most == SIZE_MAX;
  if (all && h->twin != NULL) {
    mapping_unmap(h->twin, HEAP_CHUNK_SIZE);
    h->twin = NULL;
  }
  for (size_t done = 0; *h->trim_link != NULL; done += trim_chunk(h, all || is_impatient(h)))
    if (done >= most) return false;
  for (size_t done = 0; *h->trim_extent != NULL; done += extent_trim(h, all || has_many_extents(h)))
    if (done >= most) return false;
  return true;
}
