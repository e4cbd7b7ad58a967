/* runtime/heap.c: the mark-region heap of a domain.
 *
 * Design
 * ------
 * After Immix (S. Blackburn, K. McKinley: "Immix: a mark-region garbage
 * collector", PLDI 2008), without its evacuation: objects never move.
 *
 *   chunk   1 MiB, aligned to its size, from mmap. In the place of its first
 *           block lie one byte a line and one Block a block, so that line byte
 *           and block of an address are found by masking it.
 *   block   32 KiB of 256 lines; in exactly one state, see BlockState.
 *   line    128 bytes; its byte is 0 when it holds nothing old.
 *
 * Allocation bumps `cursor` up to `limit` through a hole: a run of lines whose
 * byte is 0. At its end the next hole of the same block is taken, then the
 * next block: recyclable ones, free ones, a new chunk; those that the last
 * minor collection examined come first, since they are in the cache.
 * An object of more than a line that does not fit the hole goes to a second
 * cursor in a wholly free block, so that no more than a line is wasted.
 *
 * Line bytes. Bit 1 or bit 2, whichever is Gc.line_bit in this major cycle, is
 * set for each line that a survivor covers: by a minor collection when it
 * promotes, by the major cycle when it marks. Sweeping a block is one AND.
 *
 * Invariants
 *   - A young object lies in lines whose byte is 0, in a CONSUMED block. So a
 *     consumed block is not allocated from again until a minor collection has
 *     examined it, except through the current holes.
 *   - free_lines of a block that is not consumed is the number of its zero
 *     bytes; used_lines is the sum of (256 - free_lines) of all blocks.
 *   - Blocks of fewer than MIN_FREE_LINES free lines are FULL: in no list.
 *   - A part on its own (no header) is in lines marked with its owner, each time
 *     the owner is promoted, marked or rescanned.
 *
 * Large allocations come from malloc, behind a LargeHeader; young and old
 * ones in a list each. Large parts have a byte a card of 128 bytes, a
 * bit of it for each 16, for the write barrier.
 *
 * Nothing here collects. When memory is short, heap_try_... answer NULL and
 * note an emergency, so that the next gc_check collects everything; the
 * others raise LUA_ERRMEM.
 *
 * Only the domain's own thread comes here.
 */
#include "heap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "domain.h"

#define MIN_FREE_LINES 8     /* of a block worth allocating from */
#define SMALL_LEFTOVER 256   /* bytes of a hole that may be wasted for a medium object */
#define HUGE_PAGES_FROM 16   /* chunks: from this size of the heap on, ask for huge pages */

/* ---- lists of blocks ------------------------------------------------------- */

static void list_push_first(BlockList *list, Block *b) {
  b->prev = NULL;
  b->next = list->first;
  if (list->first) list->first->prev = b;
  else list->last = b;
  list->first = b;
}

static void list_push_last(BlockList *list, Block *b) {
  b->next = NULL;
  b->prev = list->last;
  if (list->last) list->last->next = b;
  else list->first = b;
  list->last = b;
}

static void list_remove(BlockList *list, Block *b) {
  if (b->prev) b->prev->next = b->next;
  else list->first = b->next;
  if (b->next) b->next->prev = b->prev;
  else list->last = b->prev;
}

static Chunk *chunk_of_block(const Block *b) { return heap_chunk_of(b); }

static uint32_t block_index(const Block *b) { return (uint32_t)(b - chunk_of_block(b)->blocks); }

static char *block_start(const Block *b) {
  return (char *)chunk_of_block(b) + ((size_t)block_index(b) << HEAP_BLOCK_SHIFT);
}

static uint8_t *block_lines(const Block *b) {
  return &chunk_of_block(b)->lines[block_index(b) * HEAP_BLOCK_LINES];
}

/* ---- chunks ------------------------------------------------------------------ */

