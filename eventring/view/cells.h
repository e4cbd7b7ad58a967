/* SPDX-License-Identifier: MIT */
/* cells.h: the figures of spans, events, counters and pauses by cell, an interval of time
 * (grid.h).
 *
 * The figures of a cell are the difference of a tally between the moments at which time
 * enters and leaves the cell. So events cost nothing more, and the figures are those of
 * `stats`. In each slot, time enters another cell with an event of the slot. Only the
 * durations of async spans, which another slot may end, change cells in all slots at
 * once.
 *
 * The greatest and the least value are not differences. For these two, fields of the
 * tally are borrowed: until page_cells_finish, these fields hold the values since the
 * last turn.
 *
 * A series has a level (DATA.md). When the rows of all series need more than their room,
 * the least important series get coarser levels.
 *
 * Errors: EVENTRING_E_MEMORY. Threads: one at a time.
 */
#ifndef EVENTRING_VIEW_CELLS_H
#define EVENTRING_VIEW_CELLS_H

#include "analysis/steps.h"
#include "analysis/tally.h"
#include "view/part.h"

struct page_cells;

/* Makes empty cells. `room`: bytes for the rows. Returns NULL when out of memory. */
struct page_cells *page_cells_new(struct page_run *run, struct eva_tally *tally, size_t room);
void page_cells_free(struct page_cells *cells);

/* Moves time, in a slot or for async spans, to a cell if it is in another cell. To be
   called before the tally takes an event of the new cell. Returns 0 or
   EVENTRING_E_MEMORY. */
int page_cells_turn_slot(struct page_cells *cells, uint32_t slot, uint32_t cell);
int page_cells_turn_async(struct page_cells *cells, uint32_t cell);
static inline int page_cells_turn(struct page_cells *cells, const uint32_t *now, uint32_t slot,
                                  uint32_t cell) {
  if (__builtin_expect(now[slot % EVENTRING_MAX_DOMAINS] == cell, 1)) return 0;
  return page_cells_turn_slot(cells, slot, cell);
}
/* Returns the cell of each slot, for page_cells_turn. */
const uint32_t *page_cells_now(const struct page_cells *cells);

/* Adds a step of the collector. */
int page_cells_add_step(struct page_cells *cells, const struct eva_step *step);
/* Makes cells twice as long. */
int page_cells_halve(struct page_cells *cells);
/* Takes what is left when reading is over. page_cells_finish is to be called before
   eva_tally_finish, and page_cells_complete after it. (eva_tally_finish may add spans
   that are only known to be open.) */
int page_cells_finish(struct page_cells *cells);
int page_cells_complete(struct page_cells *cells);

#endif
