/* SPDX-License-Identifier: MIT */
/* view_stacks.c: keeps the stacks of a page and the figures on them. */
#include "view_stacks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CELLS = 1 << 17 }; /* most cells with figures for each kind: about 8 MiB */

static const char *const measure_names[PAGE_MEASURES] = {
    [PAGE_SAMPLES] = "samples", [PAGE_BYTES] = "bytes", [PAGE_OBJECTS] = "objects",
    [PAGE_NS] = "ns", [PAGE_COUNT] = "count"};

/* Returns the number of a key in a table, and sets *made to whether the key is new; a new
   key gets the number `count`. (The table holds numbers plus 1.) */
static uint32_t number_of(struct evr_table *table, uint64_t hash, evr_table_same *same,
                          const void *context, const void *key, uint32_t count, bool *made) {
  uintptr_t *value = evr_table_take(table, hash, same, context, key);
  if (!value) no_memory();
  *made = !*value;
  if (*made) *value = (uintptr_t)count + 1;
  return (uint32_t)*value - 1;
}

/* ---- The tree ----------------------------------------------------------------- */

struct page_stacks *page_stacks_new(void) {
  struct page_stacks *s = need_zeroed(1, sizeof *s);
  *NEED_NEXT(s->nodes, s->node_count) = (struct page_node){0};
  return s;
}

void page_stacks_finish(struct page_stacks *s) {
  for (int i = 0; i < PAGE_KINDS; i++) {
    evr_table_free(&s->figures[i].row_of);
    evr_table_free(&s->figures[i].cell_of);
  }
  evr_table_free(&s->function_of);
  evr_table_free(&s->node_of);
}

void page_stacks_free(struct page_stacks *s) {
  if (!s) return;
  page_stacks_finish(s);
  for (uint32_t i = 0; i < s->function_count; i++) {
    free((void *)s->functions[i].name);
    free((void *)s->functions[i].source);
  }
  for (int i = 0; i < PAGE_KINDS; i++) {
    struct page_figures *f = &s->figures[i];
    free(f->sets), free(f->rows), free(f->cells);
  }
  free(s->functions);
  free(s->nodes);
  free(s);
}

static bool is_function(const void *context, uintptr_t value, const void *key) {
  const struct page_function *a = &((const struct page_stacks *)context)->functions[value - 1];
  const struct page_function *b = key;
  return a->line == b->line && a->is_c == b->is_c && strcmp(a->name, b->name) == 0 &&
         strcmp(a->source, b->source) == 0;
}

uint32_t page_function(struct page_stacks *s, const struct page_function *function) {
  bool made;
  uint64_t hash = evr_hash_text(evr_hash_text(evr_hash_seed(), function->name), function->source);
  uint32_t number = number_of(&s->function_of, evr_hash_word(hash, function->line), is_function, s,
                              function, s->function_count, &made);
  if (made)
    *NEED_NEXT(s->functions, s->function_count) =
        (struct page_function){need_copy(function->name), need_copy(function->source),
                               function->line, function->is_c};
  return number;
}

static bool is_node(const void *context, uintptr_t value, const void *key) {
  const struct page_node *a = &((const struct page_stacks *)context)->nodes[value - 1], *b = key;
  return a->parent == b->parent && a->function == b->function && a->line == b->line;
}

uint32_t page_node(struct page_stacks *s, uint32_t parent, uint32_t function, uint32_t line) {
  bool made;
  const struct page_node node = {parent, function, line};
  uint64_t hash = evr_hash_word(evr_hash_word(evr_hash_seed(), parent), function);
  uint32_t number = number_of(&s->node_of, evr_hash_word(hash, line), is_node, s, &node,
                              s->node_count, &made);
  if (made) *NEED_NEXT(s->nodes, s->node_count) = node;
  return number;
}

/* ---- Figures ------------------------------------------------------------------ */

static bool is_row(const void *context, uintptr_t value, const void *key) {
  const struct page_row *a = &((const struct page_figures *)context)->rows[value - 1], *b = key;
  return a->set == b->set && a->node == b->node;
}

static bool is_cell(const void *context, uintptr_t value, const void *key) {
  const struct page_cell *a = &((const struct page_figures *)context)->cells[value - 1], *b = key;
  return a->row == b->row && a->cell == b->cell;
}

/* Returns the number of a set, after adding the set if it is new. (There are at most
   twice as many sets as domains.) */
static uint32_t set_number(struct page_figures *f, struct page_set set) {
  for (uint32_t i = f->set_count; i-- > 0;)
    if (f->sets[i].slot == set.slot && f->sets[i].measure == set.measure) return i;
  *NEED_NEXT(f->sets, f->set_count) = set;
  return f->set_count - 1;
}

