/* SPDX-License-Identifier: MIT */
/* cells.h: the figures of spans, events, counters and pauses by cell of time.
 *
 * They are the differences of a tally between the moments at which time goes from one
 * cell to the next, so the events of a cell cost nothing, and the figures are those of
 * `stats`. Of a slot time goes to another cell with its events; only the durations of
 * async spans, which another slot may end, do so for all slots at once.
 *
 * Greatest and least values are no differences: those of the tally are borrowed. Between
 * page_cells_turn and page_cells_finish they are those since the last turn.
 *
 * A series has a level (DATA.md). When the rows of all need more than their room, the
 * series that matter least go to coarser levels.
 *
 * Errors: EVENTRING_E_MEMORY. Threads: one at a time.
 */
#ifndef EVENTRING_VIEW_CELLS_H
#define EVENTRING_VIEW_CELLS_H

#include "analysis/steps.h"
#include "analysis/tally.h"
#include "view/part.h"

struct page_cells;

/* `room`: bytes for the rows. NULL: no memory. */
struct page_cells *page_cells_new(struct page_run *run, struct eva_tally *tally, size_t room);
void page_cells_free(struct page_cells *cells);

/* To be called before the tally takes an event: it is at `ns`. */
int page_cells_turn_slot(struct page_cells *cells, uint32_t slot, uint32_t cell);
int page_cells_turn_async(struct page_cells *cells, uint32_t cell);
static inline int page_cells_turn(struct page_cells *cells, const uint32_t *now, uint32_t slot,
                                  uint32_t cell) {
  if (__builtin_expect(now[slot % EVENTRING_MAX_DOMAINS] == cell, 1)) return 0;
  return page_cells_turn_slot(cells, slot, cell);
}
/* The cell of each slot; for page_cells_turn. */
const uint32_t *page_cells_now(const struct page_cells *cells);

/* A step of the collector. */
int page_cells_add_step(struct page_cells *cells, const struct eva_step *step);
/* Cells become twice as long. */
int page_cells_halve(struct page_cells *cells);
/* Reading is over: to be called before eva_tally_finish, and after it, when there may be
   spans of which nothing is known but that they are open. */
int page_cells_finish(struct page_cells *cells);
int page_cells_complete(struct page_cells *cells);

#endif
