/* SPDX-License-Identifier: MIT */
/* spans_queue.h: hands spans (spans.h) to a thread that takes them, so that the reader of
 * the recording does not wait for that.
 *
 * Buffers go to the thread in turn, from the first full one on; the rest is taken at the
 * end. So few events need no thread.
 *
 * Errors: EVENTRING_E_MEMORY, also for entries that the thread took before. Threads: one
 * at a time; the thread owns the spans until page_spans_queue_end.
 */
#ifndef EVENTRING_VIEW_SPANS_QUEUE_H
#define EVENTRING_VIEW_SPANS_QUEUE_H

#include "view/spans.h"

struct page_spans_queue;

/* Makes a queue. Returns NULL when out of memory. */
struct page_spans_queue *page_spans_queue_new(struct page_spans *spans);
/* Hands over the arguments of the function of spans.h with this name. */
int page_spans_queue_own(struct page_spans_queue *queue, uint32_t track,
                         const struct page_owner *owner);
int page_spans_queue_begin(struct page_spans_queue *queue, const struct eventring_event *begin,
                           uint32_t track);
int page_spans_queue_batch(struct page_spans_queue *queue, const struct eventring_batch *batch,
                           uint32_t track);
/* Hands over a span for page_spans_add, which the caller must fill at once. Returns NULL
   when out of memory. */
struct page_span *page_spans_queue_span(struct page_spans_queue *queue);
/* Hands over a span for page_spans_add_plain in the same way, or a
   call of page_spans_halve. */
struct page_plain_span *page_spans_queue_plain(struct page_spans_queue *queue);
int page_spans_queue_halve(struct page_spans_queue *queue);
/* Waits until all is taken, and ends the thread. More may be handed over later. */
int page_spans_queue_end(struct page_spans_queue *queue);
/* Ends and frees a queue. NULL is allowed. */
void page_spans_queue_free(struct page_spans_queue *queue);

#endif
