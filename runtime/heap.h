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
/* Places of blocks in the first chunk of a heap, until it has grown. */
#define HEAP_FIRST_BLOCKS 6u
/* Bytes; larger allocations stand alone. Where it is small, all but small objects are
 * malloc's, so that AddressSanitizer sees what is wrong with their use. */
#ifndef HEAP_SMALL_MAX
#ifdef SAROS_STRESS
#define HEAP_SMALL_MAX ((size_t)512)
#else
#define HEAP_SMALL_MAX ((size_t)8192)
#endif
#endif
/* a card: 128 bytes of a large part; its byte has a bit for what begins in each 16 of
 * them */
#define HEAP_CARD_SHIFT 7

#define heap_round(size) (((size_t)(size) + HEAP_GRANULE - 1) & ~(size_t)(HEAP_GRANULE - 1))
#define heap_is_large(size) ((size) > HEAP_SMALL_MAX)

/* Classes of blocks by the longest hole in them, in lines: at least holes[class] of
   heap.c. */
#define HEAP_HOLE_CLASSES 14
#define HEAP_LONG_HOLE 11 /* class of holes that have room for anything that is not large */

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
  struct Block *next, *prev; /* of the list of its state */
  uint8_t state;       /* BlockState */
  uint8_t released;    /* free, and its pages given back to the system */
  uint8_t idle;        /* while free: Heap.idle_mark of the walk that noted it; 0: none yet */
  uint8_t hole_class;  /* while recyclable: of its longest hole */
  uint8_t released_pages; /* while recyclable: bit of each of its pages that was given back */
  uint8_t warm;        /* while recyclable: in Heap.warm, not in Heap.cold */
  uint16_t free_lines; /* as of its last examination */
  /* minor collection that examined it last, which distinguishes warm from cold; while consumed:
   * the one before it was taken */
  uint32_t epoch;
  uint16_t offset;     /* of this Block in its Chunk */
  uint8_t index;       /* in Chunk.blocks */
  char *start;         /* of its memory */
} Block;

typedef struct BlockList {
  Block *first, *last;
} BlockList;

/* Recyclable blocks by the class of their longest hole. */
typedef struct BlockClasses {
  BlockList lists[HEAP_HOLE_CLASSES];
  uint32_t used; /* bit of each list that is not empty */
} BlockClasses;

/* Lies at the start of a chunk, in the place of its first block. What a heap that was never
 * collected uses of it stands at the end, before what follows (HEAP_HOME): a heap of few blocks
 * touches two pages of both. That of a hosted chunk lies anywhere, and so does each of its blocks
 * (heap_hosted.c). */
typedef struct Chunk {
  /* indexed by HeapPlace.offset; those of the first block are unused */
  _Alignas(64) uint8_t lines[HEAP_CHUNK_LINES];
  /* a bit a granule (gc_overflow.c); zero before it is in a heap */
  uint64_t overflow[HEAP_CHUNK_SIZE / HEAP_GRANULE / 64];
  Block blocks[HEAP_CHUNK_BLOCKS]; /* [0] is unused */
  struct Chunk *next;              /* of Heap.chunks */
  uint32_t free_blocks;            /* how many are BLOCK_FREE */
  bool used;                       /* its memory was used before the heap got it, and is not zero */
  bool overflowed;                 /* a bit of `overflow` may be set */
  bool hosted;                     /* its memory is the allocator's */
  uint8_t vacant_blocks;           /* how many are BLOCK_VACANT */
  uint8_t skipped;                 /* bytes of the allocator's before a hosted one */
  uint8_t nblocks;                 /* blocks[1..nblocks - 1] exist */
  uint8_t mapped_blocks;           /* places of blocks that have addresses; 0: hosted */
  uint32_t touched;                /* bytes that had pages when it became a first chunk */
} Chunk;
_Static_assert(sizeof(Chunk) <= HEAP_BLOCK_SIZE, "the chunk's own data fit its first block");

/* Where an address lies: `offset` bytes behind the beginning of the chunk, if its blocks lay
 * behind each other (those of a hosted one do not). */
typedef struct HeapPlace {
  Chunk *chunk;
  size_t offset;
} HeapPlace;

