/* SPDX-License-Identifier: MIT */
/* sample_tree.c: counts stacks. */
#include "sample_tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/table.h"

void sample_tree_open(struct sample_tree *tree) {
  *tree = (struct sample_tree){.nodes = need_zeroed(1, sizeof *tree->nodes), .count = 1};
}

void sample_tree_close(struct sample_tree *tree) { free(tree->nodes); }

static bool same_key(struct sample_key a, struct sample_key b) {
  return a.function == b.function && a.text == b.text && a.line == b.line;
}

/* Returns a child. A child that was found becomes the first child, as the next sample
   mostly needs it again. */
uint32_t sample_tree_child(struct sample_tree *tree, uint32_t parent, struct sample_key key) {
  uint32_t before = 0;
  for (uint32_t i = tree->nodes[parent].first_child; i != 0; i = tree->nodes[i].next_sibling) {
    if (same_key(tree->nodes[i].key, key)) {
      if (before != 0) {
        tree->nodes[before].next_sibling = tree->nodes[i].next_sibling;
        tree->nodes[i].next_sibling = tree->nodes[parent].first_child;
        tree->nodes[parent].first_child = i;
      }
      return i;
    }
    before = i;
  }
  const uint32_t made = tree->count;
  struct sample_node *node = NEED_NEXT(tree->nodes, tree->count);
  *node = (struct sample_node){
      .key = key, .parent = parent, .next_sibling = tree->nodes[parent].first_child};
  return tree->nodes[parent].first_child = made;
}

/* ---- As a profile ------------------------------------------------------------- */

/* Joins nodes that are lines of the same function. */
static void without_lines(const struct sample_tree *tree, struct sample_tree *to) {
  uint32_t *made = need_zeroed(tree->count, sizeof *made);
  sample_tree_open(to);
  to->nodes[0].here = tree->nodes[0].here;
  for (uint32_t i = 1; i < tree->count; i++) {
    struct sample_key key = tree->nodes[i].key;
    key.line = 0;
    made[i] = sample_tree_child(to, made[tree->nodes[i].parent], key);
    to->nodes[made[i]].here += tree->nodes[i].here;
  }
  free(made);
}

struct sample_function sample_function_of(struct sample_key key) {
  const struct remote_function *f = key.function;
  const bool is_c = f == NULL || f->is_c;
  return (struct sample_function){
      .name = key.text != NULL ? key.text : remote_function_name(f),
      .source = is_c ? "" : f->source, .line = is_c ? 0 : f->first_line,
      .kind = key.text != NULL ? EVENTRING_CALLS_HOST
              : is_c           ? EVENTRING_CALLS_NATIVE
                               : EVENTRING_CALLS_CODE};
}

static struct eventring_calls_function describe(struct sample_key key) {
  const struct sample_function f = sample_function_of(key);
  return (struct eventring_calls_function){
      need_copy(f.name), need_copy(f.source),
      f.kind == EVENTRING_CALLS_CODE && key.line ? key.line : f.line, f.kind};
}

/* Numbers of the functions of keys. */
struct numbers {
  struct sample_key *key;
  struct evr_table table; /* maps a function to its number plus 1 */
};

static bool has_key(const void *context, uintptr_t value, const void *key) {
  const struct numbers *numbers = context;
  return same_key(numbers->key[value - 1], *(const struct sample_key *)key);
}

static uint32_t number_of(struct numbers *numbers, struct eventring_profile *p,
                          struct sample_key key) {
  uint64_t hash = evr_hash_word(evr_hash_seed(), (uintptr_t)key.function);
  hash = evr_hash_word(evr_hash_word(hash, (uintptr_t)key.text), key.line);
  uintptr_t *value = evr_table_take(&numbers->table, hash, has_key, numbers, &key);
  if (!value) no_memory();
  if (!*value) {
    numbers->key[p->function_count] = key;
    p->functions[p->function_count] = describe(key);
    *value = ++p->function_count;
  }
  return (uint32_t)*value - 1;
}

