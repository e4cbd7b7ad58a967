/* SPDX-License-Identifier: MIT */
/* nodes.c: the nodes of a trie of calls.
 *
 * Nodes are blocks of one allocator, so a node has a number and parents come before their
 * children. A look-up of a callee tries first the node that the caller entered last, then
 * a hash table. So it touches one line of the table besides the node itself.
 *
 * The table. The cost of a program with many paths depends on whether the bytes that its
 * calls touch fit into the nearest caches. So a node is one cache line, and an entry of
 * the table is 4 bytes. A table of 2^k entries has fewer than 2^k nodes, and the first k
 * of the 32 bits of a hash say where it belongs. So an entry has the other 32 - k bits of
 * the hash, and in k bits the number of the node + 1. The table doubles when it is half
 * full; it is then filled again in the order of the nodes, each of which is read for its
 * hash. It begins small because entries in use must lie close together: in a table as
 * large as the budget allows, 10,000 nodes would touch 10,000 lines.
 *
 * The processor reads its clock only when all earlier instructions are done. So the cost
 * of a look-up is its longest chain of dependent steps; steps beside that chain cost
 * nothing. The chain is: the current node, its hash, the entry, the node found.
 *
 * What few calls need lies apart: the rest of a node (an array by number, for calls of
 * 4096 ticks and more, suspended ones, and those that began before the start), times of
 * flat calls below it (another array, touched only once the trie is full), and counts
 * carried out of histograms (struct evc_wide, for nodes with more than 65,535 calls in a
 * bucket).
 *
 * Flat nodes (flat.c) are in the same array and table, as callees of `nowhere`. The first
 * call of a flat function walks up the path, for the rule of recursion below; so does a
 * call from another caller than that of the function's last call. All other calls find
 * caller and function in the table.
 *
 * Recursion. A function that has two nodes on the path gets no further one: the node of
 * its innermost activation is used. The rule depends on the path alone, so it need not be
 * stored.
 */
#include "calls/inside.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

_Static_assert(sizeof(struct eventring_calls_node) == EVC_LINE, "node");

enum {
  FLAT_SHARE = 12,     /* 1 of FLAT_SHARE nodes is reserved for flat ones: a sixteenth of
                          the budget */
  LEAST_ENTRIES = 256, /* least entries of the table */
  MOST_ENTRIES = 4,    /* most entries of the table for each node */
  MOST_REPEATS = 1     /* most nodes of the same function above a node on its path */
};

/* ---- the table --------------------------------------------------------------------- */

/* Returns the hash of a child. Neither multiplication depends on the other, nor on the
   number of the caller. The highest bits select the entry, because sequences of ids
   spread them best. */
static inline uint32_t hash_of(const struct eventring_calls_node *caller, uint64_t id) {
  return (uint32_t)((id * 0x9e3779b97f4a7c15u + (uintptr_t)caller * 0xd6e8feb86659fd93u) >> 32);
}
static inline size_t home_entry(const struct eventring_calls_inside *in, uint32_t hash) {
  return hash >> (32 - in->bits);
}
/* Returns the bits of the hash that an entry stores: its position implies the others. */
static inline uint32_t rest_of_hash(const struct eventring_calls_inside *in, uint32_t hash) {
  return hash << in->bits;
}
/* Returns the number of the node of an entry, if it has this hash. If the entry has
   another hash, or is free (0), the result is at least the number of entries - 1. */
static inline uint32_t number_in(uint32_t entry, uint32_t rest) { return entry - rest - 1; }

/* Returns the entry of the child in the table, or the free entry where it belongs. */
static uint32_t *entry_of(const struct eventring_calls_inside *in, uint32_t parent,
                          uint64_t id, uint32_t hash) {
  const size_t mask = in->entries - 1;
  const uint32_t rest = rest_of_hash(in, hash);
  for (size_t at = home_entry(in, hash);; at = (at + 1) & mask) {
    uint32_t *entry = &in->table[at], number = number_in(*entry, rest);
    if (*entry == 0) return entry;
    if (number >= mask) continue;
    const struct eventring_calls_node *node = evc_node(in, number);
    if (node->id == id && node->parent == parent) return entry;
  }
}

/* Returns the node that is at this entry, or NULL if it is free. */
static struct eventring_calls_node *node_at(const struct eventring_calls_inside *in,
                                            const uint32_t *entry) {
  return *entry ? evc_node(in, (*entry & (in->entries - 1)) - 1) : NULL;
}

