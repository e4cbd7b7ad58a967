/* runtime/heap.h: interface of the mark-region heap (design: top of heap.c).
 *
 * Memory comes in chunks of 1 MiB; a chunk is 32 blocks of 32 KiB; a block is
 * 256 lines of 128 bytes.  Allocation bumps a cursor through runs of free
 * lines (holes).  One byte a line says whether it is in use; the collector
 * sets it for the lines that a survivor covers.  What exceeds HEAP_SMALL_MAX
 * is allocated on its own behind a LargeHeader.
 *
 * The inline fast path (heap_alloc) is in gc_inline.h, which domain.h includes.
 */
#ifndef SAROS_RUNTIME_HEAP_H
#define SAROS_RUNTIME_HEAP_H
#include "object.h"

#define HEAP_GRANULE 8 /* sizes are multiples of it, addresses too */
#define HEAP_LINE_SHIFT 7
#define HEAP_LINE_SIZE ((size_t)1 << HEAP_LINE_SHIFT)
#define HEAP_BLOCK_SHIFT 15
#define HEAP_BLOCK_SIZE ((size_t)1 << HEAP_BLOCK_SHIFT)
#define HEAP_BLOCK_LINES (1u << (HEAP_BLOCK_SHIFT - HEAP_LINE_SHIFT))
#define HEAP_CHUNK_SHIFT 20
#define HEAP_CHUNK_SIZE ((size_t)1 << HEAP_CHUNK_SHIFT)
#define HEAP_CHUNK_BLOCKS (1u << (HEAP_CHUNK_SHIFT - HEAP_BLOCK_SHIFT))
#define HEAP_CHUNK_LINES (1u << (HEAP_CHUNK_SHIFT - HEAP_LINE_SHIFT))
#define HEAP_SMALL_MAX ((size_t)8192) /* bytes; larger allocations stand alone */
#define HEAP_CARD_SHIFT 9             /* a card: 512 bytes of a large part */

#define heap_round(size) (((size_t)(size) + HEAP_GRANULE - 1) & ~(size_t)(HEAP_GRANULE - 1))
#define heap_is_large(size) ((size) > HEAP_SMALL_MAX)

typedef enum BlockState {
  BLOCK_FREE,       /* no line in use; in Heap.free */
  BLOCK_RECYCLABLE, /* some free lines; in Heap.recyclable */
  BLOCK_FULL,       /* too few free lines to allocate from; in no list */
  BLOCK_CONSUMED    /* allocated from since the last minor collection; in Heap.consumed */
} BlockState;

typedef struct Block {
  struct Block *next; /* of the list of its state */
  struct Block *prev; /* of Heap.free and Heap.recyclable */
  uint8_t state;      /* BlockState */
  uint8_t released;   /* free and its pages given back to the system */
  uint16_t free_lines; /* as of its last examination; exact unless consumed */
} Block;

/* Lies at the start of a chunk, in the place of its first block. */
typedef struct Chunk {
  uint8_t lines[HEAP_CHUNK_LINES]; /* indexed by address; those of the first block are unused */
  Block blocks[HEAP_CHUNK_BLOCKS]; /* [0] is unused */
  struct Chunk *next;              /* of Heap.chunks */
  uint32_t free_blocks;            /* how many are BLOCK_FREE */
} Chunk;
_Static_assert(sizeof(Chunk) <= HEAP_BLOCK_SIZE, "the chunk's own data fit its first block");

/* Stands before every large allocation. */
typedef struct LargeHeader {
  struct LargeHeader *prev, *next; /* circular list: Heap.large_young or Heap.large_old */
  size_t size;                     /* bytes asked for */
  uint8_t *cards;                  /* one byte a card, of parts; NULL for objects */
  uint8_t mark;                    /* as a line byte: 0 while young */
  uint8_t fresh;                   /* part whose contents no collection has scanned yet */
  uint8_t pad[14];
} LargeHeader;
_Static_assert(sizeof(LargeHeader) % 16 == 0, "large allocations are aligned to 16 bytes");

