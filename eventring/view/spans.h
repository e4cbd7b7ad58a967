/* SPDX-License-Identifier: MIT */
/* spans.h: the spans that a page keeps whole, and how much of each cell spans of each
 * depth cover.
 *
 * Kept are, of each name, those that were longest and those that ended last; of each
 * cell, track and depth the longest; those that are torn or open, as far as there is
 * room. With `keeps_all` all are.
 *
 * A span of a batch is looked at once: its depth follows from the ends behind it, which
 * are read backwards.
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
  uint64_t ns; /* its length; the key where the longest are kept */
  uint64_t begin_ns;
  uint64_t suspended, own, part[EVA_PARTS];
  int64_t off_cpu; /* -1: not measured */
  uint32_t track, depth;
  struct page_value *value; /* NULL: none is known */
  uint16_t id;
  uint8_t flags;
  bool knows_own, knows_parts;
};

struct page_owner { /* of the spans of a track */
  uint64_t context;
  uint32_t incarnation; /* of the domain */
  uint8_t ring;
};

struct page_spans;

/* `room`: bytes for the rows of cells. NULL: no memory. */
struct page_spans *page_spans_new(struct page_run *run, size_t room, bool keeps_all);
void page_spans_free(struct page_spans *spans);

/* Says whose the spans of a track are from now on. */
int page_spans_own(struct page_spans *spans, uint32_t track, const struct page_owner *owner);
struct page_span_begin { /* of a span that has a value */
  uint64_t ns;
  uint32_t track, depth;
  struct page_said said; /* its bytes are behind it, PAGE_VALUE_PLACE may be read */
};

struct page_plain_span { /* most spans: whole, all of it known, and in it nothing but other spans */
  uint64_t ns, begin_ns, own;
  uint32_t track, depth;
  uint16_t id;
};
/* Keeps the value of a begin until the span ends. */
int page_spans_begin(struct page_spans *spans, const struct page_span_begin *begin);
/* A span that has ended, or is open (PAGE_SPAN_OPEN). Its value is set, to that of its
   begin. */
int page_spans_add(struct page_spans *spans, struct page_span *span);
int page_spans_add_plain(struct page_spans *spans, const struct page_plain_span *plain);
/* How many names of the user's ring have had spans. */
size_t page_spans_names(const struct page_spans *spans);
/* A span of this name comes soon, of which this much is in the cache: 0: nothing, 1: what
   page_spans_soon(.., 0) has asked for. */
void page_spans_soon(const struct page_spans *spans, uint16_t id, int step);
/* The spans that began and ended in a batch, which lies in one cell. */
int page_spans_batch(struct page_spans *spans, const struct eventring_batch *batch, uint32_t track);
enum { PAGE_LONGEST = 8 };
typedef void page_longest_visit(void *context, const struct page_span *span,
                                const struct page_owner *owner);
/* Calls `visit` with the PAGE_LONGEST spans of the user's ring that were longest, and as
   many of each name of another ring, in no order; their values are theirs. */
void page_spans_longest(const struct page_spans *spans, page_longest_visit *visit, void *context);
/* Says how many rows the tracks need (lists.h), once all is there. */
void page_spans_tell_depths(const struct page_spans *spans);
/* Cells become twice as long. */
int page_spans_halve(struct page_spans *spans);

#endif
