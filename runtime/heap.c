/* SPDX-License-Identifier: MIT */
/* runtime/heap.c: the mark-region heap of a domain. (Long: all ways to allocate inline
 * the same few functions. Chunks, large objects, trimming and measuring have files of
 * their own.)
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
 * The first chunk of a heap has HEAP_FIRST_BLOCKS slots, as thousands of states may be
 * idle in a process. When they are used up it grows in place to its full size. Where
 * another mapping has taken the addresses behind it, it stays small and the heap gets a
 * second chunk.
 *
 * Allocation bumps `cursor` up to `limit` through a hole: a run of lines whose byte is 0.
 * At its end the next hole of the same block is taken, then the next block: a recyclable
 * one, a free one, or one of a new chunk. Blocks that the last minor collection examined
 * come first, since they are in the cache. An object of more than a line that does not
 * fit the hole goes to a second cursor, in a hole that is long enough. Recyclable blocks
 * are in lists by the length of their longest hole, so the shortest that fits is found at
 * once; if there is none, a wholly free block is taken. For smaller objects a cold block
 * with short holes is taken first, which leaves the long ones.
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
 * Parts that a growing table outgrows lie between live objects, and are wasted until
 * their whole line is dead. So small ones that are freed while young are kept by size
 * (Heap.outgrown) and reused for the next parts of that size, until the next minor
 * collection.
 *
 * Huge pages. Beyond HUGE_FROM_BLOCKS the heap grows by two chunks at once, in one huge
 * page where the system has one at hand. That costs 0.19 us for each 4 KiB; small pages
 * cost 1.4 us (both with the clearing; on a virtual machine), which was 40 % of the time
 * of a program that fills 50 MB with records. Only the first touch is advised: memory
 * given back later comes again as small pages, so the system never fills free memory with
 * unrequested pages. The price is a touch of 0.1 ms, and up to 2 MiB that are not used
 * yet; mappings.c handles touches that take longer. From AHEAD_FROM_BLOCKS on a thread
 * makes huge pages present before they are needed (mapping_ahead.h). The span
 * fresh_memory covers pages that the program touches itself.
 *
 * Large allocations: heap_large.c.
 *
 * Nothing here collects. When memory is short, heap_try_... return NULL and
 * note an emergency, so that the next gc_check collects everything; the
 * others raise LUA_ERRMEM.
 *
 * Only the domain's own thread comes here.
 */
#include "heap.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "domain.h"
#include "gc.h"
#include "gc_inline.h"
#include "gc_time.h"
#include "heap_internal.h"
#include "mapping_ahead.h"
#include "mappings.h"
#include "memprof.h"
#include "stress.h"
#include "thread.h"
#include "throw.h"

/* LeakSanitizer looks for pointers in malloc's memory alone: the home of the owner is
 * registered, so that what it refers to is no leak. (gcc defines a macro, clang has a
 * feature.) */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_LSAN
#endif
#endif
#if defined(HAS_LSAN) || defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define LSAN_ROOT(p, size) __lsan_register_root_region(p, size)
#define LSAN_NO_ROOT(p, size) __lsan_unregister_root_region(p, size)
#else
#define LSAN_ROOT(p, size) ((void)(p), (void)(size))
#define LSAN_NO_ROOT(p, size) ((void)(p), (void)(size))
#endif

/* blocks from which on a heap grows by huge pages */
#define HUGE_FROM_BLOCKS (8 * HEAP_CHUNK_BLOCKS)
/* blocks from which on a heap takes pages that a thread has made present, two chunks at
 * once: the 2 MiB that may be ready and unused are a twentieth of it */
#ifdef SAROS_STRESS
#define AHEAD_FROM_BLOCKS HUGE_FROM_BLOCKS
#else
#define AHEAD_FROM_BLOCKS (40 * HEAP_CHUNK_BLOCKS)
#endif
#define MIN_FREE_LINES 8     /* the least of a block worth allocating from */
#define SMALL_LEFTOVER 256   /* bytes of a hole that may be wasted for a medium object */

/* ---- chunks -------------------------------------------------------------- */

/* Adds blocks up to slot n - 1, whose parts of the header are zero: lines are free. */
static void add_blocks(Heap *h, Chunk *c, uint32_t n) {
  for (uint32_t i = c->nblocks; i < n; i++) {
    set_up_block(c, i);
    c->blocks[i].start = (char *)c + ((size_t)i << HEAP_BLOCK_SHIFT);
    c->blocks[i].released = !c->used;
    push_free(h, &c->blocks[i], false);
  }
  h->nblocks += n - c->nblocks;
  c->nblocks = (uint8_t)n;
}

/* Adds a chunk with blocks up to slot n - 1. The header is zero as far as it is for
 * these. */
static void add_chunk(Heap *h, Chunk *c, uint32_t n) {
  c->next = h->chunks;
  h->chunks = h->mapped = c;
  c->nblocks = 1;
  add_blocks(h, c, n);
}

/* Clears the header's parts for blocks [from, to): the memory was used before, as a
 * chunk, an extent or a string. */
static void clear_header(Chunk *c, uint32_t from, uint32_t to) {
  const size_t words = sizeof c->overflow / sizeof *c->overflow / HEAP_CHUNK_BLOCKS;
  memset(&c->blocks[from], 0, (to - from) * sizeof *c->blocks);
  memset(&c->lines[from * HEAP_BLOCK_LINES], 0, (to - from) * HEAP_BLOCK_LINES);
  memset(&c->overflow[from * words], 0, (to - from) * words * sizeof *c->overflow);
}

static void clear_fields(Chunk *c) {
  memset(&c->next, 0, sizeof *c - offsetof(Chunk, next));
  c->used = true;
}

static void clear_used(Chunk *c, uint32_t to) {
  clear_fields(c);
  clear_header(c, 0, to);
}

#ifdef SAROS_DEBUG
static void verify_unmarked(const Chunk *c) {
  for (size_t i = 0; i < HEAP_FIRST_BLOCKS * HEAP_BLOCK_LINES; i++) rt_assert(c->lines[i] == 0);
}
#else
#define verify_unmarked(c) ((void)(c))
#endif

/* Clears the header of a used first chunk. Memory with fewer pages than addresses was a
 * first chunk whose heap was never collected: no line of it was marked, and no overflow
 * bit set. */
static void clear_used_first(Chunk *c, size_t size, size_t touched) {
  if (touched == size) {
    clear_used(c, HEAP_FIRST_BLOCKS);
    return;
  }
  clear_fields(c);
  memset(c->blocks, 0, HEAP_FIRST_BLOCKS * sizeof *c->blocks);
  verify_unmarked(c);
}

