/* SPDX-License-Identifier: MIT */
/* heap_view.h: makes the rows of a heap (analysis/heap.h), in the groups that the options
   choose. */
#ifndef EVENTRING_TOOL_HEAP_VIEW_H
#define EVENTRING_TOOL_HEAP_VIEW_H

#include "analysis/heap.h"
#include "format/table.h"
#include "tool.h"

enum heap_by { BY_STACK, BY_LINE, BY_FUNCTION, BY_KIND, BY_ORIGIN, BY_SPAN, BY_DOMAIN };
extern const char *const heap_by_names[]; /* ends with NULL */

struct heap_node { /* a row of the output; by stack, a node of a tree */
  uint32_t parent;   /* by stack: index of the caller, less than its own; 0: none */
  uint32_t function; /* id: by stack, line, function */
  uint32_t line;     /* by stack, line */
  uint32_t key;      /* kind, origin, span + 1 or domain */
  /* by line: id of the function without lines that the line called and that allocated; 0:
     none */
  uint32_t through;
  struct eva_amount self[EVA_MEASURES], total[EVA_MEASURES]; /* total: with its callees */
  uint32_t rank;     /* in the chosen order; 0: the greatest */
};

struct heap_view {
  enum heap_by by;
  enum eva_measure main; /* the measure that gives the order */
  const eventring_cursor *cursor;
  struct heap_node *nodes; /* from index 1 on; 0 has the sums of all */
  uint32_t count;
  uint32_t *order; /* indices, the greatest first: count - 1 of them */
  struct evr_table table; /* of indices */
};

void heap_view_make(struct heap_view *view, const struct eva_heap *heap, enum heap_by by,
                    enum eva_measure main, eventring_cursor *cursor);
void heap_view_free(struct heap_view *view);

/* Writes what a node is, for people: "parse  .../lib/parser.lua:17"; NUL-terminated,
   cut. */
enum { HEAP_LABEL = 256 };
void heap_label(char label[HEAP_LABEL], const struct heap_view *view,
                const struct heap_node *node);
/* Returns the name of a node for JSON: that of the function, kind ...; never NULL. */
const char *heap_name(const struct heap_view *view, const struct heap_node *node,
                      char number[24]);
/* Returns the name of `through`, or NULL if there is none; and the source, or "". */
const char *heap_through(const struct heap_view *view, const struct heap_node *node);
const char *heap_source(const struct heap_view *view, const struct heap_node *node);

struct eva_json;
/* Writes the rows of `heap --json --by line --top N`, for a page (view_data). Returns how
   many there are. */
size_t heap_data(const struct eva_heap *heap, eventring_cursor *cursor, uint64_t top,
                 struct eva_json *json);

/* Writes of what moment the shown heap is, unless that is now: "when sampling ended, 1.2
   s after the start". Returns false if sampling goes on, or went on to the end. */
enum { HEAP_AS_OF = 64 };
bool heap_as_of(char text[static HEAP_AS_OF], const struct eva_heap *heap, uint64_t start_ns);

#endif
