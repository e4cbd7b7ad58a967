/* SPDX-License-Identifier: MIT */
/* view_samples.c: counts samples of stacks by time, for a page. */
#include "view_samples.h"

#include <stdlib.h>

#include "remote/stack_read.h"
#include "sample_tree.h"

enum { MOST_CELLS = 4 * PAGE_CELLS, MOST_COUNTS = 1 << 17 };

struct count { /* number of samples in a cell */
  uint32_t cell;
  uint32_t life, node;
  uint64_t samples;
};

struct page_samples {
  uint64_t period_ns, hz;
  uint64_t begin_ns, cell_ns, last_ns;
  struct count *counts;
  uint32_t count;
  struct evr_table table; /* values are indices of counts, plus 1 */
};

struct page_samples *page_samples_new(uint64_t hz, const struct page_grid *grid) {
  struct page_samples *s = need_zeroed(1, sizeof *s);
  *s = (struct page_samples){.hz = hz, .period_ns = 1000000000u / hz,
                             .begin_ns = grid->begin_ns, .cell_ns = grid->cell_ns};
  return s;
}

void page_samples_free(struct page_samples *s) {
  if (!s) return;
  free(s->counts);
  evr_table_free(&s->table);
  free(s);
}

uint64_t page_samples_last_ns(const struct page_samples *s) { return s->last_ns; }

static bool is_same(const void *context, uintptr_t value, const void *key) {
  const struct count *a = &((const struct page_samples *)context)->counts[value - 1], *b = key;
  return a->cell == b->cell && a->life == b->life && a->node == b->node;
}

static void add(struct page_samples *s, const struct count *more) {
  uint64_t hash = evr_hash_word(evr_hash_word(evr_hash_seed(), more->cell),
                                more->life | (uint64_t)more->node << 32);
  uintptr_t *value = evr_table_take(&s->table, hash, is_same, s, more);
  if (!value) no_memory();
  if (*value) {
    s->counts[*value - 1].samples += more->samples;
  } else {
    *NEED_NEXT(s->counts, s->count) = *more;
    *value = s->count;
  }
}

/* Joins cells in pairs. */
static void double_cells(struct page_samples *s) {
  struct page_samples rough = {.period_ns = s->period_ns, .hz = s->hz, .begin_ns = s->begin_ns,
                               .cell_ns = 2 * s->cell_ns, .last_ns = s->last_ns};
  for (uint32_t i = 0; i < s->count; i++) {
    struct count count = s->counts[i];
    count.cell /= 2;
    add(&rough, &count);
  }
  free(s->counts);
  evr_table_free(&s->table);
  *s = rough;
}

void page_samples_take(void *samples, const struct sample_moment *moment) {
  struct page_samples *s = samples;
  for (uint64_t i = 0; i < moment->periods; i++) {
    const uint64_t ns = moment->ns + i * s->period_ns;
    const uint64_t since = ns > s->begin_ns ? ns - s->begin_ns : 0;
    while (since / s->cell_ns >= MOST_CELLS || (s->count > MOST_COUNTS && since >= s->cell_ns))
      double_cells(s);
    add(s, &(struct count){(uint32_t)(since / s->cell_ns), moment->life, moment->node, 1});
    if (ns > s->last_ns) s->last_ns = ns;
  }
}

/* ---- On the page -------------------------------------------------------------- */

struct life {
  struct page_set set;
  uint32_t *site; /* by node of the tree: its site */
};

/* Returns the site of each node. Time outside functions has a site of its own. */
static uint32_t *sites_of(const struct sample_tree *tree, struct page_stacks *stacks) {
  uint32_t *site = need_zeroed(tree->count, sizeof *site);
  for (uint32_t i = 1; i < tree->count; i++) {
    const struct sample_node *n = &tree->nodes[i];
    const struct sample_function f = sample_function_of(n->key);
    const struct page_function function = {f.name, f.source, f.line,
                                           f.kind != EVENTRING_CALLS_CODE};
    site[i] = page_node(stacks, site[n->parent], page_function(stacks, &function), n->key.line);
  }
  const struct page_function outside = {"(outside)", "", 0, true};
  if (tree->nodes[0].here) site[0] = page_node(stacks, 0, page_function(stacks, &outside), 0);
  return site;
}

static struct life *lives_of(const struct sampling *sampling, struct page_stacks *stacks,
                             uint32_t *count) {
  const struct sample_tree *tree;
  const struct remote_domain *about;
  struct life *lives = NULL;
  for (*count = 0; (tree = sample_life(sampling, *count, &about)) != NULL;) {
    struct life *life = NEED_NEXT(lives, *count);
    *life = (struct life){{about->id, PAGE_SAMPLES}, sites_of(tree, stacks)};
  }
  return lives;
}

void page_samples_add(const struct page_samples *s, const struct sampling *sampling,
                      const struct page_grid *grid, const char *from, struct page_stacks *stacks) {
  struct page_figures *figures = &stacks->figures[PAGE_SAMPLED];
  uint32_t life_count;
  struct life *lives = lives_of(sampling, stacks, &life_count);
  figures->unit = "samples", figures->from = from, figures->hz = s->hz;
  while (grid->cell_ns << figures->level < s->cell_ns && figures->level < PAGE_CELLS_LOG2)
    figures->level++;
  for (uint32_t i = 0; i < s->count; i++) {
    const struct count *c = &s->counts[i];
    const struct life *life = &lives[c->life];
    page_add(stacks, PAGE_SAMPLED, life->set, life->site[c->node], (double)c->samples);
    page_add_at(stacks, PAGE_SAMPLED, life->set, life->site[c->node],
                page_grid_cell_of_all(grid, s->begin_ns + c->cell * s->cell_ns),
                (double)c->samples);
  }
  for (uint32_t i = 0; i < life_count; i++) free(lives[i].site);
  free(lives);
}
