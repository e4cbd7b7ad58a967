/* SPDX-License-Identifier: MIT */
/* profile_tree.c: prints the tree of calls of each domain of a profile, down to 1 % of
   the time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures.h"
#include "profile_view.h"

enum { TREE_SHARE = 100 };

static void print_line(uint64_t ns, uint64_t calls, uint64_t total, unsigned depth,
                       const char *text) {
  printf("%8s %10s %12s  %*s", eva_percent(ns, total), eva_duration(ns), eva_count(calls),
         (int)(depth < 20 ? depth : 20), "");
  size_t width = 44 - (depth < 20 ? depth : 20), size = strlen(text);
  if (size > width) printf("...");
  print_foreign_text(stdout, size > width ? text + size - width + 3 : text);
  putchar('\n');
}

static void print_node(const struct eventring_profile *p, uint32_t node, unsigned depth,
                       uint64_t total) {
  char text[512];
  const struct eventring_profile_node *n = &p->nodes[node];
  profile_function_text(text, sizeof text, &p->functions[n->function]);
  print_line(n->inclusive, n->count, total, depth, text);
}

struct branch {
  uint32_t node;
  unsigned depth;
};

/* Prints the nodes of at least a hundredth of the time, in depth-first order. Does not
   recurse, because the tree may be deep. */
static void print_tree(const struct eventring_profile *p) {
  uint64_t total = p->nodes[0].inclusive;
  uint32_t *first = need_zeroed(p->node_count, sizeof *first);
  uint32_t *next = need_zeroed(p->node_count, sizeof *next);
  struct branch *stack = need_zeroed(p->node_count, sizeof *stack);
  size_t count = 0;
  for (uint32_t i = p->node_count; i-- > 1;) { /* the root is no child, so 0 means none */
    if (!p->nodes[i].inclusive || p->nodes[i].inclusive < total / TREE_SHARE) continue;
    next[i] = first[p->nodes[i].parent];
    first[p->nodes[i].parent] = i;
  }
  stack[count++] = (struct branch){0, 0};
  while (count > 0) {
    struct branch b = stack[--count];
    const struct eventring_profile_node *n = &p->nodes[b.node];
    if (b.node) print_node(p, b.node, b.depth - 1, total);
    if (n->lost_ns && n->lost_ns >= total / TREE_SHARE)
      print_line(n->lost_ns, n->lost_calls, total, b.depth, EVA_NOT_KEPT);
    size_t from = count;
    for (uint32_t i = first[b.node]; i; i = next[i])
      stack[count++] = (struct branch){i, b.depth + 1};
    /* sort: the heaviest is last, so it is popped first */
    for (size_t i = from, k = count; i + 1 < k; i++) {
      size_t least = i;
      for (size_t j = i; j < k; j++)
        if (p->nodes[stack[j].node].inclusive < p->nodes[stack[least].node].inclusive) least = j;
      struct branch swap = stack[i];
      stack[i] = stack[least];
      stack[least] = swap;
    }
  }
  free(first);
  free(next);
  free(stack);
}

/* Adds to each node's count the samples that end below it. */
static void count_below(struct eventring_profile *p) {
  for (uint32_t i = p->node_count; i-- > 1;)
    p->nodes[p->nodes[i].parent].count += p->nodes[i].count;
}

void profile_print_trees(const struct time_profile *profile, const struct profile_view *view) {
  const struct eventring_profiles *profiles = &profile->profiles;
  bool first = true;
  for (size_t i = 0; i < profiles->count; i++) {
    struct eventring_profile *p = &profiles->list[i];
    if (view->domain != UINT64_MAX && p->slot != view->domain) continue;
    if (profile->sampled) count_below(p);
    if (!first) putchar('\n');
    first = false;
    table_say(stdout, 0, 4, "domain %u %s", p->slot, p->domain);
    printf("   share  inclusive %12s  function\n", profile->sampled ? "samples" : "calls");
    print_tree(p);
  }
}
