/* SPDX-License-Identifier: MIT */
/* otlp_ids.h: which trace a span belongs to, and when that is known.
 *
 * A recording says ids with an event `trace` (class user, 33 bytes: trace id 16, span id 8, id of
 * the parent 8 or zeros, flags 1): those of the innermost span that is open in its context; a
 * later one of the same span takes its place. Where none is open, it says what the context has
 * inherited. So:
 *
 *   1. Said ids hold. A parent that is the id of no span around is remote: the span begins what
 *      this process does for another one.
 *   2. A span without said ids has the trace of the span around it, which is its parent. Its own
 *      id is derived: a hash of the recording, of its place and of its begin, so that each export
 *      gives the same.
 *   3. An outermost span without said ids has the trace that its context has inherited; else that
 *      which a span within it said first, without a parent: it belongs together; else one of its
 *      own, derived.
 *   4. A span of which the reader has found nothing but that it is open may have said ids before
 *      (doc/FORMAT.md, section 9). It does not take those of a span within it, and nobody beyond it
 *      does.
 *
 * Ids may be said until the span ends, after the end of spans within it. So what is written of a
 * span that has ended, its record, is held until all spans around it have ended, up to one with a
 * remote parent, whose trace is not theirs; and until that is so for each span that it has a link
 * to. What is held is OTLP_MOST_HELD bytes at most. Where it would be more, the spans for which
 * most is held are settled: they keep the ids that they have by then, and their records are
 * written. Ids that they say later are a link of theirs.
 *
 * Errors: no memory, `failed`. Threads: one.
 */
#ifndef EVENTRING_EXPORT_OTLP_IDS_H
#define EVENTRING_EXPORT_OTLP_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OTLP_MOST_HELD = 16 << 20, OTLP_TRACE_SIZE = 16, OTLP_SPAN_SIZE = 8, OTLP_SAID_SIZE = 33 };

/* What an event `trace` says, as it lies in its payload. */
struct otlp_trace {
  uint8_t trace[OTLP_TRACE_SIZE], span[OTLP_SPAN_SIZE], parent[OTLP_SPAN_SIZE], flags;
};

struct otlp_record;

struct otlp_span {
  struct otlp_span *parent; /* around it; NULL: none. Counted in its `refs` */
  struct otlp_span *below;  /* while its spans are settled: the next one */
  struct otlp_span *before, *after; /* of those for which records are held */
  struct otlp_record *first, *last; /* which wait for its end */
  size_t held;              /* bytes of these */
  uint64_t key;             /* of derived ids */
  uint32_t refs;
  bool ended, settled;
  bool says;                /* `said` are its ids */
  bool said_late;           /* the same, when its ids were settled already */
  bool is_unknown;          /* it may have said ids that were lost */
  bool is_remote;           /* its parent, said.parent, is none of the spans around it */
  bool inherits;            /* `said` is what its context has inherited */
  bool adopts;              /* said.trace and flags are of a span within it */
  struct otlp_trace said;
  /* Once it is settled: */
  struct otlp_trace ids;
};

/* To another span. */
struct otlp_link {
  struct otlp_span *span; /* counted */
  const char *flow;       /* the name of a flow from it to this one; NULL: it ran within this one,
                             and is a link unless this one is its parent */
};

/* What is written of a span, but for its ids and its links. */
struct otlp_record {
  struct otlp_record *next;
  struct otlp_span *span;
  struct otlp_link *links;
  uint32_t link_count, dropped_links;
  uint32_t process;
  size_t size;
  char body[];
};

struct otlp_ids {
  /* Takes a record whose ids, and those of its links, are settled; it is freed afterwards. */
  void (*write)(void *context, struct otlp_record *record);
  void *context;
  struct otlp_span *holders; /* those with records that wait */
  size_t held, holder_count;
  bool failed;
};

/* A span within `parent`, or NULL. One reference is the caller's. NULL: no memory. */
struct otlp_span *otlp_span_new(struct otlp_ids *ids, struct otlp_span *parent);
struct otlp_span *otlp_span_keep(struct otlp_span *span);
void otlp_span_release(struct otlp_span *span); /* NULL is allowed */

/* Of a span that is open: it has said ids; its context had inherited some. */
void otlp_span_says(struct otlp_span *span, const struct otlp_trace *said);
void otlp_span_inherits(struct otlp_span *span, const struct otlp_trace *said);

/* Room for a record with a body of this size. NULL: no memory. */
struct otlp_record *otlp_record_new(struct otlp_ids *ids, struct otlp_span *span, size_t size);
/* The span has ended. Takes its record, NULL: there is none, and writes or holds it. */
void otlp_span_ends(struct otlp_ids *ids, struct otlp_span *span, struct otlp_record *record);
/* What it has said when its ids were settled, if that is not what they are; NULL: nothing. */
const struct otlp_trace *otlp_span_late(const struct otlp_span *span);
/* Is it a link that is to be written? */
bool otlp_is_link(const struct otlp_record *record, const struct otlp_link *link);
/* Writes all that is held. */
void otlp_ids_finish(struct otlp_ids *ids);

static inline bool otlp_is_id(const uint8_t *id, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (id[i]) return true;
  return false;
}

#endif
