/* SPDX-License-Identifier: MIT */
/* runtime/heap_hosted.c: heaps whose memory comes from an allocator (lua_newstate).
 *
 * An allocator's memory is neither as large as a chunk nor aligned like one. So a hosted
 * chunk is only a header, with the layout of any chunk's, and its blocks lie anywhere:
 * each is one request of HEAP_BLOCK_SIZE bytes. A block without memory is VACANT. All
 * code that works on blocks, lines and holes is the same for both kinds.
 *
 * The kinds differ in the way from an address to its line. In other heaps it is a mask,
 * on the fast paths of the collector. In hosted heaps it is a hash table of the blocks by
 * address (Heap.hosted): blocks are disjoint, so at most one begins in each 32 KiB of
 * addresses, and an address lies in the block that begins in its own 32 KiB or in the 32
 * KiB before. The fast paths do not ask which kind a heap is. They compare with a limit,
 * or test bits, as they must in any case (Heap.masked_most, Gc.aside); in a hosted heap
 * the values of these send everything the slow way.
 *
 *   large allocations  are one request each (heap_large.c), with header and cards
 *   other memory       the domain itself, the collector's lists, the intern table, the
 *                      compiler's arena: heap_memory...
 *
 * Refusals. Allocations do not collect, so the heap holds a reserve: some blocks, in
 * proportion to its size. A refused block is taken from the reserve. For any other
 * refused request free blocks, then those of the reserve, are given back to the allocator
 * one by one, which is asked again after each; no more than would be enough if they lay
 * side by side, since the allocator may keep them. In both cases an emergency is noted:
 * the next gc_check collects everything, and fills the reserve again. If the reserve
 * cannot get two blocks, the error is raised then, rather than by an allocation that
 * finds no memory, so that it comes after a collection: a reserve is enough until the
 * next gc_check, even if the program goes on after the error (heap_hosted_need).
 *
 * What is left then is for what the program does about the error: messages, tracebacks,
 * closing of variables, a next call. So the next error is due when half of that is used
 * (Heap.warned_lines), not at each collection that finds as little memory as before. When
 * no block and no long hole is left, each gc_check is an emergency, since what was alive
 * at the last one may be dead, and an error.
 *
 * Where the reserve could not be filled, everything is collected again once a little more
 * was allocated (Heap.recollect_at): blocks are wholly free then, before survivors have
 * been allocated in the holes of each. Where too few blocks are left but there are long
 * holes, the holes will do, and taking one of the last is an emergency
 * (Heap.needs_holes).
 *
 * A request larger than the reserve is first checked where a collection may run
 * (gc_make_room). The collector itself never depends on memory: objects do not move, and
 * its records can do without (gc_overflow.c).
 *
 * A heap may become hosted later (lua_setallocf). Memory that it has mapped before stays
 * mapped and in use. Memory that came from malloc is the allocator's from then on. The
 * reference demands the same of allocators: the new one takes what the former gave.
 *
 * Only the domain's own thread comes here.
 */
#include <stdlib.h>
#include <string.h>

#include "domain.h"
#include "gc_inline.h"
#include "heap.h"
#include "heap_internal.h"
#include "mappings.h"
#include "stress.h"

#define RESERVE_MOST 8  /* blocks */
#define RESERVE_SHARE 4 /* a quarter of the heap's blocks */
#define LONG_HOLES 3    /* long holes and free blocks that are enough together */
#define ROOM_SHARE 4    /* of the heap, in holes of any length: one block is enough */
#define RECOLLECT_SHARE 8 /* of the heap, allocated before all is collected again */
#define RECOLLECT_AFTER_ERROR ((size_t)8 << 10) /* bytes: the error may have freed some */
#define LEAST_SLOTS 16 /* the least slots of the hash table */
#define ALLOCATOR_ALIGN 16 /* of the allocator's memory, like malloc's */

static Domain *domain_of(Heap *h) { return (Domain *)((char *)h - offsetof(Domain, heap)); }

/* ---- the allocator ------------------------------------------------------- */

static void *ask(Heap *h, void *p, size_t old, size_t size) {
  return h->allocf(h->alloc_ud, p, old, size);
}

static void give(Heap *h, void *p, size_t size) {
  if (p != NULL) ask(h, p, size, 0);
}

/* ---- blocks by address --------------------------------------------------- */

static uintptr_t window_of(const void *p) { return (uintptr_t)p >> HEAP_BLOCK_SHIFT; }

