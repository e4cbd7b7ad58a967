/* SPDX-License-Identifier: MIT */
/* otlp_spans.c: keeps the spans that are open (otlp_spans.h). */
#include "export/otlp_spans.h"

#include <stdlib.h>
#include <string.h>

#include "format/array.h"

/* ---- Flows ------------------------------------------------------------------------ */

struct flow_key { uint64_t context; uint32_t domain, incarnation; uint8_t ring; };

static uint64_t hash_of(const struct flow_key *p) {
  const uint64_t hash = evr_hash_word(evr_hash_seed(), p->context);
  return evr_hash_word(hash, (uint64_t)p->incarnation << 32 | p->domain << 8 | p->ring);
}

static bool is_flow(const void *none, uintptr_t value, const void *key) {
  const struct otlp_flow *flow = (const struct otlp_flow *)value;
  const struct flow_key *p = key;
  (void)none;
  return flow->context == p->context && flow->domain == p->domain && flow->ring == p->ring &&
         flow->incarnation == p->incarnation;
}

static struct flow_key key_of(const struct otlp_flow *flow) {
  return (struct flow_key){flow->context, flow->domain, flow->incarnation, flow->ring};
}

static bool is_last(const struct otlp_spans *spans, const struct flow_key *p) {
  return spans->last && is_flow(NULL, (uintptr_t)spans->last, p);
}

static void free_flow(struct otlp_spans *spans, struct otlp_flow *flow) {
  const struct flow_key p = key_of(flow);
  evr_table_drop(&spans->flows, hash_of(&p), (uintptr_t)flow);
  if (spans->last == flow) spans->last = NULL;
  free(flow->frames);
  free(flow);
}

static bool is_idle(const struct otlp_flow *flow) { return !flow->count && !flow->inherits; }

void otlp_flow_leave(struct otlp_spans *spans, struct otlp_flow *flow) {
  if (is_idle(flow) && flow != spans->last) free_flow(spans, flow);
}

/* Makes a flow the last one. The last flow is kept even without frames, since most flows
   soon begin another span. The previous last flow is dropped if it has no frames. */
static void set_last(struct otlp_spans *spans, struct otlp_flow *flow) {
  struct otlp_flow *before = spans->last;
  spans->last = flow;
  if (before && before != flow) otlp_flow_leave(spans, before);
}

struct otlp_flow *otlp_flow_find(struct otlp_spans *spans, uint32_t domain, uint32_t incarnation,
                                 uint8_t ring, uint64_t context) {
  const struct flow_key p = {context, domain, incarnation, ring};
  if (is_last(spans, &p)) return spans->last;
  return (struct otlp_flow *)evr_table_find(&spans->flows, hash_of(&p), is_flow, NULL, &p);
}

struct otlp_flow *otlp_flow_of(struct otlp_spans *spans, const struct eventring_event *e) {
  const struct flow_key p = {e->context, e->domain, e->incarnation, e->ring};
  if (is_last(spans, &p)) return spans->last;
  uintptr_t *value = evr_table_take(&spans->flows, hash_of(&p), is_flow, NULL, &p);
  struct otlp_flow *flow = value ? (struct otlp_flow *)*value : NULL;
  if (value && !flow) {
    flow = calloc(1, sizeof *flow);
    if (!flow) spans->flows.used--; /* the entry of the table stays free */
    else *flow = (struct otlp_flow){.context = p.context, .domain = p.domain, .ring = p.ring,
                                    .incarnation = p.incarnation};
    *value = (uintptr_t)flow;
  }
  if (flow) set_last(spans, flow);
  else spans->ids->failed = true;
  return flow;
}

/* ---- Frames ----------------------------------------------------------------------- */

struct otlp_frame *otlp_frame_at(struct otlp_flow *flow, uint32_t depth) {
  return depth < flow->count ? &flow->frames[depth] : NULL;
}

struct otlp_frame *otlp_frame_innermost(struct otlp_flow *flow) {
  return flow->count ? &flow->frames[flow->count - 1] : NULL;
}

struct otlp_frame *otlp_frame_of_span(struct otlp_flow *flow, const struct otlp_span *span) {
  for (uint32_t at = flow->count; at > 0; at--)
    if (flow->frames[at - 1].span == span) return &flow->frames[at - 1];
  return NULL;
}

