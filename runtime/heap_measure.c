/* SPDX-License-Identifier: MIT */
/* runtime/heap_measure.c: what the memory of a heap is used for.
 *
 * Mapped memory need not be resident: chunks are used from their first blocks on, huge
 * arrays grow into mappings of twice their size, and free pages are given back. So the
 * system is asked which pages are resident, and each of them is divided by what the heap
 * knows of its lines. A line counts as live when anything old lies in it. In a block that
 * was allocated from since the last minor collection, lines that are not live count as
 * young as far as holes were filled (Heap.young_bytes), and as free beyond that.
 *
 * Only the domain's own thread comes here.
 */
#include "heap_measure.h"

#include <string.h>

#include "heap_internal.h"

#define PAGE ((size_t)4096)
#define PAGE_LINES (PAGE / HEAP_LINE_SIZE)
#define CHUNK_PAGES (HEAP_CHUNK_SIZE / PAGE)

void heap_measure_range(struct eventring_pages *pages, MemoryAmount *amount, const void *p,
                        size_t bytes) {
  amount->reserved += bytes;
  amount->resident += eventring_pages_resident(pages, p, bytes);
}

static void add(MemoryAmount *amount, size_t resident, size_t reserved) {
  amount->resident += resident;
  amount->reserved += reserved;
}

/* ---- blocks -------------------------------------------------------------- */

/* Returns the bytes of the hole that are not filled yet. */
static size_t unfilled(const Hole *hole, const char *cursor) {
  return hole->start != NULL ? (size_t)(hole->end - cursor) : 0;
}

/* Returns the bytes of lines that were filled since the last minor collection. */
static size_t filled_bytes(const Heap *h) {
  size_t left = unfilled(&h->hole, h->cursor) + unfilled(&h->medium, h->medium_cursor);
  return h->young_bytes > left ? h->young_bytes - left : 0;
}

static size_t used_lines(const uint8_t *lines) {
  size_t used = 0;
  for (size_t i = 0; i < PAGE_LINES; i++) used += lines[i] != 0;
  return used;
}

static void add_page(MemoryAmount *amount, bool there, size_t bytes) {
  add(amount, there ? bytes : 0, bytes);
}

/* Adds a page to the amounts. `fresh` gets the free lines of blocks that were allocated
 * from. */
static void measure_page(const Chunk *c, size_t page, bool there, HeapMemory *m,
                         MemoryAmount *fresh) {
  const Block *b = &c->blocks[page * PAGE >> HEAP_BLOCK_SHIFT];
  size_t live = used_lines(c->lines + page * PAGE_LINES) << HEAP_LINE_SHIFT;
  add_page(&m->live, there, live);
  add_page(b->state == BLOCK_CONSUMED ? fresh : &m->free, there, PAGE - live);
}

/* Finds which pages are resident. The system's pages may be larger than PAGE. */
static void find_pages(const Chunk *c, struct eventring_pages *pages, size_t count,
                       unsigned char *there) {
  if (pages->size == PAGE) {
    eventring_pages_there(pages, c, count, there);
    return;
  }
  for (size_t i = 0; i < count; i++)
    there[i] = eventring_pages_resident(pages, (const char *)c + i * PAGE, PAGE) != 0;
}

static void measure_chunk(const Chunk *c, struct eventring_pages *pages, HeapMemory *m,
                          MemoryAmount *fresh) {
  unsigned char there[CHUNK_PAGES];
  size_t own = HEAP_BLOCK_SIZE / PAGE, count = c->nblocks * own;
  find_pages(c, pages, count, there);
  for (size_t page = 0; page < count; page++) {
    if (page < own) add_page(&m->own, there[page], PAGE);
    else measure_page(c, page, there[page], m, fresh);
  }
}

/* Measures blocks whose memory is the allocator's: all of it counts as resident. */
static void measure_hosted(const Chunk *c, HeapMemory *m, MemoryAmount *fresh) {
  add_page(&m->own, true, sizeof *c);
  for (uint32_t i = 1; i < HEAP_CHUNK_BLOCKS; i++) {
    const Block *b = &c->blocks[i];
    if (b->state == BLOCK_VACANT) continue;
    size_t live = (size_t)(HEAP_BLOCK_LINES - b->free_lines) << HEAP_LINE_SHIFT;
    add_page(&m->live, true, live);
    add_page(b->state == BLOCK_CONSUMED ? fresh : &m->free, true, HEAP_BLOCK_SIZE - live);
  }
}

