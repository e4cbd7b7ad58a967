/* SPDX-License-Identifier: MIT */
/* runtime/table.c: Lua tables. (Long: lookups, stores and rehashes inline each other.)
 *
 * Design
 * ------
 * A table has an array part for the keys 1..array_size and a hash part of 2^k nodes. The
 * array part is sized so that more than half of it is in use whenever its size is chosen
 * (rehash_for); everything else goes to the hash part.
 *
 * Hash part: chained scatter table with Brent's variation (R. P. Brent, "Reducing the
 * retrieval time of scatter storage techniques", CACM 1973). Nodes of a chain are linked
 * by relative offsets inside the node array. Invariant: if a node is not in its key's
 * main position, then the node that is there is in its own main position; so a chain that
 * starts at a main position holds only keys of that position, or keys that were
 * overwritten. A removed key keeps its node (value nil) so that traversal can go on from
 * it. A rehash reclaims nodes of removed keys, and so does an insertion of a key whose
 * main position is such a node. A set whose keys come and go is given an annex: half as
 * many nodes again, which are no key's main position; colliding keys are put there first.
 * An annex replaces rehashes that would soon be needed again.
 *
 * Growing. When a full table gets one more key, its keys are counted, and it is rebuilt
 * with the sizes that fit (rehash_for). The two most frequent cases need no count, and
 * double the part: the next item of a full array in a table that otherwise has only
 * fields, and the next field of a full record.
 *
 * Main positions. A short string has a seeded hash. Integers, floats (their bits, halves
 * swapped) and addresses (in units of 16 bytes) are taken modulo a prime a little below
 * 2^k. So neighbours never collide, and the terms of another progression collide only if
 * its step is a multiple of the prime (doc/TABLES.md: what else was tried). An attacker
 * who knows the primes can choose such keys. Therefore a chain of LONG_CHAIN links makes
 * the table crowded. A crowded table is rehashed at the next insertion, and from then on
 * a hash with a secret scatters its numbers. Insertions and rehashes count the links of
 * the chain that they make longer. Lookups of integers count links, too, since chains of
 * keys that were removed can merge.
 *
 * While the collector removes entries with dead keys (GC_PHASE_CLEAR), a rehash drops
 * them and an insertion does not move them.
 *
 * Small things that pay:
 *   filter  one bit for each short-string key inserted since the last rehash: most
 *           lookups of an absent field (for instance of a method, in the object) end
 *           there;
 *   border  where the last length query ended: loops over #t cost O(1), except for an
 *           empty array part, which is searched;
 *   flags   metamethods known to be absent, cleared by each insertion.
 *
 * The file is long because lookup, insertion, rehash and traversal keep the same rules of
 * chains and sizes, and lookup, insertion and rehash need main_position inline.
 *
 * Nothing here calls a metamethod or collects. Failure: LUA_ERRMEM or "table overflow",
 * raised before the table was changed.
 */
#include "table.h"

#include <math.h>
#include <string.h>

#include "gc.h"
#include "gc_inline.h"
#include "heap.h"
#include "known_names.h"
#include "number.h"
#include "str.h"
#include "thread.h"
#include "throw.h"

#define MAX_ARRAY_BITS 31
#define MAX_HASH_BITS 30
#define PREFETCH_AHEAD 8
/* a rehash adds an annex if it would leave fewer than one in LEAST_SPARE nodes free */
#define LEAST_SPARE 4
/* most nodes of a hash part that is rebuilt in place if it keeps its size */
#define IN_PLACE 48
/* number of links; no chain gets so long by chance in a table that fits into memory */
#define LONG_CHAIN 24
/* number of slots of an array part, in each power of two, that are examined to choose its
 * new size */
#define SAMPLES 1024

const TValue table_absent = {.tag = TAG_NIL};
/* Shared by every table without a hash part; never written. */
Node table_empty_node = {.tag = TAG_NIL, .key_tag = TAG_NIL};

#define has_hash(t) ((t)->node != &table_empty_node)

/* ---- hashing ------------------------------------------------------------- */

/* A hash part of 2^bits nodes takes integers modulo the prime 2^bits - distance. The
 * index is bits - 1. */
#define PRIME(bits, distance) \
  [bits - 1] = {UINT64_MAX / ((UINT64_C(1) << bits) - distance) + 1, distance}
static const struct Modulus {
  int64_t reciprocal; /* 2^64 divided by the prime, rounded up */
  uint32_t distance;
} moduli[MAX_HASH_BITS] = {
  PRIME(2, 1), PRIME(3, 1), PRIME(4, 3), PRIME(5, 3), PRIME(6, 3), PRIME(7, 15), PRIME(8, 5),
  PRIME(9, 3), PRIME(10, 3), PRIME(11, 9), PRIME(12, 3), PRIME(13, 13), PRIME(14, 3),
  PRIME(15, 19), PRIME(16, 15), PRIME(17, 9), PRIME(18, 5), PRIME(19, 19), PRIME(20, 3),
  PRIME(21, 9), PRIME(22, 3), PRIME(23, 15), PRIME(24, 3), PRIME(25, 39), PRIME(26, 5),
  PRIME(27, 39), PRIME(28, 57), PRIME(29, 3), PRIME(30, 35),
};
#undef PRIME

