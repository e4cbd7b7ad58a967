/* SPDX-License-Identifier: MIT */
/* nodes.c: the nodes of a trie of calls.
 *
 * Nodes are blocks of one allocator, so a node has a number and parents come before their
 * children. A node is asked first for what it entered last, then a hash table. A place of
 * the table has the hash and the number of a node, 8 bytes: so a look-up touches one line
 * of the table besides the node itself. The table doubles when it is half full, which reads
 * nothing but its old places (about 2 ns each). It begins small because places in use must
 * lie close together: in a table as large as the budget allows, 10,000 nodes have 10,000
 * lines of their own.
 *
 * The processor reads its clock when all that was begun before is done. So a look-up costs
 * as much as its longest chain of steps that wait for each other, however few they are, and
 * steps beside that chain cost nothing. It is: the current node, its hash, the place, the
 * node found.
 *
 * What few nodes need lies apart, so that those of a wide program stay in the caches: times
 * of what has no node (an array by number that is touched only once the budget is used up)
 * and what histograms carried (struct evc_wide, for nodes with more than 65,535 calls in a
 * bucket).
 *
 * Recursion. A node is not made for a function that has MOST_REPEATS nodes on the path:
 * that of its innermost activation is used. The rule depends on the path alone, so it need
 * not be stored.
 */
#include "calls/inside.h"

#include <stddef.h>
#include <sys/mman.h>

_Static_assert(sizeof(struct eventring_calls_node) == 2 * EVC_LINE, "node");
_Static_assert(offsetof(struct eventring_calls_node, narrow[6]) == EVC_LINE, "first line");

enum {
  LEAST_PLACES = 256, /* of the table */
  MOST_PLACES = 4,    /* of the table, for each node */
  MOST_REPEATS = 2
};

/* ---- the table ----------------------------------------------------------------------- */

/* One multiplication does not wait for the other, nor for the number of the caller. The
   place is that of the highest bits, which sequences of ids spread best. */
static inline uint32_t hash_of(const struct eventring_calls_node *caller, uint64_t id) {
  return (uint32_t)((id * 0x9e3779b97f4a7c15u + (uintptr_t)caller * 0xd6e8feb86659fd93u) >> 32);
}
static inline size_t first_place(const struct eventring_calls_inside *in, uint32_t hash) {
  return hash >> in->shift;
}

/* The place of the child in the table, or the free one where it belongs. */
static uint64_t *place_of(const struct eventring_calls_inside *in, uint32_t parent,
                          uint64_t id, uint32_t hash) {
  size_t mask = in->places - 1;
  for (size_t at = first_place(in, hash);; at = (at + 1) & mask) {
    uint64_t place = in->table[at];
    if (place == 0) return &in->table[at];
    if ((uint32_t)(place >> 32) != hash) continue;
    const struct eventring_calls_node *node = evc_node(in, (uint32_t)place - 1);
    if (node->id == id && node->parent == parent) return &in->table[at];
  }
}

