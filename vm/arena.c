/* vm/arena.c: chunks of doubling size, cut from front to back. */
#include "arena.h"
#include "stress.h"

#include <stdlib.h>
#include <string.h>

#ifdef SAROS_STRESS
#define FIRST_CHUNK 16 /* so that there are many: AddressSanitizer sees their ends */
#else
#define FIRST_CHUNK 4096
#endif
#define LARGEST_CHUNK (1 << 20)
#define ARENA_ALIGN 16

typedef struct ArenaChunk {
  struct ArenaChunk *next;
  size_t size; /* bytes of data */
  _Alignas(ARENA_ALIGN) char data[];
} ArenaChunk;

void arena_init(Arena *arena, lua_State *L) {
  *arena = (Arena){.L = L};
}

static void add_chunk(Arena *arena, size_t least) {
  size_t size = arena->chunks ? arena->chunks->size * 2 : FIRST_CHUNK;
  if (size > LARGEST_CHUNK) size = LARGEST_CHUNK;
  if (size < least) size = least;
  ArenaChunk *chunk = size > SIZE_MAX - sizeof(ArenaChunk) || stress_allocation_fails() ? NULL : calloc(1, sizeof(ArenaChunk) + size);
  if (chunk == NULL) error_memory(arena->L);
  chunk->next = arena->chunks;
  chunk->size = size;
  arena->chunks = chunk;
  arena->cursor = chunk->data;
  arena->limit = chunk->data + size;
}

void *arena_alloc(Arena *arena, size_t size) {
  if (unlikely(size > SIZE_MAX / 2)) error_memory(arena->L);
  size = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
  if ((size_t)(arena->limit - arena->cursor) < size) add_chunk(arena, size);
  char *result = arena->cursor;
  arena->cursor += size;
  return result;
}

void *arena_grow(Arena *arena, void *array, uint32_t count, uint32_t *capacity, size_t element_size) {
  if (likely(count < *capacity)) return array;
  uint32_t wanted = *capacity < 8 ? 8 : *capacity * 2;
  if (wanted < *capacity) error_memory(arena->L);
  void *grown = arena_alloc(arena, wanted * element_size);
  if (count) memcpy(grown, array, count * element_size);
  *capacity = wanted;
  return grown;
}

void arena_free(Arena *arena) {
  for (ArenaChunk *chunk = arena->chunks, *next; chunk; chunk = next) {
    next = chunk->next;
    free(chunk);
  }
  *arena = (Arena){.L = arena->L};
}