/* Stands before every large allocation. */
typedef struct LargeHeader {
  struct LargeHeader *prev, *next; /* circular list: Heap.large_young or Heap.large_old */
  size_t size;                     /* bytes asked for */
  union {
    uint8_t *cards;                /* one byte a card, of parts; NULL for objects */
    const size_t *now;             /* external: what it follows (atomic); NULL: nothing */
    uint64_t died;                 /* dying: when (mapping_now); `size` is the epoch then */
  };
  uint8_t mark;                    /* as a line byte: 0 while young */
  /* part whose contents no collection has scanned yet; 2: and whose cards are
   * incomplete */
  uint8_t fresh;
  /* part whose owner is in the remembered set and yet clean; object to be scanned
     (gc_overflow.c) */
  uint8_t logged;
  /* it lies in one; else it comes from malloc or the allocator, or is a mapping */
  uint8_t in_extent;
  /* part that was all zero when allocated, as what it grows by is */
  uint8_t zeroed;
  uint8_t external;                /* memory outside the heap, nothing behind it (gc_external.c) */
  uint8_t revived;                 /* external, its owner alive for its finalizer only */
  /* object that stays young in this minor collection, if it is not promoted */
  uint8_t stays;
  size_t mapped;                   /* bytes of its own mapping; 0: it has none */
} LargeHeader;
_Static_assert(sizeof(LargeHeader) % 16 == 0, "large allocations are aligned to 16 bytes");

/* A hole that is being filled, in a consumed block. */
typedef struct Hole {
  char *start, *end; /* NULL: none */
  Block *block;
} Hole;

#define HEAP_ASK_FROM ((size_t)256 << 10)
#define SAMPLE_NEVER ((uint64_t)INT64_MAX) /* so many bytes are never asked for */

typedef enum HeapAhead { AHEAD_UNTRIED, AHEAD_USED, AHEAD_REFUSED } HeapAhead;