/* The secret of the hash of scattered tables. It is the same in all domains, and not 0
 * once there is a domain. */
static uint64_t secret;

bool table_has_secret(void) { return __atomic_load_n(&secret, __ATOMIC_RELAXED) != 0; }

void table_set_secret(uint64_t random) {
  uint64_t none = 0;
  /* Relaxed: no other data depends on it, and the start of a domain happens before what
   * runs in it. */
  __atomic_compare_exchange_n(&secret, &none, random | 1, false, __ATOMIC_RELAXED,
                              __ATOMIC_RELAXED);
}

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

static NOINLINE uint32_t scattered_hash(uint64_t bits) {
  uint64_t s = __atomic_load_n(&secret, __ATOMIC_RELAXED);
  UnsignedWide product = (UnsignedWide)(bits ^ s) * (s * UINT64_C(0x9E3779B97F4A7C15) | 1);
  return (uint32_t)((uint64_t)product ^ (uint64_t)(product >> 64));
}

/* Computes bits - bits / prime * prime, where prime is 2^k - distance and the result is
 * taken modulo 2^k. A huge quotient may be too large or small by one; that gives another
 * node, but always the same node for a key. */
ALWAYS_INLINE uint32_t modulo_prime(struct Modulus m, int64_t bits) {
  return (uint32_t)bits + (uint32_t)(((Wide)bits * m.reciprocal) >> 64) * m.distance;
}

#define modulus_of(t) (moduli[31 - __builtin_clz((t)->node_mask | 1)])

ALWAYS_INLINE uint32_t number_hash(const Table *t, int64_t bits) {
  if (unlikely(t->state & TABLE_SCATTERED)) return scattered_hash((uint64_t)bits);
  return modulo_prime(modulus_of(t), bits);
}

ALWAYS_INLINE Node *number_position(const Table *t, int64_t bits) {
  return &t->node[number_hash(t, bits) & t->node_mask];
}

ALWAYS_INLINE Node *string_position(const Table *t, const String *key) {
  return &t->node[key->hash & t->node_mask];
}

static NOINLINE Node *other_position(const Table *t, uint8_t tag, Payload key) {
  uint32_t hash = tag == TAG_FALSE ? 1 : tag == TAG_TRUE ? 2 : string_hash_long((String *)key.gc);
  return &t->node[hash & t->node_mask];
}

/* Returns the number by which a key that is not a string is hashed. Neighbouring keys get
 * neighbouring nodes, so that a loop over them goes through memory in order. Floats that
 * are close to each other differ in the lowest bits of their upper half; objects are at
 * least 16 bytes apart. */
ALWAYS_INLINE int64_t bits_of(uint8_t tag, Payload key) {
  if (tag == TAG_FLOAT) return (int64_t)((uint64_t)key.i >> 32 | (uint64_t)key.i << 32);
  _Static_assert(TAG_COLLECTED >> 4 == 4, "the shift of addresses of objects, 0 for all else");
  return key.i >> ((tag & TAG_COLLECTED) >> 4);
}

ALWAYS_INLINE Node *main_position(const Table *t, uint8_t tag, Payload key) {
  if (tag == TAG_SHORT_STRING) return string_position(t, (String *)key.gc);
  if (unlikely(tag == TAG_LONG_STRING || tag_type(tag) == LUA_TBOOLEAN))
    return other_position(t, tag, key);
  return number_position(t, bits_of(tag, key));
}

/* ---- lookup -------------------------------------------------------------- */

const TValue *table_get_int_hashed(Table *t, int64_t key) {
  const Node *n = number_position(t, key);
  for (uint32_t links = 0;; links++) {
    if (n->key.i == key && n->key_tag == TAG_INT) return node_value(n);
    if (n->next == 0) return &table_absent;
    if (unlikely(links == LONG_CHAIN)) t->state |= TABLE_CROWDED;
    n += n->next;
  }
}

const TValue *table_get_str(Table *t, const String *key) {
  uint32_t hash = key->hash;
  if (!(t->filter & (1u << (hash >> 27)))) return &table_absent;
  const Node *n = string_position(t, key);
  for (;;) {
    if (n->key.p == key && n->key_tag == TAG_SHORT_STRING) return node_value(n);
    if (n->next == 0) return &table_absent;
    n += n->next;
  }
}

static bool same_key(const Node *n, const TValue *key) {
  if (n->key_tag != key->tag) return false;
  switch (key->tag) {
    case TAG_FALSE: case TAG_TRUE: return true;
    case TAG_FLOAT: return n->key.n == key->v.n;
    case TAG_LONG_STRING: return string_equal((String *)n->key.gc, as_string(key));
    default: return n->key.i == key->v.i;
  }
}

static const TValue *get_generic(Table *t, const TValue *key) {
  const Node *n = main_position(t, key->tag, key->v);
  for (;;) {
    if (same_key(n, key)) return node_value(n);
    if (n->next == 0) return &table_absent;
    n += n->next;
  }
}

