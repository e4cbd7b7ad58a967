/* runtime/heap.c: the mark-region heap of a domain.
 *
 * Design
 * ------
 * After Immix (S. Blackburn, K. McKinley: "Immix: a mark-region garbage
 * collector", PLDI 2008), without its evacuation: objects never move.
 *
 *   chunk   1 MiB, aligned to its size, from mappings.h. In the place of its first
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
 * Huge pages are not asked for: the first touch of one clears 2 MiB at once, which
 * is a pause of 0.2 ms where the machine has the memory at hand and was one of 5 ms
 * on a virtual machine that had to get it from its host; the gain in speed was too
 * small to be seen.
 *
 * Large allocations: heap_large.c.
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
#include "mappings.h"
#include "stress.h"

#define MIN_FREE_LINES 8     /* of a block worth allocating from */
#define SMALL_LEFTOVER 256   /* bytes of a hole that may be wasted for a medium object */
#define TRIM_LOOK 4096       /* bytes given back that looking at a chunk costs as much as */
#define PATIENCE_BLOCKS 256  /* free blocks beyond those to keep that may stay for a while */
#define PATIENCE_NS UINT64_C(1000000000)

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

static void push_free(Heap *h, Block *b, bool warm) {
  b->state = BLOCK_FREE;
  b->idle = 0;
  b->free_lines = HEAP_BLOCK_LINES;
  if (warm) list_push_first(&h->free, b);
  else list_push_last(&h->free, b);
  h->nfree++;
  h->nheld += !b->released;
  chunk_of_block(b)->free_blocks++;
}

static void remove_free(Heap *h, Block *b) {
  list_remove(&h->free, b);
  h->nfree--;
  h->nheld -= !b->released;
  chunk_of_block(b)->free_blocks--;
}

/* A new chunk's memory is zero: lines free, blocks zero. */
static void add_chunk(Heap *h, Chunk *c) {
  bool used = c->used;
  if (used) memset(c, 0, sizeof *c);
  c->next = h->chunks;
  h->chunks = c;
  for (uint32_t i = 1; i < HEAP_CHUNK_BLOCKS; i++) {
    c->blocks[i].released = !used;
    push_free(h, &c->blocks[i], false);
  }
  h->nblocks += HEAP_CHUNK_BLOCKS - 1;
}

static Chunk *new_chunk(const Heap *h) {
  size_t size;
  if (!heap_has_room(h, HEAP_CHUNK_SIZE)) return NULL;
  Chunk *c = mapping_take(HEAP_CHUNK_SIZE, HEAP_CHUNK_SIZE, HEAP_CHUNK_SIZE, &size);
  return c != NULL ? c : mapping_new(HEAP_CHUNK_SIZE, HEAP_CHUNK_SIZE);
}

/* At the end of the domain. */
static void give_chunk(Chunk *c, bool used) {
  if (c == NULL) return;
  if (used) c->used = true; /* a spare one that was never used stays untouched */
  mapping_give(c, HEAP_CHUNK_SIZE);
}

/* When the system has no more, the spare chunk lets the program go on until the next
 * gc_check, where all garbage is collected: only what that cannot help is an error. */
static bool grow_heap(Domain *d) {
  Heap *h = &d->heap;
  Chunk *c = new_chunk(h);
  if (c == NULL) {
    c = h->spare;
    h->spare = NULL;
    d->gc.emergency = d->gc.pending = 1;
  }
  if (c == NULL) return false;
  add_chunk(h, c);
  return true;
}

bool heap_could_take(const Heap *h, size_t size) {
  if (size > PTRDIFF_MAX / 2) return true; /* nothing helps */
  if (!heap_has_room(h, size)) return false;
  size += HEAP_CHUNK_SIZE; /* headers, cards, rounding */
  void *probe = mapping_new(size, 1);
  if (probe == NULL) return false;
  mapping_unmap(probe, size);
  return true;
}

void heap_keep_spare(Heap *h) {
  if (h->spare == NULL) h->spare = new_chunk(h);
}

/* ---- giving back ---------------------------------------------------------------
 *
 * Each major cycle ends with a walk over the chunks that notes which blocks are free. It
 * gives back those that were free at a walk of an earlier period (of a second at least)
 * and have not been taken since. So a program that needs the same memory in each cycle
 * keeps it: a call that takes pages away interrupts every processor that runs one of the
 * program's domains, and touching them anew is slow. Patience is limited to as much as is
 * kept in any case, and some more; what exceeds that, and at the end of a full
 * collection all, goes at once. */