typedef struct Heap {
  char *cursor; /* bump allocation: next free byte */
  char *limit;  /* end of the current hole */
  /* Where the next hole is looked for: from `limit` in this block. NULL at first. */
  Block *current;
  /* Second cursor, for objects over a line that the current hole cannot hold. */
  char *overflow_cursor, *overflow_limit;
  Block *recyclable;  /* stack: last examined first, so that warm memory is reused */
  Block *free;
  Block *consumed;
  uint32_t nfree;     /* blocks in `free` */
  uint32_t nblocks;   /* blocks of all chunks */
  Chunk *chunks;
  LargeHeader large_young, large_old; /* list heads */
  /* Bytes, for pacing and `count`: */
  size_t young_bytes;       /* of holes taken since the last minor collection, the current ones included */
  size_t young_large_bytes; /* allocated large since the last minor collection and not freed */
  size_t old_bytes;         /* survivors in blocks: exact after each major, plus promotions since */
  size_t old_large_bytes;
  size_t part_waste;        /* parts of old objects given back by hand since the last major */
  uint64_t allocated_bytes; /* ever, up to the last minor collection */
  size_t mapped_bytes;      /* chunks */
  size_t limit_bytes;       /* chunks and large ones together may not exceed it; 0: no limit */
} Heap;

void *heap_alloc_slow(lua_State *L, size_t size);

/* Allocates `size` bytes (multiple of 8) for an object; never collects; raises
 * LUA_ERRMEM.  The caller sets the header with object_init before anything else
 * can allocate, and every field that a trace reads before the next gc_check. */
ALWAYS_INLINE void *heap_alloc(lua_State *L, size_t size); /* gc_inline.h */
/* Header of a new object. */
ALWAYS_INLINE void object_init(lua_State *L, void *object, uint8_t type) {
  (void)L;
  ((GCObject *)object)->type = type;
  ((GCObject *)object)->gc = GC_YOUNG;
}
/* An allocation without header, owned by one object (table part, stack, code).
 * Any size up to PTRDIFF_MAX; 0 answers NULL. Never collects; raises LUA_ERRMEM. */
void *heap_alloc_part(lua_State *L, size_t size);
/* Gives a part back early (large ones are freed at once). NULL allowed. */
void heap_free_part(lua_State *L, void *part, size_t size);
/* A larger (or smaller) part with the same first bytes; the old one is given
 * back. Large parts keep their cards: slot n of the new is slot n of the old
 * for the write barrier, so the owner need not be rescanned. */
void *heap_grow_part(lua_State *L, void *part, size_t old_size, size_t new_size);

/* ---- for the collector ------------------------------------------------------ */

bool heap_init(Domain *d);
void heap_close(Domain *d);
/* As heap_alloc and heap_alloc_part, but answer NULL instead of raising. */
void *heap_try_alloc(Domain *d, size_t size);
/* Takes the current holes away, so that every young region is in a consumed block. */
void heap_retire(Domain *d);
/* After a minor collection: looks at consumed blocks again; frees dead young large ones. */
void heap_reclaim_young(Domain *d);
/* Sweeps one block with the mark bit of the cycle; answers whether it is now wholly free. */
void heap_sweep_block(Domain *d, Chunk *c, uint32_t index, uint8_t line_bit);
void heap_large_promote(Domain *d, LargeHeader *h);
void heap_large_free(Domain *d, LargeHeader *h);
/* Gives back what the free pool holds beyond `keep` blocks. */
void heap_trim(Domain *d, uint32_t keep);

ALWAYS_INLINE Chunk *heap_chunk_of(const void *p) {
  return (Chunk *)((uintptr_t)p & ~(uintptr_t)(HEAP_CHUNK_SIZE - 1));
}
ALWAYS_INLINE uint32_t heap_line_index(const void *p) {
  return (uint32_t)(((uintptr_t)p & (HEAP_CHUNK_SIZE - 1)) >> HEAP_LINE_SHIFT);
}
ALWAYS_INLINE Block *heap_block_of(const void *p) {
  return &heap_chunk_of(p)->blocks[((uintptr_t)p & (HEAP_CHUNK_SIZE - 1)) >> HEAP_BLOCK_SHIFT];
}
ALWAYS_INLINE LargeHeader *heap_large_of(const void *p) { return (LargeHeader *)p - 1; }
/* Marks the lines that [p, p + size) covers; size > 0, not large. */
ALWAYS_INLINE void heap_mark_lines(const void *p, size_t size, uint8_t bit) {
  uint8_t *lines = heap_chunk_of(p)->lines;
  uint32_t first = heap_line_index(p), last = heap_line_index((const char *)p + size - 1);
  do lines[first] |= bit; while (first++ < last);
}
#endif