struct otlp_frame *otlp_frame_find(struct otlp_flow *flow, uint16_t id, uint64_t begin_ns,
                                   uint32_t depth) {
  struct otlp_frame *innermost = NULL, *frame = otlp_frame_at(flow, depth);
  if (frame && frame->id == id && frame->begin_ns == begin_ns) return frame;
  for (uint32_t at = flow->count; at > 0; at--) {
    frame = &flow->frames[at - 1];
    if (frame->id != id) continue;
    if (frame->begin_ns == begin_ns) return frame;
    if (!innermost) innermost = frame;
  }
  return innermost;
}

struct otlp_frame *otlp_frame_make(struct otlp_spans *spans, struct otlp_flow *flow, uint32_t depth,
                                   struct otlp_span *around) {
  const uint32_t at = depth < flow->count ? depth : flow->count;
  struct otlp_span *span = otlp_span_new(spans->ids, at ? flow->frames[at - 1].span : around);
  if (!span) return NULL;
  if (!EVR_MAKE_ROOM(flow->frames, flow->room, flow->count, 4)) {
    spans->ids->failed = true;
    otlp_span_release(span);
    return NULL;
  }
  struct otlp_frame *frame = &flow->frames[at];
  memmove(frame + 1, frame, (flow->count - at) * sizeof *frame);
  *frame = (struct otlp_frame){.span = span};
  flow->count++;
  return frame;
}

static void free_parts(struct otlp_spans *spans, struct otlp_frame *frame) {
  for (uint32_t i = 0; i < frame->point_count; i++) {
    spans->bytes -= sizeof(struct otlp_point) + frame->points[i]->size;
    free(frame->points[i]);
  }
  for (uint32_t i = 0; i < frame->link_count; i++) otlp_span_release(frame->links[i].span);
  free(frame->points);
  free(frame->links);
  free(frame->value);
}

void otlp_frame_drop(struct otlp_spans *spans, struct otlp_flow *flow, struct otlp_frame *frame) {
  struct otlp_span *span = frame->span;
  free_parts(spans, frame);
  memmove(frame, frame + 1, (size_t)(&flow->frames[--flow->count] - frame) * sizeof *frame);
  if (!span->ended) otlp_span_ends(spans->ids, span, NULL); /* its end is not known */
  otlp_span_release(span);
}

/* ---- Points and links ------------------------------------------------------------- */

void otlp_frame_know(struct otlp_flow *flow, struct otlp_frame *frame,
                     const struct eventring_event *e, uint64_t begin_ns,
                     uint64_t domain_hash, uint64_t since_start) {
  const uint32_t depth = (uint32_t)(frame - flow->frames);
  const bool again = flow->last_begin_ns == begin_ns && flow->last_depth == depth;
  flow->same = again ? flow->same + 1 : 0;
  flow->last_begin_ns = begin_ns;
  flow->last_depth = depth;
  frame->id = e->id;
  frame->begin_ns = begin_ns;
  uint64_t key = evr_hash_word(evr_hash_word(domain_hash, since_start), e->context);
  key = evr_hash_word(key, (uint64_t)depth << 32 | (uint64_t)e->ring << 24 | flow->same);
  key = evr_hash_text(key, e->name);
  frame->span->key = key ? key : 1;
  if (flow->inherits && !depth && begin_ns >= flow->said_ns)
    otlp_span_inherits(frame->span, &flow->inherited);
}

static bool add(struct otlp_spans *spans, struct otlp_frame *frame, const struct otlp_point *point,
                const char *body, uint32_t at) {
  struct otlp_point *copy = malloc(sizeof *copy + point->size);
  if (!copy) return false;
  *copy = *point;
  memcpy(copy->body, body, point->size);
  frame->points[at] = copy;
  spans->bytes += sizeof *copy + point->size;
  return true;
}

/* Returns the index of the shortest step, or point_count if there is no step. */
static uint32_t shortest(const struct otlp_frame *frame) {
  uint32_t least = frame->point_count;
  for (uint32_t i = 0; i < frame->point_count; i++)
    if (frame->points[i]->is_step &&
        (least == frame->point_count || frame->points[i]->took < frame->points[least]->took))
      least = i;
  return least;
}

/* Replaces the shortest step by this point if the point is longer. So the longest steps
   are kept, but the first events. */
static void replace_shortest(struct otlp_spans *spans, struct otlp_frame *frame,
                             const struct otlp_point *point, const char *body) {
  const uint32_t at = shortest(frame);
  frame->dropped_points++;
  if (at == frame->point_count || frame->points[at]->took >= point->took) return;
  struct otlp_point *before = frame->points[at];
  if (!add(spans, frame, point, body, at)) {
    spans->ids->failed = true;
    return;
  }
  spans->bytes -= sizeof *before + before->size;
  free(before);
}