typedef struct Heap {
  char *cursor; /* bump allocation: next free byte of `hole` */
  /* The fast path allocates up to here: to the end of `hole`, or to where the next sample
   * lies, if that is before (heap_plant). */
  char *limit;
  Hole hole;
  /* Second cursor, in a block of its own, for objects of more than a line that
   * `hole` cannot hold. */
  char *medium_cursor;
  Hole medium;
  /* young parts that were freed, by size: lists linked by their first word */
  void *outgrown[HEAP_OUTGROWN_CLASSES];
  bool has_outgrown;                     /* one of the lists may not be empty */
  BlockClasses warm; /* examined by the last minor collection, and so in the cache */
  BlockClasses cold;
  BlockList free;     /* warm ones first */
  BlockList consumed; /* last one first */
  uint32_t nconsumed; /* blocks in it */
  /* those whose young objects are dead, until dead strings in them have left the intern
   * table; their state is BLOCK_CONSUMED, too */
  BlockList waiting;
  uint32_t nfree;             /* blocks in `free` */
  uint32_t nheld;             /* those of them that have pages */
  uint32_t nblocks;           /* blocks of all chunks */
  uint32_t epoch;             /* number of minor collections, truncated */
  Chunk *chunks; /* hosted ones first */
  Chunk *mapped; /* the first in that list that is not: where tools look for threads */
  Chunk *home;   /* the first chunk, if the heap itself lies in it; or NULL */
  /* in the huge page of the chunk that was added last, for the next; or NULL */
  Chunk *twin;
  uint8_t ahead; /* HeapAhead: whether it takes pages that were made present (mapping_ahead.h) */
  /* mapped, never touched: for when there is no other (grow_heap); or NULL */
  Chunk *spare;
  struct Extent *extents;     /* heap_extent.c */
  size_t extent_bytes;        /* of all of them */
  size_t extent_idle;         /* free in them, and not given back to the system */
  Chunk **trim_link;          /* to the chunk where giving back goes on */
  struct Extent **trim_extent; /* and to the extent, after the chunks */
  uint32_t trim_keep;         /* free blocks that are kept */
  uint8_t idle_mark;          /* 1 or 2, in turns: of the present period of walks */
  uint64_t idle_since;        /* ns of the monotonic clock: begin of that period */
  LargeHeader large_young, large_old; /* list heads */
  /* mappings that are given back piece by piece: list head, latest first */
  LargeHeader dying;
  size_t dying_bytes;       /* mapped for these */
  size_t used_lines;        /* lines in use, consumed blocks as of their last examination */
  size_t young_bytes;       /* of the holes taken since the last minor collection */
  /* bytes allocated large since then and not freed by their owner, growth of old parts
     included */
  size_t large_debt;
  size_t largest_part;      /* bytes of the largest part of a table since the last cycle ended */
  /* bytes of the part for which all was given back that was free (heap_large.c) */
  size_t largest_huge;
  bool huge_again;          /* a table's part of its own mapping was made since then */
  size_t latest_large;      /* bytes of the last one of LATEST_LEAST or more: not debt yet */
  /* the part of LATEST_LEAST or more that was made or grew last, if it exists; or NULL */
  const LargeHeader *growing;
  size_t growing_bytes;     /* of the debt, what it took (GcDue) */
  /* a share for each object, card and thread that the next one must examine */
  size_t scan_debt;
  size_t young_large_bytes; /* of the young large allocations that still exist */
  size_t old_large_bytes, old_large_count;
  size_t buffer_bytes;      /* of luaL_Buffer, which are malloc's: gc_note_buffer */
  size_t malloc_freed;      /* bytes of those, and of stacks of the sampler, that were freed and
                               that malloc may keep: gc_trim_malloc */
  size_t external_bytes;    /* of both, what lies outside the heap (gc_external.c) */
  /* of old objects and parts in blocks: counted when promoted or marked */
  size_t live_bytes;
  uint64_t allocated_bytes; /* taken since the domain began, up to the last minor collection */
  uint64_t asked_bytes;     /* asked for at the cursor since it began, without what is in `hole` */
  /* What is asked for elsewhere (second cursor, large, used again) is taken from here:
   * bytes to the end of sample_elsewhere_at; below 0: the block is sampled. */
  int64_t elsewhere_left;
  size_t most_bytes;        /* bound on chunks and large allocations together; 0: none */
  size_t limit_bytes;       /* that a domain may use; 0: any (heap_set_limit) */
  size_t limit_trigger;     /* use at which a collection is to find out whether it uses more */
  /* Sizes of what lies in blocks whose lines are found by masking the address are at most
   * this: HEAP_SMALL_MAX, or 0 when there is an allocator. */
  size_t masked_most;
  size_t ask_from;          /* bytes from which on there may be no room (gc_make_room) */
  /* The allocator that memory comes from (heap_hosted.c); NULL: the heap maps it itself. */
  lua_Alloc allocf;
  void *alloc_ud;
  BlockList vacant;         /* blocks of hosted chunks that have no memory */
  Block **hosted;           /* blocks that have some: a hash table by address */
  size_t hosted_mask;       /* of its indexes */
  size_t nhosted;           /* blocks in it */
  Block *hosted_last;       /* found last; or NULL */
  void *reserve;            /* memory of blocks for when there is no other, linked; or NULL */
  uint32_t nreserve;
  bool needs_holes;         /* the reserve is little without the long holes: taking one of the last
                               is an emergency */
  size_t recollect_at;      /* debt at which everything is collected, as the last emergency found
                               too little for the reserve; 0: it is full */
  /* Sampling (memprof.c). The block that takes heap_asked_at_cursor, or heap_asked_elsewhere,
   * beyond this is sampled; SAMPLE_NEVER: none */
  uint64_t sample_at, sample_elsewhere_at;
  /* Sampled parts by address (heap_part_index): a bit for each place in the table of the
     sampler, 0: that is empty */
  uint64_t *sampled_parts;
  uint32_t sampled_parts_mask;
  bool watched;             /* blocks are sampled, or tracked: the doors report */
  bool orphans;             /* parts were sampled whose table is made next */
} Heap;

void *heap_alloc_slow(lua_State *L, size_t size, MemprofKind kind);

/* The same for a multiple of 16 bytes' address: a userdata. */
void *heap_alloc_aligned(lua_State *L, size_t size);
/* The same for a string of several lines (HEAP_LINED_LEAST), which begins on a line
 * where that costs little: objects of one size that are allocated between others then
 * leave holes that fit the next ones, rather than holes of a line less. */
