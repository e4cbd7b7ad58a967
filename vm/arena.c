/* SPDX-License-Identifier: MIT */
/* vm/arena.c: chunks of doubling size, cut from front to back.
 *
 * The domain keeps the largest chunk of its last compilation for the next one
 * (Domain.compile_spare), zeroed, until the next major collection ends. Otherwise malloc
 * would return the chunk to the system, and the next compilation would fault it in again.
 */
#include "arena.h"

#include <string.h>

#include "stress.h"
#include "thread.h"
#include "throw.h"

#ifdef SAROS_STRESS
/* small, so that there are many chunks, whose ends AddressSanitizer checks */
#define FIRST_CHUNK 16
#define LARGEST_SPARE 0
#else
#define FIRST_CHUNK 4096
#define LARGEST_SPARE LARGEST_CHUNK
#endif
#define LARGEST_CHUNK (1 << 20)
#define LARGEST_HOSTED (((size_t)64 << 10) - sizeof(ArenaChunk))
#define ARENA_ALIGN 16

typedef struct ArenaChunk {
  struct ArenaChunk *next;
  size_t size; /* bytes of data */
  _Alignas(ARENA_ALIGN) char data[];
} ArenaChunk;

static size_t chunk_bytes(size_t size) { return sizeof(ArenaChunk) + size; }

void arena_init(Arena *arena, lua_State *L) {
  *arena = (Arena){.L = L};
}

static void use_chunk(Arena *arena, ArenaChunk *chunk) {
  chunk->next = arena->chunks;
  arena->chunks = chunk;
  arena->cursor = chunk->data;
  arena->limit = chunk->data + chunk->size;
}

static bool take_spare(Arena *arena, size_t least) {
  Domain *d = arena->L->domain;
  ArenaChunk *spare = d->compile_spare;
  if (spare == NULL || spare->size < least) return false;
  d->compile_spare = NULL;
  use_chunk(arena, spare);
  return true;
}

/* Keeps the newest chunk of the arena, which is its largest, as the domain's spare
   one. */
static void keep_spare(Arena *arena) {
  Domain *d = arena->L->domain;
  ArenaChunk *chunk = arena->chunks, *spare = d->compile_spare;
  if (chunk == NULL || chunk->size > LARGEST_SPARE || (spare != NULL && spare->size >= chunk->size))
    return;
  memset(chunk->data, 0, (size_t)(arena->cursor - chunk->data));
  arena->chunks = chunk->next;
  domain_drop_spare(d);
  d->compile_spare = chunk;
  d->compile_spare_bytes = chunk_bytes(chunk->size);
}

/* Makes a chunk of zeroed memory: of `size` bytes, or of `least` where an allocator
 * refuses more. Returns NULL if there is no memory. */
static ArenaChunk *new_chunk(Domain *d, size_t size, size_t least) {
  ArenaChunk *chunk = heap_memory_zeroed(d, chunk_bytes(size));
  if (chunk == NULL && heap_is_hosted(&d->heap)) size = least;
  for (size_t given = 0; chunk == NULL && heap_is_hosted(&d->heap) &&
                         heap_hosted_give_back(d, chunk_bytes(size), &given);)
    chunk = heap_memory_zeroed(d, chunk_bytes(size));
  if (chunk != NULL) chunk->size = size;
  return chunk;
}

/* Returns the size up to which chunks double: 64 KiB if an allocator provides them. Only
   a chunk for a single larger request exceeds it. */
static size_t largest_chunk(const Domain *d) {
  return heap_is_hosted(&d->heap) ? LARGEST_HOSTED : LARGEST_CHUNK;
}

static void add_chunk(Arena *arena, size_t least) {
  if (take_spare(arena, least)) return;
  size_t size = arena->chunks ? arena->chunks->size * 2 : FIRST_CHUNK;
  size_t largest = largest_chunk(arena->L->domain);
  if (size > largest) size = largest;
  if (size < least) size = least;
  if (least < FIRST_CHUNK) least = FIRST_CHUNK;
  ArenaChunk *chunk = size > SIZE_MAX - sizeof(ArenaChunk) || stress_allocation_fails()
                          ? NULL
                          : new_chunk(arena->L->domain, size, least);
  if (chunk == NULL) error_memory(arena->L);
  use_chunk(arena, chunk);
}

void *arena_alloc(Arena *arena, size_t size) {
  if (unlikely(size > SIZE_MAX / 2)) error_memory(arena->L);
  size = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
  if ((size_t)(arena->limit - arena->cursor) < size) add_chunk(arena, size);
  char *result = arena->cursor;
  arena->cursor += size;
  return result;
}

void *arena_enlarge(Arena *arena, void *array, uint32_t count, uint32_t *capacity,
                    size_t element_size) {
  uint32_t wanted = *capacity < 8 ? 8 : *capacity * 2;
  if (wanted < *capacity) error_memory(arena->L);
  void *grown = arena_alloc(arena, wanted * element_size);
  if (count) memcpy(grown, array, count * element_size);
  *capacity = wanted;
  return grown;
}

void arena_free(Arena *arena) {
  keep_spare(arena);
  for (ArenaChunk *chunk = arena->chunks, *next; chunk; chunk = next) {
    next = chunk->next;
    heap_memory_free(arena->L->domain, chunk, chunk_bytes(chunk->size));
  }
  *arena = (Arena){.L = arena->L};
}