static uint32_t row_number(struct page_figures *f, struct page_set set, uint32_t node) {
  bool made;
  const struct page_row row = {.set = set_number(f, set), .node = node};
  uint64_t hash = evr_hash_word(evr_hash_word(evr_hash_seed(), row.set), node);
  uint32_t number = number_of(&f->row_of, hash, is_row, f, &row, f->row_count, &made);
  if (made) *NEED_NEXT(f->rows, f->row_count) = row;
  return number;
}

void page_add(struct page_stacks *s, enum page_kind kind, struct page_set set, uint32_t node,
              double figure) {
  struct page_figures *f = &s->figures[kind];
  const uint32_t row = row_number(f, set, node); /* this may move the rows */
  f->rows[row].self += figure;
}

void page_vary(struct page_stacks *s, enum page_kind kind, struct page_set set, uint32_t node,
               double figure, double variance) {
  struct page_figures *f = &s->figures[kind];
  struct page_row *row = &f->rows[row_number(f, set, node)];
  row->of += figure;
  row->variance += variance;
}

static void add_cell(struct page_figures *f, uint32_t row, uint32_t cell, double figure) {
  bool made;
  const struct page_cell at = {.row = row, .cell = cell};
  uint64_t hash = evr_hash_word(evr_hash_word(evr_hash_seed(), row), cell);
  uint32_t number = number_of(&f->cell_of, hash, is_cell, f, &at, f->cell_count, &made);
  if (made) *NEED_NEXT(f->cells, f->cell_count) = at;
  f->cells[number].figure += figure;
}

/* Joins cells in pairs. */
static void join_cells(struct page_figures *f) {
  struct page_figures before = *f;
  f->cells = NULL, f->cell_count = 0, f->cell_of = (struct evr_table){0};
  for (uint32_t i = 0; i < before.cell_count; i++) {
    const struct page_cell *c = &before.cells[i];
    add_cell(f, c->row, c->cell / 2, c->figure);
  }
  free(before.cells);
  evr_table_free(&before.cell_of);
}

void page_add_at(struct page_stacks *s, enum page_kind kind, struct page_set set,
                 uint32_t node, uint32_t cell, double figure) {
  struct page_figures *f = &s->figures[kind];
  add_cell(f, row_number(f, set, node), cell >> f->level, figure);
  f->timed = true;
  for (; f->cell_count > MOST_CELLS && f->level < PAGE_CELLS_LOG2; f->level++) join_cells(f);
}

void page_halve(struct page_stacks *s, enum page_kind kind) {
  struct page_figures *f = &s->figures[kind];
  if (f->level) f->level--; /* cells are that long already */
  else join_cells(f);
}

/* ---- A smaller tree ----------------------------------------------------------- */

struct weight {
  uint32_t node;
  double share; /* the greatest share of any kind and measure */
};

/* Raises the weights by the shares of one measure. `sums` has room for one figure per
   node. */
static void weigh(const struct page_stacks *s, const struct page_figures *f,
                  enum page_measure measure, double *sums, struct weight *weights) {
  memset(sums, 0, s->node_count * sizeof *sums);
  for (uint32_t i = 0; i < f->row_count; i++)
    if (f->sets[f->rows[i].set].measure == measure) sums[f->rows[i].node] += f->rows[i].self;
  for (uint32_t i = s->node_count; i-- > 1;) sums[s->nodes[i].parent] += sums[i];
  for (uint32_t i = 0; i < s->node_count && sums[0] > 0; i++)
    if (sums[i] / sums[0] > weights[i].share) weights[i].share = sums[i] / sums[0];
}

/* Compares two weights. A caller comes before its callees: its number is less, and its
   share is at least as great. */
static int compare_weights(const void *left, const void *right) {
  const struct weight *a = left, *b = right;
  if (a->share != b->share) return a->share > b->share ? -1 : 1;
  return a->node < b->node ? -1 : 1;
}

/* Sets kept[node] for the root and `most` others. */
static void choose(const struct page_stacks *s, uint32_t most, bool *kept) {
  struct weight *weights = need_zeroed(s->node_count, sizeof *weights);
  double *sums = need_zeroed(s->node_count, sizeof *sums);
  for (uint32_t i = 0; i < s->node_count; i++) weights[i].node = i;
  for (int kind = 0; kind < PAGE_KINDS; kind++)
    for (int measure = 0; measure < PAGE_MEASURES; measure++)
      weigh(s, &s->figures[kind], (enum page_measure)measure, sums, weights);
  weights[0].share = INFINITY;
  qsort(weights, s->node_count, sizeof *weights, compare_weights);
  for (uint32_t i = 0; i < s->node_count && i <= most; i++) kept[weights[i].node] = true;
  free(weights);
  free(sums);
}

