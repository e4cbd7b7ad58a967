/* SPDX-License-Identifier: MIT */
/* view_figures.h: gives other parts of a page access to its stacks (view_figures.c). */
#ifndef EVENTRING_TOOL_VIEW_FIGURES_H
#define EVENTRING_TOOL_VIEW_FIGURES_H

#include "analysis/heap_sites.h"
#include "time_profile.h"
#include "view_stacks.h"

/* Fills a profile by function with the samples that were taken for the page, once the
   parts before have finished; leaves it as it is if there are none. It must be freed with
   time_profile_free. */
void page_sampled_profile(struct time_profile *profile);
/* Returns the heap profiles of the recording, or NULL if they cannot be read. */
const struct eva_heap *page_heap_profiles(void);
/* Returns all stacks of the page. */
const struct page_stacks *page_all_stacks(void);

#endif
