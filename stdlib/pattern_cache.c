/* stdlib/pattern_cache.c: patterns lately used, compiled.
 *
 * Purpose.  A program has few patterns and uses each often; compiling one takes
 * about as long as matching it against a short subject.
 *
 * Data.  A table of SLOTS, each the last pattern that fell to it.  A slot is
 * chosen by address and length: the text of a literal pattern is one string,
 * which does not move.  The text is compared, so an address that now belongs to
 * another string is no danger.  A slot also remembers the tables of character
 * classes that it was compiled with; a change of locale makes it a miss.
 *
 * One cache belongs to one Lua state; it is a userdata without references.
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

/* The lengths stand apart, so that a fresh cache touches one page only. */
struct PatternCache {
  int lengths[SLOTS]; /* of the texts, or EMPTY */
  Slot slots[SLOTS];
};

void pattern_compile_anchored(AnchoredPattern *p, void *storage, const char *text, size_t length,
                              const CharClasses *classes) {
  p->anchored = length > 0 && *text == '^';
  pattern_compile(&p->pattern, storage, text + p->anchored, length - p->anchored, classes);
}

void pattern_cache_push(lua_State *L) {
  PatternCache *cache = lua_newuserdatauv(L, sizeof *cache, 0);
  for (int i = 0; i < SLOTS; i++) cache->lengths[i] = EMPTY;
}

static unsigned slot_of(const char *text, size_t length) {
  uint64_t key = (uint64_t)(uintptr_t)text + length;
  return (unsigned)((key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - SLOT_BITS));
}

const AnchoredPattern *pattern_cache_get(PatternCache *cache, const char *text, size_t length,
                                         const CharClasses *classes) {
  unsigned i = slot_of(text, length);
  Slot *slot = &cache->slots[i];
  if (cache->lengths[i] == (int)length && slot->classes == classes &&
      memcmp(slot->text, text, length) == 0)
    return &slot->compiled;
  cache->lengths[i] = (int)length;
  slot->classes = classes;
  memcpy(slot->text, text, length);
  pattern_compile_anchored(&slot->compiled, slot->storage, text, length, classes);
  return &slot->compiled;
}