static size_t home_of(const Heap *h, uintptr_t window) {
  return (size_t)(window * UINT64_C(0x9E3779B97F4A7C15) >> 32) & h->hosted_mask;
}

/* Returns the block that begins in the window; NULL if there is none. */
static Block *begins_in(const Heap *h, uintptr_t window) {
  size_t i = home_of(h, window);
  Block *b;
  for (; (b = h->hosted[i]) != NULL; i = (i + 1) & h->hosted_mask)
    if (window_of(b->start) == window) return b;
  return NULL;
}

static void insert(Heap *h, Block *b) {
  size_t i = home_of(h, window_of(b->start));
  while (h->hosted[i] != NULL) i = (i + 1) & h->hosted_mask;
  h->hosted[i] = b;
}

static size_t table_bytes(size_t slots) { return slots * sizeof(Block *); }

/* Makes a free slot for one more block; half of the slots stay empty. */
static bool make_slot(Heap *h) {
  size_t slots = h->hosted != NULL ? h->hosted_mask + 1 : 0;
  if (2 * (h->nhosted + 1) <= slots) return true;
  size_t more = slots != 0 ? 2 * slots : LEAST_SLOTS;
  Block **former = h->hosted, **wider = ask(h, NULL, 0, table_bytes(more));
  if (wider == NULL) return false;
  memset(wider, 0, table_bytes(more));
  h->hosted = wider;
  h->hosted_mask = more - 1;
  for (size_t i = 0; i < slots; i++)
    if (former[i] != NULL) insert(h, former[i]);
  give(h, former, table_bytes(slots));
  return true;
}

/* Removes a block from the hash table. Entries behind it move up, unless their own slot
 * is behind the gap, too. */
static void take_out(Heap *h, const Block *b) {
  size_t mask = h->hosted_mask, i = home_of(h, window_of(b->start));
  while (h->hosted[i] != b) i = (i + 1) & mask;
  for (size_t k = i; h->hosted[k = (k + 1) & mask] != NULL;) {
    size_t home = home_of(h, window_of(h->hosted[k]->start));
    if (((k - home) & mask) < ((k - i) & mask)) continue;
    h->hosted[i] = h->hosted[k];
    i = k;
  }
  h->hosted[i] = NULL;
}

static bool lies_in(const Block *b, const void *p) {
  return b != NULL && (uintptr_t)p - (uintptr_t)b->start < HEAP_BLOCK_SIZE;
}

/* Finds the block of an address; NULL if that is in a chunk that the heap mapped before
 * it had an allocator. */
static Block *find_block(Heap *h, const void *p) {
  Block *b = h->hosted_last;
  if (lies_in(b, p)) return b;
  if (h->hosted == NULL) return NULL;
  if (!lies_in(b = begins_in(h, window_of(p)), p) &&
      !lies_in(b = begins_in(h, window_of(p) - 1), p))
    return NULL;
  return h->hosted_last = b;
}

HeapLocation heap_hosted_location(Heap *h, const void *p) {
  Block *b = find_block(h, p);
  if (b == NULL) return (HeapLocation){heap_chunk_of(p), (uintptr_t)p & (HEAP_CHUNK_SIZE - 1)};
  return (HeapLocation){chunk_of_block(b), ((size_t)b->index << HEAP_BLOCK_SHIFT) +
                                               (size_t)((const char *)p - b->start)};
}

void heap_mark_hosted(Heap *h, const void *p, size_t size, uint8_t bit) {
  HeapLocation at = heap_hosted_location(h, p);
  size_t first = at.offset >> HEAP_LINE_SHIFT, last = (at.offset + size - 1) >> HEAP_LINE_SHIFT;
  do at.chunk->lines[first] |= bit; while (first++ < last);
}

/* ---- the reserve --------------------------------------------------------- */

/* Returns how many blocks the heap's memory would be. */
static size_t blocks_of_all(const Heap *h) {
  return h->nblocks + ((h->old_large_bytes + h->young_large_bytes) >> HEAP_BLOCK_SHIFT);
}

/* Returns the reserve below which an error is due: a block for what is allocated until
 * the next safepoint, and one for after the error; more for a larger heap, whose calls
 * may be deep; and one more where the next block needs a header first. A state that is
 * hardly more than its libraries needs none. */
static uint32_t least_reserve(const Heap *h) {
  size_t blocks = blocks_of_all(h);
  uint32_t least = blocks < 2 ? 0 : blocks < 4 ? 1 : blocks < 64 ? 2 : 4;
  return least + (least > 0 && h->vacant.first == NULL);
}

