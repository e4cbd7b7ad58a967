/* SPDX-License-Identifier: MIT */
/* view_stacks.h: keeps the stacks of a page and the figures on them
 * (eventring/view/DATA.md): what was sampled, allocated, alive, called, by site, and, if
 * known, by cell of time.
 *
 * All figures are on one tree, so a function is in the page once, wherever it was seen.
 * Pages have a limit: page_stacks_reduced makes a smaller tree, in which the smallest
 * sites of each caller become one site "(other)" with the sums of their figures.
 *
 * One thread at a time may use it. Out of memory ends the command.
 */
#ifndef EVENTRING_TOOL_VIEW_STACKS_H
#define EVENTRING_TOOL_VIEW_STACKS_H

#include "analysis/json.h"
#include "format/table.h"
#include "tool.h"
#include "view/lists.h"

struct page_function {
  const char *name, *source; /* `source` is "" if the function has none */
  uint32_t line;             /* line of its definition; 0 if not known */
  bool is_c;                 /* a C function, or an activity of the host: collect garbage
                                ... */
};

/* A site: a function at a line, called by the site `parent`. */
struct page_node {
  uint32_t parent, function, line; /* parent is 0 below the root, which is node 0 */
};

enum page_measure { PAGE_SAMPLES, PAGE_BYTES, PAGE_OBJECTS, PAGE_NS, PAGE_COUNT, PAGE_MEASURES };

struct page_set {
  uint32_t slot; /* slot of the domain */
  enum page_measure measure;
};

struct page_row { /* what a site took itself, without its callees */
  uint32_t set, node;
  double self; /* figure for the whole run */
  /* `variance` of an estimate of `of` units */
  double variance, of;
};

struct page_cell {
  uint32_t row, cell; /* `cell` is the number of a group of 2^level cells of the grid */
  double figure;
};

enum page_kind { PAGE_SAMPLED, PAGE_ALLOCATED, PAGE_LIVE, PAGE_CALLS, PAGE_KINDS };

struct page_figures {
  const char *unit, *from; /* constant texts; `from` is NULL if there are no figures */
  uint64_t hz;             /* rate of samples; 0 if the figures are not samples */
  bool timed;              /* figures are known by cell */
  /* how coarse cells are: when there is no room for more, pairs of them become one */
  unsigned level;
  struct page_set *sets;
  struct page_row *rows;
  struct page_cell *cells;
  uint32_t set_count, row_count, cell_count;
  struct evr_table row_of, cell_of; /* values are numbers plus 1 */
};

struct page_stacks {
  struct page_function *functions;
  struct page_node *nodes; /* [0]: the root. Callers stand before their callees */
  uint32_t function_count, node_count;
  struct evr_table function_of, node_of; /* values are numbers plus 1 */
  struct page_figures figures[PAGE_KINDS];
};

struct page_stacks *page_stacks_new(void);
void page_stacks_free(struct page_stacks *stacks);

/* Returns the function with these texts, which are copied, after making it if there is
   none. */
uint32_t page_function(struct page_stacks *stacks, const struct page_function *function);
/* Returns the site of a function at a line (0: not known) that was called by `parent`,
   after making it if there is none. */
uint32_t page_node(struct page_stacks *stacks, uint32_t parent, uint32_t function, uint32_t line);

/* Adds what a site took itself to the site's sum over the whole run. */
void page_add(struct page_stacks *stacks, enum page_kind kind, struct page_set set,
              uint32_t node, double figure);
/* Adds what a site took itself to a cell of the page's grid. */
void page_add_at(struct page_stacks *stacks, enum page_kind kind, struct page_set set,
                 uint32_t node, uint32_t cell, double figure);

/* Notes the `variance` of `figure`, an estimate for a site that was passed to page_add or
   page_add_at. Only the ratio of variance and figure is used, for the whole row, because
   the ratio depends on the sampling rate. So a caller that adds a figure twice, as a sum
   and by cell, may also call this twice. */
void page_vary(struct page_stacks *stacks, enum page_kind kind, struct page_set set, uint32_t node,
               double figure, double variance);

/* Makes cells twice as long, as the cells of the grid have become. */
void page_halve(struct page_stacks *stacks, enum page_kind kind);

/* Frees what only adding needs; nothing may be added after that. */
void page_stacks_finish(struct page_stacks *stacks);

/* Returns a tree of the `most` sites with the greatest shares (in any measure, including
   their callees), and an "(other)" for each site that has other callees. */
struct page_stacks *page_stacks_reduced(const struct page_stacks *stacks, uint32_t most);

/* Returns for each function the sum of its shares of all measures, without its callees.
   The caller frees it. */
double *page_function_weights(const struct page_stacks *stacks);

/* Writes the section `stacks`. */
void page_stacks_write(const struct page_stacks *stacks, struct eva_json *json);
/* Writes a section of figures, with cells of at least 2^level cells of the grid. */
void page_figures_write(const struct page_stacks *stacks, enum page_kind kind,
                        const struct page_lists *lists, unsigned level, struct eva_json *json);

#endif
