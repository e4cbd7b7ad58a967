/* SPDX-License-Identifier: MIT */
/* view_samples.h: samples of stacks with their times (sample.h), for a page
 * (view_stacks.h).
 *
 * It is not known how long a run will be while it is sampled, by a thread beside the one
 * that reads. So samples are counted by cells that are those of the grid at first; two
 * become one when there are too many. So what is kept is limited by the sites and the
 * cells, not by the run's length. The grid's cells double, too, and it has fewer: each
 * sample will be in the cell of its time. */
#ifndef EVENTRING_TOOL_VIEW_SAMPLES_H
#define EVENTRING_TOOL_VIEW_SAMPLES_H

#include "sample.h"
#include "view_stacks.h"

struct page_samples;

/* Returns new samples. `hz` is their rate; `grid` is as it is when sampling begins. */
struct page_samples *page_samples_new(uint64_t hz, const struct page_grid *grid);
void page_samples_free(struct page_samples *samples);
/* Takes a sample: for sample_options.on_sample, with the samples as context. */
void page_samples_take(void *samples, const struct sample_moment *moment);
/* Returns the time of the last sample, or 0 if there is none. */
uint64_t page_samples_last_ns(const struct page_samples *samples);
/* Adds all samples to the section PAGE_SAMPLED; `from` is a constant text that says what
   they are. */
void page_samples_add(const struct page_samples *samples, const struct sampling *sampling,
                      const struct page_grid *grid, const char *from, struct page_stacks *stacks);

#endif