static void measure_chunks(const Heap *h, struct eventring_pages *pages, HeapMemory *m) {
  MemoryAmount fresh = {0, 0};
  size_t filled = filled_bytes(h);
  for (const Chunk *c = h->chunks; c != NULL; c = c->next) {
    if (c->hosted) measure_hosted(c, m, &fresh);
    else measure_chunk(c, pages, m, &fresh);
  }
  add_page(&m->free, true, (size_t)h->nreserve << HEAP_BLOCK_SHIFT);
  if (h->twin != NULL) heap_measure_range(pages, &m->free, h->twin, HEAP_CHUNK_SIZE);
  if (h->spare != NULL) heap_measure_range(pages, &m->free, h->spare, HEAP_CHUNK_SIZE);
  if (filled > fresh.resident) filled = fresh.resident;
  add(&m->young, filled, filled);
  add(&m->free, fresh.resident - filled, fresh.reserved - filled);
}

/* ---- large objects ------------------------------------------------------- */

static size_t round_to_unit(size_t size) {
  const size_t unit = (size_t)64 << 10; /* heap_large.c */
  return (size + unit - 1) & ~(unit - 1);
}

/* Returns the bytes of an allocation in an extent, with header and cards. */
static size_t extent_bytes_of(size_t size, bool cards) {
  size_t bytes = sizeof(LargeHeader) + heap_round(size);
  return extent_round(bytes + (cards ? (size >> HEAP_CARD_SHIFT) + 1 : 0));
}

static void measure_large(const LargeHeader *large, struct eventring_pages *pages,
                          HeapMemory *m, MemoryAmount *of) {
  if (large->external) {
    *(large->now != NULL ? &m->messages : &m->external) += large->size;
    return;
  }
  if (large->mapped != 0) {
    heap_measure_range(pages, of, large, large->mapped);
    if (large->cards != NULL)
      heap_measure_range(pages, &m->own, large->cards,
                         round_to_unit((large->size >> HEAP_CARD_SHIFT) + 1));
  } else if (!large->in_extent) {
    heap_measure_range(pages, m->hosted ? of : &m->loose, large, sizeof *large + large->size);
  } else {
    heap_measure_range(pages, of, large, extent_bytes_of(large->size, large->cards != NULL));
  }
}

static void measure_list(const LargeHeader *list, struct eventring_pages *pages, HeapMemory *m,
                         MemoryAmount *of) {
  for (const LargeHeader *large = list->next; large != list; large = large->next)
    measure_large(large, pages, m, of);
}

/* Measures large allocations, which lie in extents or in mappings of their own. */
static void measure_larges(const Heap *h, struct eventring_pages *pages, HeapMemory *m) {
  measure_list(&h->large_old, pages, m, &m->live);
  measure_list(&h->large_young, pages, m, &m->young);
  for (const LargeHeader *large = h->dying.next; large != &h->dying; large = large->next)
    heap_measure_range(pages, &m->dead, large, large->mapped);
}

void heap_measure(const Heap *h, struct eventring_pages *pages, HeapMemory *m) {
  memset(m, 0, sizeof *m);
  m->hosted = heap_is_hosted(h);
  measure_chunks(h, pages, m);
  measure_larges(h, pages, m);
  extent_measure(h, pages, m);
  m->external += h->buffer_bytes;
}

/* ---- by counts ------------------------------------------------------------ */

void heap_reckon(const Heap *h, HeapMemory *m) {
  size_t blocks = (size_t)h->nblocks << HEAP_BLOCK_SHIFT;
  size_t held = blocks - ((size_t)(h->nfree - h->nheld) << HEAP_BLOCK_SHIFT);
  size_t live = h->used_lines << HEAP_LINE_SHIFT, young = filled_bytes(h);
  size_t external = h->external_bytes;
  size_t old = h->old_large_bytes, young_large = h->young_large_bytes;
  memset(m, 0, sizeof *m);
  if (live > held) live = held;
  if (young > held - live) young = held - live;
  add(&m->live, live, live);
  add(&m->young, young, young);
  add(&m->free, held - live - young, blocks - live - young);
  size_t chunks = (h->nblocks + HEAP_CHUNK_BLOCKS - 2) / (HEAP_CHUNK_BLOCKS - 1);
  add(&m->own, chunks * sizeof(Chunk), chunks * HEAP_BLOCK_SIZE);
  /* memory outside the heap is counted among the large allocations, young or old */
  size_t large = old + young_large > external ? old + young_large - external : 0;
  if (old > large) old = large;
  add(&m->live, old, old);
  add(&m->young, large - old, large - old);
  add(&m->free, h->extent_idle, h->extent_bytes > old ? h->extent_bytes - old : h->extent_idle);
  if (m->free.reserved < m->free.resident) m->free.reserved = m->free.resident;
  add(&m->dead, h->dying_bytes, h->dying_bytes);
  m->external = external + h->buffer_bytes;
}
