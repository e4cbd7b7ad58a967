/* SPDX-License-Identifier: MIT */
/* coroutine_groups.c: reads the suspended coroutines of a domain, in groups of equal
   stacks. */
#include "coroutine_groups.h"

#include <stdlib.h>
#include <string.h>

#include "remote/search.h"
#include "tool.h"

enum { MOST_TRIED = 8 /* members of a group to be tried for its stack */ };

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_stacks(const struct remote_coroutine *a, const struct remote_coroutine *b) {
  int order = ORDER(a->key, b->key);
  if (order == 0) order = ORDER(a->is_new, b->is_new);
  if (order == 0) order = ORDER(a->created_in, b->created_in);
  return order != 0 ? order : ORDER(a->created_at, b->created_at);
}

static int longest_first(const struct remote_coroutine *a, const struct remote_coroutine *b) {
  const int order = ORDER(b->least_ns, a->least_ns);
  return order != 0 ? order : ORDER(b->most_ns, a->most_ns);
}

static int by_stack(const void *left, const void *right) {
  const struct remote_coroutine *a = left, *b = right;
  int order = compare_stacks(a, b);
  if (order == 0) order = longest_first(a, b);
  return order != 0 ? order : ORDER(a->address, b->address);
}

static int by_age(const void *left, const void *right) {
  const struct coroutine_group *a = left, *b = right;
  int order = longest_first(a->of, b->of);
  if (order == 0) order = ORDER(b->count, a->count);
  return order != 0 ? order : ORDER(a->of->address, b->of->address);
}

static void add_member(struct coroutine_group *g, const struct remote_coroutine *c) {
  g->count++;
  g->bytes += c->bytes;
  g->resumed_alike +=
      c->resumed_in == g->of->resumed_in && c->resumed_at == g->of->resumed_at;
  g->with_spans += c->spans > 0;
}

static void make_groups(struct coroutine_groups *g) {
  for (size_t i = 0; i < g->count; i++) {
    const struct remote_coroutine *c = &g->all[i];
    if (i == 0 || compare_stacks(c, c - 1) != 0)
      *NEED_NEXT(g->groups, g->group_count) = (struct coroutine_group){.of = c};
    add_member(&g->groups[g->group_count - 1], c);
    g->bytes += c->bytes;
  }
  if (g->group_count > 0) qsort(g->groups, g->group_count, sizeof *g->groups, by_age);
}

static void keep_older(struct coroutine_groups *g, uint64_t least_ns) {
  size_t kept = 0;
  for (size_t i = 0; i < g->count; i++)
    if (g->all[i].least_ns >= least_ns) g->all[kept++] = g->all[i];
  g->count = kept;
}

void coroutine_groups_read(struct coroutine_groups *g, struct remote_host *host, uint64_t domain,
                           uint64_t search_ns, uint64_t least_ns) {
  struct remote_search search;
  memset(g, 0, sizeof *g);
  remote_search(host, domain, search_ns, &search);
  g->searched = search.searched;
  g->heap_bytes = search.bytes;
  g->cut = search.cut;
  if (search.count > 0) {
    g->all = need_resized(NULL, search.count, sizeof *g->all);
    g->count = remote_coroutines_read(host, domain, search.threads, search.count, g->all, &g->torn);
    keep_older(g, least_ns);
    qsort(g->all, g->count, sizeof *g->all, by_stack);
  }
  free(search.threads);
  make_groups(g);
}

void coroutine_groups_free(struct coroutine_groups *g) {
  free(g->all);
  free(g->groups);
}

bool coroutine_group_stack(const struct coroutine_group *group, struct remote_reader *reader,
                           uint64_t now, struct remote_stack *stack) {
  stack->count = stack->below = 0;
  stack->moving = false;
  for (size_t i = 0; !group->of->is_new && i < group->count && i < MOST_TRIED; i++)
    if (remote_stack_suspended(reader, group->of[i].address, stack, now) == REMOTE_READ)
      return true;
  return group->of->is_new;
}

const struct remote_function *coroutine_group_function(const struct coroutine_group *group,
                                                       struct remote_functions *functions) {
  const struct remote_coroutine *first = group->of;
  if (!first->is_new || first->function == 0) return NULL;
  return first->is_c ? remote_function_c(functions, first->function)
                     : remote_function_at(functions, first->function);
}