/* `size` bytes aligned to `align`; NULL when the system has none. */
static void *map_aligned(size_t size, size_t align) {
  char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return NULL;
  if (((uintptr_t)p & (align - 1)) == 0) return p;
  munmap(p, size);
  p = mmap(NULL, size + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return NULL;
  char *aligned = (char *)(((uintptr_t)p + align - 1) & ~(uintptr_t)(align - 1));
  if (aligned > p) munmap(p, (size_t)(aligned - p));
  if (p + align > aligned) munmap(aligned + size, (size_t)(p + align - aligned));
  return aligned;
}

static void push_free(Heap *h, Block *b, bool warm) {
  b->state = BLOCK_FREE;
  b->free_lines = HEAP_BLOCK_LINES;
  if (warm) list_push_first(&h->free, b);
  else list_push_last(&h->free, b);
  h->nfree++;
  chunk_of_block(b)->free_blocks++;
}

static void remove_free(Heap *h, Block *b) {
  list_remove(&h->free, b);
  h->nfree--;
  chunk_of_block(b)->free_blocks--;
}

/* A chunk's memory is zero: lines free, blocks zero. */
static void add_chunk(Heap *h, Chunk *c) {
  c->next = h->chunks;
  h->chunks = c;
  for (uint32_t i = 1; i < HEAP_CHUNK_BLOCKS; i++) {
    c->blocks[i].released = 1;
    push_free(h, &c->blocks[i], false);
  }
  h->nblocks += HEAP_CHUNK_BLOCKS - 1;
}

/* May the heap take so many bytes more? */
static bool has_room(const Heap *h, size_t bytes) {
  if (likely(h->most_bytes == 0)) return true;
  size_t used = ((size_t)h->nblocks << HEAP_BLOCK_SHIFT) + h->young_large_bytes + h->old_large_bytes;
  return used <= h->most_bytes && bytes <= h->most_bytes - used;
}

/* A big heap grows by two chunks at a time, on a huge page where the system has them. */
static bool grow_heap(Heap *h) {
  if (!has_room(h, HEAP_CHUNK_SIZE)) return false;
  if (h->nblocks >= HUGE_PAGES_FROM * (HEAP_CHUNK_BLOCKS - 1)) {
    char *pair = map_aligned(2 * HEAP_CHUNK_SIZE, 2 * HEAP_CHUNK_SIZE);
    if (pair != NULL) {
      madvise(pair, 2 * HEAP_CHUNK_SIZE, MADV_HUGEPAGE);
      add_chunk(h, (Chunk *)pair);
      add_chunk(h, (Chunk *)(pair + HEAP_CHUNK_SIZE));
      return true;
    }
  }
  Chunk *c = map_aligned(HEAP_CHUNK_SIZE, HEAP_CHUNK_SIZE);
  if (c == NULL) return false;
  add_chunk(h, c);
  return true;
}

static void unmap_chunk(Heap *h, Chunk **link) {
  Chunk *c = *link;
  for (uint32_t i = 1; i < HEAP_CHUNK_BLOCKS; i++) remove_free(h, &c->blocks[i]);
  h->nblocks -= HEAP_CHUNK_BLOCKS - 1;
  *link = c->next;
  munmap(c, HEAP_CHUNK_SIZE);
}

void heap_trim(Heap *h, uint32_t keep) {
  for (Chunk **link = &h->chunks; *link != NULL && h->nfree > keep;) {
    bool whole = (*link)->free_blocks == HEAP_CHUNK_BLOCKS - 1;
    if (whole && h->nfree >= keep + HEAP_CHUNK_BLOCKS && (*link)->next != NULL) unmap_chunk(h, link);
    else link = &(*link)->next;
  }
  Block *b = h->free.last; /* the coldest are at the end */
  for (uint32_t n = h->nfree; b != NULL && n > keep; n--, b = b->prev) {
    if (b->released) continue;
    madvise(block_start(b), HEAP_BLOCK_SIZE, MADV_DONTNEED);
    b->released = 1;
  }
}

/* ---- holes -------------------------------------------------------------------- */

#define BYTES_OF(x) (UINT64_C(0x0101010101010101) * (x))

static uint64_t load_lines(const uint8_t *p) {
  uint64_t w;
  memcpy(&w, p, sizeof w);
  return w;
}

/* Number of zero bytes among a block's lines (whose bytes are 0 to 3). */
static uint32_t count_free_lines(const uint8_t *lines) {
  uint64_t used = 0; /* eight sums of at most 32 */
  for (uint32_t i = 0; i < HEAP_BLOCK_LINES; i += 8) {
    uint64_t w = load_lines(lines + i);
    used += (w | w >> 1) & BYTES_OF(1);
  }
  used = (used & UINT64_C(0x00ff00ff00ff00ff)) + (used >> 8 & UINT64_C(0x00ff00ff00ff00ff));
  return HEAP_BLOCK_LINES - (uint32_t)(used * UINT64_C(0x0001000100010001) >> 48);
}

/* First line from `i` on that is free; HEAP_BLOCK_LINES: none. */
static uint32_t next_free_line(const uint8_t *lines, uint32_t i) {
  while (i < HEAP_BLOCK_LINES && lines[i] != 0) i++;
  return i;
}

static uint32_t next_used_line(const uint8_t *lines, uint32_t i) {
  while (i < HEAP_BLOCK_LINES) {
    if ((i & 7) == 0 && load_lines(lines + i) == 0) i += 8;
    else if (lines[i] != 0) break;
    else i++;
  }
  return i;
}

/* Bytes were taken: a collection may be due. */
static void note_taken(Domain *d) {
  if (heap_debt(&d->heap) >= d->gc.trigger) d->gc.pending = 1;
}

/* Makes the first hole from line `i` of the current block the current one. */
static bool take_hole_in_block(Domain *d, uint32_t i) {
  Heap *h = &d->heap;
  const uint8_t *lines = block_lines(h->current);
  uint32_t from = next_free_line(lines, i);
  if (from == HEAP_BLOCK_LINES) return false;
  uint32_t to = next_used_line(lines, from);
  char *start = block_start(h->current);
  h->hole = h->cursor = start + ((size_t)from << HEAP_LINE_SHIFT);
  h->limit = start + ((size_t)to << HEAP_LINE_SHIFT);
  h->young_bytes += (size_t)(h->limit - h->cursor);
  note_taken(d);
  return true;
}

static void consume(Heap *h, Block *b) {
  b->state = BLOCK_CONSUMED;
  b->released = 0;
  list_push_first(&h->consumed, b);
}

static Block *take_free_block(Heap *h) {
  if (h->free.first == NULL && !grow_heap(h)) return NULL;
  Block *b = h->free.first;
  remove_free(h, b);
  consume(h, b);
  return b;
}

/* Warm blocks first; among cold ones those that are partly in use. */
static Block *take_block(Heap *h) {
  Block *r = h->recyclable.first, *f = h->free.first;
  if (r == NULL || (r->epoch != h->epoch && f != NULL && f->epoch == h->epoch && !f->released))
    return take_free_block(h);
  list_remove(&h->recyclable, r);
  consume(h, r);
  return r;
}

static bool take_hole(Domain *d) {
  Heap *h = &d->heap;
  if (h->current != NULL) {
    size_t used = (size_t)(h->limit - block_start(h->current));
    if (take_hole_in_block(d, (uint32_t)(used >> HEAP_LINE_SHIFT))) return true;
  }
  Block *b;
  do {
    if ((b = take_block(h)) == NULL) return false;
    h->current = b;
  } while (!take_hole_in_block(d, 0));
  return true;
}

static bool take_overflow_block(Domain *d) {
  Heap *h = &d->heap;
  Block *b = take_free_block(h);
  if (b == NULL) return false;
  h->overflow_cursor = block_start(b);
  h->overflow_limit = h->overflow_cursor + HEAP_BLOCK_SIZE;
  h->young_bytes += HEAP_BLOCK_SIZE;
  note_taken(d);
  return true;
}

/* ---- small allocations ----------------------------------------------------------- */

static void *bump(Heap *h, size_t size) {
  char *p = h->cursor;
  if (size > (size_t)(h->limit - p)) return NULL;
  h->cursor = p + size;
  return p;
}

/* Keeps the cursor aligned to 16 bytes (userdata_new counts on it). */
static void *bump_overflow(Heap *h, size_t size) {
  char *p = h->overflow_cursor;
  size = (size + 15) & ~(size_t)15;
  if (size > (size_t)(h->overflow_limit - p)) return NULL;
  h->overflow_cursor = p + size;
  return p;
}

/* More than a line: the current hole is left only when little of it is lost. */
static void *alloc_medium(Domain *d, size_t size) {
  Heap *h = &d->heap;
  void *p;
  if ((size_t)(h->limit - h->cursor) <= SMALL_LEFTOVER) {
    if (!take_hole(d)) return NULL;
    if ((p = bump(h, size)) != NULL) return p;
  }
  if ((p = bump_overflow(h, size)) != NULL) return p;
  return take_overflow_block(d) ? bump_overflow(h, size) : NULL;
}

static void *alloc_small(Domain *d, size_t size) {
  Heap *h = &d->heap;
  void *p = bump(h, size);
  if (p != NULL) return p;
  if (size > HEAP_LINE_SIZE) return alloc_medium(d, size);
  return take_hole(d) ? bump(h, size) : NULL;
}

/* ---- large allocations -------------------------------------------------------------- */

static void link_large(LargeHeader *list, LargeHeader *large) {
  large->prev = list;
  large->next = list->next;
  list->next->prev = large;
  list->next = large;
}

static void unlink_large(LargeHeader *large) {
  large->prev->next = large->next;
  large->next->prev = large->prev;
}

static size_t card_count(size_t size) { return (size >> HEAP_CARD_SHIFT) + 1; }

/* Bytes of the whole allocation; 0 when that is beyond all bounds. */
static size_t large_total(size_t size, bool cards) {
  if (size > PTRDIFF_MAX / 2) return 0;
  return sizeof(LargeHeader) + heap_round(size) + (cards ? card_count(size) : 0);
}

static uint8_t *place_of_cards(LargeHeader *large, size_t size) {
  return (uint8_t *)(large + 1) + heap_round(size);
}

static void *alloc_large(Domain *d, size_t size, bool cards) {
  Heap *h = &d->heap;
  size_t total = large_total(size, cards);
  LargeHeader *large = total != 0 && has_room(h, size) ? malloc(total) : NULL;
  if (large == NULL) return NULL;
  large->size = size;
  large->mark = 0;
  large->fresh = 1;
  large->logged = 0;
  large->cards = cards ? place_of_cards(large, size) : NULL;
  if (cards) memset(large->cards, 0, card_count(size));
  link_large(&h->large_young, large);
  h->young_large_bytes += size;
  h->large_debt += size;
  note_taken(d);
  return large + 1;
}

static size_t *large_counter(Heap *h, const LargeHeader *large) {
  return large->mark == 0 ? &h->young_large_bytes : &h->old_large_bytes;
}

void heap_large_free(Heap *h, LargeHeader *large) {
  *large_counter(h, large) -= large->size;
  unlink_large(large);
  free(large);
}

void heap_large_promote(Heap *h, LargeHeader *large, uint8_t bit) {
  if (large->mark == 0) {
    h->young_large_bytes -= large->size;
    h->old_large_bytes += large->size;
    unlink_large(large);
    link_large(&h->large_old, large);
  }
  large->mark |= bit;
}

/* Grows or shrinks in place or by moving; cards keep their values. */
static LargeHeader *resize_large(Domain *d, LargeHeader *large, size_t size) {
  Heap *h = &d->heap;
  size_t old = large->size, total = large_total(size, true);
  if (total == 0 || (size > old && !has_room(h, size - old))) return NULL;
  if (size < old) memmove(place_of_cards(large, size), place_of_cards(large, old), card_count(size));
  LargeHeader *moved = realloc(large, total);
  if (moved == NULL) {
    if (size > old) return NULL;
    moved = large; /* it cannot shrink: the rest stays unused */
  }
  moved->prev->next = moved->next->prev = moved;
  if (size > old) {
    memmove(place_of_cards(moved, size), place_of_cards(moved, old), card_count(old));
    memset(place_of_cards(moved, size) + card_count(old), 0, card_count(size) - card_count(old));
    h->large_debt += size - old;
  }
  moved->cards = place_of_cards(moved, size);
  *large_counter(h, moved) += size - old; /* modulo arithmetic when it shrinks */
  moved->size = size;
  note_taken(d);
  return moved;
}

/* ---- interface ------------------------------------------------------------------------ */

static void *note_failure(Domain *d) {
  d->gc.emergency = 1;
  d->gc.pending = 1;
  return NULL;
}

void *heap_try_alloc(Domain *d, size_t size) {
  void *p = heap_is_large(size) ? alloc_large(d, size, false) : alloc_small(d, size);
  return p != NULL ? p : note_failure(d);
}

void *heap_try_alloc_part(Domain *d, size_t size) {
  if (!heap_is_large(size)) return heap_try_alloc(d, heap_round(size));
  void *p = alloc_large(d, size, true);
  return p != NULL ? p : note_failure(d);
}

NOINLINE void *heap_alloc_slow(lua_State *L, size_t size) {
  void *p = heap_try_alloc(L->domain, size);
  if (unlikely(p == NULL)) error_memory(L);
  return p;
}

void *heap_alloc_part(lua_State *L, size_t size) {
  if (unlikely(size == 0)) return NULL;
  if (likely(!heap_is_large(size))) return heap_alloc(L, heap_round(size));
  void *p = heap_try_alloc_part(L->domain, size);
  if (unlikely(p == NULL)) error_memory(L);
  return p;
}

void heap_free_part(lua_State *L, void *part, size_t size) {
  if (part == NULL || size == 0) return;
  Heap *h = &L->domain->heap;
  if (heap_is_large(size)) gc_large_part_gone(L->domain, heap_large_of(part));
  else if ((char *)part + heap_round(size) == h->cursor && (char *)part >= h->hole) h->cursor = part;
  else if (heap_line_of(part) != 0 && h->live_bytes >= size) h->live_bytes -= size; /* it was old */
}

void *heap_grow_part(lua_State *L, void *part, size_t old_size, size_t new_size) {
  Heap *h = &L->domain->heap;
  if (part != NULL && heap_is_large(old_size) && heap_is_large(new_size)) {
    gc_large_part_moving(L->domain, heap_large_of(part));
    LargeHeader *moved = resize_large(L->domain, heap_large_of(part), new_size);
    if (moved == NULL) {
      note_failure(L->domain);
      error_memory(L);
    }
    return moved + 1;
  }
  size_t old_end = heap_round(old_size), new_end = heap_round(new_size);
  bool last = part != NULL && (char *)part + old_end == h->cursor && (char *)part >= h->hole;
  if (last && !heap_is_large(new_size) && new_end <= (size_t)(h->limit - (char *)part)) {
    h->cursor = (char *)part + new_end;
    return part;
  }
  void *copy = heap_alloc_part(L, new_size);
  if (part != NULL) memcpy(copy, part, old_size < new_size ? old_size : new_size);
  heap_free_part(L, part, old_size);
  return copy;
}

/* ---- for the collector --------------------------------------------------------------------- */

void heap_retire(Heap *h) {
  h->young_bytes -= (size_t)(h->limit - h->cursor) + (size_t)(h->overflow_limit - h->overflow_cursor);
  h->cursor = h->limit = h->hole = NULL;
  h->overflow_cursor = h->overflow_limit = NULL;
  h->current = NULL;
}

#ifdef SAROS_DEBUG
/* Makes a pointer to something that was reclaimed conspicuous. */
static void poison_free_lines(const Block *b) {
  const uint8_t *lines = block_lines(b);
  for (uint32_t i = 0; i < HEAP_BLOCK_LINES; i++)
    if (lines[i] == 0) memset(block_start(b) + ((size_t)i << HEAP_LINE_SHIFT), 0xDB, HEAP_LINE_SIZE);
}
#else
#define poison_free_lines(b) ((void)(b))
#endif

/* Puts a block that is in no list where its number of free lines says. */
static void file_block(Heap *h, Block *b, bool warm) {
  if (b->free_lines == HEAP_BLOCK_LINES) {
    push_free(h, b, warm);
  } else if (b->free_lines < MIN_FREE_LINES) {
    b->state = BLOCK_FULL;
  } else {
    b->state = BLOCK_RECYCLABLE;
    if (warm) list_push_first(&h->recyclable, b);
    else list_push_last(&h->recyclable, b);
  }
}

static void examine(Heap *h, Block *b) {
  uint32_t free_lines = count_free_lines(block_lines(b));
  h->used_lines += (size_t)b->free_lines - free_lines; /* modulo arithmetic when lines were freed */
  b->free_lines = (uint16_t)free_lines;
}

void heap_reclaim_young(Heap *h) {
  h->epoch++;
  /* Oldest first, so that the one used last ends on top. */
  for (Block *b = h->consumed.last, *prev; b != NULL; b = prev) {
    prev = b->prev;
    examine(h, b);
    b->epoch = h->epoch;
    poison_free_lines(b);
    file_block(h, b, true);
  }
  h->consumed = (BlockList){0};
  while (h->large_young.next != &h->large_young) heap_large_free(h, h->large_young.next);
  h->young_bytes = h->large_debt = h->thread_debt = 0;
}

void heap_sweep_block(Heap *h, Chunk *c, uint32_t index, uint8_t line_bit) {
  Block *b = &c->blocks[index];
  if (b->state == BLOCK_FREE) return;
  uint8_t *lines = block_lines(b);
  uint64_t mask = BYTES_OF(line_bit);
  for (uint32_t i = 0; i < HEAP_BLOCK_LINES; i += 8) {
    uint64_t w = load_lines(lines + i) & mask;
    memcpy(lines + i, &w, sizeof w);
  }
  examine(h, b);
  if (b->state == BLOCK_CONSUMED) return; /* holds young objects: filed by the next minor */
  poison_free_lines(b);
  if (b->state == BLOCK_RECYCLABLE) {
    if (b->free_lines < HEAP_BLOCK_LINES) return;
    list_remove(&h->recyclable, b);
  }
  file_block(h, b, false);
}

void heap_init(Heap *h) {
  *h = (Heap){0};
  h->large_young.next = h->large_young.prev = &h->large_young;
  h->large_old.next = h->large_old.prev = &h->large_old;
}

void heap_close(Heap *h) {
  while (h->large_young.next != &h->large_young) heap_large_free(h, h->large_young.next);
  while (h->large_old.next != &h->large_old) heap_large_free(h, h->large_old.next);
  for (Chunk *c = h->chunks, *next; c != NULL; c = next) {
    next = c->next;
    munmap(c, HEAP_CHUNK_SIZE);
  }
  h->chunks = NULL;
}
