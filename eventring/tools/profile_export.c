/* SPDX-License-Identifier: MIT */
/* profile_export.c: writes a profile of time in the formats of other tools
 * (export/export.h).
 *
 * The stacks in the formats are the nodes of all trees. Time outside functions, and calls
 * whose path was not kept, get stacks of their own, so that sums agree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "heap_export.h"
#include "profile_view.h"

enum { UNKNOWN, OUTSIDE, NOT_KEPT, FIRST_FUNCTION };
enum { TIME, COUNT, VALUES };

struct exporting {
  const struct time_profile *profile;
  struct export_function *functions;
  struct export_stack *stacks;
  struct export_row *rows;
  size_t functions_used, stacks_used, rows_used;
};

static void add_row(struct exporting *x, const struct eventring_profile *p, uint32_t stack,
                    uint64_t count, uint64_t ns) {
  if (count == 0 && ns == 0) return;
  x->rows[x->rows_used++] =
      (struct export_row){.stack = stack, .value = {[TIME] = (double)ns, [COUNT] = (double)count},
                          .label = {{"domain", p->domain}}};
}

static uint32_t add_stack(struct exporting *x, uint32_t parent, uint32_t function, uint32_t line) {
  x->stacks[x->stacks_used] = (struct export_stack){parent, function, line};
  return (uint32_t)x->stacks_used++;
}

static void add_function(struct exporting *x, const struct eventring_calls_function *f) {
  x->functions[x->functions_used++] = (struct export_function){f->name, f->source, f->line};
}

static void add_profile(struct exporting *x, size_t number) {
  const struct eventring_profile *p = &x->profile->profiles.list[number];
  const uint32_t *lines = x->profile->lines ? x->profile->lines[number] : NULL;
  uint32_t functions = (uint32_t)x->functions_used;
  uint32_t *stack_of = need_zeroed(p->node_count, sizeof *stack_of);
  for (uint32_t i = 0; i < p->function_count; i++) add_function(x, &p->functions[i]);
  for (uint32_t i = 0; i < p->node_count; i++) {
    const struct eventring_profile_node *n = &p->nodes[i];
    if (i > 0)
      stack_of[i] = add_stack(x, stack_of[n->parent], functions + n->function,
                              lines ? lines[i] : p->functions[n->function].line);
    if (i > 0) add_row(x, p, stack_of[i], n->count, n->exclusive);
    else if (n->exclusive) add_row(x, p, add_stack(x, 0, OUTSIDE, 0), n->count, n->exclusive);
    if (n->lost_calls || n->lost_ns)
      add_row(x, p, add_stack(x, stack_of[i], NOT_KEPT, 0), n->lost_calls, n->lost_ns);
  }
  free(stack_of);
}

static void collect(struct exporting *x, uint64_t domain) {
  const struct eventring_profiles *all = &x->profile->profiles;
  size_t functions = FIRST_FUNCTION, nodes = 1;
  for (size_t i = 0; i < all->count; i++) {
    functions += all->list[i].function_count;
    nodes += 2 * (size_t)all->list[i].node_count;
  }
  x->functions = need_zeroed(functions, sizeof *x->functions);
  x->stacks = need_zeroed(nodes, sizeof *x->stacks);
  x->rows = need_zeroed(nodes, sizeof *x->rows);
  x->functions[UNKNOWN] = (struct export_function){"?", "", 0};
  x->functions[OUTSIDE] = (struct export_function){"(outside)", "", 0};
  x->functions[NOT_KEPT] = (struct export_function){EVA_NOT_KEPT, "", 0};
  x->functions_used = FIRST_FUNCTION;
  x->stacks_used = 1;
  for (size_t i = 0; i < all->count; i++)
    if (domain == UINT64_MAX || all->list[i].slot == domain) add_profile(x, i);
}

static uint64_t duration(const struct eventring_profiles *all) {
  uint64_t start = UINT64_MAX, end = 0;
  for (size_t i = 0; i < all->count; i++) {
    if (all->list[i].start_ns < start) start = all->list[i].start_ns;
    if (all->list[i].written_ns > end) end = all->list[i].written_ns;
  }
  return end > start ? end - start : 0;
}

bool profile_is_by_function(const char *format) {
  return strcmp(format, "folded") == 0 || strcmp(format, "svg") == 0;
}

int profile_export(const struct time_profile *profile, uint64_t domain, const char *format,
                   const char *path) {
  const struct export_value values[VALUES] = {
      [TIME] = {"time", "nanoseconds", NULL},
      [COUNT] = {profile->sampled ? "samples" : "calls", "count", NULL}};
  struct exporting x = {.profile = profile};
  collect(&x, domain);
  /* flame graphs of samples count samples, not time */
  bool in_samples = profile->sampled && profile_is_by_function(format);
  const struct export_profile out = {
      .program = profile->program, .start_wall_ns = profile->start_wall_ns,
      .duration_ns = duration(&profile->profiles), .values = values, .value_count = VALUES,
      .main_value = in_samples ? COUNT : TIME, .functions = x.functions,
      .function_count = x.functions_used, .stacks = x.stacks, .stack_count = x.stacks_used,
      .rows = x.rows, .row_count = x.rows_used};
  int status = export_write(&out, format, path);
  free(x.functions);
  free(x.stacks);
  free(x.rows);
  return status;
}
