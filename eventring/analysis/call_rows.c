/* SPDX-License-Identifier: MIT */
/* call_rows.c: see call_rows.h.
 *
 * First, the functions of all profiles get common numbers, from a table of their names
 * and sites. Then each trie is walked once, depth-first. The walk counts the activations
 * of each function on the path, so that the time of a recursion is counted only at its
 * outermost activation.
 */
#include "analysis/call_rows.h"
#include "format/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct eventring_calls_function outside = {"(outside)", "", 0,
                                                        EVENTRING_CALLS_HOST};
/* Stand for flat calls (<eventring/calls.h>): `others` for flat calls whose function is
   not known, `not_kept` for all flat calls in views of paths. */
static const struct eventring_calls_function others = {"(other)", "", 0, EVENTRING_CALLS_HOST};
static const struct eventring_calls_function not_kept = {EVA_NOT_KEPT, "", 0,
                                                         EVENTRING_CALLS_HOST};

/* ---- functions --------------------------------------------------------------------- */

struct names {
  const struct eventring_calls_function **list;
  uint32_t count;
  struct evr_table table; /* maps a function to its number plus 1 */
  bool by_line, no_memory;
};

static bool has_name(const void *context, uintptr_t value, const void *key) {
  const struct names *names = context;
  const struct eventring_calls_function *a = names->list[value - 1], *b = key;
  if (a->line != b->line || strcmp(a->source, b->source)) return false;
  return (names->by_line && a->line) || !strcmp(a->name, b->name);
}

/* Returns the number of a function; a new function gets the next one. When out of memory,
   sets `no_memory` and returns the number of (outside). */
static uint32_t number_of(struct names *names, const struct eventring_calls_function *f) {
  uint64_t hash = evr_hash_text(evr_hash_word(evr_hash_seed(), f->line), f->source);
  if (!names->by_line || !f->line) hash = evr_hash_text(hash, f->name);
  uintptr_t *value = evr_table_take(&names->table, hash, has_name, names, f);
  names->no_memory |= !value;
  if (!value) return 0;
  if (!*value) {
    names->list[names->count] = f;
    *value = ++names->count;
  }
  return (uint32_t)*value - 1;
}

/* Makes the list of functions, with room for the functions of all profiles; number 0 is
   (outside). Returns false when out of memory. */
static bool make_names(struct names *names, const struct eventring_profiles *profiles) {
  size_t most = 3; /* with `outside`, `others` and `not_kept` */
  for (size_t i = 0; i < profiles->count; i++) most += profiles->list[i].function_count;
  names->list = calloc(most, sizeof *names->list);
  if (names->list) number_of(names, &outside);
  return names->list && !names->no_memory;
}

/* ---- walking a trie ---------------------------------------------------------------- */

struct walk {
  struct eva_call_rows *rows;
  const struct eventring_profile *p;
  const uint32_t *numbers; /* common numbers of the profile's functions, by index, and of
                              (other) */
  uint32_t *active;        /* activations of each function on the path, by common
                              number */
  uint32_t *first, *next;  /* first child and next sibling of a node; UINT32_MAX if
                              none */
};

static uint32_t function_of(const struct walk *w, uint32_t node) {
  uint32_t function = w->p->nodes[node].function;
  return function == UINT32_MAX ? 0 : w->numbers[function];
}

static void add_figures(struct eva_call_row *row, const struct eventring_profile_node *n,
                        bool outermost) {
  row->count += n->count;
  row->exclusive += n->exclusive;
  row->suspended += n->suspended;
  row->open += n->open;
  if (outermost) row->inclusive += n->inclusive;
  if (n->most && (!row->most || n->least < row->least)) row->least = n->least;
  if (n->most > row->most) row->most = n->most;
  for (unsigned i = 0; i < EVENTRING_CALLS_BUCKETS; i++) row->histogram[i] += n->histogram[i];
}

static void add_flat(struct eva_call_row *row, const struct eventring_profile_node *n) {
  add_figures(row, n, true);
  row->not_kept += n->count;
}

static void add_flat_rows(const struct walk *w) {
  for (uint32_t i = 0; i < w->p->flat_count; i++) {
    const struct eventring_profile_node *n = &w->p->flat[i];
    uint32_t function = n->function == UINT32_MAX ? w->p->function_count : n->function;
    add_flat(&w->rows->list[w->numbers[function]], n);
  }
}