static NOINLINE const TValue *get_float(Table *t, const TValue *key) {
  int64_t i;
  if (number_float_to_int(key->v.n, &i, FLOAT_EXACT)) return table_get_int(t, i);
  return get_generic(t, key);
}

const TValue *table_get(Table *t, const TValue *key) {
  switch (key->tag) {
    case TAG_SHORT_STRING: return table_get_str(t, as_string(key));
    case TAG_INT: return table_get_int(t, key->v.i);
    case TAG_NIL: return &table_absent;
    case TAG_FLOAT: return get_float(t, key);
    default: return get_generic(t, key);
  }
}

const TValue *table_metamethod_slow(Table *mt, Metamethod e, String *name) {
  const TValue *m = table_get_str(mt, name);
  if (!is_nil(m)) return m;
  mt->flags |= (uint8_t)(1u << e);
  return NULL;
}

/* ---- sizes --------------------------------------------------------------- */

static int log2_ceil(uint32_t x) { return x <= 1 ? 0 : 32 - __builtin_clz(x - 1); }

/* Sets the slots [from, to) of a new or grown array part to nil. */
static void fill_nil(TValue *array, uint32_t from, uint32_t to) {
  if (heap_part_is_zeroed(array, (size_t)to * sizeof(TValue))) return;
  for (uint32_t i = from; i < to; i++) set_nil(&array[i]);
}

static void init_nodes(Node *nodes, uint32_t n) {
  memset(nodes, 0, (size_t)n * sizeof(Node)); /* value nil, key nil, no chain */
}

/* The result of a resize: array slots, keys for which the hash part must have room, and
 * whether the hash part gets an annex. */
typedef struct Sizes {
  uint32_t array, hash;
  bool annex;
} Sizes;

/* Allocates the nodes. `owner` is NULL for a table that is made afterwards. */
ALWAYS_INLINE Node *new_nodes(lua_State *L, Sizes sizes, uint32_t *mask, Table *owner) {
  if (sizes.hash == 0) {
    *mask = 0;
    return &table_empty_node;
  }
  int bits = log2_ceil(sizes.hash);
  if (bits > MAX_HASH_BITS) error_run(L, "table overflow");
  uint32_t main_positions = 1u << bits, n = main_positions + (sizes.annex ? main_positions / 2 : 0);
  Node *nodes = owner != NULL ? heap_alloc_nodes_of(L, (size_t)n * sizeof(Node), owner)
                              : heap_alloc_nodes(L, (size_t)n * sizeof(Node));
  if (!heap_part_is_zeroed(nodes, (size_t)n * sizeof(Node))) init_nodes(nodes, n);
  *mask = main_positions - 1;
  return nodes;
}

ALWAYS_INLINE TValue *new_array(lua_State *L, uint32_t n, Table *owner) {
  if (n == 0) return NULL;
  if (n > 1u << MAX_ARRAY_BITS) error_run(L, "table overflow");
  return owner != NULL ? heap_alloc_array_of(L, (size_t)n * sizeof(TValue), owner)
                       : heap_alloc_array(L, (size_t)n * sizeof(TValue));
}

static void reset_node_state(Table *t) {
  t->filter = 0;
  t->last_free = table_node_count(t);
}

/* Tells whether the secret hash would spread the numbers better. */
ALWAYS_INLINE bool wants_scattering(const Table *t) {
  return (t->state & (TABLE_CROWDED | TABLE_SCATTERED)) == TABLE_CROWDED;
}

Table *table_new(lua_State *L, uint32_t narray, uint32_t nhash) {
  /* The parts come first: nothing collects before the table is made, and a failure leaves
   * no half-made table. */
  TValue *array = new_array(L, narray, NULL);
  uint32_t mask;
  Node *node = new_nodes(L, (Sizes){.hash = nhash}, &mask, NULL);
  Table *t = heap_alloc(L, sizeof(Table), MEMPROF_TABLE);
  object_init(L, t, LUA_TTABLE);
  t->flags = 0;
  t->state = 0;
  t->node_mask = mask;
  t->array_size = narray;
  t->border = 0;
  t->array = array;
  t->node = node;
  t->metatable = NULL;
  fill_nil(array, 0, narray);
  reset_node_state(t);
  return t;
}

Table *table_new_like(lua_State *L, const Table *shape) {
  size_t bytes = table_node_count(shape) * sizeof(Node);
  Node *node = heap_alloc_nodes(L, bytes);
  Table *t = heap_alloc(L, sizeof(Table), MEMPROF_TABLE);
  object_init(L, t, LUA_TTABLE);
  memcpy(&t->flags, &shape->flags, sizeof(Table) - offsetof(Table, flags));
  t->node = node;
  memcpy(node, shape->node, bytes);
  return t;
}

/* ---- insertion ----------------------------------------------------------- */

static Node *take_free_node(Table *t) {
  while (t->last_free > 0) {
    Node *n = &t->node[--t->last_free];
    if (n->key_tag == TAG_NIL) return n;
  }
  return NULL;
}

static Node *chain_before(const Table *t, const Node *n) {
  Node *at = main_position(t, n->key_tag, n->key);
  while (at + at->next != n) at += at->next;
  return at;
}

