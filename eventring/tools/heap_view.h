/* SPDX-License-Identifier: MIT */
/* heap_view.h: makes the rows of a heap (analysis/heap_sites.h), in the groups that the
   options choose. */
#ifndef EVENTRING_TOOL_HEAP_VIEW_H
#define EVENTRING_TOOL_HEAP_VIEW_H

#include "analysis/heap_sites.h"
#include "format/table.h"
#include "tool.h"

enum heap_by { BY_STACK, BY_LINE, BY_FUNCTION, BY_KIND, BY_ORIGIN, BY_SPAN, BY_DOMAIN };
extern const char *const heap_by_names[]; /* ends with NULL */

struct heap_node { /* a row of the output; by stack, a node of a tree */
  uint32_t parent;   /* by stack: index of the caller, less than this node's own; 0 if
                        none */
  uint32_t function; /* id of the function; set by stack, line and function */
  uint32_t line;     /* set by stack and line */
  uint32_t key;      /* in other groups: the kind, the origin, the span + 1, or the
                        domain */
  /* by line: id of the function without lines that allocated, called by this line; 0 if
     none */
  uint32_t through;
  struct eva_amount self[EVA_MEASURES], total[EVA_MEASURES]; /* `total` includes the
                                                                callees */
  uint32_t rank;     /* position in the chosen order; 0 is the greatest */
};

struct heap_view {
  enum heap_by by;
  enum eva_measure main; /* the measure that gives the order */
  const eventring_cursor *cursor;
  struct heap_node *nodes; /* nodes from index 1 on; node 0 has the sums of all */
  uint32_t count;
  uint32_t *order; /* count - 1 indices of nodes, the greatest first */
  struct evr_table table; /* values are indices of nodes */
};

void heap_view_make(struct heap_view *view, const struct eva_heap *heap, enum heap_by by,
                    enum eva_measure main, eventring_cursor *cursor);
void heap_view_free(struct heap_view *view);

/* Writes what a node is, for people: "parse  .../lib/parser.lua:17"; NUL-terminated,
   cut. */
enum { HEAP_LABEL = 256 };
void heap_label(char label[HEAP_LABEL], const struct heap_view *view,
                const struct heap_node *node);
/* Returns the name of a node for JSON, such as the name of its function or kind; never
   NULL. */
const char *heap_name(const struct heap_view *view, const struct heap_node *node,
                      char number[24]);
/* Returns the name of the node's function `through`, or NULL if there is none.
   heap_source returns the source of a node, or "". */
const char *heap_through(const struct heap_view *view, const struct heap_node *node);
const char *heap_source(const struct heap_view *view, const struct heap_node *node);

struct eva_json;
/* Writes the rows of `heap --json --by line --top N`, for a page (view_data). Returns how
   many there are. */
size_t heap_data(const struct eva_heap *heap, eventring_cursor *cursor, uint64_t top,
                 struct eva_json *json);

/* Writes the moment to which the shown heap belongs, unless that is now: "when sampling
   ended, 1.2 s after the start". Returns false if sampling goes on, or went on to the
   end. */
enum { HEAP_AS_OF = 64 };
bool heap_as_of(char text[static HEAP_AS_OF], const struct eva_heap *heap, uint64_t start_ns);

#endif
