/* SPDX-License-Identifier: MIT */
/* moments.h: the instants that a page keeps, and the links between the points of async
 * spans and flows.
 *
 * Of instants with the same name and track that follow each other closely, only one is
 * kept. So there are at most some thousands, spread over the run, and rare instants are
 * all kept. Of links, the longest are kept.
 *
 * Errors: EVENTRING_E_MEMORY. Threads: one at a time. */
#ifndef EVENTRING_VIEW_MOMENTS_H
#define EVENTRING_VIEW_MOMENTS_H

#include "view/part.h"

struct page_moments;
struct page_moments *page_moments_new(struct page_run *run);
void page_moments_free(struct page_moments *moments);
/* Adds an instant, a lifecycle event, or a point of an async span or a flow. */
int page_moments_add(struct page_moments *moments, const struct eventring_event *event,
                     uint32_t track);

#endif