static Chunk *take_twin(Heap *h) {
  Chunk *c = h->twin;
  h->twin = NULL;
  return c;
}

/* Returns how many pages are to be kept ready: one for each 64 MiB of the heap, so that
 * at most 1 MiB in 32 is ready and unused. */
static uint32_t pages_ahead(const Heap *h) {
  uint32_t n = h->nblocks / (64 * HEAP_CHUNK_BLOCKS);
  return n > 0 ? n : 1;
}

/* Takes a huge page that was made present for this heap; NULL if there is none. */
static Chunk *take_present(Heap *h) {
  _Static_assert(2 * HEAP_CHUNK_SIZE == MAPPING_HUGE_PAGE, "two chunks in one huge page");
  if (h->nblocks < AHEAD_FROM_BLOCKS) return NULL;
  if (h->ahead == AHEAD_UNTRIED) h->ahead = mapping_ahead_begin() ? AHEAD_USED : AHEAD_REFUSED;
  return h->ahead == AHEAD_USED ? mapping_ahead_take(pages_ahead(h)) : NULL;
}

/* Maps a huge page that the program touches itself: it waits while the page is made
 * present. */
static Chunk *touch_huge(Heap *h) {
  Domain *d = heap_domain(h);
  if (!mapping_huge_at_hand()) return NULL;
  uint64_t begun = gc_time_begin(d);
  PROBE_BEGIN_REASON(d, FRESH_MEMORY, EV_REASON_HEAP);
  Chunk *c = mapping_new_huge(2 * HEAP_CHUNK_SIZE);
  PROBE_END_OFF_CPU(d, FRESH_MEMORY, gc_time_end(d, begun));
  return c;
}

/* Returns the first of two chunks in one huge page. Where the thread has none ready the
 * heap grows by small pages: nobody knows how long the touch of a huge one will take. */
static Chunk *new_twins(Heap *h) {
  Chunk *c = take_present(h);
  if (c == NULL && h->ahead != AHEAD_USED) c = touch_huge(h);
  if (c == NULL) return NULL;
  h->twin = (Chunk *)((char *)c + HEAP_CHUNK_SIZE);
  c->used = h->twin->used = true;
  return c;
}

static Chunk *new_chunk(Heap *h) {
  size_t size;
  if (!heap_has_room(h, HEAP_CHUNK_SIZE)) return NULL;
  if (h->twin != NULL) return take_twin(h);
  Chunk *c = mapping_take(HEAP_CHUNK_SIZE, HEAP_CHUNK_SIZE, HEAP_CHUNK_SIZE, &size);
  if (c != NULL) {
    clear_used(c, HEAP_CHUNK_BLOCKS);
    return c;
  }
  if (h->nblocks >= HUGE_FROM_BLOCKS && (c = new_twins(h)) != NULL) return c;
  return mapping_new(HEAP_CHUNK_SIZE, HEAP_CHUNK_SIZE);
}

#define FIRST_CHUNK_SIZE ((size_t)HEAP_FIRST_BLOCKS << HEAP_BLOCK_SHIFT)

/* The bytes of a first chunk that each new state touches: what it uses of the header, and
 * the first page of its first block. */
#define SURE_TO_TOUCH (HEAP_BLOCK_SIZE - offsetof(Chunk, blocks) + 4096)

/* Makes the pages of a fresh chunk present that are touched at once: one system call
 * costs less than a page fault for each. Systems before Linux 5.14, and those with larger
 * pages, refuse; then the touches do it. */
static void make_present(Chunk *c) {
#ifdef MADV_POPULATE_WRITE
  madvise(c->blocks, SURE_TO_TOUCH, MADV_POPULATE_WRITE);
#else
  (void)c;
#endif
}

/* Returns a chunk with HEAP_FIRST_BLOCKS slots or more: a kept mapping may have more
 * addresses, up to those of a whole chunk. */
static Chunk *new_first_chunk(void) {
  size_t size = FIRST_CHUNK_SIZE, touched = 0;
  Chunk *c = mapping_take_touched(size, HEAP_CHUNK_SIZE, HEAP_CHUNK_SIZE, &size, &touched);
  if (c == NULL && (c = mapping_new_begin(size, HEAP_CHUNK_SIZE)) == NULL) return NULL;
  if (touched > 0) clear_used_first(c, size, touched);
  else make_present(c);
  c->mapped_blocks = (uint8_t)(size >> HEAP_BLOCK_SHIFT);
  c->touched = (uint32_t)touched;
  return c;
}

static size_t mapped_bytes(const Chunk *c) { return (size_t)c->mapped_blocks << HEAP_BLOCK_SHIFT; }

void *heap_new_home(void) {
  Chunk *c = new_first_chunk();
  if (c == NULL) return NULL;
  char *home = (char *)c + HEAP_HOME;
  LSAN_ROOT(home, HEAP_HOME_MOST);
  return c->used ? memset(home, 0, HEAP_HOME_MOST) : home;
}

#define HEADER_TOUCHED (HEAP_BLOCK_SIZE - offsetof(Chunk, blocks)) /* with few blocks */

/* Returns the bytes with pages of a first chunk whose heap was never collected, not even
 * in part: its header, the blocks taken, and the part of the current one before the
 * cursor. Other chunks count as a whole. */
static size_t touched_bytes(Heap *h, const Chunk *c) {
  const bool collected = h->epoch != 0 || heap_domain(h)->gc.minor_begun;
  if (c->next != NULL || c->nblocks != HEAP_FIRST_BLOCKS || collected || h->hole.block == NULL)
    return mapped_bytes(c);
  size_t bytes = HEADER_TOUCHED + (size_t)(h->cursor - h->hole.block->start);
  for (const Block *b = h->consumed.first; b != NULL; b = b->next)
    if (b != h->hole.block) bytes += HEAP_BLOCK_SIZE;
  return bytes > c->touched ? bytes : c->touched;
}

/* Grows the first chunk in place. Returns false if the addresses are taken or memory is
 * short. */
static bool grow_first_chunk(Heap *h) {
  Chunk *c = h->chunks;
  if (c->next != NULL || c->hosted || c->nblocks == HEAP_CHUNK_BLOCKS) return false;
  if (!heap_has_room(h, HEAP_CHUNK_SIZE - FIRST_CHUNK_SIZE)) return false;
  if (c->mapped_blocks < HEAP_CHUNK_BLOCKS &&
      !mapping_extend(c, mapped_bytes(c), HEAP_CHUNK_SIZE))
    return false;
  if (c->used) clear_header(c, c->nblocks, HEAP_CHUNK_BLOCKS);
  c->mapped_blocks = HEAP_CHUNK_BLOCKS;
  add_blocks(h, c, HEAP_CHUNK_BLOCKS);
  return true;
}

