/* SPDX-License-Identifier: MIT */
/* stdlib/pattern_cache.h: patterns lately used, compiled. */
#ifndef SAROS_STDLIB_PATTERN_CACHE_H
#define SAROS_STDLIB_PATTERN_CACHE_H

#include "object.h"
#include "pattern.h"

/* A pattern whose leading '^', if any, has become `anchored`. */
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

/* The compiled form of a pattern of at most PATTERN_SMALL_LENGTH bytes; `at` is the index of
 * the userdata of the cache. Valid until the next call: not across anything that may run guest code, which
 * the call itself may do (it allocates, and raises where there is no memory). */
const AnchoredPattern *pattern_cache_get(lua_State *L, int at, PatternCache *cache,
                                         const char *text, size_t length,
                                         const CharClasses *classes);

/* ---- compiled patterns that are kept while guest code runs ----- --------- */

/* Pushes a userdata that refers to the shared patterns lately used. */
void pattern_shares_push(lua_State *L);

/* Pushes an immutable userdata with the compiled form of the string at stack index
 * `text`; `shares` is the index of what pattern_shares_push pushed. A '^' is a byte as
 * any other. */
void pattern_share(lua_State *L, int shares, int text, const CharClasses *classes);

/* The pattern in such a userdata, which begins with it. */
static inline const Pattern *pattern_shared(const Userdata *shared) {
  return (const Pattern *)userdata_payload(shared);
}

#endif
