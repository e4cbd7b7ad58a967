/* SPDX-License-Identifier: MIT */
/* otlp_ids.h: finds which trace a span belongs to, and when that is known.
 *
 * A recording gives ids by an event `trace` (class user, 33 bytes: trace id 16, span id
 * 8, id of the parent 8 or zeros, flags 1). They are the ids of the innermost span that
 * is open in its context, which *says* them; a later event `trace` in the same span
 * replaces them. If no span is open, the context *inherits* them. The rules:
 *
 * 1. Ids that a span has said are its ids. A parent that is not the id of a span around
 *    this one is remote: this span begins what the process does for another process.
 * 2. A span without said ids has the trace of the span around it, which is its parent.
 *    Its own id is derived: a hash of the recording, of its domain and of its begin, so
 *    that each export gives the same id.
 * 3. An outermost span without said ids has the trace that its context has inherited.
 *    Otherwise it has the first trace that a span within it said without a parent, since
 *    the two belong together. Otherwise it has a trace of its own, whose id is derived.
 * 4. The reader may know that a span is open without having its begin (doc/FORMAT.md,
 *    section 9). Such a span may have said ids in events that the reader does not have.
 *    So neither this span nor any span around it takes the trace of a span within it.
 *
 * A span may say ids until it ends, even after spans within it have ended. So the record
 * of a span that has ended is not written at once. It is held until all spans around it
 * have ended, up to one with a remote parent (the spans beyond have another trace), and
 * until this is true of each span that it links to. At most OTLP_MOST_HELD bytes are
 * held. Beyond that, the spans that hold most are settled: they keep the ids that they
 * have by then, and their records are written. Ids that they say later become a link.
 *
 * Errors: no memory, `failed`. Threads: one.
 */
#ifndef EVENTRING_EXPORT_OTLP_IDS_H
#define EVENTRING_EXPORT_OTLP_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OTLP_MOST_HELD = 16 << 20, OTLP_TRACE_SIZE = 16, OTLP_SPAN_SIZE = 8, OTLP_SAID_SIZE = 33 };

/* The contents of an event `trace`, laid out as its payload. */
struct otlp_trace {
  uint8_t trace[OTLP_TRACE_SIZE], span[OTLP_SPAN_SIZE], parent[OTLP_SPAN_SIZE], flags;
};

struct otlp_record;

struct otlp_span {
  struct otlp_span *parent; /* the span around it, with a reference; NULL if none */
  struct otlp_span *below;  /* next span of a list, while the list is being settled */
  struct otlp_span *before, *after; /* neighbours in the list of spans with held
                                       records */
  struct otlp_record *first, *last; /* records that wait for its end */
  size_t held;              /* bytes of the held records */
  uint64_t key;             /* its ids are derived from this */
  uint32_t refs;
  bool ended, settled;
  bool says;                /* it has said ids: they are in `said` */
  bool said_late;           /* `said` came after its ids were settled */
  bool is_unknown;          /* it may have said ids that were lost with other events */
  bool is_remote;           /* its parent, said.parent, is none of the spans around it */
  bool inherits;            /* its context has inherited a trace, which is in `said` */
  bool adopts;              /* said.trace and flags are those of a span within it */
  struct otlp_trace said;
  /* Valid once it is settled: */
  struct otlp_trace ids;
};

/* A link to another span. */
struct otlp_link {
  struct otlp_span *span; /* holds a reference */
  const char *flow;       /* name of a flow from `span` to the linking span; NULL if
                             `span` ran within the linking span; it is not written if that
                             span is its parent */
};

/* What is written of a span, apart from its ids and its links. */
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
  /* Takes a record once its ids and the ids of its links are settled. The record is freed
     afterwards. */
  void (*write)(void *context, struct otlp_record *record);
  void *context;
  struct otlp_span *holders; /* spans with records that wait */
  size_t held, holder_count;
  bool failed;
};

/* Makes a span within `parent`, or an outermost one if that is NULL. The caller has one
   reference. Returns NULL when out of memory. */
struct otlp_span *otlp_span_new(struct otlp_ids *ids, struct otlp_span *parent);
struct otlp_span *otlp_span_keep(struct otlp_span *span);
void otlp_span_release(struct otlp_span *span); /* NULL is allowed */

/* Takes the ids of an open span: those that it has said, or those that its context has
   inherited. */
void otlp_span_says(struct otlp_span *span, const struct otlp_trace *said);
void otlp_span_inherits(struct otlp_span *span, const struct otlp_trace *said);

/* Makes a record with room for a body of this size. Returns NULL when out of memory. */
struct otlp_record *otlp_record_new(struct otlp_ids *ids, struct otlp_span *span, size_t size);
/* Ends a span. Takes its record, which may be NULL, and writes or holds it. */
void otlp_span_ends(struct otlp_ids *ids, struct otlp_span *span, struct otlp_record *record);
/* Returns the ids that a span said after its ids were settled, if they differ, or
   NULL. */
const struct otlp_trace *otlp_span_late(const struct otlp_span *span);
/* Tells whether a link is to be written. */
bool otlp_is_link(const struct otlp_record *record, const struct otlp_link *link);
/* Writes all records that are held. */
void otlp_ids_finish(struct otlp_ids *ids);

static inline bool otlp_is_id(const uint8_t *id, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (id[i]) return true;
  return false;
}

#endif
