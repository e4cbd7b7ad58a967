/* SPDX-License-Identifier: MIT */
/* runtime/heap.h: interface of the mark-region heap (design: top of heap.c).
 *
 * Memory comes in chunks of 1 MiB; a chunk is 32 blocks of 32 KiB; a block is
 * 256 lines of 128 bytes.  Allocation bumps a cursor through runs of free
 * lines (holes).  One byte a line says whether it is in use; the collector
 * sets it for the lines that a survivor covers.  What exceeds HEAP_SMALL_MAX
 * is allocated on its own behind a LargeHeader: in an extent, or, when it is huge,
 * in a mapping of its own.
 *
 * The inline fast path (heap_alloc) is in gc_inline.h.
 */
#ifndef SAROS_RUNTIME_HEAP_H
#define SAROS_RUNTIME_HEAP_H
#include "memprof_kinds.h"
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
/* The slots for blocks in the first chunk of a heap, until it has grown. */
#define HEAP_FIRST_BLOCKS 6u
/* The most bytes of a small allocation. Stress builds make this little: larger
 * allocations then come from malloc, so that AddressSanitizer sees wrong uses of them. */
#ifndef HEAP_SMALL_MAX
#ifdef SAROS_STRESS
#define HEAP_SMALL_MAX ((size_t)512)
#else
#define HEAP_SMALL_MAX ((size_t)8192)
#endif
#endif
/* A card is 128 bytes of a large part. Its byte has a bit for each 16 of them, set for
 * what begins there. */
#define HEAP_CARD_SHIFT 7

#define heap_round(size) (((size_t)(size) + HEAP_GRANULE - 1) & ~(size_t)(HEAP_GRANULE - 1))
#define heap_is_large(size) ((size) > HEAP_SMALL_MAX)

/* Classes of blocks by their longest hole: at least hole_lines[class] lines (heap.c). */
#define HEAP_HOLE_CLASSES 14
#define HEAP_LONG_HOLE 11 /* class whose holes have room for anything that is not large */

/* Sizes of small parts that are used again: 16, 24, 32, 48, ... 8192 bytes. */
#define HEAP_OUTGROWN_CLASSES 20

typedef enum BlockState {
  BLOCK_FREE,       /* no line in use; in Heap.free */
  BLOCK_RECYCLABLE, /* some free lines; in Heap.warm or Heap.cold, by hole_class */
  BLOCK_FULL,       /* too few free lines to allocate from; in no list */
  BLOCK_VACANT,     /* of a hosted chunk, without memory; in Heap.vacant */
  BLOCK_CONSUMED    /* allocated from since the last minor collection; in Heap.consumed */
} BlockState;

typedef struct Block {
  struct Block *next, *prev; /* in the list of its state */
  uint8_t state;       /* BlockState */
  uint8_t released;    /* is free, and its pages are given back to the system */
  uint8_t idle;        /* while free: Heap.idle_mark of the walk that noted it, or 0 */
  uint8_t hole_class;  /* while recyclable: class of its longest hole */
  uint8_t released_pages; /* while recyclable: a bit for each page that was given back */
  uint8_t warm;        /* while recyclable: it is in Heap.warm, not in Heap.cold */
  uint16_t free_lines; /* as of its last examination */
  /* number of the minor collection that examined it last, which distinguishes warm from
   * cold; while consumed: of the last one before it was taken */
  uint32_t epoch;
  uint16_t offset;     /* bytes from the Chunk to this Block */
  uint8_t index;       /* its index in Chunk.blocks */
  char *start;         /* begin of its memory */
} Block;

typedef struct BlockList {
  Block *first, *last;
} BlockList;

/* Recyclable blocks by the class of their longest hole. */
typedef struct BlockClasses {
  BlockList lists[HEAP_HOLE_CLASSES];
  uint32_t used; /* a bit for each list that is not empty */
} BlockClasses;

/* The header of a chunk, in the place of its first block. The members that a heap uses
 * even if it is never collected are at the end, next to what follows the header
 * (HEAP_HOME): a heap of few blocks touches two pages for both. The header of a hosted
 * chunk lies anywhere, and so does each of its blocks (heap_hosted.c). */
