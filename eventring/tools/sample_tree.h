/* SPDX-License-Identifier: MIT */
/* sample_tree.h: counts stacks: a tree of the functions on them, outermost first. */
#ifndef EVENTRING_TOOL_SAMPLE_TREE_H
#define EVENTRING_TOOL_SAMPLE_TREE_H

#include "format/table.h"
#include "remote/functions.h"
#include "time_profile.h"

/* What a node stands for: a line of a function, or what a domain does. */
struct sample_key {
  const struct remote_function *function; /* NULL for a text or an unknown C function */
  const char *text;                       /* "collecting garbage", constant; or NULL */
  uint32_t line;                          /* 0: not known */
};

struct sample_node {
  struct sample_key key;
  uint32_t parent, first_child, next_sibling; /* nodes of the tree; 0, the root, means
                                                 none */
  uint64_t here; /* number of samples that end in this node */
};

struct sample_tree {
  struct sample_node *nodes; /* [0]: the root; parents stand before their children */
  uint32_t count;
};

void sample_tree_open(struct sample_tree *tree);
void sample_tree_close(struct sample_tree *tree);
/* Returns the child of the node `parent` for this key, after making it if there is
   none. */
uint32_t sample_tree_child(struct sample_tree *tree, uint32_t parent, struct sample_key key);

/* What is shown for a key, with the line of the function's definition. The texts are
   valid as long as the key's. */
struct sample_function {
  const char *name, *source;
  uint32_t line;
  enum eventring_calls_function_kind kind;
};
struct sample_function sample_function_of(struct sample_key key);

/* Adds the tree to the profiles of `to`; each sample stands for its period. Returns the
   profile, in which the caller fills slot, name and times. */
struct eventring_profile *sample_tree_add(const struct sample_tree *tree,
                                          enum sample_detail detail, struct time_profile *to);

/* Functions that are known only by their texts, each once. */
struct sample_names { /* {0} at first */
  struct evr_table functions;
};

/* Returns the function of this name and source (each cut if it is long), after making it
   if there is none. It is valid until sample_names_free. */
const struct remote_function *sample_name(struct sample_names *names, const char *name,
                                          const char *source, bool is_c);
void sample_names_free(struct sample_names *names);

#endif
