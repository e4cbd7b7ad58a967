/* SPDX-License-Identifier: MIT */
/* pauses.h: the steps of the collector that a page keeps: the longest, and the longest of
 * each cell (an interval of time, grid.h); section `pauses`.
 *
 * Errors: EVENTRING_E_MEMORY. Threads: one at a time. */
#ifndef EVENTRING_VIEW_PAUSES_H
#define EVENTRING_VIEW_PAUSES_H

#include "analysis/steps.h"
#include "view/part.h"

struct page_pauses;
struct page_pauses *page_pauses_new(struct page_run *run);
void page_pauses_free(struct page_pauses *pauses);
int page_pauses_add(struct page_pauses *pauses, const struct eva_step *step);
/* Notes a loss; `from` is the time of the last event of the same ring before the loss.
   For steps that begin in the gap it is not known what the program was doing. */
int page_pauses_lost(struct page_pauses *pauses, const struct eventring_loss *loss, uint64_t from);
void page_pauses_halve(struct page_pauses *pauses);
/* Stores step i of the longest ones, 0 being the longest, once the part has finished.
   Returns false if there are fewer. */
bool page_pauses_longest(const struct page_pauses *pauses, size_t i, struct eva_step *step);

#endif