static uint32_t wanted_reserve(const Heap *h) {
  size_t share = blocks_of_all(h) / RESERVE_SHARE;
  uint32_t least = least_reserve(h);
  return share > RESERVE_MOST ? RESERVE_MOST : share > least ? (uint32_t)share : least;
}

static void put_into_reserve(Heap *h, void *memory) {
  memcpy(memory, &h->reserve, sizeof h->reserve);
  h->reserve = memory;
  h->nreserve++;
}

static void *take_reserve(Heap *h) {
  void *memory = h->reserve;
  if (memory == NULL) return NULL;
  memcpy(&h->reserve, memory, sizeof h->reserve);
  h->nreserve--;
  return memory;
}

/* Fills the reserve; returns whether it is as large as wanted. */
static bool fill_reserve(Heap *h) {
  for (void *memory; h->nreserve < wanted_reserve(h); put_into_reserve(h, memory))
    if ((memory = ask(h, NULL, 0, HEAP_BLOCK_SIZE)) == NULL) return false;
  return true;
}

static bool give_reserve_block(Heap *h) {
  void *memory = take_reserve(h);
  give(h, memory, HEAP_BLOCK_SIZE);
  return memory != NULL;
}

/* ---- blocks -------------------------------------------------------------- */

/* The bytes of a header, with what is skipped for its alignment. */
#define HEADER_BYTES (sizeof(Chunk) + _Alignof(Chunk) - ALLOCATOR_ALIGN)

static void give_header(Heap *h, Chunk *c) { give(h, (char *)c - c->skipped, HEADER_BYTES); }

/* Adds a header whose blocks have no memory. Their lines and bits are cleared when they
 * get some (clear_marks), as most states use few blocks: the pages of the others are not
 * touched. */
static bool add_header(Domain *d) {
  Heap *h = &d->heap;
  char *memory = heap_memory(d, HEADER_BYTES);
  if (memory == NULL) return false;
  size_t skipped = -(uintptr_t)memory & (_Alignof(Chunk) - 1);
  rt_assert(skipped % ALLOCATOR_ALIGN == 0);
  Chunk *c = (Chunk *)(memory + skipped);
  memset(c->blocks, 0, sizeof *c - offsetof(Chunk, blocks));
  c->skipped = (uint8_t)skipped;
  c->hosted = true;
  c->nblocks = HEAP_CHUNK_BLOCKS;
  c->vacant_blocks = HEAP_CHUNK_BLOCKS - 1;
  c->blocks[0].state = BLOCK_VACANT; /* and is never used */
  for (uint32_t i = 1; i < HEAP_CHUNK_BLOCKS; i++) {
    set_up_block(c, i);
    c->blocks[i].state = BLOCK_VACANT;
    c->blocks[i].free_lines = HEAP_BLOCK_LINES;
    list_push_last(&h->vacant, &c->blocks[i]);
  }
  c->next = h->chunks;
  h->chunks = c;
  return true;
}

static void clear_marks(Block *b) {
  Chunk *c = chunk_of_block(b);
  const size_t words = sizeof c->overflow / sizeof *c->overflow / HEAP_CHUNK_BLOCKS;
  memset(block_lines(b), 0, HEAP_BLOCK_LINES);
  memset(&c->overflow[b->index * words], 0, words * sizeof *c->overflow);
}

static void *block_memory(Domain *d) {
  Heap *h = &d->heap;
  void *memory = stress_allocation_fails() ? NULL : ask(h, NULL, 0, HEAP_BLOCK_SIZE);
  if (memory != NULL) return memory;
  gc_note_emergency(d);
  return take_reserve(h);
}

bool heap_hosted_grow(Domain *d) {
  Heap *h = &d->heap;
  for (size_t given = 0; !make_slot(h);)
    if (!heap_hosted_give_back(d, table_bytes(2 * h->nhosted + 2), &given)) return false;
  if (h->vacant.first == NULL && !add_header(d)) return false;
  void *memory = block_memory(d);
  if (memory == NULL) return false;
  rt_assert((uintptr_t)memory % ALLOCATOR_ALIGN == 0);
  Block *b = h->vacant.first;
  list_remove(&h->vacant, b);
  chunk_of_block(b)->vacant_blocks--;
  b->start = memory;
  clear_marks(b);
  insert(h, b);
  h->nhosted++;
  h->nblocks++;
  b->released = 0;
  push_free(h, b, false);
  if (!d->gc.emergency && !fill_reserve(h) && h->nreserve < least_reserve(h)) gc_note_emergency(d);
  return true;
}

