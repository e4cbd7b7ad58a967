/* SPDX-License-Identifier: MIT */
/* inside.h: what a trie of calls consists of, for the files of this folder. */
#ifndef EVENTRING_CALLS_INSIDE_H
#define EVENTRING_CALLS_INSIDE_H

#include "calls/lines.h"
#include "eventring/calls.h"

#pragma GCC visibility push(hidden)

#define NO_ID EVENTRING_CALLS_NO_ID
#define HIDDEN ((uint64_t)1 << 63) /* in the id of a frame that has no node of its own */

/* What overflowed the 16-bit buckets in a node and its rest, by bucket. */
struct evc_wide {
  uint64_t buckets[EVENTRING_CALLS_BUCKETS];
};

struct eventring_calls_inside {
  struct evc_lines nodes, wides, stacks, segments;
  size_t budget, pool; /* bytes; pool: what is left of the budget */
  size_t reserved;     /* bytes that are left for flat nodes */
  size_t path_room;    /* how many nodes that are not flat there may be; in a full
                          trie: how many there are */
  bool full;           /* no path is added any more */
  uint64_t settled;    /* *charge when the current flat node was charged last */
  uint32_t *table;     /* hash table of the nodes, by parent and id (nodes.c) */
  size_t entries;      /* size of the table: a power of 2 */
  unsigned bits;       /* log2 of entries */
  struct eventring_calls_rest *rests; /* the rest of each node, by its number */
  struct eventring_calls_lost *lost;  /* lost calls below each node, by its number */
  struct eventring_calls_node none;    /* `last` of a node that has entered no callee
                                          yet */
  struct eventring_calls_node nowhere; /* node of flat calls that found no room for one of
                                          their own */
  struct eventring_calls_rest rest_of_nowhere;
  eventring_calls_stack first;
};

/* Returns the number of frames of the running stack, or the bytes of its budget that a
   trie uses. */
size_t evc_depth(const eventring_calls *calls);
size_t evc_used(const eventring_calls *calls);
/* Adds the counts and times of `from` to `into`; returns false when some paths found no
   room, so that their calls are flat in `into` (trie_merge.c). */
bool evc_merge(eventring_calls *into, const eventring_calls *from);

/* ---- nodes (nodes.c) --------------------------------------------------------------- */

/* Makes the memory of nodes; returns false when there is none. */
bool evc_init_nodes(struct eventring_calls_inside *in, size_t budget);
void evc_end_nodes(struct eventring_calls_inside *in);
/* Makes a node, which is not in the table yet. Returns NULL if there is no room. */
struct eventring_calls_node *evc_make_node(struct eventring_calls_inside *in, uint32_t parent,
                                           uint64_t id);
/* Finds or makes the callee of `caller` with this id. Returns NULL if the trie is full.
   `caller` is not flat. */
struct eventring_calls_node *evc_callee_of(struct eventring_calls_inside *in,
                                           struct eventring_calls_node *caller, uint64_t id);
/* Sets `current` and `charge` to those of the callee. Returns false when it is flat. */
bool evc_descend(eventring_calls *calls, uint64_t id);
/* Finds or makes the flat node of a function. Returns `nowhere` if there is no room. The
   trie is full from now on. */
struct eventring_calls_node *evc_flat_of(struct eventring_calls_inside *in, uint64_t id);
/* Charges the current node, if it is flat, with the time up to the last report. Only the
   owner of the trie may call it. */
void evc_settle(const eventring_calls *calls);
/* Returns the number of flat nodes (flat.c). */
size_t evc_flat_count(const eventring_calls *calls);
/* Begins to measure the time of the current node, after it and `charge` have changed. */
static inline void evc_begin_settling(const eventring_calls *calls) {
  calls->inside->settled = *calls->charge;
}
static inline bool evc_is_flat(const struct eventring_calls_node *node) {
  return node->parent == EVENTRING_CALLS_FLAT;
}
/* Returns the struct eventring_calls_rest of any node, `nowhere` included. */
struct eventring_calls_rest *evc_rest(struct eventring_calls_inside *in,
                                      const struct eventring_calls_node *node);
/* Returns the number of calls in each range of durations: bucket 0 has the calls that
   took less than 128 ticks, bucket k those that took at least 2^(6+k) and less than
   2^(7+k), the last one all longer ones. A bucket that overflows its 16 bits continues in
   struct evc_wide. If there is no memory for that, all buckets of the node are halved
   whenever one reaches 65,536, and the result is not exact. */
void evc_histogram(const eventring_calls *calls, const struct eventring_calls_node *node,
                   uint64_t buckets[EVENTRING_CALLS_BUCKETS]);
/* Adds to a histogram. */
void evc_add_to_bucket(struct eventring_calls_inside *in, struct eventring_calls_node *node,
                       unsigned bucket, uint64_t calls);

/* Returns the structure that `charge` is a member of, while a flat call runs. */
static inline struct eventring_calls_lost *evc_lost_of(eventring_calls *calls) {
  return (struct eventring_calls_lost *)(void *)calls->charge;
}
static inline struct eventring_calls_node *evc_node(const struct eventring_calls_inside *in,
                                                    size_t number) {
  return (struct eventring_calls_node *)(void *)in->nodes.memory + number;
}
static inline uint32_t evc_number(const struct eventring_calls_inside *in,
                                  const struct eventring_calls_node *node) {
  return (uint32_t)(node - evc_node(in, 0));
}
/* Returns the parent of a node that is not flat, or NULL for the root. */
static inline struct eventring_calls_node *evc_above(const struct eventring_calls_inside *in,
                                                     const struct eventring_calls_node *node) {
  return node->parent != EVENTRING_CALLS_ROOT ? evc_node(in, node->parent) : NULL;
}
/* Returns where the time of flat calls below the current node (not flat) goes. */
static inline uint64_t *evc_lost_ticks(const eventring_calls *calls) {
  return &calls->inside->lost[evc_number(calls->inside, calls->current)].ticks;
}

#pragma GCC visibility pop

#endif /* EVENTRING_CALLS_INSIDE_H */