typedef struct Chunk {
  /* indexed by HeapLocation.offset; the lines of the first block are unused */
  _Alignas(64) uint8_t lines[HEAP_CHUNK_LINES];
  /* a bit for each granule (gc_overflow.c); zero before the chunk is in a heap */
  uint64_t overflow[HEAP_CHUNK_SIZE / HEAP_GRANULE / 64];
  Block blocks[HEAP_CHUNK_BLOCKS]; /* [0] is unused */
  struct Chunk *next;              /* in Heap.chunks */
  uint32_t free_blocks;            /* number of blocks that are BLOCK_FREE */
  bool used;                       /* memory was used before, and is not zero */
  bool overflowed;                 /* a bit of `overflow` may be set */
  bool hosted;                     /* its memory is the allocator's */
  uint8_t vacant_blocks;           /* number of blocks that are BLOCK_VACANT */
  uint8_t skipped;                 /* allocator's bytes before a hosted header */
  uint8_t nblocks;                 /* blocks[1..nblocks - 1] exist */
  uint8_t mapped_blocks;           /* slots of blocks that have addresses; 0 if hosted */
  uint32_t touched;                /* bytes that had pages when it became a first chunk */
} Chunk;
_Static_assert(sizeof(Chunk) <= HEAP_BLOCK_SIZE, "the chunk's own data fit its first block");

/* The location of an address: `offset` bytes from the begin of the chunk, if its blocks
 * lay one after another (those of a hosted chunk do not). */
typedef struct HeapLocation {
  Chunk *chunk;
  size_t offset;
} HeapLocation;

/* The header before every large allocation. */
typedef struct LargeHeader {
  struct LargeHeader *prev, *next; /* circular list: Heap.large_young or Heap.large_old */
  size_t size;                     /* bytes asked for */
  union {
    uint8_t *cards;                /* part: one byte for each card; object: NULL */
    const size_t *now;             /* external: counter of `size` (atomic), or NULL */
    uint64_t died;                 /* dying: mapping_now then; `size` is the epoch */
  };
  uint8_t mark;                    /* like a line byte: 0 while young */
  /* 1 for a part whose contents no collection has scanned yet; 2 if its cards are
   * incomplete, too */
  uint8_t fresh;
  /* of a part: its owner is in the remembered set and yet clean; of an object: it is to
   * be scanned (gc_overflow.c) */
  uint8_t logged;
  /* lies in an extent; else it comes from malloc or the allocator, or is a mapping */
  uint8_t in_extent;
  /* part that was all zero when allocated, and that grows by zero bytes */
  uint8_t zeroed;
  uint8_t external;                /* memory outside the heap (gc_external.c) */
  uint8_t revived;                 /* external; owner lives for its finalizer only */
  /* object that stays young in this minor collection unless it is promoted */
  uint8_t stays;
  size_t mapped;                   /* bytes of its own mapping; 0 if it has none */
} LargeHeader;
_Static_assert(sizeof(LargeHeader) % 16 == 0, "large allocations are aligned to 16 bytes");

/* A hole that is being filled, in a consumed block. */
typedef struct Hole {
  char *start, *end; /* NULL if there is none */
  Block *block;
} Hole;

#define HEAP_ASK_FROM ((size_t)256 << 10)
#define SAMPLE_NEVER ((uint64_t)INT64_MAX) /* a number of bytes that is never reached */

typedef enum HeapAhead { AHEAD_UNTRIED, AHEAD_USED, AHEAD_REFUSED } HeapAhead;