/* Gives back a chunk that was never used, when the domain ends. */
static void give_chunk(Chunk *c) {
  if (c != NULL) mapping_give(c, HEAP_CHUNK_SIZE);
}

#ifdef SAROS_DEBUG
/* Asserts the bound of doc/COLLECTOR.md on the memory mapped for blocks, when more is to
 * be mapped because no block has `lines` free lines in a row: each block that is not
 * consumed has at least one line in use among that many. */
static void verify_mapped(const Heap *h, uint32_t lines) {
  const Block *lists[2] = {h->consumed.first, h->waiting.first};
  size_t consumed = 0, used = h->used_lines;
  for (int i = 0; i < 2; i++)
    for (const Block *b = lists[i]; b != NULL; b = b->next) {
      consumed++;
      used -= HEAP_BLOCK_LINES - b->free_lines;
    }
  rt_assert((h->nblocks - consumed) * HEAP_BLOCK_LINES <= used * lines);
}
#else
#define verify_mapped(h, lines) ((void)(h), (void)(lines))
#endif

static bool add_first_chunk(Domain *d) {
  bool room = heap_has_room(&d->heap, FIRST_CHUNK_SIZE);
  Chunk *c = room ? new_first_chunk() : NULL;
  if (c == NULL) {
    gc_note_emergency(d);
    return false;
  }
  add_chunk(&d->heap, c, HEAP_FIRST_BLOCKS);
  return true;
}

/* Adds memory for a hole of `lines` lines. When the system has no more memory, the spare
 * chunk lets the program go on until the next gc_check, which collects all garbage: only
 * if that does not help is it an error. A heap of one chunk has no spare, since there may
 * be thousands of idle states. */
static bool grow_heap(Domain *d, uint32_t lines) {
  Heap *h = &d->heap;
  verify_mapped(h, lines);
  if (heap_is_hosted(h)) return heap_hosted_grow(d);
  if (h->chunks == NULL) return add_first_chunk(d);
  if (grow_first_chunk(h)) return true;
  Chunk *c = new_chunk(h);
  if (c == NULL) {
    c = h->spare;
    h->spare = NULL;
    gc_note_emergency(d);
  }
  if (c == NULL) return false;
  c->mapped_blocks = HEAP_CHUNK_BLOCKS;
  add_chunk(h, c, HEAP_CHUNK_BLOCKS);
  if (!d->gc.emergency) heap_keep_spare(h);
  return true;
}

bool heap_could_take(Heap *h, size_t size) {
  if (size > PTRDIFF_MAX / 2) return true; /* no collection helps */
  if (!heap_has_room(h, size)) return false;
  if (heap_is_hosted(h)) return heap_hosted_could_take(h, size);
  size += HEAP_CHUNK_SIZE; /* headers, cards, rounding */
  void *probe = mapping_new(size, 1);
  if (probe == NULL) return false;
  mapping_unmap(probe, size);
  return true;
}

void heap_keep_spare(Heap *h) {
  if (heap_is_hosted(h)) heap_hosted_keep_reserve(h);
  else if (h->spare == NULL) h->spare = new_chunk(h);
}

/* ---- holes --------------------------------------------------------------- */

#define BYTES_OF(x) (UINT64_C(0x0101010101010101) * (x))

static uint64_t load_lines(const uint8_t *p) {
  uint64_t w;
  memcpy(&w, p, sizeof w);
  return w;
}

/* Returns the number of zero bytes among a block's lines (whose bytes are 0 to 3). */
static uint32_t count_free_lines(const uint8_t *lines) {
  uint64_t used = 0; /* eight sums of at most 32 */
  for (uint32_t i = 0; i < HEAP_BLOCK_LINES; i += 8) {
    uint64_t w = load_lines(lines + i);
    used += (w | w >> 1) & BYTES_OF(1);
  }
  used = (used & UINT64_C(0x00ff00ff00ff00ff)) + (used >> 8 & UINT64_C(0x00ff00ff00ff00ff));
  return HEAP_BLOCK_LINES - (uint32_t)(used * UINT64_C(0x0001000100010001) >> 48);
}

/* Returns the first free line from `i` on; HEAP_BLOCK_LINES if there is none. */
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

/* ---- the longest hole of a block ----------------------------------------- */

/* A bit for each line of a block. */
typedef struct LineBits { uint64_t w[HEAP_BLOCK_LINES / 64]; } LineBits;

static LineBits free_bits(const uint8_t *lines) {
  LineBits bits = {{0}};
  for (uint32_t i = 0; i < HEAP_BLOCK_LINES; i += 8) {
    uint64_t w = load_lines(lines + i), used = (w | w >> 1) & BYTES_OF(1);
    bits.w[i / 64] |= (~(used * UINT64_C(0x0102040810204080) >> 56) & 0xff) << (i & 63);
  }
  return bits;
}

/* Returns where runs of x + y free lines begin. A set bit in `a` says that a run of x
 * free lines begins there, one in `b` that a run of y does. */
ALWAYS_INLINE LineBits longer_runs(const LineBits *a, const LineBits *b, uint32_t x) {
  LineBits runs;
  const uint32_t n = HEAP_BLOCK_LINES / 64, words = x / 64, bits = x % 64;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t low = i + words < n ? b->w[i + words] : 0,
             high = i + words + 1 < n ? b->w[i + words + 1] : 0;
    runs.w[i] = a->w[i] & (bits == 0 ? low : low >> bits | high << (64 - bits));
  }
  return runs;
}

static bool any_run(const LineBits *runs) {
  return (runs->w[0] | runs->w[1] | runs->w[2] | runs->w[3]) != 0;
}

/* The lines that each block of a class has in a row, at least. */
static const uint8_t hole_lines[HEAP_HOLE_CLASSES] = {1,  2,  3,  4,  6,  8,  12,
                                                      16, 24, 32, 48, 64, 96, 128};

/* Returns the first bit from `i` on that is set, or clear if `flip` is all ones. */
ALWAYS_INLINE uint32_t next_bit(const LineBits *bits, uint32_t i, uint64_t flip) {
  while (i < HEAP_BLOCK_LINES) {
    uint64_t w = (bits->w[i / 64] ^ flip) >> (i % 64);
    if (w != 0) return i + (uint32_t)__builtin_ctzll(w);
    i = (i / 64 + 1) * 64;
  }
  return HEAP_BLOCK_LINES;
}

