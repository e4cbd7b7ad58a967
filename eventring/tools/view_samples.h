/* SPDX-License-Identifier: MIT */
/* view_samples.h: counts samples of stacks (sample.h) by time, for a page
 * (view_stacks.h).
 *
 * A thread beside the reading thread samples a run whose length is not known yet. So
 * samples are counted in cells, at first the cells of the grid; when there are too many,
 * pairs of cells become one. So memory depends on the number of sites and cells, not on
 * the length of the run. The cells of the grid double, too, and there are fewer of them,
 * so each sample ends in the cell of its time. */
#ifndef EVENTRING_TOOL_VIEW_SAMPLES_H
#define EVENTRING_TOOL_VIEW_SAMPLES_H

#include "sample.h"
#include "view_stacks.h"

struct page_samples;

/* Returns new samples. `hz` is their rate, `grid` the grid when sampling begins. */
struct page_samples *page_samples_new(uint64_t hz, const struct page_grid *grid);
void page_samples_free(struct page_samples *samples);
/* Takes a sample. Used as sample_options.on_sample, with the samples as context. */
void page_samples_take(void *samples, const struct sample_moment *moment);
/* Returns the time of the last sample, or 0 if there is none. */
uint64_t page_samples_last_ns(const struct page_samples *samples);
/* Adds all samples to the section PAGE_SAMPLED; `from` is a constant text with their
   origin. */
void page_samples_add(const struct page_samples *samples, const struct sampling *sampling,
                      const struct page_grid *grid, const char *from, struct page_stacks *stacks);

#endif