typedef struct Heap {
  char *cursor; /* bump allocation: next free byte of `hole` */
  /* The fast path allocates up to here: the end of `hole`, or the next sample if that
   * lies before (heap_plant). */
  char *limit;
  Hole hole;
  /* The second cursor, in a block of its own, for objects of more than a line that do not
   * fit `hole`. */
  char *medium_cursor;
  Hole medium;
  /* young parts that were freed: for each size, a list linked by their first word */
  void *outgrown[HEAP_OUTGROWN_CLASSES];
  bool has_outgrown;                     /* some of the lists may not be empty */
  BlockClasses warm; /* recyclable, examined by the last minor collection: in the cache */
  BlockClasses cold;
  BlockList free;     /* free blocks, warm ones first */
  BlockList consumed; /* consumed blocks, the last taken first */
  uint32_t nconsumed; /* number of blocks in `consumed` */
  /* consumed blocks whose young objects are dead, until the dead strings in them have
   * left the intern table */
  BlockList waiting;
  uint32_t nfree;             /* number of blocks in `free` */
  uint32_t nheld;             /* number of blocks in `free` that have pages */
  uint32_t nblocks;           /* number of blocks in all chunks */
  uint32_t epoch;             /* number of minor collections, truncated */
  Chunk *chunks; /* hosted ones first */
  Chunk *mapped; /* first one not hosted: tools look for threads from here on */
  Chunk *home;   /* the first chunk, if the heap itself lies in it; else NULL */
  /* the other half of the last huge page, to become the next chunk; or NULL */
  Chunk *twin;
  uint8_t ahead; /* HeapAhead: use of pages that were made present (mapping_ahead.h) */
  /* an untouched chunk, for when there is no other memory (grow_heap); or NULL */
  Chunk *spare;
  struct Extent *extents;     /* list of extents (heap_extent.c) */
  size_t extent_bytes;        /* bytes of all extents */
  size_t extent_idle;         /* free bytes in extents, not given back to the system */
  Chunk **trim_link;          /* link to the chunk where giving back continues */
  struct Extent **trim_extent; /* link to the extent where it continues later */
  uint32_t trim_keep;         /* number of free blocks that are kept */
  uint8_t idle_mark;          /* 1 or 2 in turns: mark of the present period of walks */
  uint64_t idle_since;        /* begin of that period, in ns of mapping_now */
  LargeHeader large_young, large_old; /* list heads */
  /* list head: mappings that are given back piece by piece, the latest first */
  LargeHeader dying;
  size_t dying_bytes;       /* bytes mapped for `dying` */
  size_t used_lines;        /* lines in use, as of the last examination of blocks */
  size_t young_bytes;       /* bytes of the holes taken since the last minor collection */
  /* bytes allocated large since the last minor collection and not freed by their owner,
   * growth of old parts included */
  size_t large_debt;
  size_t largest_part;      /* bytes of a table's largest part since the last cycle */
  /* bytes of the part for which free memory was given back last (heap_large.c) */
  size_t largest_huge;
  bool huge_again;          /* a part not much larger got a mapping after that */
  /* bytes of the last object of LATEST_LEAST or more, which are no debt yet */
  size_t latest_large;
  /* part of LATEST_LEAST or more that was made or grew last; NULL if it is gone */
  const LargeHeader *growing;
  size_t growing_bytes;     /* bytes of the debt that `growing` took (GcDue) */
  /* debt for each object, card and thread that the next minor collection must examine */
  size_t scan_debt;
  size_t young_large_bytes; /* bytes of young large allocations */
  size_t old_large_bytes, old_large_count;
  size_t buffer_bytes;      /* malloc's bytes for luaL_Buffer (gc_note_buffer) */
  size_t malloc_freed;      /* bytes of buffers, and of stacks of the sampler, that were
                             * freed and that malloc may keep (gc_trim_malloc) */
  size_t external_bytes;    /* bytes of young and old large allocations that lie outside
                             * the heap (gc_external.c) */
  /* bytes of old objects and parts in blocks, counted when promoted or marked */
  size_t live_bytes;
  uint64_t allocated_bytes; /* bytes taken up to the last minor collection */
  uint64_t asked_bytes;     /* bytes asked for at the cursor since the domain began,
                             * without those in `hole` */
  /* Bytes to the end of sample_elsewhere_at. Bytes asked for elsewhere (second cursor,
   * large, used again) are subtracted; below 0 the block is sampled. */
  int64_t elsewhere_left;
  size_t most_bytes;        /* bound on bytes of chunks and large allocations, or 0 */
  size_t limit_bytes;       /* bytes that a domain may use (heap_set_limit), or 0 */
  size_t limit_trigger;     /* bytes in use at which a collection is to find out whether
                             * the domain exceeds its limit */
  /* The most bytes of an object in blocks whose lines are found by masking its address:
   * HEAP_SMALL_MAX, or 0 when there is an allocator. */
  size_t masked_most;
  size_t ask_from;          /* bytes from which on an allocation asks whether there is
                             * room (gc_make_room) */
  /* The allocator that memory comes from (heap_hosted.c); NULL if the heap maps its
   * memory. */
  lua_Alloc allocf;
  void *alloc_ud;
  BlockList vacant;         /* blocks of hosted chunks that have no memory */
  Block **hosted;           /* hash table by address: hosted blocks with memory */
  size_t hosted_mask;       /* number of slots in `hosted`, less one */
  size_t nhosted;           /* number of blocks in `hosted` */
  Block *hosted_last;       /* block found last; or NULL */
  void *reserve;            /* linked memory of spare blocks; or NULL */
  uint8_t nreserve;
  bool needs_holes;         /* the reserve is enough only with the long holes: taking one
                             * of the last is an emergency */
  uint32_t warned_lines;    /* lines that were free when the program last ran out of
                             * memory; 0 if there was enough since */
  size_t recollect_at;      /* debt at which everything is collected again, since the last
                             * emergency could not fill the reserve; 0 if it is full */
  /* Sampling (memprof.c). The block that makes heap_asked_at_cursor exceed sample_at,
   * or heap_asked_elsewhere exceed sample_elsewhere_at, is sampled; SAMPLE_NEVER if none
   * is. */
  uint64_t sample_at, sample_elsewhere_at;
  /* Sampled parts by address (heap_part_index): a bit for each slot of the sampler's
   * table, 0 if the slot is empty. */
  uint64_t *sampled_parts;
  uint32_t sampled_parts_mask;
  bool watched;             /* blocks are sampled or tracked: the sampler is told */
  bool orphans;             /* parts were sampled whose table is made next */
} Heap;