#define FEW_RUNS 8

/* Returns the longest run; 0 if there are more than a few, so that examining each takes
 * long. */
static uint32_t longest_of_few(const LineBits *bits) {
  uint32_t longest = 0, from, to = 0;
  for (uint32_t n = 0; n < FEW_RUNS; n++) {
    if ((from = next_bit(bits, to, 0)) == HEAP_BLOCK_LINES) return longest;
    to = next_bit(bits, from, ~UINT64_C(0));
    if (to - from > longest) longest = to - from;
  }
  return 0;
}

/* Returns the class that the runs belong to, whatever their number. */
static uint32_t class_of_many(LineBits runs) {
  LineBits half = runs;
  uint32_t class = 0;
  for (uint32_t n = 1; n < 128; n *= 2) {
    if (n > 1) {
      LineBits middle = longer_runs(&runs, &half, n);
      if (!any_run(&middle)) return class;
      class++;
    }
    half = runs;
    runs = longer_runs(&half, &half, n);
    if (!any_run(&runs)) return class;
    class++;
  }
  return class;
}

/* Returns the class of a block that has free lines. */
static uint32_t hole_class(const uint8_t *lines) {
  LineBits bits = free_bits(lines);
  uint32_t longest = longest_of_few(&bits), class = HEAP_HOLE_CLASSES - 1;
  if (longest == 0) return class_of_many(bits);
  while (hole_lines[class] > longest) class--;
  rt_assert(class == class_of_many(bits));
  return class;
}

/* Returns the first class whose blocks surely have a hole of `lines` lines. */
static uint32_t class_for(uint32_t lines) {
  uint32_t class = 0;
  while (hole_lines[class] < lines) class++;
  return class;
}

/* ---- recyclable blocks --------------------------------------------------- */

static BlockClasses *classes_of(Heap *h, const Block *b) { return b->warm ? &h->warm : &h->cold; }

static void push_recyclable(Heap *h, Block *b, bool warm) {
  b->state = BLOCK_RECYCLABLE;
  b->warm = warm;
  b->hole_class = (uint8_t)hole_class(block_lines(b));
  BlockClasses *classes = classes_of(h, b);
  list_push_first(&classes->lists[b->hole_class], b);
  classes->used |= 1u << b->hole_class;
}

static void remove_recyclable(Heap *h, Block *b) {
  BlockClasses *classes = classes_of(h, b);
  BlockList *list = &classes->lists[b->hole_class];
  list_remove(list, b);
  if (list->first == NULL) classes->used &= ~(1u << b->hole_class);
}

/* Moves the warm blocks that were not taken again to the cold: they are not in the cache
 * any more. */
static void cool_warm_blocks(Heap *h) {
  for (uint32_t class = 0; class < HEAP_HOLE_CLASSES; class++)
    for (Block *b = h->warm.lists[class].last, *prev; b != NULL; b = prev) {
      prev = b->prev;
      b->warm = false;
      list_push_first(&h->cold.lists[class], b);
    }
  h->cold.used |= h->warm.used;
  h->warm = (BlockClasses){0};
}

/* ---- taking blocks ------------------------------------------------------- */

static Block *consume_block(Heap *h, Block *b) {
  b->state = BLOCK_CONSUMED;
  b->epoch = h->epoch;
  b->released = 0;
  b->released_pages = 0;
  list_push_first(&h->consumed, b);
  h->nconsumed++;
  return b;
}

/* Returns the free block to take. Warm blocks stand first in the list, then blocks
 * without pages, and last those that a sweep has freed. Those are taken before the blocks
 * without pages, so the heap touches no page that it need not. */
static Block *best_free(const Heap *h) {
  Block *first = h->free.first, *last = h->free.last;
  return first->released && !last->released ? last : first;
}

/* Takes a free block, when no other block has a hole of `lines` lines. */
static Block *take_free_block(Domain *d, uint32_t lines) {
  Heap *h = &d->heap;
  if (h->free.first == NULL && !grow_heap(d, lines)) return NULL;
  Block *b = best_free(h);
  remove_free(h, b);
  return consume_block(h, b);
}

static Block *take_recyclable(Domain *d, BlockClasses *classes, uint32_t class) {
  Heap *h = &d->heap;
  Block *b = classes->lists[class].first;
  remove_recyclable(h, b);
  if (unlikely(h->needs_holes) && class >= HEAP_LONG_HOLE) heap_hosted_hole_taken(d);
  return consume_block(h, b);
}

static bool is_warm_free(const Heap *h) {
  const Block *f = h->free.first;
  return f != NULL && f->epoch == h->epoch && !f->released;
}

/* Takes a block for small objects: a warm recyclable one, with the longest holes first;
 * else a warm free one; else a cold one, with the shortest holes first; else any free
 * one. */
static Block *take_block(Domain *d) {
  Heap *h = &d->heap;
  if (h->warm.used != 0)
    return take_recyclable(d, &h->warm, 31 - (uint32_t)__builtin_clz(h->warm.used));
  if (h->cold.used == 0 || is_warm_free(h)) return take_free_block(d, MIN_FREE_LINES);
  return take_recyclable(d, &h->cold, (uint32_t)__builtin_ctz(h->cold.used));
}

/* Takes a block with a hole of `lines` lines: the shortest such hole. */
static Block *take_block_with(Domain *d, uint32_t lines) {
  Heap *h = &d->heap;
  uint32_t class = class_for(lines), classes = ~UINT32_C(0) << class;
  if (h->warm.used & classes)
    return take_recyclable(d, &h->warm, (uint32_t)__builtin_ctz(h->warm.used & classes));
  if (h->cold.used & classes)
    return take_recyclable(d, &h->cold, (uint32_t)__builtin_ctz(h->cold.used & classes));
  uint32_t least = hole_lines[class];
  return take_free_block(d, least > MIN_FREE_LINES ? least : MIN_FREE_LINES);
}

/* ---- taking holes -------------------------------------------------------- */

/* Fills `hole` with the first hole of its block, from line `i` on, that has at least
 * `least` lines. */
static bool find_hole(Hole *hole, uint32_t i, uint32_t least) {
  const uint8_t *lines = block_lines(hole->block);
  while ((i = next_free_line(lines, i)) < HEAP_BLOCK_LINES) {
    uint32_t to = next_used_line(lines, i);
    if (to - i >= least) {
      hole->start = block_start(hole->block) + ((size_t)i << HEAP_LINE_SHIFT);
      hole->end = block_start(hole->block) + ((size_t)to << HEAP_LINE_SHIFT);
      return true;
    }
    i = to;
  }
  return false;
}

