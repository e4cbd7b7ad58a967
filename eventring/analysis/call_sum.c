/* SPDX-License-Identifier: MIT */
/* call_sum.c: the profiles of several domains as one.
 *
 * Functions and nodes of the sum are found by hash. In each profile parents come before
 * their children, so the sum has this order, too.
 */
#include "analysis/call_sum.h"
#include "format/table.h"

#include <stdlib.h>
#include <string.h>

struct summing {
  struct eventring_profile *to;
  struct evr_table functions, nodes, flat; /* each value is a number plus 1 */
};

static bool is_function(const void *functions, uintptr_t value, const void *key) {
  const struct eventring_calls_function *b = key, *a = functions;
  a += value - 1;
  return a->line == b->line && a->kind == b->kind && !strcmp(a->name, b->name) &&
         !strcmp(a->source, b->source);
}

/* Returns the number of the function in the sum, after adding the function if it is new;
   UINT32_MAX when out of memory. */
static uint32_t take_function(struct summing *s, const struct eventring_calls_function *f) {
  struct eventring_profile *to = s->to;
  uint64_t hash = evr_hash_text(evr_hash_word(evr_hash_seed(), f->line), f->source);
  uintptr_t *value = evr_table_take(&s->functions, evr_hash_text(hash, f->name), is_function,
                                    to->functions, f);
  if (!value) return UINT32_MAX;
  if (*value) return (uint32_t)*value - 1;
  struct eventring_calls_function *made = &to->functions[to->function_count];
  *made = *f;
  made->name = strdup(f->name);
  made->source = strdup(f->source);
  *value = ++to->function_count;
  return made->name && made->source ? to->function_count - 1 : UINT32_MAX;
}

static bool is_node(const void *nodes, uintptr_t value, const void *key) {
  const struct eventring_profile_node *b = key, *a = nodes;
  a += value - 1;
  return a->parent == b->parent && a->function == b->function;
}

/* Returns the node of this function below `parent` in `list`, made if there is none;
   NULL: no memory. */
static struct eventring_profile_node *take_node(struct evr_table *table,
                                                struct eventring_profile_node *list,
                                                uint32_t *count, uint32_t parent,
                                                uint32_t function) {
  const struct eventring_profile_node made = {.parent = parent, .function = function};
  uint64_t hash = evr_hash_word(evr_hash_seed(), (uint64_t)parent << 32 | function);
  uintptr_t *value = evr_table_take(table, hash, is_node, list, &made);
  if (!value) return NULL;
  if (!*value) {
    list[*count] = made;
    *value = ++*count;
  }
  return &list[*value - 1];
}

static void add_node(struct eventring_profile_node *to, const struct eventring_profile_node *from) {
  to->count += from->count;
  to->exclusive += from->exclusive;
  to->inclusive += from->inclusive;
  to->suspended += from->suspended;
  to->lost_calls += from->lost_calls;
  to->lost_ns += from->lost_ns;
  to->open += from->open;
  if (from->most && (!to->most || from->least < to->least)) to->least = from->least;
  if (from->most > to->most) to->most = from->most;
  for (unsigned i = 0; i < EVENTRING_CALLS_BUCKETS; i++) {
    uint64_t sum = (uint64_t)to->histogram[i] + from->histogram[i];
    to->histogram[i] = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
  }
}

static bool add_nodes(struct summing *s, const struct eventring_profile *p,
                      const uint32_t *functions) {
  struct eventring_profile *to = s->to;
  uint32_t *nodes = malloc((p->node_count + 1) * sizeof *nodes);
  bool done = nodes != NULL;
  for (uint32_t i = 0; done && i < p->node_count; i++) {
    const struct eventring_profile_node *from = &p->nodes[i];
    struct eventring_profile_node *node =
        i == 0 ? to->nodes : take_node(&s->nodes, to->nodes, &to->node_count,
                                       nodes[from->parent], functions[from->function]);
    done = node != NULL;
    if (!done) break;
    nodes[i] = (uint32_t)(node - to->nodes);
    add_node(node, from);
  }
  free(nodes);
  return done;
}

static bool add_flat(struct summing *s, const struct eventring_profile *p,
                     const uint32_t *functions) {
  struct eventring_profile *to = s->to;
  for (uint32_t i = 0; i < p->flat_count; i++) {
    const struct eventring_profile_node *from = &p->flat[i];
    uint32_t function = from->function == UINT32_MAX ? UINT32_MAX : functions[from->function];
    struct eventring_profile_node *node =
        take_node(&s->flat, to->flat, &to->flat_count, UINT32_MAX, function);
    if (!node) return false;
    add_node(node, from);
  }
  return true;
}

static bool add_profile(struct summing *s, const struct eventring_profile *p) {
  uint32_t *functions = malloc((p->function_count + 1) * sizeof *functions);
  bool done = functions != NULL;
  for (uint32_t i = 0; done && i < p->function_count; i++) {
    functions[i] = take_function(s, &p->functions[i]);
    done = functions[i] != UINT32_MAX;
  }
  done = done && add_nodes(s, p, functions) && add_flat(s, p, functions);
  free(functions);
  return done;
}

static bool begin(struct summing *s, const struct eventring_profiles *profiles) {
  size_t functions = 1, nodes = 1, flat = 1;
  for (size_t i = 0; i < profiles->count; i++) {
    functions += profiles->list[i].function_count;
    nodes += profiles->list[i].node_count;
    flat += profiles->list[i].flat_count;
  }
  s->to->functions = calloc(functions, sizeof *s->to->functions);
  s->to->nodes = calloc(nodes, sizeof *s->to->nodes);
  s->to->flat = calloc(flat, sizeof *s->to->flat);
  if (!s->to->functions || !s->to->nodes || !s->to->flat) return false;
  s->to->nodes[0] =
      (struct eventring_profile_node){.parent = UINT32_MAX, .function = UINT32_MAX};
  s->to->node_count = 1;
  return true;
}

static void add_head(struct eventring_profile *to, const struct eventring_profile *from) {
  bool first = to->number == 0;
  if (first) {
    to->slot = from->slot;
    to->incarnation = from->incarnation;
    to->start_ns = from->start_ns;
    memcpy(to->domain, from->domain, sizeof to->domain);
  }
  to->number += from->number ? from->number : 1;
  to->flags |= from->flags;
  to->backwards += from->backwards;
  to->ns_per_tick = from->ns_per_tick;
  if (from->start_ns < to->start_ns) to->start_ns = from->start_ns;
  if (from->written_ns > to->written_ns) to->written_ns = from->written_ns;
}

int eva_call_sum(struct eventring_profiles *sum, const struct eventring_profiles *profiles,
                 int domain) {
  *sum = (struct eventring_profiles){.damaged = profiles->damaged};
  sum->list = calloc(1, sizeof *sum->list);
  struct summing s = {.to = sum->list};
  bool done = sum->list && begin(&s, profiles);
  sum->count = sum->list != NULL;
  for (size_t i = 0; done && i < profiles->count; i++) {
    const struct eventring_profile *p = &profiles->list[i];
    if (domain >= 0 && p->slot != (unsigned)domain) continue;
    add_head(sum->list, p);
    done = add_profile(&s, p);
  }
  evr_table_free(&s.functions);
  evr_table_free(&s.nodes);
  evr_table_free(&s.flat);
  if (done) return EVENTRING_OK;
  eventring_profiles_free(sum);
  return EVENTRING_E_MEMORY;
}