static bool link_nodes(struct walk *w) {
  uint32_t count = w->p->node_count;
  w->first = malloc(count * sizeof *w->first);
  w->next = malloc(count * sizeof *w->next);
  if (!w->first || !w->next) return false;
  memset(w->first, 255, count * sizeof *w->first);
  for (uint32_t i = count; i-- > 1;) {
    w->next[i] = w->first[w->p->nodes[i].parent];
    w->first[w->p->nodes[i].parent] = i;
  }
  w->next[0] = UINT32_MAX;
  return true;
}

/* Walks the trie depth-first: calls `enter` for each node before its children and `leave`
   after them. */
static void walk_nodes(struct walk *w, void (*enter)(struct walk *, uint32_t),
                       void (*leave)(struct walk *, uint32_t)) {
  uint32_t node = 0;
  for (;;) {
    enter(w, node);
    uint32_t down = w->first[node];
    while (down == UINT32_MAX) {
      leave(w, node);
      if (node == 0) return;
      down = w->next[node];
      if (down == UINT32_MAX) node = w->p->nodes[node].parent;
    }
    node = down;
  }
}

static void enter_by_function(struct walk *w, uint32_t node) {
  uint32_t function = function_of(w, node);
  add_figures(&w->rows->list[function], &w->p->nodes[node], w->active[function]++ == 0);
}
static void leave_by_function(struct walk *w, uint32_t node) {
  w->active[function_of(w, node)]--;
}

/* ---- all profiles ------------------------------------------------------------------ */

static void add_totals(struct eva_call_rows *rows, const struct eventring_profile *p) {
  for (uint32_t i = 0; i < p->node_count; i++) {
    rows->lost_calls += p->nodes[i].lost_calls;
    rows->lost_ns += p->nodes[i].lost_ns;
    rows->total += p->nodes[i].exclusive + p->nodes[i].lost_ns;
  }
  rows->backwards += p->backwards;
  rows->ns_per_tick = p->ns_per_tick;
}

static bool number_functions(uint32_t **numbers, struct names *names,
                             const struct eventring_profile *p) {
  *numbers = malloc((p->function_count + 1) * sizeof **numbers);
  for (uint32_t i = 0; *numbers && i < p->function_count; i++)
    (*numbers)[i] = number_of(names, &p->functions[i]);
  if (*numbers) (*numbers)[p->function_count] = number_of(names, &others);
  return *numbers != NULL;
}

static bool walk_profile(struct eva_call_rows *rows, const struct eventring_profile *p,
                         const uint32_t *numbers, uint32_t functions) {
  struct walk w = {.rows = rows, .p = p, .numbers = numbers};
  w.active = calloc(functions, sizeof *w.active);
  bool done = w.active && link_nodes(&w);
  if (done) walk_nodes(&w, enter_by_function, leave_by_function);
  if (done) add_flat_rows(&w);
  free(w.active);
  free(w.first);
  free(w.next);
  return done;
}

static int compare_rows(const void *left, const void *right) {
  const struct eva_call_row *a = left, *b = right;
  if (a->order != b->order) return a->order > b->order ? -1 : 1;
  if (a->count != b->count) return a->count > b->count ? -1 : 1;
  int by_name = strcmp(a->function->name, b->function->name);
  return by_name ? by_name : strcmp(a->function->source, b->function->source);
}

/* Drops the rows without any figure, and sorts the others. */
static void finish(struct eva_call_rows *rows, bool by_inclusive) {
  size_t kept = 0;
  for (size_t i = 0; i < rows->count; i++) {
    struct eva_call_row *row = &rows->list[i];
    row->order = by_inclusive ? row->inclusive : row->exclusive;
    bool is_outside = row->function == &outside;
    if (row->count || row->open || (is_outside ? row->exclusive > 0 : row->inclusive > 0))
      rows->list[kept++] = *row;
    else
      free(row->stack);
  }
  rows->count = kept;
  if (kept) qsort(rows->list, kept, sizeof *rows->list, compare_rows);
}

