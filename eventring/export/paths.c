/* SPDX-License-Identifier: MIT */
/* paths.c: a profile summed by function and by call.
 *
 * Each stack gets the figures of its rows and of all stacks that begin with it. A parent
 * has a smaller index than its children, so one pass from the end is enough. A walk to
 * the outermost frame finds whether a function is on its own stack already. */
#include "export/paths.h"

#include <stdlib.h>
#include <string.h>

struct sums { double value[EXPORT_VALUES]; };

static void add(double *to, const double *from, size_t count) {
  for (size_t v = 0; v < count; v++) to[v] += from[v] > 0 ? from[v] : 0;
}

static bool is_above(const struct export_profile *p, uint32_t stack, uint32_t function) {
  for (uint32_t at = p->stacks[stack].parent; at; at = p->stacks[at].parent)
    if (p->stacks[at].function == function) return true;
  return false;
}

static int compare_edges(const void *left, const void *right) {
  const struct export_edge *a = left, *b = right;
  if (a->caller != b->caller) return a->caller < b->caller ? -1 : 1;
  if (a->line != b->line) return a->line < b->line ? -1 : 1;
  /* a line's own figures come first */
  if (a->callee != b->callee) return a->callee > b->callee ? -1 : 1;
  if (a->callee_line != b->callee_line) return a->callee_line < b->callee_line ? -1 : 1;
  return 0;
}

static void merge_edges(struct export_paths *paths, size_t values) {
  size_t kept = 0;
  if (paths->count) qsort(paths->edges, paths->count, sizeof *paths->edges, compare_edges);
  for (size_t i = 0; i < paths->count; i++) {
    struct export_edge *to = kept ? &paths->edges[kept - 1] : NULL, *from = &paths->edges[i];
    if (!to || compare_edges(to, from) != 0) {
      paths->edges[kept++] = *from;
      continue;
    }
    add(to->value, from->value, values);
    add(to->recursive, from->recursive, values);
    add(to->own, from->own, values);
  }
  paths->count = kept;
}

static void add_stack(struct export_paths *paths, const struct export_profile *p, uint32_t i,
                      const struct sums *own, const struct sums *all, bool with_lines) {
  const struct export_stack *s = &p->stacks[i], *caller = &p->stacks[s->parent];
  struct export_edge *edge = &paths->edges[paths->count++];
  bool again = is_above(p, i, s->function);
  *edge = (struct export_edge){s->function, with_lines ? s->line : 0, UINT32_MAX, 0,
                               {0}, {0}, {0}};
  add(edge->value, own->value, p->value_count);
  add(paths->own[s->function], own->value, p->value_count);
  if (!again) add(paths->inclusive[s->function], all->value, p->value_count);
  if (!s->parent) return;
  edge = &paths->edges[paths->count++];
  *edge = (struct export_edge){caller->function, with_lines ? caller->line : 0, s->function,
                               with_lines ? p->functions[s->function].line : 0, {0}, {0}, {0}};
  add(edge->own, own->value, p->value_count);
  add(again ? edge->recursive : edge->value, all->value, p->value_count);
}

int export_paths_make(struct export_paths *paths, const struct export_profile *p,
                      bool with_lines) {
  size_t room = p->stack_count + 1;
  struct sums *own = calloc(room, sizeof *own), *all = calloc(room, sizeof *all);
  *paths = (struct export_paths){.edges = calloc(2 * room, sizeof *paths->edges),
                                 .inclusive = calloc(p->function_count + 1, sizeof *paths->own),
                                 .own = calloc(p->function_count + 1, sizeof *paths->own)};
  bool done = own && all && paths->edges && paths->inclusive && paths->own;
  for (size_t i = 0; done && i < p->row_count; i++) {
    add(own[p->rows[i].stack].value, p->rows[i].value, p->value_count);
    add(paths->total, p->rows[i].value, p->value_count);
  }
  for (size_t i = p->stack_count; done && i-- > 1;) {
    add(all[i].value, own[i].value, p->value_count);
    add(all[p->stacks[i].parent].value, all[i].value, p->value_count);
  }
  for (uint32_t i = 1; done && i < p->stack_count; i++)
    add_stack(paths, p, i, &own[i], &all[i], with_lines);
  if (done) merge_edges(paths, p->value_count);
  free(own);
  free(all);
  return done ? 0 : -1;
}

void export_paths_free(struct export_paths *paths) {
  free(paths->edges);
  free(paths->inclusive);
  free(paths->own);
}
