/* SPDX-License-Identifier: MIT */
/* stdlib/pattern_cache.c: recently used patterns, compiled.
 *
 * Purpose. A program has few patterns and uses each often. To compile a pattern takes
 * about as long as to match it against a short subject.
 *
 * Data. A table of SLOTS, each with the last pattern that was assigned to it. A slot is
 * chosen by address and length: the text of a literal pattern is one string, which does
 * not move. The text is compared, so an address that now belongs to another string is
 * harmless. A slot also has a pointer to the tables of character classes that its pattern
 * was compiled with; so a change of locale makes a miss.
 *
 * One cache belongs to one Lua state; it is a userdata with the slots as user values,
 * each of which is made when it is first used. So a program that matches nothing has no
 * slots.
 *
 * Any guest code that runs may overwrite what is in the cache. Users that continue with a
 * pattern later share an immutable userdata with its compiled form, so that a million
 * iterators over one pattern have one such userdata. The latest shared patterns are user
 * values of another userdata: for each slot the text, then the compiled form. The user
 * values keep the text alive, so that an equal address means equal text.
 */
#include "pattern_cache.h"

#include <string.h>

#define SLOT_BITS 4
#define SLOTS (1 << SLOT_BITS)
#define EMPTY (-1)

typedef struct Slot {
  AnchoredPattern compiled;
  const CharClasses *classes;
  char text[PATTERN_SMALL_LENGTH];
  _Alignas(PatternNode) char storage[PATTERN_SMALL_STORAGE];
} Slot;

struct PatternCache {
  int lengths[SLOTS]; /* lengths of the texts, or EMPTY */
  Slot *slots[SLOTS]; /* the slots are in the user values */
};

void pattern_compile_anchored(AnchoredPattern *p, void *storage, const char *text, size_t length,
                              const CharClasses *classes) {
  p->anchored = length > 0 && *text == '^';
  pattern_compile(&p->pattern, storage, text + p->anchored, length - p->anchored, classes);
}

void pattern_cache_push(lua_State *L) {
  PatternCache *cache = lua_newuserdatauv(L, sizeof *cache, SLOTS);
  memset(cache, 0, sizeof *cache);
  for (int i = 0; i < SLOTS; i++) cache->lengths[i] = EMPTY;
}

static unsigned slot_of(const char *text, size_t length) {
  uint64_t key = (uint64_t)(uintptr_t)text + length;
  return (unsigned)((key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - SLOT_BITS));
}

static NOINLINE Slot *new_slot(lua_State *L, int at, PatternCache *cache, unsigned i) {
  Slot *slot = lua_newuserdatauv(L, sizeof *slot, 0);
  lua_setiuservalue(L, at, (int)i + 1);
  return cache->slots[i] = slot;
}

const AnchoredPattern *pattern_cache_get(lua_State *L, int at, PatternCache *cache,
                                         const char *text, size_t length,
                                         const CharClasses *classes) {
  unsigned i = slot_of(text, length);
  Slot *slot = cache->slots[i];
  if (cache->lengths[i] == (int)length && slot->classes == classes &&
      memcmp(slot->text, text, length) == 0)
    return &slot->compiled;
  if (slot == NULL) slot = new_slot(L, at, cache, i);
  cache->lengths[i] = (int)length;
  slot->classes = classes;
  memcpy(slot->text, text, length);
  pattern_compile_anchored(&slot->compiled, slot->storage, text, length, classes);
  return &slot->compiled;
}

/* ---- shared patterns ----------------------------------------------------- */

typedef struct SharedPattern {
  Pattern pattern; /* the first member, since pattern_shared reads it there */
  const CharClasses *classes;
  PatternNode storage[];
} SharedPattern;

void pattern_shares_push(lua_State *L) { lua_newuserdatauv(L, 0, 2 * SLOTS); }

static void compile_shared(lua_State *L, const char *text, size_t length,
                           const CharClasses *classes) {
  SharedPattern *shared =
      lua_newuserdatauv(L, sizeof *shared + pattern_storage_size(length), 0);
  shared->classes = classes;
  pattern_compile(&shared->pattern, shared->storage, text, length, classes);
}

void pattern_share(lua_State *L, int shares, int text_at, const CharClasses *classes) {
  size_t length;
  const char *text = lua_tolstring(L, text_at, &length);
  if (length > PATTERN_SMALL_LENGTH) { /* long patterns are few, and not kept */
    compile_shared(L, text, length, classes);
    return;
  }
  int slot = 2 * (int)slot_of(text, length) + 1;
  lua_getiuservalue(L, shares, slot + 1);
  lua_getiuservalue(L, shares, slot);
  bool same = lua_tostring(L, -1) == text;
  lua_pop(L, 1);
  if (same && ((const SharedPattern *)lua_touserdata(L, -1))->classes == classes) return;
  lua_pop(L, 1);
  compile_shared(L, text, length, classes);
  lua_pushvalue(L, text_at);
  lua_setiuservalue(L, shares, slot);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, shares, slot + 1);
}