static uint32_t hash_of_node(const struct eventring_calls_inside *in,
                             const struct eventring_calls_node *node) {
  return hash_of(evc_is_flat(node) ? &in->nowhere : evc_node(in, node->parent), node->id);
}

static void put_node(struct eventring_calls_inside *in, uint32_t number, uint32_t hash) {
  size_t at = home_entry(in, hash);
  while (in->table[at] != 0) at = (at + 1) & (in->entries - 1);
  in->table[at] = rest_of_hash(in, hash) | (number + 1);
}

static bool map_table(struct eventring_calls_inside *in, size_t entries) {
  void *made = mmap(NULL, entries * sizeof *in->table, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return false;
  in->table = made;
  in->entries = entries;
  in->bits = (unsigned)__builtin_ctzll(entries);
  return true;
}

/* Makes room in the table for one node more than `count`. When out of memory, lets the
   table become three quarters full; after that returns false. */
static bool grow_table(struct eventring_calls_inside *in, size_t count) {
  uint32_t *old = in->table;
  size_t entries = in->entries;
  if (count < entries / 2) return true;
  if (!map_table(in, entries * 2)) return count < entries / 4 * 3;
  for (uint32_t i = 1; i < count; i++) /* the root is not in the table */
    put_node(in, i, hash_of_node(in, evc_node(in, i)));
  munmap(old, entries * sizeof *old);
  return true;
}

/* ---- nodes ------------------------------------------------------------------------- */

/* Maps an array of zeros, whose pages take memory when they are touched. */
static void *map_array(size_t count, size_t size) {
  void *made = mmap(NULL, count * size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return made != MAP_FAILED ? made : NULL;
}

/* Makes the memory of nodes. `budget` covers the nodes, their rests, their entries in the
   table, and the array `lost`. */
bool evc_init_nodes(struct eventring_calls_inside *in, size_t budget) {
  size_t node = sizeof(struct eventring_calls_node);
  size_t cost = node + sizeof *in->rests + MOST_ENTRIES * sizeof *in->table + sizeof *in->lost;
  size_t count = budget / cost;
  if (count > UINT32_MAX / 4) count = UINT32_MAX / 4;
  in->path_room = count - count / FLAT_SHARE;
  in->reserved = count / FLAT_SHARE * cost;
  in->pool -= in->reserved;
  evc_lines_init(&in->nodes, count * node, node);
  evc_lines_draw_on(&in->nodes, &in->pool, cost);
  in->rests = map_array(count, sizeof *in->rests);
  in->lost = map_array(count, sizeof *in->lost);
  return in->rests && in->lost && map_table(in, LEAST_ENTRIES);
}

void evc_end_nodes(struct eventring_calls_inside *in) {
  size_t count = in->nodes.budget / sizeof(struct eventring_calls_node);
  if (in->rests) munmap(in->rests, count * sizeof *in->rests);
  if (in->lost) munmap(in->lost, count * sizeof *in->lost);
  if (in->table) munmap(in->table, in->entries * sizeof *in->table);
  evc_lines_end(&in->nodes);
}

struct eventring_calls_node *evc_make_node(struct eventring_calls_inside *in, uint32_t parent,
                                           uint64_t id) {
  struct eventring_calls_node *node = evc_lines_take(&in->nodes);
  if (!node) return NULL;
  node->id = id;
  node->parent = parent;
  node->last = &in->none;
  node->least = UINT64_MAX;
  return node;
}

struct eventring_calls_rest *evc_rest(struct eventring_calls_inside *in,
                                      const struct eventring_calls_node *node) {
  return node == &in->nowhere ? &in->rest_of_nowhere : &in->rests[evc_number(in, node)];
}

/* Returns the innermost node of this function on the path to `node`, which is included,
   or NULL if there is none. */
static struct eventring_calls_node *innermost(const struct eventring_calls_inside *in,
                                              struct eventring_calls_node *node, uint64_t id) {
  while (node && node->id != id) node = evc_above(in, node);
  return node;
}

static size_t nodes_of(const struct eventring_calls_inside *in) {
  return in->nodes.used / sizeof(struct eventring_calls_node);
}

/* Lets only flat nodes be made from now on, out of the reserve for them. */
static void become_full(struct eventring_calls_inside *in) {
  if (in->full) return;
  in->full = true;
  in->path_room = nodes_of(in);
  in->nodes.pool = &in->reserved;
}

/* Makes a node and puts it into the table. Returns NULL if there is no room. */
static struct eventring_calls_node *add_node(struct eventring_calls_inside *in, uint32_t parent,
                                             uint64_t id, uint32_t hash) {
  if (!grow_table(in, nodes_of(in))) return NULL;
  struct eventring_calls_node *made = evc_make_node(in, parent, id);
  if (made) put_node(in, evc_number(in, made), hash);
  return made;
}

/* Makes a callee that is not in the table, or returns the node that a recursive call uses
   again. Returns NULL if the trie is full. */
static __attribute__((noinline)) struct eventring_calls_node *
new_callee(struct eventring_calls_inside *in, struct eventring_calls_node *caller, uint64_t id,
           uint32_t hash) {
  uint32_t parent = evc_number(in, caller);
  struct eventring_calls_node *above = innermost(in, caller, id);
  if (above && evc_rest(in, above)->repeats >= MOST_REPEATS) return above;
  if (nodes_of(in) >= in->path_room) become_full(in);
  struct eventring_calls_node *made = in->full ? NULL : add_node(in, parent, id, hash);
  if (!made) become_full(in);
  else if (above) evc_rest(in, made)->repeats = (uint16_t)(evc_rest(in, above)->repeats + 1);
  return made;
}

/* Returns where a flat node keeps the number + 1 of the last caller from which it was
   entered; calls from that caller stay flat. */
static uint64_t *flat_caller(struct eventring_calls_inside *in,
                             const struct eventring_calls_node *flat) {
  return &in->lost[evc_number(in, flat)].ticks;
}

static struct eventring_calls_node *find_flat(const struct eventring_calls_inside *in,
                                              uint64_t id) {
  uint32_t hash = hash_of(&in->nowhere, id);
  return node_at(in, entry_of(in, EVENTRING_CALLS_FLAT, id, hash));
}

struct eventring_calls_node *evc_flat_of(struct eventring_calls_inside *in, uint64_t id) {
  become_full(in);
  struct eventring_calls_node *flat = find_flat(in, id);
  if (!flat) flat = add_node(in, EVENTRING_CALLS_FLAT, id, hash_of(&in->nowhere, id));
  return flat ? flat : &in->nowhere;
}

struct eventring_calls_node *evc_callee_of(struct eventring_calls_inside *in,
                                           struct eventring_calls_node *caller, uint64_t id) {
  uint32_t parent = evc_number(in, caller), hash = hash_of(caller, id);
  struct eventring_calls_node *callee = node_at(in, entry_of(in, parent, id, hash));
  if (!callee && in->full) {
    const struct eventring_calls_node *flat = find_flat(in, id);
    if (flat && *flat_caller(in, flat) == parent + (uint64_t)1) return NULL;
  }
  if (!callee) callee = new_callee(in, caller, id, hash);
  if (callee) caller->last = callee;
  return callee;
}

/* Enters a flat callee of a node that is not flat. */
static void leave_paths(eventring_calls *calls, uint64_t id) {
  struct eventring_calls_inside *in = calls->inside;
  struct eventring_calls_node *flat = evc_flat_of(in, id);
  if (flat != &in->nowhere)
    *flat_caller(in, flat) = evc_number(in, calls->current) + (uint64_t)1;
  calls->charge = evc_lost_ticks(calls);
  calls->current = flat;
}

bool evc_descend(eventring_calls *calls, uint64_t id) {
  struct eventring_calls_inside *in = calls->inside;
  evc_settle(calls);
  if (evc_is_flat(calls->current)) {
    calls->current = evc_flat_of(in, id);
    return false;
  }
  struct eventring_calls_node *callee = evc_callee_of(in, calls->current, id);
  if (callee) {
    calls->current = callee;
    calls->charge = &callee->exclusive;
  } else {
    leave_paths(calls, id);
  }
  evc_begin_settling(calls);
  return callee != NULL;
}

static __attribute__((noinline)) void find_slow(eventring_calls *calls, uint64_t id) {
  if (evc_descend(calls, id)) return;
  evc_lost_of(calls)->calls++;
  calls->stack->base = calls->stack->top; /* where its frame will be */
}

/* Finds the callee; mostly in the first entry of the table. */
void eventring_calls_find(eventring_calls *calls, uint64_t id) {
  const struct eventring_calls_inside *in = calls->inside;
  struct eventring_calls_node *caller = calls->current;
  if (__builtin_expect(evc_is_flat(caller), 0)) {
    find_slow(calls, id);
    return;
  }
  uint32_t parent = evc_number(in, caller), hash = hash_of(caller, id);
  uint32_t number = number_in(in->table[home_entry(in, hash)], rest_of_hash(in, hash));
  if (__builtin_expect(number < in->entries - 1, 1)) {
    struct eventring_calls_node *callee = evc_node(in, number);
    if (__builtin_expect(callee->id == id && callee->parent == parent, 1)) {
      caller->last = callee;
      calls->current = callee;
      calls->charge = &callee->exclusive;
      return;
    }
  }
  find_slow(calls, id);
}

/* ---- histograms -------------------------------------------------------------------- */

static uint16_t *bucket_of(struct eventring_calls_inside *in, struct eventring_calls_node *node,
                           unsigned bucket) {
  return bucket < EVENTRING_CALLS_NEAR ? &node->near[bucket]
                                       : &evc_rest(in, node)->far[bucket - EVENTRING_CALLS_NEAR];
}

/* Returns the wide histogram of a node, or NULL if it has none. */
static struct evc_wide *wide_of(const struct eventring_calls_inside *in, uint32_t carried) {
  if (carried == 0) return NULL;
  return (struct evc_wide *)(void *)(in->wides.memory + (carried - 1) * in->wides.block_bytes);
}

/* Makes the wide histogram of a node, if it has none. Returns NULL when out of memory. */
static struct evc_wide *make_wide(struct eventring_calls_inside *in,
                                  const struct eventring_calls_node *node) {
  struct eventring_calls_rest *rest = evc_rest(in, node);
  char *wide = rest->carried ? NULL : evc_lines_take(&in->wides);
  if (wide)
    rest->carried = (uint32_t)((size_t)(wide - in->wides.memory) / in->wides.block_bytes) + 1;
  return wide_of(in, rest->carried);
}

/* Carries a bucket that has overflowed to 0. */
void eventring_calls_carry(eventring_calls *calls, struct eventring_calls_node *node,
                           unsigned bucket) {
  struct eventring_calls_inside *in = calls->inside;
  struct evc_wide *wide = node == &in->nowhere ? NULL : make_wide(in, node);
  if (wide) {
    wide->buckets[bucket] += (uint64_t)UINT16_MAX + 1;
    return;
  }
  for (unsigned i = 0; i < EVENTRING_CALLS_BUCKETS; i++) *bucket_of(in, node, i) /= 2;
  *bucket_of(in, node, bucket) = 1u << 15;
}

/* Counts a call that took so long that its bucket is not in the node. */
void eventring_calls_tally_far(eventring_calls *calls, struct eventring_calls_node *node,
                               unsigned bucket) {
  if (bucket >= EVENTRING_CALLS_BUCKETS) bucket = EVENTRING_CALLS_BUCKETS - 1;
  if (++*bucket_of(calls->inside, node, bucket) == 0) eventring_calls_carry(calls, node, bucket);
}

void evc_add_to_bucket(struct eventring_calls_inside *in, struct eventring_calls_node *node,
                       unsigned bucket, uint64_t calls) {
  uint16_t *narrow = bucket_of(in, node, bucket);
  uint64_t sum = *narrow + calls;
  struct evc_wide *wide = sum > UINT16_MAX ? make_wide(in, node) : NULL;
  if (wide) wide->buckets[bucket] += sum & ~(uint64_t)UINT16_MAX;
  else if (sum > UINT16_MAX) sum = UINT16_MAX;
  *narrow = (uint16_t)sum;
}

void evc_histogram(const eventring_calls *calls, const struct eventring_calls_node *node,
                   uint64_t buckets[EVENTRING_CALLS_BUCKETS]) {
  const struct eventring_calls_rest *rest = eventring_calls_rest_of(calls, node);
  const struct evc_wide *wide = wide_of(calls->inside, rest->carried);
  for (unsigned i = 0; i < EVENTRING_CALLS_BUCKETS; i++)
    buckets[i] = (i < EVENTRING_CALLS_NEAR ? node->near[i] : rest->far[i - EVENTRING_CALLS_NEAR]) +
                 (wide ? wide->buckets[i] : 0);
}

/* ---- what others read -------------------------------------------------------------- */

size_t eventring_calls_count(const eventring_calls *calls) {
  const struct eventring_calls_inside *in = calls->inside;
  return in->full ? in->path_room : nodes_of(in);
}

const struct eventring_calls_node *eventring_calls_node_at(const eventring_calls *calls,
                                                           size_t number) {
  return evc_node(calls->inside, number);
}

const struct eventring_calls_rest *
eventring_calls_rest_of(const eventring_calls *calls, const struct eventring_calls_node *node) {
  return evc_rest(calls->inside, node);
}

struct eventring_calls_lost
eventring_calls_lost_below(const eventring_calls *calls, const struct eventring_calls_node *node) {
  return calls->inside->lost[evc_number(calls->inside, node)];
}