/* Makes a block vacant; returns its memory. */
static void *vacate(Heap *h, Block *b) {
  void *memory = b->start;
  remove_free(h, b);
  take_out(h, b);
  h->nhosted--;
  h->nblocks--;
  if (h->hosted_last == b) h->hosted_last = NULL;
  b->start = NULL;
  b->state = BLOCK_VACANT;
  chunk_of_block(b)->vacant_blocks++;
  list_push_first(&h->vacant, b);
  return memory;
}

void heap_hosted_vacate(Heap *h, Block *b) { give(h, vacate(h, b), HEAP_BLOCK_SIZE); }

void heap_hosted_drop(Heap *h, Chunk **link) {
  Chunk *c = *link;
  for (uint32_t i = 1; i < HEAP_CHUNK_BLOCKS; i++) list_remove(&h->vacant, &c->blocks[i]);
  *link = c->next;
  give_header(h, c);
}

/* ---- refusals ------------------------------------------------------------ */

static bool give_free_block(Heap *h) {
  Block *b = h->free.last;
  while (b != NULL && !chunk_of_block(b)->hosted) b = b->prev;
  if (b != NULL) heap_hosted_vacate(h, b);
  return b != NULL;
}

/* Tells whether the bytes are more than enough for the request, wherever in the blocks
 * that were given back its memory begins and ends. */
static bool is_ample(size_t given, size_t wanted) { return given / 2 >= wanted + HEAP_BLOCK_SIZE; }

bool heap_hosted_give_back(Domain *d, size_t wanted, size_t *given) {
  Heap *h = &d->heap;
  gc_note_emergency(d);
  if (is_ample(*given, wanted) || !(give_free_block(h) || give_reserve_block(h))) return false;
  *given += HEAP_BLOCK_SIZE;
  return true;
}

/* Fills the reserve from free blocks that the allocator does not get back. The reserve
 * gets the least it must have, and half of the rest: the program may take the others
 * before the next emergency. */
static void fill_reserve_from_blocks(Heap *h) {
  for (Block *b = h->free.first, *next; b != NULL && h->nreserve < wanted_reserve(h); b = next) {
    next = b->next;
    if (h->nreserve >= least_reserve(h) && h->nfree <= h->nreserve) return;
    if (chunk_of_block(b)->hosted) put_into_reserve(h, vacate(h, b));
  }
}

void heap_hosted_keep_reserve(Heap *h) {
  if (!fill_reserve(h)) fill_reserve_from_blocks(h);
}

static uint32_t count_in(const BlockClasses *classes) {
  uint32_t n = 0;
  for (uint32_t class = HEAP_LONG_HOLE; class < HEAP_HOLE_CLASSES; class++)
    for (const Block *b = classes->lists[class].first; b != NULL; b = b->next) n++;
  return n;
}

static size_t free_lines_of(const BlockClasses *classes) {
  size_t lines = 0;
  for (uint32_t class = 0; class < HEAP_HOLE_CLASSES; class++)
    for (const Block *b = classes->lists[class].first; b != NULL; b = b->next)
      lines += b->free_lines;
  return lines;
}

static size_t lines_in_holes(const Heap *h) {
  return free_lines_of(&h->warm) + free_lines_of(&h->cold);
}

static bool has_much_room(const Heap *h) {
  return lines_in_holes(h) >= (size_t)h->nblocks * HEAP_BLOCK_LINES / ROOM_SHARE;
}

/* Returns the lines that may be allocated before the allocator is asked. */
static size_t lines_at_hand(const Heap *h) {
  size_t current = (size_t)(h->hole.end - h->cursor) >> HEAP_LINE_SHIFT;
  return ((size_t)h->nreserve + h->nfree) * HEAP_BLOCK_LINES + lines_in_holes(h) + current;
}

static size_t recollect_after(const Heap *h, HostedNeed need) {
  if (need != HOSTED_ENOUGH) return RECOLLECT_AFTER_ERROR;
  if (h->nreserve >= wanted_reserve(h)) return 0;
  return ((size_t)h->nblocks << HEAP_BLOCK_SHIFT) / RECOLLECT_SHARE;
}

static uint32_t count_long_holes(const Heap *h) {
  return count_in(&h->warm) + count_in(&h->cold);
}