/* Moves the node at `mine`, which is not in its own main position, to `spare`. */
static void evict_node(Table *t, Node *mine, Node *spare) {
  Node *before = chain_before(t, mine);
  before->next = (int32_t)(spare - before);
  *spare = *mine;
  if (mine->next != 0) {
    spare->next += (int32_t)(mine - spare);
    mine->next = 0;
  }
  mine->tag = TAG_NIL;
  mine->assumed = 0;
}

static bool is_long_chain(const Node *n) {
  for (int links = 0; n->next != 0; n += n->next)
    if (++links == LONG_CHAIN) return true;
  return false;
}

static NOINLINE Node *node_for_colliding(lua_State *L, Table *t, Node *mp, uint8_t tag,
                                         Node **moved) {
  Node *spare = take_free_node(t);
  if (spare == NULL) return NULL;
  if (main_position(t, mp->key_tag, mp->key) != mp) {
    /* a dead node must stay where it is */
    if (unlikely(gc_node_is_dead(L->domain, mp))) {
      gc_clear_node(mp);
      t->last_free++;
      return mp;
    }
    evict_node(t, mp, spare);
    *moved = spare;
    return mp;
  }
  if (tag_type(tag) == LUA_TNUMBER && unlikely(is_long_chain(mp))) t->state |= TABLE_CROWDED;
  spare->next = mp->next != 0 ? (int32_t)(mp + mp->next - spare) : 0;
  mp->next = (int32_t)(spare - mp);
  return spare;
}

/* Finds the node for a key that is absent: its main position, or a free node that is
 * linked into its chain. Returns NULL if there is no room. Sets *moved to the node to
 * which another key was moved, or to NULL. */
ALWAYS_INLINE Node *node_for_key(lua_State *L, Table *t, uint8_t tag, Payload key, Node **moved) {
  *moved = NULL;
  Node *mp = main_position(t, tag, key);
  if (likely(mp->tag == TAG_NIL)) return likely(has_hash(t)) ? mp : NULL;
  return node_for_colliding(L, t, mp, tag, moved);
}

static void set_node_key(Table *t, Node *n, uint8_t tag, Payload key) {
  n->key = key;
  n->key_tag = tag;
  if (tag == TAG_SHORT_STRING) t->filter |= 1u << (((String *)key.gc)->hash >> 27);
}

/* Inserts a key that is known to be absent into a table that is known to have room. The
 * caller puts the table as a whole in the remembered set; the barriers here are for its
 * large parts. */
static void reinsert_entry(lua_State *L, Table *t, uint8_t tag, Payload key, const TValue *value) {
  if (tag == TAG_INT && (uint64_t)key.i - 1 < t->array_size) {
    value_copy(&t->array[key.i - 1], value);
    gc_barrier_reinserted(L, t, &t->array[key.i - 1], value);
    return;
  }
  Node *moved, *n = node_for_key(L, t, tag, key, &moved);
  rt_assert(n != NULL);
  set_node_key(t, n, tag, key);
  value_copy(node_value(n), value);
  gc_barrier_reinserted_node(L, t, n);
  if (moved != NULL) gc_barrier_reinserted_node(L, t, moved);
}

/* ---- resizing ------------------------------------------------------------ */

/* Prefetches data that is needed soon: the nodes of keys are all over a large node part,
 * and short strings, which hold their hash, are all over the heap. */
static void prefetch_reinsertion(const Table *t, const Node *old, uint32_t i) {
  const Node *soon = &old[i - PREFETCH_AHEAD], *later = soon - PREFETCH_AHEAD;
  if (later->key_tag == TAG_SHORT_STRING) __builtin_prefetch(later->key.p);
  if (soon->tag != TAG_NIL) __builtin_prefetch(main_position(t, soon->key_tag, soon->key), 1);
}

/* Inserts an integer that belongs to the new hash part, at its main position. Returns
 * false if it did nothing. */
ALWAYS_INLINE bool reinsert_quickly(lua_State *L, Table *t, const Node *n, struct Modulus modulus) {
  if (n->key_tag != TAG_INT || (t->state & TABLE_SCATTERED) ||
      (uint64_t)n->key.i - 1 < t->array_size)
    return false;
  Node *mp = &t->node[modulo_prime(modulus, n->key.i) & t->node_mask];
  rt_assert(has_hash(t));
  if (mp->tag != TAG_NIL) return false;
  mp->key = n->key;
  mp->key_tag = TAG_INT;
  value_copy(node_value(mp), node_value(n));
  gc_barrier_reinserted_node(L, t, mp);
  return true;
}

/* Inserts the old nodes again; reinsert_array_tail inserts slots of the array. Returns
 * the bitwise or of the tags of all values that were moved. */
static uint8_t reinsert_nodes(lua_State *L, Table *t, const Node *old, uint32_t count) {
  uint8_t tags = 0;
  struct Modulus modulus = modulus_of(t);
  uint32_t prefetched =
      heap_is_large((size_t)count * sizeof(Node)) ? 2 * PREFETCH_AHEAD : UINT32_MAX;
  for (uint32_t i = count; i-- > 0;) {
    const Node *n = &old[i];
    if (i >= prefetched) prefetch_reinsertion(t, old, i);
    if (n->tag == TAG_NIL || gc_node_is_dead(L->domain, n)) continue;
    tags |= n->tag | n->key_tag;
    if (!reinsert_quickly(L, t, n, modulus))
      reinsert_entry(L, t, n->key_tag, n->key, node_value(n));
  }
  return tags;
}