void otlp_frame_add_point(struct otlp_spans *spans, struct otlp_frame *frame,
                          const struct otlp_point *point, const char *body) {
  const uint32_t count = point->is_step ? frame->steps : frame->point_count - frame->steps;
  const bool is_full = count >= OTLP_MOST_POINTS || spans->bytes > OTLP_MOST_BYTES;
  if (is_full && point->is_step) {
    replace_shortest(spans, frame, point, body);
    return;
  }
  if (is_full) {
    frame->dropped_points++;
    return;
  }
  if (!EVR_MAKE_ROOM(frame->points, frame->point_room, frame->point_count, 4) ||
      !add(spans, frame, point, body, frame->point_count)) {
    spans->ids->failed = true;
    return;
  }
  frame->point_count++;
  frame->steps += point->is_step;
}

void otlp_frame_add_link(struct otlp_spans *spans, struct otlp_frame *frame,
                         struct otlp_span *span, const char *flow) {
  if (frame->link_count >= OTLP_MOST_LINKS) {
    frame->dropped_links++;
    return;
  }
  if (!EVR_MAKE_ROOM(frame->links, frame->link_room, frame->link_count, 2)) {
    spans->ids->failed = true;
    return;
  }
  frame->links[frame->link_count++] = (struct otlp_link){otlp_span_keep(span), flow};
}

/* ---- Inherited traces ------------------------------------------------------------- */

static void forget_inherited(struct otlp_spans *spans, struct otlp_flow *flow) {
  if (!flow->inherits) return;
  if (flow->older) flow->older->newer = flow->newer;
  else spans->oldest = flow->newer;
  if (flow->newer) flow->newer->older = flow->older;
  else spans->newest = flow->older;
  flow->older = flow->newer = NULL;
  flow->inherits = false;
  spans->inherited_count--;
}

static void inherit(struct otlp_spans *spans, struct otlp_flow *flow,
                    const struct otlp_trace *said, uint64_t ns) {
  forget_inherited(spans, flow);
  flow->inherits = true;
  flow->inherited = *said;
  flow->said_ns = ns;
  flow->older = spans->newest;
  if (spans->newest) spans->newest->newer = flow;
  else spans->oldest = flow;
  spans->newest = flow;
  if (++spans->inherited_count <= OTLP_MOST_INHERITED) return;
  struct otlp_flow *oldest = spans->oldest;
  forget_inherited(spans, oldest);
  otlp_flow_leave(spans, oldest);
}

void otlp_flow_says(struct otlp_spans *spans, struct otlp_flow *flow,
                    const struct otlp_trace *said, uint64_t ns) {
  struct otlp_frame *frame = otlp_frame_innermost(flow);
  if (frame) otlp_span_says(frame->span, said);
  else inherit(spans, flow, said, ns);
}

/* ---- The end ---------------------------------------------------------------------- */

/* Compares two flows by their keys. A table has no fixed order, but all exports of a
   recording must be the same. */
static int by_key(const void *a, const void *b) {
  const struct otlp_flow *const *x = a, *const *y = b;
  const struct flow_key p = key_of(*x), q = key_of(*y);
  if (p.domain != q.domain) return p.domain < q.domain ? -1 : 1;
  if (p.incarnation != q.incarnation) return p.incarnation < q.incarnation ? -1 : 1;
  if (p.ring != q.ring) return p.ring < q.ring ? -1 : 1;
  return (p.context > q.context) - (p.context < q.context);
}

void otlp_spans_finish(struct otlp_spans *spans,
                       void (*visit)(void *context, struct otlp_flow *flow,
                                     struct otlp_frame *frame),
                       void *context) {
  struct otlp_flow **flows = calloc(spans->flows.used + 1, sizeof(struct otlp_flow *));
  size_t count = 0;
  if (!flows) spans->ids->failed = true;
  for (size_t i = 0; flows && i < spans->flows.room; i++)
    if (spans->flows.entries[i].value)
      flows[count++] = (struct otlp_flow *)spans->flows.entries[i].value;
  if (count) qsort(flows, count, sizeof(struct otlp_flow *), by_key);
  for (size_t i = 0; i < count; i++) {
    struct otlp_flow *flow = flows[i];
    while (flow->count) {
      struct otlp_frame *frame = &flow->frames[flow->count - 1];
      visit(context, flow, frame);
      otlp_frame_drop(spans, flow, frame);
    }
    free(flow->frames);
    free(flow);
  }
  free(flows);
  evr_table_free(&spans->flows);
  *spans = (struct otlp_spans){.ids = spans->ids};
}