/* Fills `hole` with the first hole of a block that was just taken. A block without a line
 * in use is one hole: its lines are not read, as they may have no page yet. */
static bool find_first_hole(Hole *hole, uint32_t least) {
  if (hole->block->free_lines != HEAP_BLOCK_LINES) return find_hole(hole, 0, least);
  hole->start = block_start(hole->block);
  hole->end = hole->start + HEAP_BLOCK_SIZE;
  return true;
}

static uint32_t line_after(const Hole *hole) {
  return (uint32_t)((size_t)(hole->end - block_start(hole->block)) >> HEAP_LINE_SHIFT);
}

static void note_hole(Domain *d, const Hole *hole) {
  d->heap.young_bytes += (size_t)(hole->end - hole->start);
  heap_note_taken(d);
}

/* Leaves the current hole. The rest of it is free again when a minor collection has
 * examined its block. */
static void leave_hole(Heap *h) {
  h->asked_bytes += (size_t)(h->cursor - h->hole.start);
  h->young_bytes -= (size_t)(h->hole.end - h->cursor);
}

static void leave_medium_hole(Heap *h) {
  h->young_bytes -= (size_t)(h->medium.end - h->medium_cursor);
}

/* Takes the next hole for small objects. It is never in a block of the medium cursor, and
 * the medium hole never in a block of this one: each cursor takes whole blocks. */
static bool take_hole(Domain *d) {
  Heap *h = &d->heap;
  Hole next = h->hole;
  bool found = next.block != NULL && find_hole(&next, line_after(&h->hole), 1);
  while (!found) {
    if ((next.block = take_block(d)) == NULL) return false;
    found = find_first_hole(&next, 1);
  }
  leave_hole(h);
  h->hole = next;
  h->cursor = next.start;
  h->limit = next.end;
  note_hole(d, &next);
  return true;
}

static bool take_medium_hole(Domain *d, size_t size) {
  Heap *h = &d->heap;
  Hole next = h->medium;
  uint32_t lines = (uint32_t)((size + HEAP_LINE_SIZE - 1) >> HEAP_LINE_SHIFT);
  if (next.block == NULL || !find_hole(&next, line_after(&h->medium), lines)) {
    if ((next.block = take_block_with(d, lines)) == NULL) return false;
    bool found = find_first_hole(&next, lines);
    rt_assert(found);
    (void)found;
  }
  leave_medium_hole(h);
  h->medium = next;
  h->medium_cursor = next.start;
  note_hole(d, &next);
  return true;
}

/* ---- small allocations --------------------------------------------------- */

static void *bump_cursor(Heap *h, size_t size) {
  char *p = h->cursor;
  if (size > (size_t)(h->hole.end - p)) return NULL;
  h->cursor = p + size;
  return p;
}

/* Returns the bytes from an address in the hole to the next line, if no more than a
 * sixteenth of the size. A hole begins on a line; in hosted heaps lines are not aligned
 * to their size. */
ALWAYS_INLINE size_t pad_to_line(const Hole *hole, const char *p, size_t size) {
  size_t pad = ((uintptr_t)hole->start - (uintptr_t)p) & (HEAP_LINE_SIZE - 1);
  return pad <= size / 16 ? pad : 0;
}

/* Allocates at the medium cursor, which stays aligned to 16 bytes (heap_alloc_aligned
 * relies on it). */
static void *bump_medium(Heap *h, size_t size) {
  char *p = h->medium_cursor + pad_to_line(&h->medium, h->medium_cursor, size);
  size_t room = (size + 15) & ~(size_t)15;
  if (room > (size_t)(h->medium.end - p)) return NULL;
  h->medium_cursor = p + room;
  h->elsewhere_left -= (int64_t)size;
  return p;
}

/* Allocates more than a line. The current hole is left only if little of it is wasted. */
static void *alloc_medium(Domain *d, size_t size) {
  Heap *h = &d->heap;
  void *p;
  if ((size_t)(h->hole.end - h->cursor) <= SMALL_LEFTOVER) {
    if (!take_hole(d)) return NULL;
    if ((p = bump_cursor(h, size)) != NULL) return p;
  }
  if ((p = bump_medium(h, size)) != NULL) return p;
  return take_medium_hole(d, (size + 15) & ~(size_t)15) ? bump_medium(h, size) : NULL;
}

static void *alloc_small(Domain *d, size_t size) {
  Heap *h = &d->heap;
  void *p = bump_cursor(h, size);
  if (p != NULL) return p;
  if (size > HEAP_LINE_SIZE) return alloc_medium(d, size);
  return take_hole(d) ? bump_cursor(h, size) : NULL;
}

/* ---- interface ----------------------------------------------------------- */

static void *note_failure(Domain *d) {
  gc_note_emergency(d);
  return NULL;
}

SAMPLE_PATH void *heap_try_alloc(Domain *d, size_t size) {
  if (stress_allocation_fails()) return note_failure(d);
  void *p = heap_is_large(size) ? heap_large_alloc(d, size, false) : alloc_small(d, size);
  return p != NULL ? p : note_failure(d);
}

_Noreturn static NOINLINE void fail(lua_State *L) {
  L->domain->heap.orphans = false; /* the table that was to own them is not made */
  error_memory(L);
}

SAMPLE_PATH NOINLINE void *heap_alloc_slow(lua_State *L, size_t size, MemprofKind kind) {
  void *p = heap_try_alloc(L->domain, size);
  if (unlikely(p == NULL)) fail(L);
  if (unlikely(L->domain->heap.watched)) memprof_took(L, p, size, kind, NULL);
  return p;
}

/* Leaves out bytes where a sample is near, unless the hole ends there. */
static NOINLINE void leave_out_near_sample(Heap *h, size_t bytes) {
  if (bytes >= (size_t)(h->hole.end - h->cursor)) return;
  h->cursor += bytes;
  h->asked_bytes -= bytes;
  heap_plant(h);
}

/* Allocates bytes that the program did not ask for, if there is room for them. A planted
 * sample seems nearer then: heap_alloc_slow finds that it is not. */
static void leave_out(Heap *h, size_t bytes) {
  if (unlikely(bytes >= (size_t)(h->limit - h->cursor))) {
    leave_out_near_sample(h, bytes);
    return;
  }
  h->cursor += bytes;
  h->asked_bytes -= bytes;
}