static uint8_t reinsert_array_tail(lua_State *L, Table *t, const TValue *old, uint32_t from,
                                   uint32_t to) {
  uint8_t tags = 0;
  for (uint32_t i = from; i < to; i++) {
    if (is_nil(&old[i])) continue;
    reinsert_entry(L, t, TAG_INT, (Payload){.i = (int64_t)i + 1}, &old[i]);
    tags |= old[i].tag;
  }
  return tags;
}

static TValue *copy_array(lua_State *L, Table *t, uint32_t narray) {
  TValue *array = new_array(L, narray, t);
  uint32_t kept = t->array_size < narray ? t->array_size : narray;
  if (kept > 0) memcpy(array, t->array, (size_t)kept * sizeof(TValue));
  fill_nil(array, kept, narray);
  return array;
}

/* Tells whether the array is grown in place: a large array keeps its cards, and its
 * memory is remapped rather than copied. */
static bool grows_in_place(uint32_t old_size, uint32_t narray) {
  return narray > old_size && heap_is_large((size_t)old_size * sizeof(TValue));
}

static TValue *grow_array(lua_State *L, Table *t, uint32_t narray) {
  if (narray > 1u << MAX_ARRAY_BITS) error_run(L, "table overflow");
  size_t old_bytes = (size_t)t->array_size * sizeof(TValue),
         new_bytes = (size_t)narray * sizeof(TValue);
  TValue *array = heap_grow_array(L, t, old_bytes, new_bytes);
  fill_nil(array, t->array_size, narray);
  return array;
}

/* Drops assumptions about the table's fields, since its new nodes have no marks. */
static void forget_assumptions(lua_State *L, Table *t) {
  if (likely(!(t->state & TABLE_ASSUMED))) return;
  t->state &= (uint8_t)~TABLE_ASSUMED;
  assumed_drop(L->domain);
}

static void resize_parts(lua_State *L, Table *t, Sizes sizes) {
  TValue *old_array = t->array;
  Node *old_node = t->node;
  uint32_t narray = sizes.array, old_size = t->array_size, old_count = table_node_count(t), mask;
  Node *node = new_nodes(L, sizes, &mask, t);
  bool grown = grows_in_place(old_size, narray);
  if (grown) t->array = grow_array(L, t, narray);
  else if (narray != old_size) t->array = copy_array(L, t, narray);
  t->array_size = narray;
  t->node = node;
  t->node_mask = mask;
  forget_assumptions(L, t);
  t->state = (uint8_t)((t->state & ~TABLE_ANNEX) | (sizes.annex ? TABLE_ANNEX : 0));
  if (t->border > narray) t->border = narray;
  if (wants_scattering(t)) t->state |= TABLE_SCATTERED;
  reset_node_state(t);
  if (old_count > mask / 4) heap_part_populate(node, table_node_count(t) * sizeof(Node));
  uint8_t moved = narray < old_size ? reinsert_array_tail(L, t, old_array, narray, old_size) : 0;
  moved |= reinsert_nodes(L, t, old_node, old_count);
  if (narray != old_size && !grown) heap_free_part(L, old_array, (size_t)old_size * sizeof(TValue));
  if (old_count > 0) heap_free_part(L, old_node, (size_t)old_count * sizeof(Node));
  gc_table_resized(L, t, moved & TAG_COLLECTED);
  /* chains got long at this size */
  if (unlikely(wants_scattering(t))) resize_parts(L, t, sizes);
}

void table_resize(lua_State *L, Table *t, uint32_t narray, uint32_t nhash) {
  resize_parts(L, t, (Sizes){.array = narray, .hash = nhash});
}

/* Counts of integer keys: slice[b] is the number of keys in (2^(b-1), 2^b]. */
typedef struct KeyCount {
  uint32_t slice[MAX_ARRAY_BITS + 1];
  uint32_t integers; /* sum of the slices */
  uint32_t total;    /* all keys */
} KeyCount;

static void count_int(KeyCount *c, int64_t key) {
  if (key < 1 || key > INT64_C(1) << MAX_ARRAY_BITS) return;
  c->slice[log2_ceil((uint32_t)key)]++;
  c->integers++;
}

/* Returns the number of slots in use among n. If there are many slots and the number need
 * not be exact, examines only SAMPLES of them, at equal distances. */
static uint32_t count_slots(const TValue *from, uint32_t n, bool exact) {
  uint32_t step = exact || n <= SAMPLES ? 1 : n / SAMPLES, looked = 0, used = 0;
  for (uint32_t i = 0; i < n; i += step, looked++) used += !is_nil(&from[i]);
  return step == 1 ? used : (uint32_t)((uint64_t)used * n / looked);
}

