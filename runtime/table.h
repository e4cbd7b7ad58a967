/* SPDX-License-Identifier: MIT */
/* runtime/table.h: Lua tables (design: top of table.c). */
#ifndef SAROS_RUNTIME_TABLE_H
#define SAROS_RUNTIME_TABLE_H

#include "domain.h"

HIDDEN extern const TValue table_absent; /* nil, returned by lookups of a missing key */

/* Gives scattered tables their secret, unless they have it already. To be called before
 * any domain makes a table. */
void table_set_secret(uint64_t random);
bool table_has_secret(void);

/* Makes a table with room for narray array slots and nhash hashed keys. */
Table *table_new(lua_State *L, uint32_t narray, uint32_t nhash);

/* Makes a table with the keys and values of `shape`, which has only a small hash part.
 * Each key lies in the same node as in `shape`. */
Table *table_new_like(lua_State *L, const Table *shape);

/* Looks up a key. Returns the slot of its value, or &table_absent (read only). No
 * metamethods. */
const TValue *table_get(Table *t, const TValue *key);
/* Looks up a key that is not in the array part. */
const TValue *table_get_int_hashed(Table *t, int64_t key);
const TValue *table_get_str(Table *t, const String *key); /* short strings only */
/* Tells whether the table may have this short string as a key. If false, it does not have
 * the key. */
ALWAYS_INLINE bool table_may_have_str(const Table *t, const String *key) {
  return t->filter >> (key->hash >> 27) & 1;
}

ALWAYS_INLINE const TValue *table_get_int(Table *t, int64_t key) {
  if (likely((uint64_t)key - 1 < t->array_size)) return &t->array[key - 1];
  return table_get_int_hashed(t, key);
}

/* Assigns without metamethods, with the write barrier. May raise (memory, "table
 * overflow", key nil or NaN). Never collects. */
void table_set(lua_State *L, Table *t, const TValue *key, const TValue *value);
void table_set_int(lua_State *L, Table *t, int64_t key, const TValue *value);
void table_set_str(lua_State *L, Table *t, String *key, const TValue *value);
/* Prepares for setting the value in the slot of a key that the table has. To be called
 * first by all code that does not set the value through the functions here. */
ALWAYS_INLINE void table_will_set(Domain *d, const Table *t, const TValue *key,
                                  const TValue *slot) {
  if (unlikely(t->state & TABLE_ASSUMED) && key->tag == TAG_SHORT_STRING)
    assumed_set(d, (Node *)slot);
}
/* Writes a value through a slot that a lookup returned, with the barrier. If the slot is
 * &table_absent, inserts the key. */
void table_finish_set(lua_State *L, Table *t, const TValue *key, const TValue *slot,
                      const TValue *value);

/* Copies n values, from the keys `first`, first + 1 ... to the keys `to`, to + 1 ...,
 * also within one table. No metamethods. Returns false and does nothing if not all keys
 * are in array parts. */
bool table_copy_slots(lua_State *L, const Table *source, int64_t first, Table *target, int64_t to,
                      int64_t n);

/* Sets the sizes of both parts, and inserts all keys again. */
void table_resize(lua_State *L, Table *t, uint32_t narray, uint32_t nhash);
/* Returns a border: n with t[n] not nil and t[n+1] nil (or 0). */
uint64_t table_border(Table *t);
/* Replaces *key by the next key, and stores its value at key + 1. Returns false at the
 * end. Raises "invalid key to 'next'". */
bool table_next(lua_State *L, Table *t, TValue *key);
/* Iteration by position, for the generic for: positions 0.. array_size + nodes - 1.
 * table_iterate stores key and value, and returns the position to continue from, or 0 at
 * the end. */
#define TABLE_POSITION_UNKNOWN UINT32_MAX
/* Returns the position after `key`, 0 for nil; TABLE_POSITION_UNKNOWN if the table has no
 * such key. */
uint32_t table_position_after(const Table *t, const TValue *key);
uint32_t table_iterate(const Domain *d, Table *t, uint32_t position, TValue *key, TValue *value);

/* Tells whether the node has this short string as its key, and a value: key_tag is
 * TAG_SHORT_STRING and tag is not TAG_NIL. Compares both bytes, which are `tags`, at
 * once. */
ALWAYS_INLINE bool node_tags_hold(const Node *n, uint32_t tags, const String *key) {
  return n->key.p == (const void *)key && tags - (TAG_SHORT_STRING << 8) - 1 < 0xff;
}
ALWAYS_INLINE bool node_holds(const Node *n, const String *key) {
  return node_tags_hold(n, node_tags(n), key);
}
/* Tells whether node_holds is true and nothing is assumed about the value, so that it may
 * be set without table_will_set. Node.assumed is above the two tags in the same word, and
 * must be 0. */
ALWAYS_INLINE bool node_may_be_set(const Node *n, const String *key) {
  uint32_t tags;
  __builtin_memcpy(&tags, &n->tag, sizeof tags);
  return node_tags_hold(n, tags, key);
}

/* Returns metamethod e (one of the first eight) of metatable mt, through the cache of
 * absent metamethods, or NULL. */
const TValue *table_metamethod_slow(Table *mt, Metamethod e, String *name);
ALWAYS_INLINE const TValue *table_fast_metamethod(Domain *d, Table *mt, Metamethod e) {
  if (mt == NULL || (mt->flags & (1u << e))) return NULL;
  /* most often the name is in its main position */
  const Node *n = &mt->node[d->meta_names[e]->hash & mt->node_mask];
  if (likely(node_holds(n, d->meta_names[e]))) return node_value(n);
  return table_metamethod_slow(mt, e, d->meta_names[e]);
}

/* Returns the metamethod if it is in its main position. Returns NULL otherwise, although
 * there may be one elsewhere. */
ALWAYS_INLINE const TValue *table_metamethod_in_place(const Domain *d, const Table *mt,
                                                      Metamethod e) {
  const Node *n = &mt->node[d->meta_names[e]->hash & mt->node_mask];
  return node_holds(n, d->meta_names[e]) ? node_value(n) : NULL;
}

/* Tells whether the table certainly does not have this short string as a key. */
ALWAYS_INLINE bool table_lacks(const Table *t, const String *key) {
  return !(t->filter & (1u << (key->hash >> 27)));
}

/* Returns the bytes that the table is likely to request for a new key. For
 * gc_make_room. */
ALWAYS_INLINE size_t table_growth(const Table *t) {
  if (t->last_free > 0) return 0; /* there is a free node */
  return 2 * ((size_t)t->array_size * sizeof(TValue) + ((size_t)t->node_mask + 1) * sizeof(Node));
}

#endif