void *heap_alloc_on_line(lua_State *L, size_t size);
#define HEAP_LINED_LEAST ((size_t)512)
/* Header of a new object. */
ALWAYS_INLINE void object_init(lua_State *L, void *object, uint8_t type) {
  (void)L;
  ((GCObject *)object)->type = type;
  ((GCObject *)object)->gc = GC_YOUNG;
}
/* An allocation without header, owned by one object (table part, stack, code).
 * Any size up to PTRDIFF_MAX; 0 returns NULL. Never collects; raises LUA_ERRMEM.
 *
 * The sampler has to know the owner: a prototype; the thread L; the table, which
 * `..._of` says, while the others are for one that is made right after them. */
void *heap_alloc_code(lua_State *L, size_t size, Prototype *owner);
void *heap_alloc_array(lua_State *L, size_t size);
void *heap_alloc_array_of(lua_State *L, size_t size, Table *owner);
void *heap_alloc_nodes(lua_State *L, size_t size);
void *heap_alloc_nodes_of(lua_State *L, size_t size, Table *owner);
/* Gives a part back early (large ones are freed at once). NULL allowed. */
void heap_free_part(lua_State *L, void *part, size_t size);
/* A larger (or smaller) part with the same first bytes; the old one is given
 * back. Large parts keep their cards: slot n of the new is slot n of the old
 * for the write barrier, so the owner need not be rescanned. */
void *heap_grow_array(lua_State *L, Table *owner, size_t old_size, size_t new_size);
/* The same for the stack of L; returns NULL instead of raising, and the old part is as it
   was then. */
void *heap_try_grow_stack(lua_State *L, size_t old_size, size_t new_size);
/* Whether a part of this size is all zero bytes (nil) when allocated, and what
 * heap_grow_array added to it as well: the huge ones are, and should not be touched
 * needlessly. */
ALWAYS_INLINE bool heap_part_is_zeroed(const void *part, size_t size);
/* All of this new part will be written soon, here and there: gives a huge one its pages
 * at once, rather than two page faults for each, the first time it is read and the first
 * time written. */
void heap_part_populate(void *part, size_t size);

/* ---- large objects made outside of any heap (messages between domains) ---- */

/* Room for an object of `size` bytes (large ones only) behind the header; NULL: no
   memory. */
LargeHeader *heap_large_detached(size_t size);
/* Adds it to the heap, as if it were just allocated there: returns the object, or NULL
 * when the heap has no room for it. */
void *heap_large_adopt(Domain *d, LargeHeader *large);
void heap_large_discard(LargeHeader *large); /* one that was not taken over; NULL allowed */

/* ---- for the collector --------------------------------------------------- */

/* The first chunk of a heap that maps its memory has room for its owner: HEAP_HOME_MOST bytes,
 * zero. It is kept with the chunk for the next heap, while malloc gives what is freed back to the
 * system. NULL: no memory. */
void *heap_new_home(void);
#define HEAP_HOME ((sizeof(Chunk) + 63) & ~(size_t)63) /* where it begins */
#define HEAP_HOME_MOST (HEAP_BLOCK_SIZE - HEAP_HOME)
/* at_home: it is in what heap_new_home returned, which is gone when it is closed. */
void heap_init(Heap *h, bool at_home);
void heap_close(Heap *h);
/* An object before its domain is complete, and the stack of L: return NULL instead of
   raising. */
void *heap_try_alloc(Domain *d, size_t size);
void *heap_try_alloc_stack(lua_State *L, size_t size);
/* Drops the current holes, so that every young region is in a consumed block. */
void heap_retire(Heap *h);
/* After a minor collection: examines the consumed blocks again, frees dead young
 * large ones, resets the counters of young bytes. */
void heap_reclaim_young(Heap *h);
/* The same, but the blocks wait for heap_examine_waiting, which the heap does not need
 * meanwhile. */
void heap_reclaim_young_later(Heap *h);
bool heap_examine_waiting(Heap *h, size_t most); /* blocks; true: none is left */
/* The young object is of those that are dead and wait. Not in a hosted heap. */
bool heap_waits(Heap *h, const void *object);
/* Clears the lines of the block that do not have the bit. */
void heap_sweep_block(Heap *h, Chunk *c, uint32_t index, uint8_t line_bit);
/* Begins a walk that gives back the pages of free blocks beyond `keep`, and whole free
   chunks. */