static void count_array(const Table *t, KeyCount *c, bool exact) {
  uint32_t i = 0;
  for (int b = 0; b <= MAX_ARRAY_BITS && i < t->array_size; b++) {
    uint32_t end = (uint64_t)1 << b < t->array_size ? 1u << b : t->array_size;
    uint32_t used = count_slots(t->array + i, end - i, exact);
    i = end;
    c->slice[b] += used;
    c->integers += used;
    c->total += used;
  }
}

static void count_nodes(const Domain *d, const Table *t, KeyCount *c) {
  for (uint32_t i = table_node_count(t); i-- > 0;) {
    const Node *n = &t->node[i];
    if (n->tag == TAG_NIL || gc_node_is_dead(d, n)) continue;
    c->total++;
    if (n->key_tag == TAG_INT) count_int(c, n->key.i);
  }
}

/* Returns the largest size of the array part of which more than half would be in use.
 * Sets *inside to the number of keys in it. */
static uint32_t best_array_size(const KeyCount *c, uint32_t *inside) {
  uint32_t seen = 0, best = 0;
  *inside = 0;
  for (int b = 0; b <= MAX_ARRAY_BITS; b++) {
    uint64_t size = (uint64_t)1 << b;
    if (c->integers <= size / 2) break;
    seen += c->slice[b];
    if (seen > size / 2) {
      best = (uint32_t)size;
      *inside = seen;
    }
  }
  return best;
}

/* Tells whether the hash part is to get an annex. If few of its keys were removed and
 * it would keep its size, it would soon be full again. With an annex, there is a least
 * number of insertions for each key that a rehash moves. */
static bool wants_annex(const Table *t, uint32_t nhash) {
  uint32_t size = t->node_mask + 1;
  return size > 1 && nhash <= size && nhash > size - size / LEAST_SPARE;
}

/* Chooses sizes that have room for all keys and one more. */
static Sizes choose_sizes(const Domain *d, const Table *t, const TValue *key, bool exact) {
  KeyCount c = {0};
  count_array(t, &c, exact);
  count_nodes(d, t, &c);
  c.total++;
  if (is_int(key)) count_int(&c, key->v.i);
  uint32_t inside, narray = best_array_size(&c, &inside), nhash = c.total - inside;
  return (Sizes){.array = narray, .hash = nhash, .annex = wants_annex(t, nhash)};
}

/* Drops keys that were removed. The sizes stay as they are. */
static void drop_removed_keys(lua_State *L, Table *t, uint32_t count) {
  Node old[IN_PLACE];
  memcpy(old, t->node, count * sizeof(Node));
  forget_assumptions(L, t);
  init_nodes(t->node, count);
  reset_node_state(t);
  uint8_t moved = reinsert_nodes(L, t, old, count);
  gc_table_resized(L, t, moved & TAG_COLLECTED);
}

static bool has_sizes(const Table *t, Sizes sizes) {
  bool annex = t->state & TABLE_ANNEX;
  return sizes.array == t->array_size && sizes.annex == annex && has_hash(t) && sizes.hash > 0 &&
         log2_ceil(sizes.hash) == log2_ceil(t->node_mask + 1);
}

/* Makes room for one more key. An estimate is good enough if the array part does not
 * shrink: an error in the count of its keys is then in both `inside` and `total`, and
 * cancels out. */
static void rehash_for(lua_State *L, Table *t, const TValue *key) {
  Sizes sizes = choose_sizes(L->domain, t, key, false);
  if (sizes.array < t->array_size) sizes = choose_sizes(L->domain, t, key, true);
  uint32_t count = table_node_count(t);
  if (count <= IN_PLACE && has_sizes(t, sizes) && !wants_scattering(t))
    drop_removed_keys(L, t, count);
  else resize_parts(L, t, sizes);
}

/* Returns a float key as it is stored: as an integer if its value is one. */
static NOINLINE const TValue *stored_form(lua_State *L, const TValue *key, TValue *as_int) {
  if (is_nil(key)) error_run(L, "table index is nil");
  if (isnan(key->v.n)) error_run(L, "table index is NaN");
  int64_t i;
  if (!number_float_to_int(key->v.n, &i, FLOAT_EXACT)) return key;
  set_int(as_int, i);
  return as_int;
}

/* Tells whether this new key must rehash the table, in a stress build. A large table is
 * rehashed only now and then. */
static bool stress_wants_rehash(lua_State *L, const Table *t) {
#ifdef SAROS_STRESS
  uint32_t size = t->array_size + t->node_mask;
  return size <= 256 || ++L->domain->gc.stress_inserts % (size / 64) == 0;
#else
  (void)L, (void)t;
  return false;
#endif
}

/* Tells whether the key is the next item of a full array. If all other keys of the table
 * are fields, choose_sizes would then double the array part. */
ALWAYS_INLINE bool is_next_item(const Table *t, const TValue *key) {
  uint32_t n = t->array_size;
  if (!is_int(key) || key->v.i != (int64_t)n + 1) return false;
  if (n > SAMPLES) return count_slots(t->array, n, false) == n;
  while (n > 0 && !is_nil(&t->array[n - 1])) n--;
  return n == 0;
}