static bool is_asked_for(const struct eventring_profile *p, int domain) {
  return domain < 0 || p->slot == (unsigned)domain;
}

static bool make_by_function(struct eva_call_rows *rows,
                             const struct eventring_profiles *profiles, struct names *names,
                             int domain) {
  uint32_t **numbers = calloc(profiles->count + 1, sizeof *numbers);
  bool done = numbers && make_names(names, profiles);
  for (size_t i = 0; done && i < profiles->count; i++)
    done = number_functions(&numbers[i], names, &profiles->list[i]);
  if (done) rows->list = calloc(names->count, sizeof *rows->list);
  done = done && rows->list;
  if (done) rows->count = names->count;
  for (size_t i = 0; i < rows->count; i++) rows->list[i].function = names->list[i];
  for (size_t i = 0; done && i < profiles->count; i++) {
    if (!is_asked_for(&profiles->list[i], domain)) continue;
    add_totals(rows, &profiles->list[i]);
    done = walk_profile(rows, &profiles->list[i], numbers[i], names->count);
  }
  for (size_t i = 0; numbers && i < profiles->count; i++) free(numbers[i]);
  free(numbers);
  return done;
}

/* ---- by stack ---------------------------------------------------------------------- */

static const char *name_of(const struct eventring_profile *p, uint32_t node) {
  uint32_t function = p->nodes[node].function;
  return function == UINT32_MAX ? outside.name : p->functions[function].name;
}

enum { MOST_STACK = 100 }; /* a stack shows at most this many functions, the innermost
                              ones */

static char *stack_text(const struct eventring_profile *p, uint32_t node) {
  uint32_t path[MOST_STACK], depth = 0;
  size_t size = 16, at = 0;
  if (node == 0) return strdup(outside.name);
  for (; node != 0 && depth < MOST_STACK; node = p->nodes[node].parent) path[depth++] = node;
  for (uint32_t i = 0; i < depth; i++) size += strlen(name_of(p, path[i])) + 3;
  char *text = malloc(size);
  if (!text) return NULL;
  text[0] = '\0';
  if (node != 0) at += (size_t)sprintf(text, "... > ");
  for (uint32_t i = depth; i-- > 0;)
    at += (size_t)sprintf(text + at, "%s%s", name_of(p, path[i]), i ? " > " : "");
  return text;
}

/* Adds one row for all flat calls of a profile. Returns false: no memory. */
static bool add_not_kept(struct eva_call_rows *rows, const struct eventring_profile *p) {
  struct eva_call_row *row = &rows->list[rows->count++];
  row->function = &not_kept;
  row->stack = strdup(not_kept.name);
  for (uint32_t i = 0; i < p->flat_count; i++) add_flat(row, &p->flat[i]);
  return row->stack != NULL;
}

static bool make_by_stack(struct eva_call_rows *rows, const struct eventring_profiles *profiles,
                          int domain) {
  size_t most = profiles->count;
  for (size_t i = 0; i < profiles->count; i++) most += profiles->list[i].node_count;
  rows->list = calloc(most + 1, sizeof *rows->list);
  if (!rows->list) return false;
  for (size_t i = 0; i < profiles->count; i++) {
    const struct eventring_profile *p = &profiles->list[i];
    if (!is_asked_for(p, domain)) continue;
    add_totals(rows, p);
    for (uint32_t node = 0; node < p->node_count; node++) {
      struct eva_call_row *row = &rows->list[rows->count++];
      row->function = node ? &p->functions[p->nodes[node].function] : &outside;
      add_figures(row, &p->nodes[node], true);
      row->order = (uint64_t)i << 32 | node;
      row->stack = NULL;
    }
    if (!add_not_kept(rows, p)) return false;
  }
  return true;
}

/* ---- callers ----------------------------------------------------------------------- */

/* Adds the flat calls of the functions of this name to a row. (The callers of flat calls
   are not known.) */
static void add_flat_calls_of(struct eva_call_row *row, const struct eventring_profile *p,
                              const char *name) {
  for (uint32_t i = 0; i < p->flat_count; i++) {
    uint32_t function = p->flat[i].function;
    if (function != UINT32_MAX && !strcmp(p->functions[function].name, name))
      add_flat(row, &p->flat[i]);
  }
}

