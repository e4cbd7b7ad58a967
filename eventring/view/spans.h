/* SPDX-License-Identifier: MIT */
/* spans.h: for a page, keeps some spans whole, and sums up how much of each cell (an
 * interval of time, grid.h) the spans of each depth cover.
 *
 * For each name, it keeps the longest spans and those that ended last; for each cell,
 * track and depth, the longest span; and torn and open spans, as far as there is room.
 * With `keeps_all`, it keeps all spans.
 *
 * The spans of a batch are read once, from the last end to the first: the depth of a span
 * depends on the ends that come after it.
 *
 * Errors: EVENTRING_E_MEMORY. Threads: one at a time.
 */
#ifndef EVENTRING_VIEW_SPANS_H
#define EVENTRING_VIEW_SPANS_H

#include "analysis/shares.h"
#include "analysis/so_far.h"
#include "view/values.h"

enum page_span_flags { PAGE_SPAN_NO_BEGIN = 1, PAGE_SPAN_NO_END = 2, PAGE_SPAN_OPEN = 4 };

struct page_span {
  uint64_t ns; /* length of the span; key where the longest are kept */
  uint64_t begin_ns;
  uint64_t suspended, own, part[EVA_PARTS];
  int64_t off_cpu; /* -1 if not measured */
  uint32_t track, depth;
  struct page_value *value; /* NULL if none is known */
  uint16_t id;
  uint8_t flags;
  bool knows_own, knows_parts;
};

struct page_owner { /* the owner of the spans of a track */
  uint64_t context;
  uint32_t incarnation; /* incarnation of the domain */
  uint8_t ring;
};

struct page_spans;

/* Makes an empty store. `room`: bytes for the rows of cells. Returns NULL when out of
   memory. */
struct page_spans *page_spans_new(struct page_run *run, size_t room, bool keeps_all);
void page_spans_free(struct page_spans *spans);

/* Sets the owner of the spans of a track from now on. */
int page_spans_own(struct page_spans *spans, uint32_t track, const struct page_owner *owner);
struct page_span_begin { /* the begin of a span with a value */
  uint64_t ns;
  uint32_t track, depth;
  struct page_said said; /* its bytes follow; PAGE_VALUE_ITEM bytes from `said` on can be
                            read, even if it has fewer */
};

/* The usual span: begin and end known, with nothing in it but other spans. */
struct page_plain_span {
  uint64_t ns, begin_ns, own;
  uint32_t track, depth;
  uint16_t id;
};
/* Keeps the value of a begin until the span ends. */
int page_spans_begin(struct page_spans *spans, const struct page_span_begin *begin);
/* Adds a span that has ended, or is open (PAGE_SPAN_OPEN). Sets span->value to the value
   that page_spans_begin has kept for it. */
int page_spans_add(struct page_spans *spans, struct page_span *span);
int page_spans_add_plain(struct page_spans *spans, const struct page_plain_span *plain);
/* Returns how many names of the user's ring have had spans. */
size_t page_spans_names(const struct page_spans *spans);
/* Fetches into the cache the data of a name that will soon have a span. `step` is 0 if
   nothing of the name is in the cache yet, and 1 if what step 0 has fetched is there. */
void page_spans_soon(const struct page_spans *spans, uint16_t id, int step);
/* Adds the spans that began and ended in a batch, which lies in one cell. */
int page_spans_batch(struct page_spans *spans, const struct eventring_batch *batch, uint32_t track);
enum { PAGE_LONGEST = 8 };
typedef void page_longest_visit(void *context, const struct page_span *span,
                                const struct page_owner *owner);
/* Calls `visit` with the PAGE_LONGEST longest spans of the user's ring, and with up to
   that many of each name of the other rings, in no particular order. The store still owns
   their values. */
void page_spans_longest(const struct page_spans *spans, page_longest_visit *visit, void *context);
/* Sets how many rows the tracks need (lists.h), once all spans were taken. */
void page_spans_tell_depths(const struct page_spans *spans);
/* Makes cells twice as long. */
int page_spans_halve(struct page_spans *spans);

#endif