static void append_slot(lua_State *L, Table *t, const TValue *value) {
  uint32_t n = t->array_size,
           narray = n < 1u << MAX_ARRAY_BITS ? 1u << log2_ceil(n + 1) : UINT32_MAX;
  t->array = grow_array(L, t, narray);
  t->array_size = narray;
  gc_table_resized(L, t, false);
  value_copy(&t->array[n], value);
  gc_barrier_table(L, t, &t->array[n], value);
}

/* Tells whether each node holds a field. */
static bool is_full_of_fields(const Table *t) {
  uint32_t n = table_node_count(t);
  while (n > 0 && t->node[n - 1].key_tag == TAG_SHORT_STRING && t->node[n - 1].tag != TAG_NIL) n--;
  return n == 0;
}

/* Tells whether the key is a field of a record that is full and will not be large.
 * choose_sizes would then double the hash part. */
static bool is_next_field(const Table *t, const TValue *key) {
  if (t->array_size > 0 || !is_short_string(key) || (t->state & TABLE_ANNEX)) return false;
  return !heap_is_large(2 * table_node_count(t) * sizeof(Node)) && is_full_of_fields(t);
}

static void double_fields(lua_State *L, Table *t) {
  Node *old = t->node;
  uint32_t n = table_node_count(t);
  t->node = new_nodes(L, (Sizes){.hash = n > 0 ? 2 * n : 1}, &t->node_mask, t);
  reset_node_state(t);
  forget_assumptions(L, t);
  for (uint32_t i = n; i-- > 0;) {
    Node *moved, *to = node_for_key(L, t, TAG_SHORT_STRING, old[i].key, &moved);
    set_node_key(t, to, TAG_SHORT_STRING, old[i].key);
    value_copy(node_value(to), node_value(&old[i]));
  }
  heap_free_part(L, old, n * sizeof(Node));
  gc_table_resized(L, t, true);
}

static void insert_key(lua_State *L, Table *t, const TValue *key, const TValue *value) {
  TValue as_int;
  if (unlikely(is_nil(key) || is_float(key))) key = stored_form(L, key, &as_int);
  if (is_nil(value)) return; /* an absent key stays absent */
  if (!has_hash(t) && is_next_item(t, key)) {
    append_slot(L, t, value);
    return;
  }
  if (unlikely(wants_scattering(t)) || stress_wants_rehash(L, t)) {
    rehash_for(L, t, key);
    TValue *slot = (TValue *)table_get(t, key);
    if (slot != &table_absent) { /* the key is in the array part now */
      value_copy(slot, value);
      gc_barrier_table(L, t, slot, value);
      return;
    }
  }
  Node *moved, *n = node_for_key(L, t, key->tag, key->v, &moved);
  if (unlikely(n == NULL) && is_next_field(t, key)) {
    double_fields(L, t);
    n = node_for_key(L, t, key->tag, key->v, &moved);
  } else if (unlikely(n == NULL) && is_next_item(t, key) && is_full_of_fields(t)) {
    append_slot(L, t, value);
    return;
  } else if (unlikely(n == NULL)) {
    rehash_for(L, t, key);
    table_set(L, t, key, value); /* the key may belong to the array part now */
    return;
  }
  set_node_key(t, n, key->tag, key->v);
  value_copy(node_value(n), value);
  if (moved != NULL) gc_barrier_moved(L, t, moved);
  gc_barrier_table(L, t, &n->key, key);
  gc_barrier_table(L, t, n, value);
}

/* Inserts a new integer at its main position, if nothing is there. Returns false if it
 * did nothing. */
ALWAYS_INLINE bool insert_int(lua_State *L, Table *t, const TValue *key, const TValue *value) {
  if (!is_int(key) || is_nil(value) || !has_hash(t) || stress_wants_rehash(L, t)) return false;
  if (unlikely(t->state & (TABLE_CROWDED | TABLE_SCATTERED))) return false;
  Node *mp = &t->node[modulo_prime(modulus_of(t), key->v.i) & t->node_mask];
  if (mp->tag != TAG_NIL) return false;
  mp->key = key->v;
  mp->key_tag = TAG_INT;
  value_copy(node_value(mp), value);
  gc_barrier_table(L, t, mp, value);
  return true;
}

/* ---- assignment ---------------------------------------------------------- */

void table_finish_set(lua_State *L, Table *t, const TValue *key, const TValue *slot,
                      const TValue *value) {
  t->flags = 0;
  if (slot == &table_absent) {
    if (!insert_int(L, t, key, value)) insert_key(L, t, key, value);
    return;
  }
  table_will_set(L->domain, t, key, slot);
  value_copy((TValue *)slot, value);
  gc_barrier_table(L, t, slot, value);
}

void table_set(lua_State *L, Table *t, const TValue *key, const TValue *value) {
  table_finish_set(L, t, key, table_get(t, key), value);
}

void table_set_int(lua_State *L, Table *t, int64_t key, const TValue *value) {
  const TValue *slot = table_get_int(t, key);
  TValue k;
  set_int(&k, key);
  table_finish_set(L, t, &k, slot, value);
}

