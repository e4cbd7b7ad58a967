/* SPDX-License-Identifier: MIT */
/* open_spans.h: the spans open at a point of a ring, for the headers of its blocks. */
#ifndef EVENTRING_OPEN_SPANS_H
#define EVENTRING_OPEN_SPANS_H

#include <stddef.h>
#include <stdint.h>

#include "format/format.h"
#include "producer/totals.h"

#pragma GCC visibility push(hidden)

enum {
  EVR_MAX_OPEN = 1024, /* spans known; when there are more, the oldest become hidden */
  EVR_OPEN_BUCKETS = 256
};

#define EVR_NO_REASON UINT64_MAX

/* Indices of spans and contexts count from 1; 0 is none. */
struct evr_open_span {
  uint64_t tail;         /* event word of the begin: kind, id; length 0, time 0 */
  uint64_t ticks;
  uint64_t reason;       /* why it runs (evr_has_reason), or EVR_NO_REASON */
  uint64_t suspended;    /* of its context, before this span began */
  uint16_t context;
  uint16_t below, above; /* in its context: begun before and after */
  uint16_t older, newer; /* of all; of a free one `older` is the next free one */
};

struct evr_open_context { /* that has open spans */
  uint64_t id;
  uint64_t suspended; /* ticks, since the first of its open spans began */
  uint64_t since;     /* ticks at which it was suspended; 0: it is not */
  uint16_t top;       /* its innermost span */
  uint16_t next;      /* in its bucket; of a free one: the next free one */
};

/* Zeroed, it is empty. It is large; parts that are not used are not touched. It belongs
   to the owner of the ring. */
struct evr_open_spans {
  uint64_t context; /* of what follows this point of the ring */
  uint32_t count;   /* spans in the table */
  uint32_t hidden;  /* open spans that are not in the table */
  uint16_t oldest, newest;
  /* of each: how many indices have been used, and the head of the list of free ones */
  uint16_t spans_used, spans_free;
  uint16_t contexts_used, contexts_free;
  uint16_t bucket[EVR_OPEN_BUCKETS];
  struct evr_open_context contexts[EVR_MAX_OPEN + 1];
  struct evr_open_span spans[EVR_MAX_OPEN + 1];
};

/* Applies the events in words[0 .. count-1] and adds them to the totals, whose block this
   is; base is that of the block. */
void evr_open_apply(struct evr_open_spans *open, struct evr_totals *totals, const uint64_t *words,
                    size_t count, uint64_t base);
/* Forgets the spans whose class is among `classes` and that began before `ticks`.
   class_of maps ids to classes. */
void evr_open_tear(struct evr_open_spans *open, const uint8_t *class_of, uint64_t classes,
                   uint64_t ticks);
/* Forgets all; the context is 0 (a new incarnation). */
void evr_open_clear(struct evr_open_spans *open);
/* Fills the list of a block that begins at `ticks` with at most FORMAT_MAX_OPEN entries,
   whose number is returned. *hidden: how many open spans are not listed. */
unsigned evr_open_list(const struct evr_open_spans *open, uint64_t ticks,
                       struct format_open *list, uint32_t *hidden);

#pragma GCC visibility pop

#endif /* EVENTRING_OPEN_SPANS_H */
