/* SPDX-License-Identifier: MIT */
/* call_sum.c: the profiles of several domains as one.
 *
 * Functions and nodes of the sum are found by hash; parents come before their children in
 * each profile, and so in the sum.
 */
#include "analysis/call_sum.h"

#include <stdlib.h>
#include <string.h>

struct summing {
  struct eventring_profile *to;
  uint32_t *function_at, *node_at; /* number + 1 by hash; 0: free */
  uint32_t function_places, node_places; /* powers of two */
};

static uint64_t hash_text(uint64_t hash, const char *text) {
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return (hash ^ 255) * 0x100000001b3u;
}

static bool same_function(const struct eventring_calls_function *a,
                          const struct eventring_calls_function *b) {
  return a->line == b->line && a->kind == b->kind && !strcmp(a->name, b->name) &&
         !strcmp(a->source, b->source);
}

/* Its number in the sum; UINT32_MAX: no memory. */
static uint32_t take_function(struct summing *s, const struct eventring_calls_function *f) {
  struct eventring_profile *to = s->to;
  uint64_t hash = hash_text(hash_text(0xcbf29ce484222325u + f->line, f->source), f->name);
  for (uint64_t at = hash ^ hash >> 29;; at++) {
    uint32_t *place = &s->function_at[at & (s->function_places - 1)];
    if (*place && !same_function(&to->functions[*place - 1], f)) continue;
    if (*place) return *place - 1;
    struct eventring_calls_function *made = &to->functions[to->function_count];
    *made = *f;
    made->name = strdup(f->name);
    made->source = strdup(f->source);
    *place = ++to->function_count;
    return made->name && made->source ? *place - 1 : UINT32_MAX;
  }
}

static uint32_t take_node(struct summing *s, uint32_t parent, uint32_t function) {
  struct eventring_profile *to = s->to;
  uint64_t hash = ((uint64_t)parent << 32 | function) * UINT64_C(0x9e3779b97f4a7c15);
  for (uint64_t at = hash >> 20;; at++) {
    uint32_t *place = &s->node_at[at & (s->node_places - 1)];
    if (*place && (to->nodes[*place - 1].parent != parent ||
                   to->nodes[*place - 1].function != function))
      continue;
    if (*place) return *place - 1;
    to->nodes[to->node_count] =
        (struct eventring_profile_node){.parent = parent, .function = function};
    *place = ++to->node_count;
    return *place - 1;
  }
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

static bool add_profile(struct summing *s, const struct eventring_profile *p) {
  uint32_t *functions = malloc((p->function_count + 1) * sizeof *functions);
  uint32_t *nodes = malloc((p->node_count + 1) * sizeof *nodes);
  bool done = functions && nodes;
  for (uint32_t i = 0; done && i < p->function_count; i++) {
    functions[i] = take_function(s, &p->functions[i]);
    done = functions[i] != UINT32_MAX;
  }
  for (uint32_t i = 0; done && i < p->node_count; i++) {
    nodes[i] = i == 0 ? 0 : take_node(s, nodes[p->nodes[i].parent],
                                      functions[p->nodes[i].function]);
    add_node(&s->to->nodes[nodes[i]], &p->nodes[i]);
  }
  free(functions);
  free(nodes);
  return done;
}

static uint32_t places_for(size_t count) {
  uint32_t places = 64;
  while (places < 2 * count && places < 1u << 31) places *= 2;
  return places;
}

static bool begin(struct summing *s, const struct eventring_profiles *profiles) {
  size_t functions = 1, nodes = 1;
  for (size_t i = 0; i < profiles->count; i++) {
    functions += profiles->list[i].function_count;
    nodes += profiles->list[i].node_count;
  }
  s->function_places = places_for(functions);
  s->node_places = places_for(nodes);
  s->function_at = calloc(s->function_places, sizeof *s->function_at);
  s->node_at = calloc(s->node_places, sizeof *s->node_at);
  s->to->functions = calloc(functions, sizeof *s->to->functions);
  s->to->nodes = calloc(nodes, sizeof *s->to->nodes);
  if (!s->function_at || !s->node_at || !s->to->functions || !s->to->nodes) return false;
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
  free(s.function_at);
  free(s.node_at);
  if (done) return EVENTRING_OK;
  eventring_profiles_free(sum);
  return EVENTRING_E_MEMORY;
}