static void unmap_chunk(Heap *h, Chunk **link) {
  Chunk *c = *link;
  for (uint32_t i = 1; i < HEAP_CHUNK_BLOCKS; i++) remove_free(h, &c->blocks[i]);
  h->nblocks -= HEAP_CHUNK_BLOCKS - 1;
  *link = c->next;
  mapping_unmap(c, HEAP_CHUNK_SIZE);
}

void heap_trim_start(Heap *h, uint32_t keep) {
  mapping_drop_old();
  h->trim_link = &h->chunks;
  h->trim_keep = keep;
  uint64_t now = mapping_now();
  if (now - h->idle_since < PATIENCE_NS) return;
  h->idle_since = now;
  h->idle_mark = h->idle_mark == 1 ? 2 : 1;
}

static bool is_impatient(const Heap *h) { return h->nheld > 2 * h->trim_keep + PATIENCE_BLOCKS; }

/* Not taken since a walk of an earlier period; `now`: at this moment. */
static bool is_idle(const Heap *h, const Block *b, bool now) {
  return b->state == BLOCK_FREE && (now || (b->idle != 0 && b->idle != h->idle_mark));
}

static bool is_all_idle(const Heap *h, const Chunk *c, bool now) {
  uint32_t i = c->free_blocks == HEAP_CHUNK_BLOCKS - 1 ? 1 : HEAP_CHUNK_BLOCKS;
  while (i < HEAP_CHUNK_BLOCKS && is_idle(h, &c->blocks[i], now)) i++;
  return i == HEAP_CHUNK_BLOCKS && c->free_blocks == HEAP_CHUNK_BLOCKS - 1;
}

/* From block `i` on: as many as may be given back together. */
static uint32_t count_idle(const Heap *h, const Chunk *c, uint32_t i, bool now) {
  uint32_t n = 0, most = h->nheld > h->trim_keep ? h->nheld - h->trim_keep : 0;
  while (n < most && i + n < HEAP_CHUNK_BLOCKS && !c->blocks[i + n].released && is_idle(h, &c->blocks[i + n], now)) n++;
  return n;
}

static void release_pages(Heap *h, Chunk *c, uint32_t i, uint32_t n) {
  madvise(block_start(&c->blocks[i]), (size_t)n << HEAP_BLOCK_SHIFT, MADV_DONTNEED);
  for (uint32_t k = i; k < i + n; k++) c->blocks[k].released = 1;
  h->nheld -= n;
}

/* Answers how many bytes. */
static size_t trim_blocks(Heap *h, Chunk *c, bool now) {
  size_t done = 0;
  for (uint32_t i = 1, n; i < HEAP_CHUNK_BLOCKS; i += n > 0 ? n : 1) {
    if ((n = count_idle(h, c, i, now)) > 0) release_pages(h, c, i, n);
    else if (c->blocks[i].state == BLOCK_FREE && c->blocks[i].idle == 0) c->blocks[i].idle = h->idle_mark;
    done += (size_t)n << HEAP_BLOCK_SHIFT;
  }
  return done;
}

/* The next chunk; the first of the list is never unmapped. */
static size_t trim_chunk(Heap *h, bool now) {
  Chunk *c = *h->trim_link;
  if (h->trim_link != &h->chunks && h->nfree >= h->trim_keep + HEAP_CHUNK_BLOCKS && is_all_idle(h, c, now)) {
    unmap_chunk(h, h->trim_link);
    return HEAP_CHUNK_SIZE;
  }
  size_t done = trim_blocks(h, c, now);
  h->trim_link = &c->next;
  return done + TRIM_LOOK;
}

bool heap_trim(Heap *h, size_t most) {
  for (size_t done = 0; *h->trim_link != NULL;) {
    if (done >= most) return false;
    done += trim_chunk(h, most == SIZE_MAX || is_impatient(h));
  }
  return true;
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
  heap_note_taken(d);
  return true;
}

static void consume(Heap *h, Block *b) {
  b->state = BLOCK_CONSUMED;
  b->released = 0;
  list_push_first(&h->consumed, b);
}