void heap_trim_start(Heap *h, uint32_t keep);
/* Continues the walk, by about `most` bytes; SIZE_MAX: to its end, blocks freed recently
 * included (heap_trim.c). True when it is done. */
bool heap_trim(Heap *h, size_t most);
/* Gives back the free pages of blocks that are partly in use. */
void heap_trim_parts(Heap *h);

/* Limits what may be in use. If an emergency collection at the limit finds more alive,
 * that is an error (gc_step). As collections wait for a safepoint, a quarter more and 2
 * MiB may be taken for a moment; what exceeds that fails at once. 0: no limit. */
void heap_set_limit(Heap *h, size_t bytes);
/* After such a collection: when the next one is due. True: too much is alive. */
bool heap_exceeds_limit(Heap *h);

/* May the heap take `bytes` more? */
ALWAYS_INLINE bool heap_has_room(const Heap *h, size_t bytes) {
  if (likely(h->most_bytes == 0)) return true;
  size_t used = ((size_t)h->nblocks << HEAP_BLOCK_SHIFT) + h->young_large_bytes +
                h->old_large_bytes + h->buffer_bytes;
  return used <= h->most_bytes && bytes <= h->most_bytes - used;
}

/* Extents, for large allocations (heap_extent.c). Sizes in bytes, as requested. NULL: no
 * memory. */
#define EXTENT_MOST (((size_t)2 << 20) + ((size_t)64 << 10)) /* bytes of one allocation */
void *extent_alloc(Heap *h, size_t size);
void extent_free(Heap *h, void *p, size_t size);
/* Makes it larger or smaller where it is; false: there is no room behind it. */
bool extent_resize(Heap *h, void *p, size_t old_size, size_t size);
/* Gives back free pages of the extent at *Heap.trim_extent; returns the number of
 * bytes. */
size_t extent_trim(Heap *h, bool now);
/* The same at once, of all extents, for at least `most` bytes or to their end. */
void extent_give_back(Heap *h, size_t most);
void extent_close(Heap *h);

/* Would an allocation of `size` bytes succeed now? */
bool heap_could_take(Heap *h, size_t size);

/* Large allocations (heap_large.c). The first two return NULL when memory is short. */
void *heap_large_alloc(Domain *d, size_t size, bool cards);
LargeHeader *heap_large_resize(Domain *d, LargeHeader *large, size_t size);
void heap_large_promote(Heap *h, LargeHeader *large, uint8_t bit);
void heap_large_free(Heap *h, LargeHeader *large);
/* A young one of 0 bytes that stands for memory outside the heap; NULL: no memory. And its
 * bytes (gc_external.c). */
LargeHeader *heap_large_external(Heap *h);
void heap_large_set_external(Domain *d, LargeHeader *large, size_t size);
/* Gives back at most `bytes` of what was freed some time ago; SIZE_MAX: all. */
void heap_large_release(Heap *h, size_t bytes);

/* Maps a spare chunk if there is none, and if the system has one; or completes the reserve. */
void heap_keep_spare(Heap *h);

/* ---- memory from an allocator (heap_hosted.c) ---------------------------- */

ALWAYS_INLINE bool heap_is_hosted(const Heap *h) { return unlikely(h->allocf != NULL); }
/* From now on all memory that is not there yet comes from the allocator. */
void heap_host(Heap *h, lua_Alloc f, void *ud);
/* The place of an address in a block. */
HeapPlace heap_hosted_place(Heap *h, const void *p);
/* heap_mark_lines where masking does not find them. */
void heap_mark_hosted(Heap *h, const void *p, size_t size, uint8_t bit);
/* Gives a vacant block memory and files it as free; false: the allocator refuses, and the
   reserve is empty. */
bool heap_hosted_grow(Domain *d);
/* A free block of a hosted chunk becomes vacant. */
void heap_hosted_vacate(Heap *h, Block *b);
/* Frees the header at *link, all of whose blocks are vacant. */
void heap_hosted_drop(Heap *h, Chunk **link);
void heap_hosted_keep_reserve(Heap *h);
/* While Heap.needs_holes: a block of class HEAP_LONG_HOLE or more was taken. */
void heap_hosted_hole_taken(Domain *d);
/* Everything was collected: is there enough for what is allocated until the next gc_check?
 * SHORT: an error is due. EMPTY: at each gc_check from now on, until there is more. */
