/* SPDX-License-Identifier: MIT */
/* sample_tree.c: counts stacks. */
#include "sample_tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void sample_tree_open(struct sample_tree *tree) {
  *tree = (struct sample_tree){.nodes = need_zeroed(256, sizeof *tree->nodes), .count = 1,
                               .room = 256};
}

void sample_tree_close(struct sample_tree *tree) { free(tree->nodes); }

bool sample_key_same(struct sample_key a, struct sample_key b) {
  return a.function == b.function && a.text == b.text && a.line == b.line;
}

/* A child that was found becomes the first one: the next sample mostly is in it, too. */
uint32_t sample_tree_child(struct sample_tree *tree, uint32_t parent, struct sample_key key) {
  uint32_t before = 0;
  for (uint32_t i = tree->nodes[parent].first_child; i != 0; i = tree->nodes[i].next_sibling) {
    if (sample_key_same(tree->nodes[i].key, key)) {
      if (before != 0) {
        tree->nodes[before].next_sibling = tree->nodes[i].next_sibling;
        tree->nodes[i].next_sibling = tree->nodes[parent].first_child;
        tree->nodes[parent].first_child = i;
      }
      return i;
    }
    before = i;
  }
  if (tree->count == tree->room) {
    tree->room *= 2;
    tree->nodes = need_resized(tree->nodes, tree->room, sizeof *tree->nodes);
  }
  uint32_t made = tree->count++;
  tree->nodes[made] = (struct sample_node){
      .key = key, .parent = parent, .next_sibling = tree->nodes[parent].first_child};
  return tree->nodes[parent].first_child = made;
}

void sample_key_text(struct sample_key key, char *text, size_t room) {
  const struct remote_function *f = key.function;
  if (key.text != NULL) snprintf(text, room, "%s", key.text);
  else if (f == NULL) snprintf(text, room, "(a C function)");
  else if (f->is_c && f->name[0]) snprintf(text, room, "%s", f->name);
  else if (f->is_c) snprintf(text, room, "C function at 0x%" PRIx64, f->identity);
  else if (key.line)
    snprintf(text, room, "%s%s%s:%" PRIu32 "%s", f->name, f->name[0] ? " (" : "", f->source,
             key.line, f->name[0] ? ")" : "");
  else if (f->first_line == 0) snprintf(text, room, "main chunk (%s)", f->source);
  else
    snprintf(text, room, "%s (%s:%" PRIu32 ")", f->name[0] ? f->name : "function", f->source,
             f->first_line);
}
