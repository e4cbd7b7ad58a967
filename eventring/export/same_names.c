/* SPDX-License-Identifier: MIT */
/* same_names.c: finds functions that a reader who identifies functions by name would take
 * for one.
 *
 * When functions are sorted by name, file and line, those that share something are
 * neighbours. The same function may occur several times, once for each domain. */
#include "export/same_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int compare_functions(const void *left, const void *right) {
  const struct export_function *a = *(const struct export_function *const *)left;
  const struct export_function *b = *(const struct export_function *const *)right;
  int order = strcmp(a->name, b->name);
  if (!order) order = strcmp(a->source, b->source);
  return order ? order : (a->line > b->line) - (a->line < b->line);
}

/* Returns what a function and the next one in the order share. */
static enum export_sharing sharing_of(const struct export_function *a,
                                      const struct export_function *b) {
  if (strcmp(a->name, b->name) != 0) return EXPORT_NAME_ALONE;
  if (strcmp(a->source, b->source) != 0) return EXPORT_NAME_IN_FILES;
  return a->line != b->line ? EXPORT_NAME_IN_FILE : EXPORT_NAME_ALONE;
}

/* Passes on what a function shares to a neighbour of the same name, or of the same name
   and file. The caller does this from each function to the next, then in the other
   direction. */
static void spread(enum export_sharing *sharing, const struct export_function *functions,
                   const struct export_function *from, const struct export_function *to) {
  enum export_sharing *mine = &sharing[to - functions], of_other = sharing[from - functions];
  if (strcmp(from->name, to->name) != 0) return;
  if (of_other == EXPORT_NAME_IN_FILE && strcmp(from->source, to->source) != 0)
    of_other = EXPORT_NAME_IN_FILES;
  if (of_other > *mine) *mine = of_other;
}

static void mark(enum export_sharing *sharing, const struct export_function **order, size_t count,
                 const struct export_function *functions) {
  for (size_t i = 1; i < count; i++) {
    enum export_sharing with_next = sharing_of(order[i - 1], order[i]);
    enum export_sharing *a = &sharing[order[i - 1] - functions];
    if (with_next > *a) *a = with_next;
    sharing[order[i] - functions] = with_next;
  }
  for (size_t i = 1; i < count; i++) spread(sharing, functions, order[i - 1], order[i]);
  for (size_t i = count; i-- > 1;) spread(sharing, functions, order[i], order[i - 1]);
}

enum export_sharing *export_find_same_names(const struct export_profile *p) {
  const struct export_function **order = malloc((p->function_count + 1) * sizeof *order);
  enum export_sharing *sharing = calloc(p->function_count + 1, sizeof *sharing);
  if (order && sharing && p->function_count) {
    for (size_t i = 0; i < p->function_count; i++) order[i] = &p->functions[i];
    qsort(order, p->function_count, sizeof *order, compare_functions);
    mark(sharing, order, p->function_count, p->functions);
  }
  bool failed = !order;
  free(order);
  if (!failed) return sharing;
  free(sharing);
  return NULL;
}
