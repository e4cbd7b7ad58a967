/* SPDX-License-Identifier: MIT */
/* trie_merge.c: adds a trie of calls to another one. */
#include <stdlib.h>

#include "calls/inside.h"

/* What is merged, and into what. */
struct merge {
  struct eventring_calls_inside *to;
  const struct eventring_calls_inside *from;
  const eventring_calls *calls; /* `from` is its inside */
};

static void add_lost(const struct merge *m, const struct eventring_calls_node *to,
                     struct eventring_calls_lost more) {
  struct eventring_calls_lost *lost = &m->to->lost[evc_number(m->to, to)];
  lost->ticks += more.ticks;
  lost->calls += more.calls;
}

static void add_figures(const struct merge *m, struct eventring_calls_node *to,
                        const struct eventring_calls_node *from) {
  struct evc_wide sums = {{0}};
  evc_histogram(m->calls, from, sums.buckets);
  to->exclusive += from->exclusive;
  to->count += from->count;
  const struct eventring_calls_rest *rest = eventring_calls_rest_of(m->calls, from);
  if (rest->open != 0) evc_rest(m->to, to)->open += rest->open;
  if (rest->suspended != 0) evc_rest(m->to, to)->suspended += rest->suspended;
  if (from->least < to->least) to->least = from->least;
  if (from->most > to->most) to->most = from->most;
  for (unsigned i = 0; i < EVENTRING_CALLS_BUCKETS; i++)
    if (sums.buckets[i]) evc_add_to_bucket(m->to, to, i, sums.buckets[i]);
}

static void add_node(const struct merge *m, struct eventring_calls_node *to,
                     const struct eventring_calls_node *from) {
  add_figures(m, to, from);
  add_lost(m, to, eventring_calls_lost_below(m->calls, from));
}

/* Counts a node that finds no room: its calls are flat below this ancestor. */
static void lose_node(const struct merge *m, const struct eventring_calls_node *ancestor,
                      const struct eventring_calls_node *from) {
  struct eventring_calls_lost lost = eventring_calls_lost_below(m->calls, from);
  lost.ticks += from->exclusive;
  lost.calls += from->count;
  add_lost(m, ancestor, lost);
  add_figures(m, evc_flat_of(m->to, from->id), from);
}

static void add_flat_nodes(const struct merge *m) {
  const struct eventring_calls_node *from;
  for (size_t i = 0; (from = eventring_calls_flat_at(m->calls, i)) != NULL; i++)
    add_figures(m, from->id == NO_ID ? &m->to->nowhere : evc_flat_of(m->to, from->id), from);
}

bool evc_merge(eventring_calls *into, const eventring_calls *from) {
  const struct merge m = {into->inside, from->inside, from};
  size_t count = eventring_calls_count(from);
  bool whole = true;
  struct eventring_calls_node *root = evc_node(m.to, 0);
  struct eventring_calls_node **map = calloc(count, sizeof *map);
  add_node(&m, root, evc_node(m.from, 0));
  if (!map) {
    for (size_t i = 1; i < count; i++) lose_node(&m, root, evc_node(m.from, i));
    add_flat_nodes(&m);
    return false;
  }
  map[0] = root;
  for (size_t i = 1; i < count; i++) { /* an entry with its low bit set is an ancestor */
    const struct eventring_calls_node *node = evc_node(m.from, i);
    uintptr_t above = (uintptr_t)map[node->parent];
    struct eventring_calls_node *parent = (void *)(above & ~(uintptr_t)1);
    struct eventring_calls_node *to = above & 1 ? NULL : evc_callee_of(m.to, parent, node->id);
    if (to) {
      add_node(&m, to, node);
    } else {
      lose_node(&m, parent, node);
      whole = false;
    }
    map[i] = to ? to : (void *)((uintptr_t)parent | 1);
  }
  free(map);
  add_flat_nodes(&m);
  return whole;
}