static bool make_callers(struct eva_call_rows *rows, const struct eventring_profiles *profiles,
                         struct names *names, const char *name, int domain) {
  if (!make_names(names, profiles)) return false;
  uint32_t not_known = number_of(names, &not_kept);
  for (size_t i = 0; i < profiles->count; i++)
    for (uint32_t k = 0; k < profiles->list[i].function_count; k++)
      number_of(names, &profiles->list[i].functions[k]);
  rows->list = calloc(names->count, sizeof *rows->list);
  if (!rows->list) return false;
  rows->count = names->count;
  for (size_t i = 0; i < rows->count; i++) rows->list[i].function = names->list[i];
  for (size_t i = 0; i < profiles->count; i++) {
    const struct eventring_profile *p = &profiles->list[i];
    if (!is_asked_for(p, domain)) continue;
    add_totals(rows, p);
    add_flat_calls_of(&rows->list[not_known], p, name);
    for (uint32_t node = 1; node < p->node_count; node++) {
      if (strcmp(name_of(p, node), name)) continue;
      uint32_t caller = p->nodes[p->nodes[node].parent].function;
      const struct eventring_calls_function *f =
          caller == UINT32_MAX ? &outside : &p->functions[caller];
      add_figures(&rows->list[number_of(names, f)], &p->nodes[node], true);
    }
  }
  return true;
}

/* ---- the interface ----------------------------------------------------------------- */

static int result(struct eva_call_rows *rows, struct names *names, bool done) {
  free(names->list);
  evr_table_free(&names->table);
  if (done && !names->no_memory) return EVENTRING_OK;
  eva_call_rows_free(rows);
  return EVENTRING_E_MEMORY;
}

int eva_call_rows_make(struct eva_call_rows *rows, const struct eventring_profiles *profiles,
                       enum eva_calls_by by, int domain) {
  struct names names = {.by_line = by == EVA_BY_LINE};
  *rows = (struct eva_call_rows){0};
  bool done = by == EVA_BY_STACK ? make_by_stack(rows, profiles, domain)
                                 : make_by_function(rows, profiles, &names, domain);
  for (size_t i = 0; done && by == EVA_BY_STACK && i < rows->count; i++) {
    struct eva_call_row *row = &rows->list[i];
    if (row->stack) continue;
    row->stack = stack_text(&profiles->list[row->order >> 32], (uint32_t)row->order);
    done = row->stack != NULL;
  }
  if (done) finish(rows, false);
  return result(rows, &names, done);
}

int eva_call_rows_callers(struct eva_call_rows *rows, const struct eventring_profiles *profiles,
                          const char *name, int domain) {
  struct names names = {0};
  *rows = (struct eva_call_rows){0};
  bool done = make_callers(rows, profiles, &names, name, domain);
  if (done) finish(rows, true);
  return result(rows, &names, done);
}

void eva_call_rows_free(struct eva_call_rows *rows) {
  for (size_t i = 0; i < rows->count; i++) free(rows->list[i].stack);
  free(rows->list);
  *rows = (struct eva_call_rows){0};
}

/* Returns the upper end of a bucket, in ns. */
static double bound(const struct eva_call_rows *rows, unsigned bucket) {
  return (double)((uint64_t)1 << (bucket + EVENTRING_CALLS_FIRST)) * rows->ns_per_tick;
}

uint64_t eva_call_quantile(const struct eva_call_rows *rows, const struct eva_call_row *row,
                           double part) {
  double sum = 0, at = 0;
  for (unsigned i = 0; i < EVENTRING_CALLS_BUCKETS; i++) sum += row->histogram[i];
  if (sum == 0) return 0;
  for (unsigned i = 0; i < EVENTRING_CALLS_BUCKETS; at += row->histogram[i++]) {
    if (at + row->histogram[i] < part * sum || row->histogram[i] == 0) continue;
    double low = i ? bound(rows, i - 1) : 0;
    double high = bound(rows, i);
    if (low < (double)row->least) low = (double)row->least;
    if (high > (double)row->most || i == EVENTRING_CALLS_BUCKETS - 1) high = (double)row->most;
    return (uint64_t)(low + (high - low) * (part * sum - at) / row->histogram[i]);
  }
  return row->most;
}