static void add_node(struct eventring_profile *p, const struct sample_node *node, uint32_t at,
                     struct numbers *numbers, bool by_line, uint64_t period_ns) {
  struct eventring_profile_node *to = &p->nodes[at];
  *to = (struct eventring_profile_node){.parent = UINT32_MAX, .function = UINT32_MAX,
                                        .count = node->here, .exclusive = node->here * period_ns};
  if (at == 0) return;
  struct sample_key key = node->key;
  if (!by_line) key.line = 0;
  to->parent = node->parent;
  to->function = number_of(numbers, p, key);
}

static void fill(const struct sample_tree *tree, enum sample_detail detail, uint64_t period_ns,
                 struct eventring_profile *p, uint32_t **lines) {
  struct sample_tree rough = {0};
  if (detail == SAMPLE_BY_FUNCTION) without_lines(tree, &rough);
  const struct sample_tree *from = detail == SAMPLE_BY_FUNCTION ? &rough : tree;
  struct numbers numbers = {.key = need_zeroed(from->count, sizeof *numbers.key)};
  p->ns_per_tick = 1;
  p->functions = need_zeroed(from->count, sizeof *p->functions);
  p->nodes = need_zeroed(from->count, sizeof *p->nodes);
  p->node_count = from->count;
  for (uint32_t i = 0; i < from->count; i++)
    add_node(p, &from->nodes[i], i, &numbers, detail == SAMPLE_BY_LINE, period_ns);
  for (uint32_t i = from->count; i-- > 0;) {
    p->nodes[i].inclusive += p->nodes[i].exclusive;
    if (i > 0) p->nodes[p->nodes[i].parent].inclusive += p->nodes[i].inclusive;
  }
  if (lines != NULL) {
    *lines = need_zeroed(from->count, sizeof **lines);
    for (uint32_t i = 0; i < from->count; i++) (*lines)[i] = from->nodes[i].key.line;
  }
  free(numbers.key);
  evr_table_free(&numbers.table);
  sample_tree_close(&rough);
}

struct eventring_profile *sample_tree_add(const struct sample_tree *tree,
                                          enum sample_detail detail, struct time_profile *to) {
  const size_t at = to->profiles.count++;
  const bool by_site = detail == SAMPLE_BY_SITE;
  to->profiles.list = need_resized(to->profiles.list, at + 1, sizeof *to->profiles.list);
  if (by_site) to->lines = need_resized(to->lines, at + 1, sizeof *to->lines);
  struct eventring_profile *p = &to->profiles.list[at];
  *p = (struct eventring_profile){.incarnation = 1};
  fill(tree, detail, to->period_ns, p, by_site ? &to->lines[at] : NULL);
  return p;
}

/* ---- Functions that are known by their texts alone ---------------------------- */

static bool has_texts(const void *none, uintptr_t value, const void *key) {
  const struct remote_function *a = (const struct remote_function *)value, *b = key;
  (void)none;
  return strcmp(a->name, b->name) == 0 && strcmp(a->source, b->source) == 0;
}

const struct remote_function *sample_name(struct sample_names *names, const char *name,
                                          const char *source, bool is_c) {
  struct remote_function f = {.is_c = is_c};
  snprintf(f.name, sizeof f.name, "%s", name);
  snprintf(f.source, sizeof f.source, "%s", source);
  uint64_t hash = evr_hash_text(evr_hash_text(evr_hash_seed(), f.name), f.source);
  uintptr_t *value = evr_table_take(&names->functions, hash, has_texts, NULL, &f);
  if (!value) no_memory();
  if (!*value) {
    struct remote_function *made = need_zeroed(1, sizeof *made);
    *made = f;
    *value = (uintptr_t)made;
  }
  return (const struct remote_function *)*value;
}

void sample_names_free(struct sample_names *names) {
  for (size_t i = 0; i < names->functions.room; i++)
    free((void *)names->functions.entries[i].value);
  evr_table_free(&names->functions);
}
