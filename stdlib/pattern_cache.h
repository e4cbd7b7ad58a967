/* SPDX-License-Identifier: MIT */
/* stdlib/pattern_cache.h: recently used patterns, compiled. */
#ifndef SAROS_STDLIB_PATTERN_CACHE_H
#define SAROS_STDLIB_PATTERN_CACHE_H

#include "object.h"
#include "pattern.h"

/* A pattern without its leading '^', which has become `anchored`. */
typedef struct AnchoredPattern {
  Pattern pattern;
  bool anchored;
} AnchoredPattern;

/* Compiles a pattern that may begin with '^' into `p`, with `storage` as in
 * pattern_compile. */
void pattern_compile_anchored(AnchoredPattern *p, void *storage, const char *text, size_t length,
                              const CharClasses *classes);

typedef struct PatternCache PatternCache;

/* Pushes a userdata with an empty cache. */
void pattern_cache_push(lua_State *L);

/* Returns the compiled form of a pattern of at most PATTERN_SMALL_LENGTH bytes; `at` is
 * the index of the userdata of the cache. The result is valid until the next call, or
 * until guest code may have run. The call itself may run guest code (it allocates, and
 * raises if there is no memory). */
const AnchoredPattern *pattern_cache_get(lua_State *L, int at, PatternCache *cache,
                                         const char *text, size_t length,
                                         const CharClasses *classes);

/* ---- compiled patterns that are kept while guest code runs ----- --------- */

/* Pushes a userdata that refers to the recently used shared patterns. */
void pattern_shares_push(lua_State *L);

/* Pushes an immutable userdata with the compiled form of the string at stack index
 * `text`; `shares` is the index of the userdata that pattern_shares_push pushed. A '^' is
 * an ordinary byte here. */
void pattern_share(lua_State *L, int shares, int text, const CharClasses *classes);

/* Returns the pattern in a userdata that pattern_share pushed; the userdata begins with
   it. */
static inline const Pattern *pattern_shared(const Userdata *shared) {
  return (const Pattern *)userdata_payload(shared);
}

#endif