static Block *take_free_block(Domain *d) {
  Heap *h = &d->heap;
  if (h->free.first == NULL && !grow_heap(d)) return NULL;
  Block *b = h->free.first;
  remove_free(h, b);
  consume(h, b);
  return b;
}

/* Warm blocks first; among cold ones those that are partly in use. */
static Block *take_block(Domain *d) {
  Heap *h = &d->heap;
  Block *r = h->recyclable.first, *f = h->free.first;
  if (r == NULL || (r->epoch != h->epoch && f != NULL && f->epoch == h->epoch && !f->released))
    return take_free_block(d);
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
    if ((b = take_block(d)) == NULL) return false;
    h->current = b;
  } while (!take_hole_in_block(d, 0));
  return true;
}

static bool take_overflow_block(Domain *d) {
  Heap *h = &d->heap;
  Block *b = take_free_block(d);
  if (b == NULL) return false;
  h->overflow_cursor = block_start(b);
  h->overflow_limit = h->overflow_cursor + HEAP_BLOCK_SIZE;
  h->young_bytes += HEAP_BLOCK_SIZE;
  heap_note_taken(d);
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

/* ---- interface ------------------------------------------------------------------------ */

static void *note_failure(Domain *d) {
  d->gc.emergency = 1;
  d->gc.pending = 1;
  return NULL;
}

void *heap_try_alloc(Domain *d, size_t size) {
  if (stress_allocation_fails()) return note_failure(d);
  void *p = heap_is_large(size) ? heap_large_alloc(d, size, false) : alloc_small(d, size);
  return p != NULL ? p : note_failure(d);
}

void *heap_try_alloc_part(Domain *d, size_t size) {
  if (!heap_is_large(size)) return heap_try_alloc(d, heap_round(size));
  void *p = stress_allocation_fails() ? NULL : heap_large_alloc(d, size, true);
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

static void *grow_large(Domain *d, void *part, size_t new_size) {
  gc_large_part_moving(d, heap_large_of(part));
  LargeHeader *moved = stress_allocation_fails() ? NULL : heap_large_resize(d, heap_large_of(part), new_size);
  return moved != NULL ? moved + 1 : note_failure(d);
}

void *heap_try_grow_part(lua_State *L, void *part, size_t old_size, size_t new_size) {
  Heap *h = &L->domain->heap;
  if (part != NULL && heap_is_large(old_size) && heap_is_large(new_size)) return grow_large(L->domain, part, new_size);
  size_t old_end = heap_round(old_size), new_end = heap_round(new_size);
  bool last = part != NULL && (char *)part + old_end == h->cursor && (char *)part >= h->hole;
  if (last && !heap_is_large(new_size) && new_end <= (size_t)(h->limit - (char *)part)) {
    h->cursor = (char *)part + new_end;
    return part;
  }
  void *copy = heap_try_alloc_part(L->domain, new_size);
  if (copy == NULL) return NULL;
  if (part != NULL) memcpy(copy, part, old_size < new_size ? old_size : new_size);
  heap_free_part(L, part, old_size);
  return copy;
}

void *heap_grow_part(lua_State *L, void *part, size_t old_size, size_t new_size) {
  void *grown = heap_try_grow_part(L, part, old_size, new_size);
  if (unlikely(grown == NULL && new_size > 0)) error_memory(L);
  return grown;
}

/* ---- limit --------------------------------------------------------------------------------- */

void heap_set_limit(Heap *h, size_t bytes) {
  h->limit_bytes = h->limit_trigger = bytes;
  h->most_bytes = bytes != 0 ? bytes + bytes / 4 + 2 * HEAP_CHUNK_SIZE : 0;
}

bool heap_exceeds_limit(Heap *h) {
  if (h->limit_bytes == 0) return false;
  size_t old = heap_old_bytes(h), soon = old + h->limit_bytes / 8;
  h->limit_trigger = soon > h->limit_bytes ? soon : h->limit_bytes;
  return old > h->limit_bytes;
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
  h->young_bytes = h->large_debt = h->scan_debt = 0;
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
  heap_large_release(h, SIZE_MAX);
  give_chunk(h->spare, false); /* first: what is given last is taken first */
  h->spare = NULL;
  for (Chunk *c = h->chunks, *next; c != NULL; c = next) {
    next = c->next;
    give_chunk(c, true);
  }
  h->chunks = NULL;
}