/* Copies the kept nodes. A site that is not kept, and all below it, counts in its
   caller's "(other)". */
static void copy_nodes(const struct page_stacks *s, const bool *kept, struct page_stacks *to,
                       uint32_t *node_of) {
  for (uint32_t i = 1; i < s->node_count; i++) {
    const struct page_node *n = &s->nodes[i];
    if (!kept[n->parent]) {
      node_of[i] = node_of[n->parent];
    } else if (kept[i]) {
      node_of[i] = page_node(to, node_of[n->parent], page_function(to, &s->functions[n->function]),
                             n->line);
    } else {
      const struct page_function other = {"(other)", "", 0, true};
      node_of[i] = page_node(to, node_of[n->parent], page_function(to, &other), 0);
    }
  }
}

static void copy_figures(const struct page_stacks *s, enum page_kind kind,
                         struct page_stacks *to, const uint32_t *node_of) {
  const struct page_figures *from = &s->figures[kind];
  struct page_figures *figures = &to->figures[kind];
  figures->unit = from->unit, figures->from = from->from;
  figures->hz = from->hz, figures->timed = from->timed, figures->level = from->level;
  for (uint32_t i = 0; i < from->row_count; i++) {
    const struct page_row *r = &from->rows[i];
    page_add(to, kind, from->sets[r->set], node_of[r->node], r->self);
    if (r->variance > 0)
      page_vary(to, kind, from->sets[r->set], node_of[r->node], r->of, r->variance);
  }
  for (uint32_t i = 0; i < from->cell_count; i++) {
    const struct page_cell *c = &from->cells[i];
    const struct page_row *r = &from->rows[c->row];
    page_add_at(to, kind, from->sets[r->set], node_of[r->node], c->cell << from->level,
                c->figure);
  }
}

struct page_stacks *page_stacks_reduced(const struct page_stacks *s, uint32_t most) {
  struct page_stacks *to = page_stacks_new();
  bool *kept = need_zeroed(s->node_count, sizeof *kept);
  uint32_t *node_of = need_zeroed(s->node_count, sizeof *node_of);
  choose(s, most, kept);
  copy_nodes(s, kept, to, node_of);
  for (int i = 0; i < PAGE_KINDS; i++) copy_figures(s, (enum page_kind)i, to, node_of);
  free(kept);
  page_stacks_finish(to);
  free(node_of);
  return to;
}

double *page_function_weights(const struct page_stacks *s) {
  double *weights = need_zeroed(s->function_count + 1, sizeof *weights);
  for (int kind = 0; kind < PAGE_KINDS; kind++) {
    const struct page_figures *f = &s->figures[kind];
    double total[PAGE_MEASURES] = {0};
    for (uint32_t i = 0; i < f->row_count; i++)
      total[f->sets[f->rows[i].set].measure] += f->rows[i].self;
    for (uint32_t i = 0; i < f->row_count; i++) {
      const struct page_row *r = &f->rows[i];
      if (r->self > 0)
        weights[s->nodes[r->node].function] += r->self / total[f->sets[r->set].measure];
    }
  }
  return weights;
}

/* ---- As JSON ------------------------------------------------------------------ */

void page_stacks_write(const struct page_stacks *s, struct eva_json *json) {
  eva_json_open_object(json);
  eva_json_key(json, "functions");
  eva_json_open_array(json);
  for (uint32_t i = 0; i < s->function_count; i++) {
    const struct page_function *f = &s->functions[i];
    eva_json_open_array(json);
    eva_json_string(json, f->name);
    eva_json_string(json, f->source);
    eva_json_uint(json, f->line);
    eva_json_uint(json, f->is_c);
    eva_json_close_array(json);
  }
  eva_json_close_array(json);
  eva_json_key(json, "nodes");
  eva_json_open_object(json);
  /* (the root is not written) */
  const struct page_node *node = s->nodes + 1;
  const size_t count = s->node_count - 1;
  PAGE_DIFFERENCES(json, "parent_d", count, node[i].parent);
  PAGE_COLUMN(json, "function", count, node[i].function);
  PAGE_COLUMN(json, "line", count, node[i].line);
  eva_json_close_object(json);
  eva_json_close_object(json);
}

static int compare_rows(const void *left, const void *right) {
  const struct page_row *a = *(const struct page_row *const *)left;
  const struct page_row *b = *(const struct page_row *const *)right;
  if (a->set != b->set) return a->set < b->set ? -1 : 1;
  return a->node < b->node ? -1 : a->node > b->node;
}

static int compare_cells(const void *left, const void *right) {
  const struct page_cell *a = left, *b = right;
  if (a->row != b->row) return a->row < b->row ? -1 : 1;
  return a->cell < b->cell ? -1 : a->cell > b->cell;
}