void heap_hosted_hole_taken(Domain *d) {
  Heap *h = &d->heap;
  if (h->nreserve + h->nfree + count_long_holes(h) >= LONG_HOLES) return;
  h->needs_holes = false;
  gc_note_emergency(d);
}

static bool is_warned(const Heap *h) {
  return h->warned_lines != 0 && lines_at_hand(h) > h->warned_lines / 2;
}

void heap_hosted_note_error(Heap *h) {
  size_t lines = lines_at_hand(h);
  h->warned_lines = lines == 0 ? 1 : lines < UINT32_MAX ? (uint32_t)lines : UINT32_MAX;
}

HostedNeed heap_hosted_need(Heap *h) {
  uint32_t left = h->nreserve + h->nfree, long_holes = count_long_holes(h);
  bool blocks = left >= least_reserve(h) || left >= LONG_HOLES,
       holes = !blocks && left + long_holes >= LONG_HOLES,
       enough = blocks || holes || (left > 0 && has_much_room(h));
  HostedNeed need = enough                  ? HOSTED_ENOUGH
                    : left + long_holes == 0 ? HOSTED_EMPTY
                    : is_warned(h)           ? HOSTED_WARNED
                                             : HOSTED_SHORT;
  if (enough) h->warned_lines = 0;
  h->needs_holes = holes;
  h->recollect_at = recollect_after(h, need);
  return need;
}

/* Tells whether the allocator or the reserve has room for `size` bytes. */
bool heap_hosted_could_take(Heap *h, size_t size) {
  if (size <= (size_t)h->nreserve * HEAP_BLOCK_SIZE) return true;
  size += sizeof(LargeHeader) + (size >> HEAP_CARD_SHIFT) + HEAP_LINE_SIZE;
  void *probe = ask(h, NULL, 0, size);
  for (size_t given = 0; probe == NULL && !is_ample(given, size) && give_free_block(h);
       given += HEAP_BLOCK_SIZE)
    probe = ask(h, NULL, 0, size);
  give(h, probe, size);
  return probe != NULL;
}

/* ---- other memory -------------------------------------------------------- */

void *heap_memory_try_resize(Domain *d, void *p, size_t old, size_t size) {
  return heap_is_hosted(&d->heap) ? ask(&d->heap, p, old, size) : realloc(p, size);
}

void *heap_memory_resize(Domain *d, void *p, size_t old, size_t size) {
  void *memory = heap_memory_try_resize(d, p, old, size);
  size_t given = 0;
  while (memory == NULL && heap_is_hosted(&d->heap) && heap_hosted_give_back(d, size, &given))
    memory = ask(&d->heap, p, old, size);
  return memory;
}

void *heap_memory(Domain *d, size_t size) { return heap_memory_resize(d, NULL, 0, size); }

void *heap_memory_zeroed(Domain *d, size_t size) {
  if (!heap_is_hosted(&d->heap)) return calloc(1, size);
  void *memory = ask(&d->heap, NULL, 0, size);
  return memory != NULL ? memset(memory, 0, size) : NULL;
}

void heap_memory_free(Domain *d, void *p, size_t size) {
  if (heap_is_hosted(&d->heap)) give(&d->heap, p, size);
  else free(p);
}

/* ---- beginning and end --------------------------------------------------- */

/* Makes the heap hosted. Mapped memory that is not in use is unmapped: from now on memory
 * comes from the allocator alone. */
void heap_host(Heap *h, lua_Alloc f, void *ud) {
  if (h->twin != NULL) mapping_unmap(h->twin, HEAP_CHUNK_SIZE);
  if (h->spare != NULL) mapping_unmap(h->spare, HEAP_CHUNK_SIZE);
  h->twin = h->spare = NULL;
  h->allocf = f;
  h->alloc_ud = ud;
  h->masked_most = 0;
  h->ask_from = HEAP_SMALL_MAX + 1;
  gc_set_aside(domain_of(h));
}

void heap_hosted_close(Heap *h) {
  for (Chunk **link = &h->chunks, *c; (c = *link) != NULL;) {
    if (!c->hosted) {
      link = &c->next;
      continue;
    }
    for (uint32_t i = 1; i < HEAP_CHUNK_BLOCKS; i++) give(h, c->blocks[i].start, HEAP_BLOCK_SIZE);
    *link = c->next;
    give_header(h, c);
  }
  while (give_reserve_block(h)) continue;
  give(h, h->hosted, table_bytes(h->hosted_mask + 1));
  h->hosted = NULL;
}