static NOINLINE void *alloc_aligned_slow(lua_State *L, size_t size) {
  Heap *h = &L->domain->heap;
  if (((uintptr_t)h->cursor & 15) != 0) leave_out(h, HEAP_GRANULE);
  void *p = heap_alloc(L, size, MEMPROF_USERDATA);
  rt_assert(((uintptr_t)p & 15) == 0);
  return p;
}

void *heap_alloc_aligned(lua_State *L, size_t size) {
#ifndef SAROS_STRESS
  Heap *h = &L->domain->heap;
  char *p = h->cursor;
  size_t left_out = (uintptr_t)p & HEAP_GRANULE;
  if (likely(!heap_is_large(size) && left_out + size <= (size_t)(h->limit - p))) {
    h->cursor = p + left_out + size;
    h->asked_bytes -= left_out;
    return p + left_out;
  }
#endif
  return alloc_aligned_slow(L, size);
}

void *heap_alloc_on_line(lua_State *L, size_t size) {
  Heap *h = &L->domain->heap;
  leave_out(h, pad_to_line(&h->hole, h->cursor, size));
  return heap_alloc(L, size, MEMPROF_STRING);
}

/* ---- outgrown parts ------------------------------------------------------ */

/* Returns the class of a size that tables ask for: a power of two, or three times one,
 * from 16 bytes on. -1 for another size. */
ALWAYS_INLINE int outgrown_class(size_t size) {
  int bit = 63 - __builtin_clzll(size);
  if (bit < 4 || bit >= 4 + HEAP_OUTGROWN_CLASSES / 2) return -1;
  size_t power = (size_t)1 << bit;
  return size == power ? 2 * (bit - 4) : size == power + power / 2 ? 2 * (bit - 4) + 1 : -1;
}

ALWAYS_INLINE void keep_outgrown(Heap *h, void *part, size_t size) {
  int class = outgrown_class(size);
  if (class < 0) return;
  memcpy(part, &h->outgrown[class], sizeof(void *));
  h->outgrown[class] = part;
  h->has_outgrown = true;
}

static NOINLINE void *take_outgrown(Heap *h, size_t size) {
  int class = outgrown_class(size);
  void *part = class < 0 ? NULL : h->outgrown[class];
  if (part == NULL || stress_allocation_fails()) return NULL;
  memcpy(&h->outgrown[class], part, sizeof(void *));
  h->elsewhere_left -= (int64_t)size;
  return part;
}

static void forget_outgrown(Heap *h) {
  memset(h->outgrown, 0, sizeof h->outgrown);
  h->has_outgrown = false;
}

/* Allocates at the cursor if no sample is near; returns false otherwise. */
ALWAYS_INLINE bool bump_to_limit(Heap *h, size_t size, void **part) {
#ifndef SAROS_STRESS
  char *p = h->cursor;
  if (likely(size <= (size_t)(h->limit - p))) {
    h->cursor = p + size;
    *part = p;
    return true;
  }
#endif
  (void)h, (void)size, (void)part;
  return false;
}

static void *try_large_part(Domain *d, size_t size) {
  void *p = stress_allocation_fails() ? NULL : heap_large_alloc(d, size, true);
  return p != NULL ? p : note_failure(d);
}

ALWAYS_INLINE void *try_alloc_part(lua_State *L, size_t size, MemprofKind kind, void *owner) {
  Domain *d = L->domain;
  void *part;
  if (likely(!heap_is_large(size))) {
    if (d->heap.has_outgrown && (part = take_outgrown(&d->heap, size)) != NULL) {
      if (unlikely(d->heap.elsewhere_left < 0)) memprof_took(L, part, size, kind, owner);
      return part;
    }
    if (bump_to_limit(&d->heap, heap_round(size), &part)) return part;
    part = heap_try_alloc(d, heap_round(size));
  } else {
    part = try_large_part(d, size);
  }
  if (unlikely(d->heap.watched) && part != NULL) memprof_took(L, part, size, kind, owner);
  return part;
}

SAMPLE_PATH
static NOINLINE void *alloc_part_slow(lua_State *L, size_t size, MemprofKind kind, void *owner) {
  void *p = heap_try_alloc(L->domain, size);
  if (unlikely(p == NULL)) fail(L);
  if (unlikely(L->domain->heap.watched)) memprof_took(L, p, size, kind, owner);
  return p;
}

static NOINLINE void *alloc_large_part(lua_State *L, size_t size, MemprofKind kind, void *owner) {
  void *p = try_alloc_part(L, size, kind, owner);
  if (unlikely(p == NULL)) fail(L);
  return p;
}

/* Works like heap_alloc, and tells the sampler what it has to know. */
ALWAYS_INLINE void *alloc_small_part(lua_State *L, size_t size, MemprofKind kind, void *owner) {
  void *p;
  return bump_to_limit(&L->domain->heap, size, &p) ? p : alloc_part_slow(L, size, kind, owner);
}

ALWAYS_INLINE void *alloc_part(lua_State *L, size_t size, MemprofKind kind, void *owner) {
  if (unlikely(size == 0)) return NULL;
  if (unlikely(heap_is_large(size))) return alloc_large_part(L, size, kind, owner);
  Heap *h = &L->domain->heap;
  void *part = h->has_outgrown ? take_outgrown(h, size) : NULL;
  if (part == NULL) return alloc_small_part(L, heap_round(size), kind, owner);
  if (unlikely(h->elsewhere_left < 0)) memprof_took(L, part, size, kind, owner);
  return part;
}

void *heap_try_alloc_stack(lua_State *L, size_t size) {
#ifndef SAROS_STRESS
  Heap *h = &L->domain->heap;
  char *p = h->cursor;
  if (likely(!heap_is_large(size) && !h->has_outgrown && size <= (size_t)(h->limit - p))) {
    rt_assert(size == heap_round(size));
    h->cursor = p + size;
    return p;
  }
#endif
  return try_alloc_part(L, size, MEMPROF_STACK, L);
}
void *heap_alloc_code(lua_State *L, size_t size, Prototype *owner) {
  return alloc_part(L, size, MEMPROF_CODE_PART, owner);
}
void *heap_alloc_array(lua_State *L, size_t size) {
  return alloc_part(L, size, MEMPROF_ARRAY, NULL);
}
void *heap_alloc_array_of(lua_State *L, size_t size, Table *owner) {
  return alloc_part(L, size, MEMPROF_ARRAY, owner);
}
void *heap_alloc_nodes(lua_State *L, size_t size) {
  return alloc_part(L, size, MEMPROF_HASH, NULL);
}
void *heap_alloc_nodes_of(lua_State *L, size_t size, Table *owner) {
  return alloc_part(L, size, MEMPROF_HASH, owner);
}

