/* SPDX-License-Identifier: MIT */
/* open_spans.h: the spans that are open at a point of a ring, for block headers. */
#ifndef EVENTRING_OPEN_SPANS_H
#define EVENTRING_OPEN_SPANS_H

#include <stddef.h>
#include <stdint.h>

#include "format/control.h"
#include "format/format.h"
#include "producer/totals.h"

#pragma GCC visibility push(hidden)

enum {
  EVR_MAX_OPEN = 1024, /* spans kept; when there are more, the oldest become hidden */
  EVR_OPEN_BUCKETS = 256
};

#define EVR_NO_REASON UINT64_MAX

/* Indices of spans and contexts count from 1; 0 is none. */
struct evr_open_span {
  uint64_t tail;         /* event word of the begin: kind, id; length 0, time 0 */
  uint64_t ticks;
  uint64_t reason;       /* its reason (evr_has_reason), or EVR_NO_REASON */
  uint64_t suspended;    /* ticks for which its context had been suspended before */
  uint16_t context;
  uint16_t below, above; /* neighbours in its context: begun before, begun after */
  uint16_t older, newer; /* neighbours among all spans; in a free entry `older` is the
                            next free one */
};

struct evr_open_context { /* a context that has open spans */
  uint64_t id;
  uint64_t suspended; /* ticks, since the first of its open spans began */
  uint64_t since;     /* ticks at which it was suspended; 0 if it is not suspended */
  uint16_t top;       /* its innermost span */
  uint16_t next;      /* next in its bucket; in a free entry: the next free one */
};

/* The open spans of a ring, used by the ring's owner. All zero: empty. The structure is
   large; unused parts are not touched. */
struct evr_open_spans {
  uint64_t context; /* context of the events after this point of the ring */
  uint32_t count;   /* spans in the table */
  uint32_t hidden;  /* open spans that are not in the table */
  uint16_t oldest, newest;
  /* for spans and for contexts: how many indices were ever used, and the head of the list
     of free indices */
  uint16_t spans_used, spans_free;
  uint16_t contexts_used, contexts_free;
  uint16_t bucket[EVR_OPEN_BUCKETS];
  struct evr_open_context contexts[EVR_MAX_OPEN + 1];
  struct evr_open_span spans[EVR_MAX_OPEN + 1];
};

/* Entries of the control log that tear spans (doc/FORMAT.md, section 4), in their order.
   `class_of` has the class of each id. */
struct evr_tears {
  const uint8_t *class_of;
  struct evr_switches switches;
};

/* Applies the events in words[0 .. count-1] of a block and adds them to the totals.
   `base` is the base of the block's times. `tears` are applied before the events to which
   they belong; NULL if there are none. */
void evr_open_apply(struct evr_open_spans *open, struct evr_totals *totals, const uint64_t *words,
                    size_t count, uint64_t base, const struct evr_tears *tears);
/* Drops the spans of these classes that began before `ticks`. `class_of` has the class of
   each id. */
void evr_open_tear(struct evr_open_spans *open, const uint8_t *class_of, uint64_t classes,
                   uint64_t ticks);
/* Drops all spans and sets the context to 0 (a new incarnation). */
void evr_open_clear(struct evr_open_spans *open);
/* Fills the list of a block that begins at `ticks` with at most FORMAT_MAX_OPEN entries
   and returns their number. Stores in *hidden how many open spans are not listed. */
unsigned evr_open_list(const struct evr_open_spans *open, uint64_t ticks,
                       struct format_open *list, uint32_t *hidden);

#pragma GCC visibility pop

#endif /* EVENTRING_OPEN_SPANS_H */
