/* SPDX-License-Identifier: MIT */
/* view_figures.h: what other parts of a page need of its stacks (view_figures.c). */
#ifndef EVENTRING_TOOL_VIEW_FIGURES_H
#define EVENTRING_TOOL_VIEW_FIGURES_H

#include "analysis/heap.h"
#include "time_profile.h"
#include "view_stacks.h"

/* Once the parts before them have finished: the samples that were taken for the page, by
   function; left as it is if there are none. To be freed with time_profile_free. */
void page_sampled_profile(struct time_profile *profile);
/* The heap profiles of the recording; NULL: they cannot be read. */
const struct eva_heap *page_heap_profiles(void);
/* All stacks of the page. */
const struct page_stacks *page_all_stacks(void);

#endif
