/* SPDX-License-Identifier: MIT */
/* bound.c: keeps a profile from becoming a file that is out of proportion
   to its recording. */
#include "export/bound.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/saturating.h"

enum { FRAME_BYTES = 16 }; /* bytes of a frame without its name and the name of its
                              file */

struct weighed {
  size_t row;
  double value;
  uint64_t bytes;
};

/* Returns for each stack the number of bytes that it and its callers take as text, or
   NULL when out of memory. */
static uint64_t *weigh_stacks(const struct export_profile *p) {
  uint64_t *bytes = calloc(p->stack_count + 1, sizeof *bytes);
  for (size_t i = 1; bytes && i < p->stack_count; i++) {
    const struct export_function *f = &p->functions[p->stacks[i].function];
    bytes[i] = eva_add(bytes[p->stacks[i].parent],
                       strlen(f->name) + strlen(f->source) + FRAME_BYTES);
  }
  return bytes;
}

static int largest_first(const void *left, const void *right) {
  const struct weighed *a = left, *b = right;
  if (a->value != b->value) return a->value < b->value ? 1 : -1;
  return (a->row > b->row) - (a->row < b->row);
}

static int by_row(const void *left, const void *right) {
  const struct weighed *a = left, *b = right;
  return (a->row > b->row) - (a->row < b->row);
}

/* Returns the rows to keep, in their order, and stores their number in *kept, or NULL
   when out of memory. */
static struct weighed *choose(const struct export_profile *p, const uint64_t *bytes,
                              uint64_t allowed, size_t *kept) {
  struct weighed *list = calloc(p->row_count, sizeof *list);
  uint64_t sum = 0;
  *kept = 0;
  if (!list) return NULL;
  for (size_t i = 0; i < p->row_count; i++)
    list[i] = (struct weighed){i, p->rows[i].value[p->main_value], bytes[p->rows[i].stack]};
  qsort(list, p->row_count, sizeof *list, largest_first);
  while (*kept < p->row_count && (sum = eva_add(sum, list[*kept].bytes)) <= allowed) ++*kept;
  qsort(list, *kept, sizeof *list, by_row);
  return list;
}

/* Replaces the tables of the profile by copies with the rows that are kept, and with a
   function, a stack and a row "(others)", which has the sums of all other rows. Returns
   false when out of memory. */
static bool replace_tables(struct export_bounded *b, const struct weighed *list, size_t kept) {
  struct export_profile *p = &b->profile;
  b->functions = calloc(p->function_count + 1, sizeof *b->functions);
  b->stacks = calloc(p->stack_count + 1, sizeof *b->stacks);
  b->rows = calloc(kept + 1, sizeof *b->rows);
  if (!b->functions || !b->stacks || !b->rows) return false;
  memcpy(b->functions, p->functions, p->function_count * sizeof *b->functions);
  memcpy(b->stacks, p->stacks, p->stack_count * sizeof *b->stacks);
  b->functions[p->function_count] = (struct export_function){"(others)", "", 0};
  b->stacks[p->stack_count] = (struct export_stack){.function = (uint32_t)p->function_count};
  struct export_row *others = &b->rows[kept];
  others->stack = (uint32_t)p->stack_count;
  for (size_t i = 0; i < kept; i++) b->rows[i] = p->rows[list[i].row];
  for (size_t i = kept; i < p->row_count; i++)
    for (size_t v = 0; v < EXPORT_VALUES; v++)
      others->value[v] += p->rows[list[i].row].value[v];
  b->others = p->row_count - kept;
  p->functions = b->functions;
  p->function_count++;
  p->stacks = b->stacks;
  p->stack_count++;
  p->rows = b->rows;
  p->row_count = kept + 1;
  return true;
}

int export_bound(struct export_bounded *b, const struct export_profile *p) {
  const uint64_t allowed = EXPORT_FREE_BYTES + (uint64_t)EXPORT_ROW_BYTES * p->row_count;
  *b = (struct export_bounded){.profile = *p};
  uint64_t *bytes = weigh_stacks(p), sum = 0;
  if (!bytes) return -1;
  for (size_t i = 0; i < p->row_count; i++) sum = eva_add(sum, bytes[p->rows[i].stack]);
  bool done = true;
  if (sum > allowed) {
    size_t kept;
    struct weighed *list = choose(p, bytes, allowed, &kept);
    done = list && replace_tables(b, list, kept);
    free(list);
  }
  free(bytes);
  return done ? 0 : -1;
}

void export_bounded_free(struct export_bounded *b) {
  free(b->functions);
  free(b->stacks);
  free(b->rows);
}