void table_set_str(lua_State *L, Table *t, String *key, const TValue *value) {
  TValue k;
  set_string(&k, key);
  table_finish_set(L, t, &k, table_get(t, &k), value);
}

static bool has_slots(const Table *t, int64_t first, int64_t n) {
  return n >= 0 && (uint64_t)first - 1 < t->array_size &&
         (uint64_t)n <= t->array_size - ((uint64_t)first - 1);
}

bool table_copy_slots(lua_State *L, const Table *source, int64_t first, Table *target, int64_t to,
                      int64_t n) {
  if (!has_slots(source, first, n) || !has_slots(target, to, n)) return false;
  TValue *slots = &target->array[to - 1];
  memmove(slots, &source->array[first - 1], (size_t)n * sizeof(TValue));
  /* a value may have moved within the table, to a slot that was scanned already */
  if (target->gc & GC_CLEAN)
    for (int64_t i = 0; i < n; i++) gc_barrier_table(L, target, &slots[i], &slots[i]);
  return true;
}

/* ---- length -------------------------------------------------------------- */

/* Returns a border between i (present or 0) and j (absent). */
static uint64_t search_hash(Table *t, uint64_t i, uint64_t j) {
  while (j - i > 1) {
    uint64_t m = i + (j - i) / 2;
    if (is_nil(table_get_int(t, (int64_t)m))) j = m;
    else i = m;
  }
  return i;
}

#define MOST_INDEX ((uint64_t)INT64_MAX)

/* Returns the border if the array part is full, which is at its end or beyond. If there
 * are several borders, returns the one that doubling the size finds, as in the reference
 * implementation. */
static uint64_t length_in_hash(Table *t) {
  uint64_t i = t->array_size, j = i > 0 ? i : 1;
  if (!has_hash(t) || is_nil(table_get_int(t, (int64_t)i + 1))) return i;
  do {
    i = j;
    j = i <= MOST_INDEX / 2 ? 2 * i : MOST_INDEX;
    if (i == MOST_INDEX) return i;
  } while (!is_nil(table_get_int(t, (int64_t)j)));
  return search_hash(t, i, j);
}

static uint32_t search_array(const Table *t, uint32_t i, uint32_t j) {
  while (j - i > 1) {
    uint32_t m = i + (j - i) / 2;
    if (is_nil(&t->array[m - 1])) j = m;
    else i = m;
  }
  return i;
}

uint64_t table_border(Table *t) {
  uint32_t n = t->array_size;
  if (n == 0 || !is_nil(&t->array[n - 1])) return length_in_hash(t);
  uint32_t b = t->border; /* b < n is kept below; array[n-1] is nil */
  if (b >= n) b = n - 1;
  if (b > 0 && is_nil(&t->array[b - 1])) {
    /* one item was removed */
    if (b > 1 && !is_nil(&t->array[b - 2])) return t->border = b - 1;
    return t->border = search_array(t, 0, b);
  }
  /* empty, or a hole */
  if (b == 0 && is_nil(&t->array[0])) return t->border = search_array(t, 0, n);
  for (int tries = 0; tries < 4; tries++, b++) /* a few items were added */
    if (is_nil(&t->array[b])) return t->border = b;
  return t->border = search_array(t, b, n);
}

/* ---- traversal ----------------------------------------------------------- */

static bool is_key_or_its_remains(const Node *n, const TValue *key) {
  if (same_key(n, key)) return true;
  return n->key_tag == TAG_DEADKEY && is_collected(key) && n->key.gc == key->v.gc;
}

/* Implements table_position_after, inline, since `next` is called often. */
ALWAYS_INLINE uint32_t position_after(const Table *t, const TValue *key) {
  if (is_nil(key)) return 0;
  if (is_int(key) && (uint64_t)key->v.i - 1 < t->array_size) return (uint32_t)key->v.i;
  const Node *n = main_position(t, key->tag, key->v);
  while (!is_key_or_its_remains(n, key)) {
    if (n->next == 0) return TABLE_POSITION_UNKNOWN;
    n += n->next;
  }
  return t->array_size + (uint32_t)(n - t->node) + 1;
}

uint32_t table_position_after(const Table *t, const TValue *key) { return position_after(t, key); }

uint32_t table_iterate(const Domain *d, Table *t, uint32_t position, TValue *key, TValue *value) {
  for (; position < t->array_size; position++) {
    if (is_nil(&t->array[position])) continue;
    set_int(key, (int64_t)position + 1);
    value_copy(value, &t->array[position]);
    return position + 1;
  }
  uint32_t count = table_node_count(t);
  for (uint32_t i = position - t->array_size; i < count; i++) {
    const Node *n = &t->node[i];
    if (n->tag == TAG_NIL || gc_node_is_dead(d, n)) continue;
    key->v = n->key;
    key->tag = n->key_tag;
    value_copy(value, node_value(n));
    return t->array_size + i + 1;
  }
  return 0;
}

bool table_next(lua_State *L, Table *t, TValue *key) {
  const uint32_t position = position_after(t, key);
  if (position == TABLE_POSITION_UNKNOWN) error_run(L, "invalid key to 'next'");
  return table_iterate(L->domain, t, position, key, key + 1) != 0;
}