void *heap_alloc_slow(lua_State *L, size_t size, MemprofKind kind);

/* Works like heap_alloc_slow, for a userdata: its address is a multiple of 16 bytes. */
void *heap_alloc_aligned(lua_State *L, size_t size);
/* Works like heap_alloc_slow, for a string of several lines (HEAP_LINED_LEAST), which
 * begins on a line where that costs little: objects of one size that are allocated
 * between others then leave holes that fit the next ones, rather than holes of a line
 * less. */
void *heap_alloc_on_line(lua_State *L, size_t size);
#define HEAP_LINED_LEAST ((size_t)512)
/* Sets the header of a new object. */
ALWAYS_INLINE void object_init(lua_State *L, void *object, uint8_t type) {
  (void)L;
  ((GCObject *)object)->type = type;
  ((GCObject *)object)->gc = GC_YOUNG;
}
/* Allocates a part: no header, owned by one object (table part, stack, code). Any size up
 * to PTRDIFF_MAX; 0 returns NULL. Never collects; raises LUA_ERRMEM.
 *
 * The sampler has to know the owner: a prototype, the thread L, or a table. Functions
 * named `..._of` get the table; the others are for a table that is made right after its
 * parts. */
void *heap_alloc_code(lua_State *L, size_t size, Prototype *owner);
void *heap_alloc_array(lua_State *L, size_t size);
void *heap_alloc_array_of(lua_State *L, size_t size, Table *owner);
void *heap_alloc_nodes(lua_State *L, size_t size);
void *heap_alloc_nodes_of(lua_State *L, size_t size, Table *owner);
/* Gives a part back early (large ones are freed at once). NULL allowed. */
void heap_free_part(lua_State *L, void *part, size_t size);
/* Returns a larger (or smaller) part with the same first bytes, and gives the old one
 * back. Large parts keep their cards: slot n of the new part is slot n of the old one for
 * the write barrier, so the owner need not be rescanned. */
void *heap_grow_array(lua_State *L, Table *owner, size_t old_size, size_t new_size);
/* Grows the stack of L like heap_grow_array, but returns NULL instead of raising; the old
 * part is unchanged then. */
void *heap_try_grow_stack(lua_State *L, size_t old_size, size_t new_size);
/* Tells whether a part of this size is all zero bytes (nil) when allocated, and what
 * heap_grow_array added to it as well. Huge parts are, and should not be touched
 * needlessly. */
ALWAYS_INLINE bool heap_part_is_zeroed(const void *part, size_t size);
/* Makes the pages of a huge new part present at once, since all of it will be written
 * soon, here and there. Otherwise each page costs two page faults, at its first read and
 * at its first write. */
void heap_part_populate(void *part, size_t size);

/* ---- large objects made outside of any heap (messages between domains) ---- */

/* Returns a header with room for an object of `size` bytes (large ones only) behind it;
 * NULL if memory is short. */
LargeHeader *heap_large_detached(size_t size);
/* Adds the object to the heap, as if it were just allocated there. Returns the object, or
 * NULL if the heap has no room for it. */
void *heap_large_adopt(Domain *d, LargeHeader *large);
void heap_large_discard(LargeHeader *large); /* if not adopted; NULL allowed */

/* ---- for the collector --------------------------------------------------- */