static bool map_table(struct eventring_calls_inside *in, size_t places) {
  void *made = mmap(NULL, places * sizeof *in->table, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return false;
  in->table = made;
  in->places = places;
  in->shift = (unsigned)__builtin_clzll(places) - 31; /* 32 - log2 of the places */
  return true;
}

/* Makes room for one more of `count`. Without memory the table may become three quarters
   full; false then. */
static bool grow_table(struct eventring_calls_inside *in, size_t count) {
  uint64_t *old = in->table;
  size_t places = in->places;
  if (count < places / 2) return true;
  if (!map_table(in, places * 2)) return count < places / 4 * 3;
  for (size_t i = 0; i < places; i++) {
    if (old[i] == 0) continue;
    size_t at = first_place(in, (uint32_t)(old[i] >> 32));
    while (in->table[at] != 0) at = (at + 1) & (in->places - 1);
    in->table[at] = old[i];
  }
  munmap(old, places * sizeof *old);
  return true;
}

/* ---- nodes --------------------------------------------------------------------------- */

/* `budget` covers nodes, their places in the table, and their lost ones. */
bool evc_init_nodes(struct eventring_calls_inside *in, size_t budget) {
  size_t node = sizeof(struct eventring_calls_node);
  size_t cost = node + MOST_PLACES * sizeof *in->table + sizeof *in->lost;
  size_t count = budget / cost;
  if (count > UINT32_MAX / 4) count = UINT32_MAX / 4;
  evc_lines_init(&in->nodes, count * node, node);
  evc_lines_draw_on(&in->nodes, &in->pool, cost);
  void *lost = mmap(NULL, count * sizeof *in->lost, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (lost == MAP_FAILED) return false;
  in->lost = lost;
  return map_table(in, LEAST_PLACES);
}

void evc_end_nodes(struct eventring_calls_inside *in) {
  size_t count = in->nodes.budget / sizeof(struct eventring_calls_node);
  if (in->lost) munmap(in->lost, count * sizeof *in->lost);
  if (in->table) munmap(in->table, in->places * sizeof *in->table);
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
  node->repeats = 1;
  return node;
}

/* The innermost node of this function on the path to `node`, which is included; NULL: none. */
static struct eventring_calls_node *innermost(const struct eventring_calls_inside *in,
                                              struct eventring_calls_node *node, uint64_t id) {
  while (node && node->id != id) node = evc_above(in, node);
  return node;
}

/* The one that is not in the table; NULL: no room. */
static __attribute__((noinline)) struct eventring_calls_node *
new_callee(struct eventring_calls_inside *in, struct eventring_calls_node *caller, uint64_t id,
           uint32_t hash) {
  uint32_t parent = evc_number(in, caller);
  struct eventring_calls_node *above = innermost(in, caller, id);
  if (above && above->repeats >= MOST_REPEATS) return above;
  if (!grow_table(in, in->nodes.used / sizeof *above)) return NULL;
  struct eventring_calls_node *made = evc_make_node(in, parent, id);
  if (!made) return NULL;
  if (above) made->repeats = (uint16_t)(above->repeats + 1);
  *place_of(in, parent, id, hash) = (uint64_t)hash << 32 | (evc_number(in, made) + 1);
  return made;
}

struct eventring_calls_node *evc_callee_of(struct eventring_calls_inside *in,
                                           struct eventring_calls_node *caller, uint64_t id) {
  uint32_t parent = evc_number(in, caller), hash = hash_of(caller, id);
  uint64_t place = *place_of(in, parent, id, hash);
  struct eventring_calls_node *callee =
      place ? evc_node(in, (uint32_t)place - 1) : new_callee(in, caller, id, hash);
  if (callee) caller->last = callee;
  return callee;
}

bool evc_descend(eventring_calls *calls, uint64_t id) {
  struct eventring_calls_inside *in = calls->inside;
  if (calls->current == &in->nowhere) return false;
  struct eventring_calls_node *callee = evc_callee_of(in, calls->current, id);
  calls->charge = callee ? &callee->exclusive : evc_lost_ticks(calls);
  calls->current = callee ? callee : &in->nowhere;
  return callee != NULL;
}

static __attribute__((noinline)) void find_slow(eventring_calls *calls, uint64_t id) {
  if (!evc_descend(calls, id)) evc_lost_of(calls)->calls++;
}

/* The first place mostly has it. */
void eventring_calls_find(eventring_calls *calls, uint64_t id) {
  const struct eventring_calls_inside *in = calls->inside;
  struct eventring_calls_node *caller = calls->current;
  if (__builtin_expect(caller == &in->nowhere, 0)) {
    find_slow(calls, id);
    return;
  }
  uint32_t parent = evc_number(in, caller), hash = hash_of(caller, id);
  uint64_t place = in->table[first_place(in, hash)];
  if ((uint32_t)(place >> 32) == hash && place != 0) {
    struct eventring_calls_node *callee = evc_node(in, (uint32_t)place - 1);
    if (__builtin_expect(callee->id == id && callee->parent == parent, 1)) {
      caller->last = callee;
      calls->current = callee;
      calls->charge = &callee->exclusive;
      return;
    }
  }
  find_slow(calls, id);
}

/* ---- histograms ---------------------------------------------------------------------- */

/* NULL: no memory. */
static struct evc_wide *wide_of(const struct eventring_calls_inside *in,
                                const struct eventring_calls_node *node) {
  if (node->carried == 0) return NULL;
  return (struct evc_wide *)(void *)(in->wides.memory +
                                     (node->carried - 1) * in->wides.block_bytes);
}

static struct evc_wide *make_wide(struct eventring_calls_inside *in,
                                  struct eventring_calls_node *node) {
  char *wide = node->carried ? NULL : evc_lines_take(&in->wides);
  if (wide) node->carried = (uint32_t)((size_t)(wide - in->wides.memory) / in->wides.block_bytes) + 1;
  return wide_of(in, node);
}

/* The bucket of `narrow` has passed its end, and is 0. */
void eventring_calls_carry(eventring_calls *calls, struct eventring_calls_node *node,
                           unsigned bucket) {
  struct eventring_calls_inside *in = calls->inside;
  struct evc_wide *wide = node == &in->nowhere ? NULL : make_wide(in, node);
  if (wide) {
    wide->buckets[bucket] += (uint64_t)UINT16_MAX + 1;
    return;
  }
  for (unsigned i = 0; i < EVENTRING_CALLS_BUCKETS; i++) node->narrow[i] /= 2;
  node->narrow[bucket] = 1u << 15;
}

void evc_add_to_bucket(struct eventring_calls_inside *in, struct eventring_calls_node *node,
                       unsigned bucket, uint64_t calls) {
  uint64_t sum = node->narrow[bucket] + calls;
  struct evc_wide *wide = sum > UINT16_MAX ? make_wide(in, node) : NULL;
  if (wide) wide->buckets[bucket] += sum & ~(uint64_t)UINT16_MAX;
  else if (sum > UINT16_MAX) sum = UINT16_MAX;
  node->narrow[bucket] = (uint16_t)sum;
}

void eventring_calls_histogram(const eventring_calls *calls,
                               const struct eventring_calls_node *node,
                               uint64_t buckets[EVENTRING_CALLS_BUCKETS]) {
  const struct evc_wide *wide = wide_of(calls->inside, node);
  for (unsigned i = 0; i < EVENTRING_CALLS_BUCKETS; i++)
    buckets[i] = node->narrow[i] + (wide ? wide->buckets[i] : 0);
}

/* ---- what others read ---------------------------------------------------------------- */

size_t eventring_calls_count(const eventring_calls *calls) {
  return calls->inside->nodes.used / sizeof(struct eventring_calls_node);
}

const struct eventring_calls_node *eventring_calls_node_at(const eventring_calls *calls,
                                                           size_t number) {
  return evc_node(calls->inside, number);
}

size_t eventring_calls_number(const eventring_calls *calls,
                              const struct eventring_calls_node *node) {
  return evc_number(calls->inside, node);
}

const struct eventring_calls_node *
eventring_calls_child(const eventring_calls *calls, const struct eventring_calls_node *parent,
                      uint64_t id) {
  const struct eventring_calls_inside *in = calls->inside;
  uint32_t number = evc_number(in, parent);
  uint64_t place = *place_of(in, number, id, hash_of(parent, id));
  return place ? evc_node(in, (uint32_t)place - 1) : NULL;
}

struct eventring_calls_lost
eventring_calls_lost_below(const eventring_calls *calls, const struct eventring_calls_node *node) {
  return calls->inside->lost[evc_number(calls->inside, node)];
}

static bool is_below(const struct eventring_calls_inside *in,
                     const struct eventring_calls_node *node,
                     const struct eventring_calls_node *above) {
  while (node && node != above) node = evc_above(in, node);
  return node != NULL;
}

uint64_t eventring_calls_inclusive(const eventring_calls *calls,
                                   const struct eventring_calls_node *node) {
  const struct eventring_calls_inside *in = calls->inside;
  uint64_t sum = 0;
  size_t count = eventring_calls_count(calls);
  for (size_t i = evc_number(in, node); i < count; i++)
    if (is_below(in, evc_node(in, i), node))
      sum += evc_node(in, i)->exclusive + in->lost[i].ticks;
  return sum;
}
