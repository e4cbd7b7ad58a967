/* SPDX-License-Identifier: MIT */
/* grid.h: the cells for which a page has figures: intervals of time of equal length
 * (DATA.md).
 *
 * The begin and the end of a file are known before it is read. While a recording goes on
 * (a live process, a PROGRAM), its end moves. When it passes the last cell, cells become
 * twice as long, and page_part.halve is called for the parts that keep figures by cell.
 *
 * Units: nanoseconds of the recording's clock. Errors: none. Threads: one at a time.
 */
#ifndef EVENTRING_VIEW_GRID_H
#define EVENTRING_VIEW_GRID_H

#include <stdbool.h>
#include <stdint.h>

enum { PAGE_CELLS_LOG2 = 10, PAGE_CELLS = 1 << PAGE_CELLS_LOG2 };

struct page_grid {
  uint64_t begin_ns; /* begin of cell 0 */
  uint64_t cell_ns;
  uint32_t cells;    /* at most PAGE_CELLS; exactly that many during reading */
};

/* Returns a grid from `begin_ns` up to and including `last_ns`. */
static inline struct page_grid page_grid_over(uint64_t begin_ns, uint64_t last_ns) {
  const uint64_t length = last_ns >= begin_ns && last_ns - begin_ns < UINT64_MAX / 2
                              ? last_ns - begin_ns + 1 : 1;
  return (struct page_grid){begin_ns, (length + PAGE_CELLS - 1) / PAGE_CELLS, PAGE_CELLS};
}
/* Tells whether a moment is after the last cell. */
static inline bool page_grid_is_past(const struct page_grid *grid, uint64_t ns) {
  return ns > grid->begin_ns && (ns - grid->begin_ns) / grid->cell_ns >= PAGE_CELLS;
}
/* Returns the cell of a moment; for a moment outside the grid, the nearest one. */
static inline uint32_t page_grid_cell(const struct page_grid *grid, uint64_t ns) {
  if (ns <= grid->begin_ns) return 0;
  const uint64_t cell = (ns - grid->begin_ns) / grid->cell_ns;
  return cell < PAGE_CELLS ? (uint32_t)cell : PAGE_CELLS - 1;
}
/* Returns the cell of a moment once reading is over and the last cell is that of the last
   event. */
static inline uint32_t page_grid_cell_of_all(const struct page_grid *grid, uint64_t ns) {
  const uint32_t cell = page_grid_cell(grid, ns);
  return cell < grid->cells ? cell : grid->cells - 1;
}
/* A cell and its limits, for a series of moments, most of which lie in the same cell as
   the moment before. A zeroed struct has no cell. It must be zeroed when cells become
   longer. */
struct page_cell_at {
  uint64_t begin_ns, length;
  uint32_t cell;
};
static inline bool page_cell_has(const struct page_cell_at *at, uint64_t ns) {
  return ns - at->begin_ns < at->length;
}
/* Returns the time at which a cell begins. */
static inline uint64_t page_grid_begin(const struct page_grid *grid, uint32_t cell) {
  return grid->begin_ns + cell * grid->cell_ns;
}
/* Returns page_grid_cell(grid, ns), and moves *at there. */
static inline uint32_t page_grid_cell_at(const struct page_grid *grid, struct page_cell_at *at,
                                         uint64_t ns) {
  if (__builtin_expect(page_cell_has(at, ns), 1)) return at->cell;
  const uint32_t cell = page_grid_cell(grid, ns);
  *at = (struct page_cell_at){page_grid_begin(grid, cell), grid->cell_ns, cell};
  return cell;
}
/* Returns a moment relative to the begin of the grid; negative before it. */
static inline int64_t page_grid_time(const struct page_grid *grid, uint64_t ns) {
  return (int64_t)(ns - grid->begin_ns);
}

#endif