static bool is_last(const Heap *h, const void *part, size_t size) {
  return (const char *)part + heap_round(size) == h->cursor && (const char *)part >= h->hole.start;
}

/* Forgets that a young part was taken: its successor has replaced it. */
static void forget_taken(Heap *h, const LargeHeader *large) {
  if (large->mark != 0) return;
  rt_assert(h->large_debt >= large->size);
  h->large_debt -= large->size;
}

/* Notes that a part is given back, while blocks are sampled. */
ALWAYS_INLINE void note_freed(Domain *d, const void *part) {
  uint32_t i = heap_part_index(&d->heap, part);
  if (d->heap.sampled_parts[i / 64] >> i % 64 & 1) memprof_part_gone(d, part);
}

static NOINLINE void free_hosted_part(Domain *d, void *part, size_t size) {
  Heap *h = &d->heap;
  if (heap_line_of(h, part) == 0) keep_outgrown(h, part, size);
  else if (h->live_bytes >= size) h->live_bytes -= size; /* it was old */
  if (unlikely(h->watched)) note_freed(d, part);
}

void heap_free_part(lua_State *L, void *part, size_t size) {
  if (part == NULL || size == 0) return;
  Heap *h = &L->domain->heap;
  if (heap_is_large(size)) {
    forget_taken(h, heap_large_of(part));
    gc_large_part_gone(L->domain, heap_large_of(part));
  } else if (is_last(h, part, size)) {
    h->cursor = part;
    h->asked_bytes += heap_round(size); /* but it was asked for */
    if (likely(!h->watched)) return;
    heap_plant(h);
    note_freed(L->domain, part);
    return;
  } else if (heap_is_hosted(h)) {
    free_hosted_part(L->domain, part, size);
    return;
  } else if (heap_chunk_of(part)->lines[heap_line_index(part)] == 0) {
    keep_outgrown(h, part, size);
  } else if (h->live_bytes >= size) {
    h->live_bytes -= size; /* it was old */
  }
  if (unlikely(h->watched)) note_freed(L->domain, part);
}

static void *grow_large(Domain *d, void *part, size_t new_size) {
  gc_large_part_moving(d, heap_large_of(part));
  LargeHeader *moved =
      stress_allocation_fails() ? NULL : heap_large_resize(d, heap_large_of(part), new_size);
  return moved != NULL ? moved + 1 : note_failure(d);
}

/* Notes the bytes that a part grows by in place: they count as asked for. */
static NOINLINE void note_growth(lua_State *L, void *part, size_t more, MemprofKind kind,
                                 void *owner) {
  memprof_took(L, part, more, kind, owner);
}

/* Grows a large part while blocks are sampled. A sample of a stack reads the stack, so
 * it is taken before the stack moves; if memory is short the bytes still count as
 * asked for. */
static NOINLINE void *grow_large_watched(lua_State *L, void *part, size_t more, size_t new_size,
                                         MemprofKind kind, void *owner) {
  Heap *h = &L->domain->heap;
  bool before = kind == MEMPROF_STACK;
  if (before) {
    h->elsewhere_left -= (int64_t)more;
    note_growth(L, part, more, kind, owner);
  }
  void *grown = grow_large(L->domain, part, new_size);
  if (grown == NULL) return NULL;
  if (before) h->elsewhere_left += (int64_t)more; /* counted by now */
  memprof_part_moved(L->domain, part, grown);
  if (!before) note_growth(L, grown, more, kind, owner);
  return grown;
}

ALWAYS_INLINE void *try_grow_part(lua_State *L, void *part, size_t old_size, size_t new_size,
                           MemprofKind kind, void *owner) {
  Heap *h = &L->domain->heap;
  size_t old_end = heap_round(old_size), new_end = heap_round(new_size);
  if (part != NULL && heap_is_large(old_size) && heap_is_large(new_size))
    return unlikely(h->watched)
               ? grow_large_watched(L, part, new_end > old_end ? new_end - old_end : 0, new_size,
                                    kind, owner)
               : grow_large(L->domain, part, new_size);
  if (part != NULL && is_last(h, part, old_size) && !heap_is_large(new_size) &&
      new_end <= (size_t)(h->hole.end - (char *)part)) {
    h->cursor = (char *)part + new_end;
    if (new_end < old_end) {
      h->asked_bytes += old_end - new_end;
      if (unlikely(h->watched)) heap_plant(h);
    } else if (unlikely(h->cursor > h->limit)) {
      note_growth(L, part, new_end - old_end, kind, owner);
    }
    return part;
  }
  void *copy = try_alloc_part(L, new_size, kind, owner);
  if (copy == NULL) return NULL;
  if (part != NULL) memcpy(copy, part, old_size < new_size ? old_size : new_size);
  heap_free_part(L, part, old_size);
  return copy;
}

void *heap_try_grow_stack(lua_State *L, size_t old_size, size_t new_size) {
  return try_grow_part(L, L->stack, old_size, new_size, MEMPROF_STACK, L);
}

void *heap_grow_array(lua_State *L, Table *owner, size_t old_size, size_t new_size) {
  void *grown = try_grow_part(L, owner->array, old_size, new_size, MEMPROF_ARRAY, owner);
  if (unlikely(grown == NULL && new_size > 0)) fail(L);
  return grown;
}

/* ---- limit --------------------------------------------------------------- */

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

/* ---- for the collector --------------------------------------------------- */

void heap_retire(Heap *h) {
  forget_outgrown(h);
  leave_hole(h);
  leave_medium_hole(h);
  h->cursor = h->limit = h->medium_cursor = NULL;
  h->hole = h->medium = (Hole){0};
}

static char *next_line(const Hole *hole, char *p) {
  return p + (((uintptr_t)hole->start - (uintptr_t)p) & (HEAP_LINE_SIZE - 1));
}

void heap_begin_line(Heap *h) {
  forget_outgrown(h);
  char *next = next_line(&h->hole, h->cursor);
  h->asked_bytes -= (size_t)(next - h->cursor);
  h->cursor = next;
  h->medium_cursor = next_line(&h->medium, h->medium_cursor);
  heap_plant(h);
}

#ifdef SAROS_DEBUG
/* Fills free lines, which makes a pointer to reclaimed memory conspicuous. */
static void poison_free_lines(const Block *b) {
  const uint8_t *lines = block_lines(b);
  for (uint32_t i = 0; i < HEAP_BLOCK_LINES; i++)
    if (lines[i] == 0)
      memset(block_start(b) + ((size_t)i << HEAP_LINE_SHIFT), 0xDB, HEAP_LINE_SIZE);
}
#else
#define poison_free_lines(b) ((void)(b))
#endif