/* Returns HEAP_HOME_MOST bytes of zero for the owner, in the first chunk of a heap that
 * maps its memory; NULL if memory is short. They are kept with the chunk for the next
 * heap, while malloc would give freed memory back to the system. */
void *heap_new_home(void);
#define HEAP_HOME ((sizeof(Chunk) + 63) & ~(size_t)63) /* offset in the chunk */
#define HEAP_HOME_MOST (HEAP_BLOCK_SIZE - HEAP_HOME)
/* Sets up a heap. at_home: it lies in the memory of heap_new_home, which is gone when the
 * heap is closed. */
void heap_init(Heap *h, bool at_home);
void heap_close(Heap *h);
/* Allocates an object before its domain is complete. Like heap_try_alloc_stack, which
 * allocates the stack of L, it returns NULL instead of raising. */
void *heap_try_alloc(Domain *d, size_t size);
void *heap_try_alloc_stack(lua_State *L, size_t size);
/* Drops the current holes, so that every young region is in a consumed block. */
void heap_retire(Heap *h);
/* Begins a new line in the current holes: a piece of a minor collection marks the lines
 * of what it promotes. (If it dropped the holes, the program would take a new block after
 * each piece. A block counts as taken at once, which would make the next piece due.) */
void heap_begin_line(Heap *h);
/* Ends a minor collection: examines the consumed blocks again, frees dead young large
 * allocations, resets the counters of young bytes. */
void heap_reclaim_young(Heap *h);
/* Ends a minor collection like heap_reclaim_young, but leaves the blocks to
 * heap_examine_waiting; the heap does not allocate from them until then. */
void heap_reclaim_young_later(Heap *h);
bool heap_examine_waiting(Heap *h, size_t most); /* `most` blocks; true if none is left */
/* Tells whether a young object is dead and in a block that waits. Not if hosted. */
bool heap_waits(Heap *h, const void *object);
/* Clears the lines of the block that do not have the bit. */
void heap_sweep_block(Heap *h, Chunk *c, uint32_t index, uint8_t line_bit);
/* Begins a walk that gives back the pages of free blocks beyond `keep`, and whole free
 * chunks. */
void heap_trim_start(Heap *h, uint32_t keep);
/* Continues the walk, by about `most` bytes; with SIZE_MAX to its end, and gives back
 * blocks freed recently, too (heap_trim.c). Returns true when it is done. */
bool heap_trim(Heap *h, size_t most);
/* Gives back the free pages of blocks that are partly in use. */
void heap_trim_parts(Heap *h);

/* Limits what may be in use. If an emergency collection at the limit finds more alive,
 * that is an error (gc_step). As collections wait for a safepoint, a quarter more and
 * 2 MiB may be taken for a moment; beyond that an allocation fails at once. 0 for no
 * limit. */
void heap_set_limit(Heap *h, size_t bytes);
/* Sets, after an emergency collection at the limit, when the next one is due. Returns
 * whether too much is alive. */
bool heap_exceeds_limit(Heap *h);

/* Tells whether the heap may take `bytes` more. */
ALWAYS_INLINE bool heap_has_room(const Heap *h, size_t bytes) {
  if (likely(h->most_bytes == 0)) return true;
  size_t used = ((size_t)h->nblocks << HEAP_BLOCK_SHIFT) + h->young_large_bytes +
                h->old_large_bytes + h->buffer_bytes;
  return used <= h->most_bytes && bytes <= h->most_bytes - used;
}

/* Allocates in an extent, for large allocations (heap_extent.c); NULL if memory is short.
 * Sizes of all these functions are in bytes, as requested. */
#define EXTENT_MOST (((size_t)2 << 20) + ((size_t)64 << 10)) /* bytes of one allocation */
void *extent_alloc(Heap *h, size_t size);
void extent_free(Heap *h, void *p, size_t size);
/* Makes an allocation larger or smaller in place; returns false if there is no room
 * behind it. */
bool extent_resize(Heap *h, void *p, size_t old_size, size_t size);
/* Gives back free pages of the extent at *Heap.trim_extent; returns the number of
 * bytes. */
size_t extent_trim(Heap *h, bool now);
/* Gives back free pages of all extents at once, until at least `most` bytes are given
 * back. */
void extent_give_back(Heap *h, size_t most);
void extent_close(Heap *h);

/* Tells whether an allocation of `size` bytes would succeed now. */
bool heap_could_take(Heap *h, size_t size);