typedef enum HostedNeed { HOSTED_ENOUGH, HOSTED_SHORT, HOSTED_EMPTY } HostedNeed;
HostedNeed heap_hosted_need(Heap *h);
/* Could the allocator give `size` bytes now? */
bool heap_hosted_could_take(Heap *h, size_t size);
/* Gives the allocator back what is free, or if nothing is, a block of the reserve, and notes an
 * emergency. False: there was nothing. */
bool heap_hosted_give_back(Domain *d);
void heap_hosted_close(Heap *h);

/* Memory beside the blocks and what lies in extents and mappings: the allocator's, else
 * malloc's. NULL: there is none. `old`: bytes of p, as they were asked for. */
void *heap_memory(Domain *d, size_t size);
void *heap_memory_resize(Domain *d, void *p, size_t old, size_t size);
void heap_memory_free(Domain *d, void *p, size_t size);
/* The same for what can do without: a refusal is no emergency. */
void *heap_memory_zeroed(Domain *d, size_t size);
void *heap_memory_try_resize(Domain *d, void *p, size_t old, size_t size);

/* Bytes of lines and large allocations that were alive when last examined. */
ALWAYS_INLINE size_t heap_old_bytes(const Heap *h) {
  return (h->used_lines << HEAP_LINE_SHIFT) + h->old_large_bytes;
}
ALWAYS_INLINE uint64_t heap_asked_at_cursor(const Heap *h) {
  return h->asked_bytes + (size_t)(h->cursor - h->hole.start);
}
ALWAYS_INLINE uint64_t heap_asked_elsewhere(const Heap *h) {
  return h->sample_elsewhere_at - (uint64_t)h->elsewhere_left;
}
/* Bytes asked for since the domain began, rounded up to words: objects, and parts once when
 * allocated and again, in full, when they are copied to a larger place. */
ALWAYS_INLINE uint64_t heap_asked(const Heap *h) {
  return heap_asked_at_cursor(h) + heap_asked_elsewhere(h);
}
/* Sets the limit of the fast path. The next sample is at a distance in bytes asked for, so
 * it is where it was when the cursor has moved without that, or the reverse. */
ALWAYS_INLINE void heap_plant(Heap *h) {
  uint64_t left = h->sample_at - heap_asked_at_cursor(h);
  size_t room = (size_t)(h->hole.end - h->cursor);
  h->limit = h->orphans ? h->cursor : left < room ? h->cursor + left : h->hole.end;
}
ALWAYS_INLINE void heap_plant_elsewhere(Heap *h, uint64_t at) {
  h->elsewhere_left = (int64_t)(at - heap_asked_elsewhere(h));
  h->sample_elsewhere_at = at;
}
/* While blocks are sampled: the place of this one in the table of the sampler. */
ALWAYS_INLINE uint32_t heap_part_index(const Heap *h, const void *part) {
  uint64_t hash = (uintptr_t)part * UINT64_C(0x9E3779B97F4A7C15);
  return (uint32_t)(hash >> 32) & h->sampled_parts_mask;
}
/* Bytes taken since the last minor collection. */
ALWAYS_INLINE size_t heap_taken(const Heap *h) { return h->young_bytes + h->large_debt; }
/* The same as pacing counts it: what makes a minor collection due. A very large object
 * that was just allocated is in use; it counts when the next one is allocated. So when
 * strings of megabytes follow each other, each is dead when a collection examines it. */
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
ALWAYS_INLINE HeapPlace heap_place_of(Heap *h, const void *p) {
  if (heap_is_hosted(h)) return heap_hosted_place(h, p);
  return (HeapPlace){heap_chunk_of(p), (uintptr_t)p & (HEAP_CHUNK_SIZE - 1)};
}
ALWAYS_INLINE uint8_t heap_line_of(Heap *h, const void *p) {
  HeapPlace at = heap_place_of(h, p);
  return at.chunk->lines[at.offset >> HEAP_LINE_SHIFT];
}
ALWAYS_INLINE Block *heap_block_of(Heap *h, const void *p) {
  HeapPlace at = heap_place_of(h, p);
  return &at.chunk->blocks[at.offset >> HEAP_BLOCK_SHIFT];
}
ALWAYS_INLINE void *heap_address_of(HeapPlace at) {
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