/* Puts a block that is in no list into the list for its number of free lines. */
static void file_block(Heap *h, Block *b, bool warm) {
  if (b->free_lines == HEAP_BLOCK_LINES) {
    push_free(h, b, warm);
  } else if (b->free_lines < MIN_FREE_LINES) {
    b->state = BLOCK_FULL;
  } else {
    push_recyclable(h, b, warm);
  }
}

static void examine_block(Heap *h, Block *b) {
  uint32_t free_lines = count_free_lines(block_lines(b));
  h->used_lines += (size_t)b->free_lines - free_lines; /* may wrap around */
  b->free_lines = (uint16_t)free_lines;
}

static void reclaim_young_large(Heap *h) {
  for (LargeHeader *large = h->large_young.next, *next; large != &h->large_young; large = next) {
    next = large->next;
    if (large->stays) large->stays = 0;
    else heap_large_free(h, large);
  }
}

/* Prefetches the line bytes of a block: if it was hardly allocated from they are not in
 * the cache. */
static void prefetch_lines(const Block *b) {
  if (b->prev != NULL) __builtin_prefetch(b->prev);
  for (uint32_t i = 0; i < HEAP_BLOCK_LINES; i += 64) __builtin_prefetch(block_lines(b) + i, 1);
}

/* Examines the blocks of a list, oldest first, so that the one used last ends on top.
 * Returns whether none is left. */
static bool examine_list(Heap *h, BlockList *list, size_t most) {
  Block *b = list->last, *prev;
  for (; b != NULL && most > 0; b = prev, most--) {
    prev = b->prev;
    if (prev != NULL) prefetch_lines(prev);
    examine_block(h, b);
    b->epoch = h->epoch;
    poison_free_lines(b);
    file_block(h, b, true);
  }
  list->last = b;
  if (b == NULL) list->first = NULL;
  else b->next = NULL;
  return b == NULL;
}

static void begin_epoch(Heap *h) {
  forget_outgrown(h); /* the collection itself has freed parts */
  h->epoch++;
  cool_warm_blocks(h);
}

static void end_epoch(Heap *h) {
  reclaim_young_large(h);
  h->young_bytes = h->large_debt = h->latest_large = h->growing_bytes = h->scan_debt = 0;
}

void heap_reclaim_young(Heap *h) {
  begin_epoch(h);
  examine_list(h, &h->consumed, SIZE_MAX);
  h->nconsumed = 0;
  end_epoch(h);
}

/* Appends the older blocks to the list. */
static void append_list(BlockList *list, BlockList older) {
  if (older.first == NULL) return;
  older.first->prev = list->last;
  if (list->last != NULL) list->last->next = older.first;
  else list->first = older.first;
  list->last = older.last;
}

void heap_reclaim_young_later(Heap *h) {
  begin_epoch(h);
  append_list(&h->consumed, h->waiting);
  h->waiting = h->consumed;
  h->consumed = (BlockList){0};
  h->nconsumed = 0;
  end_epoch(h);
}

bool heap_examine_waiting(Heap *h, size_t most) { return examine_list(h, &h->waiting, most); }

bool heap_waits(Heap *h, const void *object) {
  return h->waiting.first != NULL && heap_block_of(h, object)->epoch != h->epoch;
}

/* Clears the lines without the bit; returns whether one of them was in use. */
static bool clear_lines(uint8_t *lines, uint8_t line_bit) {
  uint64_t mask = BYTES_OF(line_bit), freed = 0;
  for (uint32_t i = 0; i < HEAP_BLOCK_LINES; i += 8) {
    uint64_t before = load_lines(lines + i), after = before & mask;
    freed |= (before | before >> 1) & ~(after | after >> 1) & BYTES_OF(1);
    memcpy(lines + i, &after, sizeof after);
  }
  return freed != 0;
}

/* Sweeps a block. A block without newly freed lines stays in its list. */
void heap_sweep_block(Heap *h, Chunk *c, uint32_t index, uint8_t line_bit) {
  Block *b = &c->blocks[index];
  if (b->state == BLOCK_FREE || b->state == BLOCK_VACANT) return;
  if (!clear_lines(block_lines(b), line_bit)) return;
  examine_block(h, b);
  if (b->state == BLOCK_CONSUMED) return; /* filed by the next minor collection */
  poison_free_lines(b);
  if (b->state == BLOCK_RECYCLABLE) remove_recyclable(h, b);
  file_block(h, b, false);
}

void heap_init(Heap *h, bool at_home) {
  *h = (Heap){.sample_at = SAMPLE_NEVER, .sample_elsewhere_at = SAMPLE_NEVER,
              .elsewhere_left = INT64_MAX, .masked_most = HEAP_SMALL_MAX,
              .ask_from = HEAP_ASK_FROM};
  h->large_young.next = h->large_young.prev = &h->large_young;
  h->large_old.next = h->large_old.prev = &h->large_old;
  h->dying.next = h->dying.prev = &h->dying;
  if (!at_home) return;
  h->home = heap_chunk_of(h);
  add_chunk(h, h->home, HEAP_FIRST_BLOCKS);
}

void heap_close(Heap *h) {
  while (h->large_young.next != &h->large_young) heap_large_free(h, h->large_young.next);
  while (h->large_old.next != &h->large_old) heap_large_free(h, h->large_old.next);
  heap_large_release(h, SIZE_MAX);
  if (heap_is_hosted(h)) heap_hosted_close(h);
  extent_close(h);
  give_chunk(take_twin(h));
  give_chunk(h->spare); /* first: what is given last is taken first */
  h->spare = NULL;
  Chunk *home = h->home;
  size_t mapped = home != NULL ? mapped_bytes(home) : 0,
         touched = home != NULL ? touched_bytes(h, home) : 0;
  for (Chunk *c = h->chunks, *next; c != NULL; c = next) {
    next = c->next;
    if (c != home) mapping_give_touched(c, mapped_bytes(c), touched_bytes(h, c));
  }
  h->chunks = h->mapped = NULL;
  if (h->ahead == AHEAD_USED) mapping_ahead_end();
  h->ahead = AHEAD_UNTRIED;
  if (home == NULL) return;
  LSAN_NO_ROOT((char *)home + HEAP_HOME, HEAP_HOME_MOST);
  mapping_give_touched(home, mapped, touched);
}
