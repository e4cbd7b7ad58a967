/* SPDX-License-Identifier: MIT */
/* otlp_spans.h: the open spans, each with what will be written about it when it ends.
 *
 * A flow is a context that has open spans in a ring of a domain. Its frames are these
 * spans, outermost first, as in the reader (doc/FORMAT.md, section 9). An end removes one
 * frame, which need not be the innermost one; the frames within it stay.
 *
 * A context of the user's ring may have inherited a trace.
 *
 * Bounds: a span has at most OTLP_MOST_POINTS points of each kind and OTLP_MOST_LINKS
 * links, and all points take at most OTLP_MOST_BYTES; the rest is counted as dropped. At
 * most OTLP_MOST_INHERITED contexts with an inherited trace are kept; beyond that, the
 * oldest ones are forgotten.
 *
 * Errors: no memory, `failed` of the ids. Threads: one.
 */
#ifndef EVENTRING_EXPORT_OTLP_SPANS_H
#define EVENTRING_EXPORT_OTLP_SPANS_H

#include "eventring/read.h"
#include "export/otlp_ids.h"
#include "format/table.h"

enum {
  OTLP_MOST_POINTS = 128, OTLP_MOST_LINKS = 128, OTLP_MOST_BYTES = 16 << 20,
  OTLP_MOST_INHERITED = 1 << 16
};

/* What happened in a span: a step of the runtime, which took some time, or an event. */
struct otlp_point {
  uint64_t ns, took;
  uint32_t size;
  bool is_step;
  char body[];
};

struct otlp_frame {
  struct otlp_span *span;
  uint16_t id;           /* id of its definition */
  uint64_t begin_ns;
  char *value;           /* value of its begin, as text of an attribute; NULL if none */
  uint32_t value_size;
  struct otlp_point **points;
  uint32_t point_count, point_room, steps, dropped_points;
  struct otlp_link *links;
  uint32_t link_count, link_room, dropped_links;
};

struct otlp_flow {
  uint64_t context;
  uint32_t domain, incarnation;
  uint8_t ring;
  bool inherits;             /* the flow has a trace (`inherited`), said at said_ns */
  uint64_t said_ns;
  struct otlp_trace inherited;
  struct otlp_flow *older, *newer; /* list of the flows that inherit */
  struct otlp_frame *frames; /* the outermost first */
  uint32_t count, room;
  uint64_t last_begin_ns;    /* begin of the span that became known last */
  uint32_t last_depth, same; /* same: number of spans before that one with its depth and
                                begin */
};

struct otlp_spans {
  struct otlp_ids *ids;
  struct evr_table flows;
  struct otlp_flow *last;            /* the flow found last; it may have no frames */
  struct otlp_flow *oldest, *newest; /* the list of flows that inherit */
  size_t inherited_count, bytes;
};

/* Returns the flow of an event, which is made if it is not there, or NULL when out of
   memory. */
struct otlp_flow *otlp_flow_of(struct otlp_spans *spans, const struct eventring_event *event);
/* Returns the flow of a context, or NULL if it has no frames. */
struct otlp_flow *otlp_flow_find(struct otlp_spans *spans, uint32_t domain, uint32_t incarnation,
                                 uint8_t ring, uint64_t context);

/* Returns the frame within `depth` others, the innermost frame, or the frame of a span.
   Returns NULL if there is none. */
struct otlp_frame *otlp_frame_at(struct otlp_flow *flow, uint32_t depth);
struct otlp_frame *otlp_frame_innermost(struct otlp_flow *flow);
struct otlp_frame *otlp_frame_of_span(struct otlp_flow *flow, const struct otlp_span *span);
/* Returns the innermost frame with this definition and begin. If none has this begin
   (times went back), returns the innermost one with this definition, or NULL. `depth` is
   where to search first. */
struct otlp_frame *otlp_frame_find(struct otlp_flow *flow, uint16_t id, uint64_t begin_ns,
                                   uint32_t depth);
/* Makes a frame within `depth` others, or the innermost one if there are fewer. `around`:
   the span around an outermost frame, or NULL. Returns NULL when out of memory. Frames
   may move. */
struct otlp_frame *otlp_frame_make(struct otlp_spans *spans, struct otlp_flow *flow, uint32_t depth,
                                   struct otlp_span *around);
/* Removes a frame, with all that it has. */
void otlp_frame_drop(struct otlp_spans *spans, struct otlp_flow *flow, struct otlp_frame *frame);

/* Stores in a frame which span it is. `domain_hash`: a hash of the domain, from which
   ids are derived. */
void otlp_frame_know(struct otlp_flow *flow, struct otlp_frame *frame,
                     const struct eventring_event *event, uint64_t begin_ns,
                     uint64_t domain_hash, uint64_t since_start);
/* Adds a point, whose `body` is point->size bytes of members, or a link to a span. */
void otlp_frame_add_point(struct otlp_spans *spans, struct otlp_frame *frame,
                          const struct otlp_point *point, const char *body);
void otlp_frame_add_link(struct otlp_spans *spans, struct otlp_frame *frame,
                         struct otlp_span *span, const char *flow);

/* Takes an event `trace` of a flow. */
void otlp_flow_says(struct otlp_spans *spans, struct otlp_flow *flow,
                    const struct otlp_trace *said, uint64_t ns);
/* Drops a flow after its last frame has gone, unless it is still needed. */
void otlp_flow_leave(struct otlp_spans *spans, struct otlp_flow *flow);
/* Drops everything; `visit` gets each frame, those of a flow innermost first. */
void otlp_spans_finish(struct otlp_spans *spans,
                       void (*visit)(void *context, struct otlp_flow *flow,
                                     struct otlp_frame *frame),
                       void *context);

#endif
