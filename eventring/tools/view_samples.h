/* SPDX-License-Identifier: MIT */
/* view_samples.h: samples of stacks with their times (sample.h), for a page
 * (view_stacks.h).
 *
 * How long a run will be is not known while it is sampled, by a thread beside the one
 * that reads. So samples are counted by cells that are those of the grid at first, of
 * which two become one when there are too many: what is kept is bounded by the sites and
 * the cells, not by the run's length. The grid's cells double, too, and have fewer: each
 * sample will be in the cell of its time. */
#ifndef EVENTRING_TOOL_VIEW_SAMPLES_H
#define EVENTRING_TOOL_VIEW_SAMPLES_H

#include "sample.h"
#include "view_stacks.h"

struct page_samples;

/* `hz`: of the samples; `grid`: as it is when sampling begins. */
struct page_samples *page_samples_new(uint64_t hz, const struct page_grid *grid);
void page_samples_free(struct page_samples *samples);
/* Takes a sample: sample_options.on_sample, with the samples as context. */
void page_samples_take(void *samples, const struct sample_moment *moment);
/* The time of the last one; 0: there is none. */
uint64_t page_samples_last_ns(const struct page_samples *samples);
/* Adds all samples to the section PAGE_SAMPLED; `from`: a constant, what they are. */
void page_samples_add(const struct page_samples *samples, const struct sampling *sampling,
                      const struct page_grid *grid, const char *from, struct page_stacks *stacks);

#endif
