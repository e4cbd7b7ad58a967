/* SPDX-License-Identifier: MIT */
/* view_recorded.h: reads the figures on stacks that a recording has (view_stacks.h):
 * sampled allocations by time and in all, what is alive, the profile of calls, and the
 * stacks that were recorded. */
#ifndef EVENTRING_TOOL_VIEW_RECORDED_H
#define EVENTRING_TOOL_VIEW_RECORDED_H

#include "analysis/heap_sites.h"
#include "view_stacks.h"

/* Allocations of a recording. */
struct page_heap {
  const struct page_run *run;
  struct page_stacks *stacks;
  struct eva_heap *rates;
  uint32_t *site; /* site of each stack of the recording; 0 if not known yet */
  uint32_t site_count;
};

void page_heap_open(struct page_heap *heap, const struct page_run *run,
                    struct page_stacks *stacks);
/* Takes an event of the recording. An event of class alloc is added to its cell. */
void page_heap_event(struct page_heap *heap, const struct eventring_event *event);
/* Adds the heap profiles of the file, after the last event, and returns them; the caller
   frees them. Profiles cover the whole run, so none is added if only a part of the run is
   wanted. Returns NULL, after a message, if they cannot be read. Frees `heap` in any
   case. */
struct eva_heap *page_heap_close(struct page_heap *heap);

/* Adds the stacks that the process itself has written each period, as samples. */
void page_written_stacks_add(const struct page_run *run, struct page_stacks *stacks);

/* Adds the profiles of calls, or reports that they cannot be read. */
void page_calls_add(const struct page_run *run, struct page_stacks *stacks);

#endif
