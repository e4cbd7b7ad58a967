/* SPDX-License-Identifier: MIT */
/* vm/arena.h: scratch memory of one compilation, freed as a whole. */
#ifndef SAROS_VM_ARENA_H
#define SAROS_VM_ARENA_H

#include "domain.h"

typedef struct Arena {
  lua_State *L; /* for errors when memory is short */
  struct ArenaChunk *chunks;
  char *cursor, *limit;
} Arena;

void arena_init(Arena *arena, lua_State *L);
/* Returns zeroed memory, aligned to 16 bytes. Raises LUA_ERRMEM. */
void *arena_alloc(Arena *arena, size_t size);
void *arena_enlarge(Arena *arena, void *array, uint32_t count, uint32_t *capacity,
                    size_t element_size);
/* Makes room for at least one more element than `count` in an array of *capacity
 * elements. Returns the array, which has moved if it had to grow (the old one stays
 * allocated until the arena is freed). Raises LUA_ERRMEM. */
ALWAYS_INLINE void *arena_grow(Arena *arena, void *array, uint32_t count, uint32_t *capacity,
                               size_t element_size) {
  return likely(count < *capacity) ? array
                                   : arena_enlarge(arena, array, count, capacity, element_size);
}
void arena_free(Arena *arena);

#endif
