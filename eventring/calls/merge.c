/* SPDX-License-Identifier: MIT */
/* merge.c: adds a trie of calls to another one. */
#include <stdlib.h>

#include "calls/inside.h"

/* What they are merged into, and what comes from where. */
struct merge {
  struct eventring_calls_inside *to;
  const struct eventring_calls_inside *from;
};

static void add_lost(const struct merge *m, const struct eventring_calls_node *to,
                     struct eventring_calls_lost more) {
  struct eventring_calls_lost *lost = &m->to->lost[evc_number(m->to, to)];
  lost->ticks += more.ticks;
  lost->calls += more.calls;
}

static void add_node(const struct merge *m, struct eventring_calls_node *to,
                     const struct eventring_calls_node *from) {
  struct evc_wide sums = {{0}};
  const eventring_calls of = {.inside = (struct eventring_calls_inside *)m->from};
  evc_histogram(&of, from, sums.buckets);
  to->exclusive += from->exclusive;
  to->count += from->count;
  const struct eventring_calls_rest *rest = eventring_calls_rest_of(&of, from);
  if (rest->open != 0) evc_rest(m->to, to)->open += rest->open;
  if (rest->suspended != 0) evc_rest(m->to, to)->suspended += rest->suspended;
  if (from->least < to->least) to->least = from->least;
  if (from->most > to->most) to->most = from->most;
  add_lost(m, to, m->from->lost[evc_number(m->from, from)]);
  for (unsigned i = 0; i < EVENTRING_CALLS_BUCKETS; i++)
    if (sums.buckets[i]) evc_add_to_bucket(m->to, to, i, sums.buckets[i]);
}

/* It finds no room: it is lost below this ancestor. */
static void lose_node(const struct merge *m, const struct eventring_calls_node *ancestor,
                      const struct eventring_calls_node *from) {
  struct eventring_calls_lost lost = m->from->lost[evc_number(m->from, from)];
  lost.ticks += from->exclusive;
  lost.calls += from->count;
  add_lost(m, ancestor, lost);
}

bool evc_merge(eventring_calls *into, const eventring_calls *from) {
  const struct merge m = {into->inside, from->inside};
  size_t count = eventring_calls_count(from);
  bool whole = true;
  struct eventring_calls_node *root = evc_node(m.to, 0);
  struct eventring_calls_node **map = calloc(count, sizeof *map);
  if (!map) {
    for (size_t i = 0; i < count; i++) lose_node(&m, root, evc_node(m.from, i));
    return false;
  }
  map[0] = root;
  add_node(&m, root, evc_node(m.from, 0));
  for (size_t i = 1; i < count; i++) { /* the low bit: it stands for an ancestor */
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
  return whole;
}