/* Allocates a large object or part (heap_large.c); like heap_large_resize, returns NULL
 * when memory is short. */
void *heap_large_alloc(Domain *d, size_t size, bool cards);
LargeHeader *heap_large_resize(Domain *d, LargeHeader *large, size_t size);
void heap_large_promote(Heap *h, LargeHeader *large, uint8_t bit);
void heap_large_free(Heap *h, LargeHeader *large);
/* Returns a young allocation of 0 bytes that stands for memory outside the heap; NULL if
 * memory is short. heap_large_set_external sets its bytes (gc_external.c). */
LargeHeader *heap_large_external(Heap *h);
void heap_large_set_external(Domain *d, LargeHeader *large, size_t size);
/* Gives back at most `bytes` of what was freed some time ago, or all with SIZE_MAX. */
void heap_large_release(Heap *h, size_t bytes);

/* Maps a spare chunk if there is none and the system has memory; fills the reserve if
 * hosted. */
void heap_keep_spare(Heap *h);

/* ---- memory from an allocator (heap_hosted.c) ---------------------------- */

ALWAYS_INLINE bool heap_is_hosted(const Heap *h) { return unlikely(h->allocf != NULL); }
/* Makes the heap hosted: from now on all new memory comes from the allocator. */
void heap_host(Heap *h, lua_Alloc f, void *ud);
/* Returns the location of an address in a block. */
HeapLocation heap_hosted_location(Heap *h, const void *p);
/* Marks lines like heap_mark_lines, where masking does not find them. */
void heap_mark_hosted(Heap *h, const void *p, size_t size, uint8_t bit);
/* Gives a vacant block memory and files it as free. Returns false if the allocator
 * refuses and the reserve is empty. */
bool heap_hosted_grow(Domain *d);
/* Makes a free block of a hosted chunk vacant. */
void heap_hosted_vacate(Heap *h, Block *b);
/* Frees the header at *link, all of whose blocks are vacant. */
void heap_hosted_drop(Heap *h, Chunk **link);
void heap_hosted_keep_reserve(Heap *h);
/* Notes that a block of class HEAP_LONG_HOLE or more was taken, if Heap.needs_holes. */
void heap_hosted_hole_taken(Domain *d);
/* Whether, after everything was collected, there is enough for what is allocated until
 * the next gc_check. HOSTED_SHORT: an error is due. HOSTED_WARNED: there is too little,
 * but not much less than at the last error. HOSTED_EMPTY: an error is due, and each
 * gc_check is an emergency from now on, until there is more. */
typedef enum HostedNeed { HOSTED_ENOUGH, HOSTED_WARNED, HOSTED_SHORT, HOSTED_EMPTY } HostedNeed;
HostedNeed heap_hosted_need(Heap *h);
/* Notes what is left for the program when an out-of-memory error is about to be
 * raised. */
void heap_hosted_note_error(Heap *h);
/* Tells whether the allocator could give `size` bytes now. */
bool heap_hosted_could_take(Heap *h, size_t size);
/* Gives a free block back to the allocator, or one of the reserve if there is none, after
 * it has refused `wanted` bytes, and notes an emergency. *given counts the bytes given
 * back for this request. Returns false if these are enough, or if there was nothing to
 * give. */
bool heap_hosted_give_back(Domain *d, size_t wanted, size_t *given);
void heap_hosted_close(Heap *h);

/* Allocates memory outside blocks, extents and mappings: the allocator's if hosted, else
 * malloc's. NULL if there is none. In the functions below, `old` is the bytes of p as
 * they were asked for. */
void *heap_memory(Domain *d, size_t size);
void *heap_memory_resize(Domain *d, void *p, size_t old, size_t size);
void heap_memory_free(Domain *d, void *p, size_t size);
/* Allocates zeroed memory that the caller can do without, so a refusal is no emergency.
 * heap_memory_try_resize resizes memory in the same way. */
void *heap_memory_zeroed(Domain *d, size_t size);
void *heap_memory_try_resize(Domain *d, void *p, size_t old, size_t size);

/* Returns the bytes of lines and large allocations that were alive when last examined. */
ALWAYS_INLINE size_t heap_old_bytes(const Heap *h) {
  return (h->used_lines << HEAP_LINE_SHIFT) + h->old_large_bytes;
}
ALWAYS_INLINE uint64_t heap_asked_at_cursor(const Heap *h) {
  return h->asked_bytes + (size_t)(h->cursor - h->hole.start);
}
ALWAYS_INLINE uint64_t heap_asked_elsewhere(const Heap *h) {
  return h->sample_elsewhere_at - (uint64_t)h->elsewhere_left;
}
/* Returns the bytes asked for since the domain began, rounded up to words. Parts count
 * when allocated and again, in full, when they are copied to a larger allocation. */