/* Writes the cells of one row, from `cell` on, in their order. Cells that become one at
   this level are rounded as one. */
static void write_cells(const struct page_cell *cell, const struct page_cell *end, unsigned level,
                        struct eva_json *json) {
  const uint32_t row = cell->row;
  int64_t before = 0;
  while (cell < end && cell->row == row) {
    const uint32_t number = cell->cell >> level;
    double figure = 0;
    for (; cell < end && cell->row == row && cell->cell >> level == number; cell++)
      figure += cell->figure;
    eva_json_int(json, number - before);
    eva_json_int(json, llround(figure));
    before = number;
  }
}

/* Cells sorted by row and number, and the begin of each row's cells; UINT32_MAX for a row
   without cells. */
struct ordered {
  struct page_cell *cells;
  uint32_t *first;
};

/* Returns the variance of an estimate per unit of the estimate, in thousandths. */
static double variance_of_each(const struct page_row *row) {
  return row->of > 0 ? 1000 * row->variance / row->of : 0;
}

static bool has_variance(const struct page_row *const *rows, size_t count) {
  size_t i = 0;
  while (i < count && !(rows[i]->variance > 0)) i++;
  return i < count;
}

/* Writes a set and the `count` rows that belong to it. */
static void write_set(const struct page_figures *f, const struct page_row *const *rows,
                      size_t count, const struct ordered *ordered, const struct page_lists *lists,
                      unsigned level, struct eva_json *json) {
  const struct page_set *set = &f->sets[rows[0]->set];
  eva_json_open_object(json);
  eva_json_int_at(json, "domain", page_domain(lists, set->slot));
  eva_json_string_at(json, "measure", measure_names[set->measure]);
  PAGE_COLUMN(json, "node", count, rows[i]->node);
  PAGE_COLUMN(json, "self", count, llround(rows[i]->self));
  if (has_variance(rows, count))
    PAGE_COLUMN(json, "variance_each", count, llround(variance_of_each(rows[i])));
  if (f->timed) {
    eva_json_uint_at(json, "level", level);
    eva_json_key(json, "cells");
    eva_json_open_array(json);
    for (size_t i = 0; i < count; i++) {
      const uint32_t row = (uint32_t)(rows[i] - f->rows);
      eva_json_open_array(json);
      if (ordered->first[row] != UINT32_MAX)
        write_cells(ordered->cells + ordered->first[row], ordered->cells + f->cell_count,
                    level - f->level, json);
      eva_json_close_array(json);
    }
    eva_json_close_array(json);
  }
  eva_json_close_object(json);
}

static struct ordered order_cells(const struct page_figures *f) {
  const struct ordered o = {need_zeroed(f->cell_count + 1, sizeof *o.cells),
                            need_zeroed(f->row_count, sizeof *o.first)};
  for (uint32_t i = 0; i < f->row_count; i++) o.first[i] = UINT32_MAX;
  if (f->cell_count) {
    memcpy(o.cells, f->cells, f->cell_count * sizeof *o.cells);
    qsort(o.cells, f->cell_count, sizeof *o.cells, compare_cells);
  }
  for (uint32_t i = f->cell_count; i-- > 0;) o.first[o.cells[i].row] = i;
  return o;
}

static void write_sets(const struct page_figures *f, const struct page_lists *lists,
                       unsigned level, struct eva_json *json) {
  const struct page_row **rows = need_zeroed(f->row_count, sizeof *rows);
  const struct ordered ordered = order_cells(f);
  for (uint32_t i = 0; i < f->row_count; i++) rows[i] = &f->rows[i];
  qsort(rows, f->row_count, sizeof *rows, compare_rows);
  for (size_t from = 0, to; from < f->row_count; from = to) {
    for (to = from; to < f->row_count && rows[to]->set == rows[from]->set; to++) {}
    write_set(f, rows + from, to - from, &ordered, lists, level, json);
  }
  free(rows);
  free(ordered.cells);
  free(ordered.first);
}

void page_figures_write(const struct page_stacks *s, enum page_kind kind,
                        const struct page_lists *lists, unsigned level, struct eva_json *json) {
  const struct page_figures *f = &s->figures[kind];
  if (level < f->level) level = f->level;
  eva_json_open_object(json);
  eva_json_string_at(json, "unit", f->unit);
  eva_json_key(json, "hz");
  if (f->hz) eva_json_uint(json, f->hz);
  else eva_json_null(json);
  eva_json_string_at(json, "from", f->from);
  eva_json_key(json, "sets");
  eva_json_open_array(json);
  if (f->row_count) write_sets(f, lists, level, json);
  eva_json_close_array(json);
  eva_json_close_object(json);
}