ALWAYS_INLINE uint64_t heap_asked(const Heap *h) {
  return heap_asked_at_cursor(h) + heap_asked_elsewhere(h);
}
/* Sets the limit of the fast path. The next sample is due after a number of bytes asked
 * for, so its address changes when the cursor moves without bytes being asked for, or the
 * reverse. */
ALWAYS_INLINE void heap_plant(Heap *h) {
  uint64_t left = h->sample_at - heap_asked_at_cursor(h);
  size_t room = (size_t)(h->hole.end - h->cursor);
  h->limit = h->orphans ? h->cursor : left < room ? h->cursor + left : h->hole.end;
}
ALWAYS_INLINE void heap_plant_elsewhere(Heap *h, uint64_t at) {
  h->elsewhere_left = (int64_t)(at - heap_asked_elsewhere(h));
  h->sample_elsewhere_at = at;
}
/* Returns the slot of a part in the sampler's table, while blocks are sampled. */
ALWAYS_INLINE uint32_t heap_part_index(const Heap *h, const void *part) {
  uint64_t hash = (uintptr_t)part * UINT64_C(0x9E3779B97F4A7C15);
  return (uint32_t)(hash >> 32) & h->sampled_parts_mask;
}
/* Returns the bytes taken since the last minor collection. */
ALWAYS_INLINE size_t heap_taken(const Heap *h) { return h->young_bytes + h->large_debt; }
/* Returns the bytes taken as pacing counts them: they make a minor collection due. A very
 * large object that was just allocated is in use, and counts only when the next one is
 * allocated. So when strings of megabytes follow each other, each is dead when a
 * collection examines it. */
#define LATEST_LEAST ((size_t)256 << 10)
ALWAYS_INLINE size_t heap_debt(const Heap *h) {
  return heap_taken(h) + h->scan_debt - h->latest_large;
}

ALWAYS_INLINE Chunk *heap_chunk_of(const void *p) {
  return (Chunk *)((uintptr_t)p & ~(uintptr_t)(HEAP_CHUNK_SIZE - 1));
}
ALWAYS_INLINE uint32_t heap_line_index(const void *p) {
  return (uint32_t)(((uintptr_t)p & (HEAP_CHUNK_SIZE - 1)) >> HEAP_LINE_SHIFT);
}
ALWAYS_INLINE HeapLocation heap_location_of(Heap *h, const void *p) {
  if (heap_is_hosted(h)) return heap_hosted_location(h, p);
  return (HeapLocation){heap_chunk_of(p), (uintptr_t)p & (HEAP_CHUNK_SIZE - 1)};
}
ALWAYS_INLINE uint8_t heap_line_of(Heap *h, const void *p) {
  HeapLocation at = heap_location_of(h, p);
  return at.chunk->lines[at.offset >> HEAP_LINE_SHIFT];
}
ALWAYS_INLINE Block *heap_block_of(Heap *h, const void *p) {
  HeapLocation at = heap_location_of(h, p);
  return &at.chunk->blocks[at.offset >> HEAP_BLOCK_SHIFT];
}
ALWAYS_INLINE void *heap_address_of(HeapLocation at) {
  return at.chunk->blocks[at.offset >> HEAP_BLOCK_SHIFT].start +
         (at.offset & (HEAP_BLOCK_SIZE - 1));
}
ALWAYS_INLINE LargeHeader *heap_large_of(const void *p) { return (LargeHeader *)p - 1; }
ALWAYS_INLINE bool heap_part_is_zeroed(const void *part, size_t size) {
  return unlikely(heap_is_large(size)) && heap_large_of(part)->zeroed;
}
/* Marks the lines that [p, p + size) covers; size > 0, at most Heap.masked_most. */
ALWAYS_INLINE void heap_mark_lines(const void *p, size_t size, uint8_t bit) {
  uint8_t *lines = heap_chunk_of(p)->lines;
  uint32_t first = heap_line_index(p), last = heap_line_index((const char *)p + size - 1);
  do lines[first] |= bit; while (first++ < last);
}
#endif
