/* SPDX-License-Identifier: MIT */
/* otlp_traces.c: the spans of a recording as traces of OpenTelemetry (OTLP), for its
 * collector and the tools behind it.
 *
 * Each of these becomes:
 *
 *   span of any ring but the runtime's  a span, written at its end
 *   span that is open                   a span up to when it is known to have been open,
 *                                       with the attribute eventring.open
 *   end, begin unknown                  a span without length, with eventring.torn
 *   begin, end not recorded             a span up to when it is known to have been open,
 *                                       with eventring.torn
 *   span known from a list alone        a span as for the kinds above, with
 *                                       eventring.trace_unknown, until it says ids
 *   async span                          a span within the one in which it began
 *   step of the runtime: a topmost      an event of the span that it interrupted, with
 *   span of its class in that ring      its duration and its reason
 *   event of the program                an event of the innermost span of its context
 *   flow                                a link from the span in which it goes on to the
 *                                       span before
 *   `trace`                             ids (otlp_ids.h)
 *   loss                                counted in the attributes of the scope, with what
 *                                       happened outside of all spans
 *   counter, lifecycle                  nothing: they are metrics
 *
 * For a window, the export also reads what lies before it. So spans that began there have
 * their values, and ids that were said there count.
 *
 * An outermost span of another ring, such as the ring of files, lies within the innermost
 * span of the user's ring that runs then (analysis/shares.h). That span is also the one
 * that a step interrupts. */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/names.h"
#include "analysis/traces.h"
#include "eventring/memory.h"
#include "export/event_formats.h"
#include "export/otlp_traces.h"
#include "format/array.h"

enum { OFTEN = 1 << 14 /* number of events between two reports of progress */ };

static int result(const struct otlp_traces *t) {
  return t->failed || t->ids.failed || t->file.failed || t->run->out->failed ||
         t->run->error[0] != '\0';
}

/* ---- Spans ------------------------------------------------------------------------ */

/* Returns the frame of the innermost span of the user's ring that runs in a
   domain, or NULL. */
static struct otlp_frame *running(struct otlp_traces *t, const struct eventring_event *e,
                                  uint64_t *context) {
  uint32_t depth;
  if (!eva_shares_innermost(t->shares, e->domain, EVENTRING_USER, context, &depth)) return NULL;
  struct otlp_flow *flow =
      otlp_flow_find(&t->spans, e->domain, e->incarnation, EVENTRING_USER, *context);
  return flow ? otlp_frame_at(flow, depth) : NULL;
}

static struct otlp_span *span_around(struct otlp_traces *t, const struct eventring_event *e) {
  uint64_t context;
  if (e->ring == EVENTRING_USER || e->flags & EVENTRING_SYNTHETIC) return NULL;
  const struct otlp_frame *frame = running(t, e, &context);
  return frame ? frame->span : NULL;
}

/* Adds a link to a span with a trace of its own, such as a request, to the span around
   that span. */
static void link_from_around(struct otlp_traces *t, struct otlp_flow *flow,
                             const struct otlp_frame *frame) {
  const struct otlp_span *span = frame->span;
  const bool is_apart = span->is_remote ||
                        (span->says && !otlp_is_id(span->said.parent, OTLP_SPAN_SIZE));
  struct otlp_frame *around =
      span->parent && is_apart ? otlp_frame_of_span(flow, span->parent) : NULL;
  if (around) otlp_frame_add_link(&t->spans, around, frame->span, NULL);
}

static void end_frame(struct otlp_traces *t, const struct otlp_domain *d, struct otlp_flow *flow,
                      struct otlp_frame *frame, struct otlp_ended *ended) {
  ended->value = frame->value;
  ended->value_size = frame->value_size;
  link_from_around(t, flow, frame);
  struct otlp_record *record =
      t->is_before ? NULL : otlp_record_of(t, d, frame->span, ended, frame);
  otlp_span_ends(&t->ids, frame->span, record);
}

/* Ends a frame whose end will no longer come. */
static void cut_off(void *context, struct otlp_flow *flow, struct otlp_frame *frame) {
  struct otlp_traces *t = context;
  const struct otlp_domain *d = otlp_domain_of(t, flow->domain, flow->incarnation);
  const struct eventring_def *def = eventring_cursor_def(t->run->cursor, frame->id);
  struct otlp_ended ended = {.end = OTLP_NO_END, .name = def ? def->name : "(other)", .off_cpu = -1,
                        .begin_ns = frame->begin_ns, .end_ns = frame->begin_ns,
                        .event_class = def ? def->event_class : EVENTRING_CLASS_USER,
                        .context = flow->context};
  end_frame(t, d, flow, frame, &ended);
}

/* Ends the frames within `depth` others, which the reader does not know any more. */
static void cut_off_from(struct otlp_traces *t, struct otlp_flow *flow, uint32_t depth) {
  while (flow->count > depth) {
    struct otlp_frame *frame = otlp_frame_innermost(flow);
    cut_off(t, flow, frame);
    otlp_frame_drop(&t->spans, flow, frame);
  }
}

static void keep_value(struct otlp_traces *t, struct otlp_frame *frame,
                       const struct eventring_event *e) {
  struct otlp_text *b = &t->scratch;
  if (e->payload == EVENTRING_NONE || frame->value) return;
  b->b.size = 0;
  otlp_attribute_payload(b, OTLP_ATTRIBUTES, "eventring.value", t->run->cursor, e);
  frame->value = b->b.failed ? NULL : malloc(b->b.size);
  if (!frame->value) {
    t->failed = true;
    return;
  }
  memcpy(frame->value, b->b.data, b->b.size);
  frame->value_size = (uint32_t)b->b.size;
}

/* Adds a frame within `depth` others. Returns NULL when out of memory. */
static struct otlp_frame *add_frame(struct otlp_traces *t, struct otlp_flow *flow,
                                    const struct eventring_event *e, uint32_t depth,
                                    uint64_t begin_ns) {
  struct otlp_span *around = span_around(t, e);
  const struct otlp_domain *d = otlp_domain_of(t, e->domain, e->incarnation);
  struct otlp_frame *frame = otlp_frame_make(&t->spans, flow, depth, around);
  if (frame) otlp_frame_know(flow, frame, e, begin_ns, d->hash, begin_ns - d->start_ns);
  return frame;
}

/* Begins a span. (A span that the reader has found open may be around others
   that are known.) */
static void begin_span(struct otlp_traces *t, const struct eventring_event *e) {
  struct otlp_flow *flow = otlp_flow_of(&t->spans, e);
  if (!flow) return;
  if (!(e->flags & EVENTRING_SYNTHETIC)) cut_off_from(t, flow, e->depth);
  struct otlp_frame *frame = add_frame(t, flow, e, e->depth, e->ns);
  if (!frame) return;
  frame->span->is_unknown = e->flags & EVENTRING_SYNTHETIC && e->ring == EVENTRING_USER;
  keep_value(t, frame, e);
}

/* Ends only the frame of this span: spans that began within it may still be open. An end
   without a begin gets a frame for the moment. */
static void end_flow(struct otlp_traces *t, const struct eventring_event *e,
                     struct otlp_ended *ended) {
  struct otlp_flow *flow = otlp_flow_of(&t->spans, e);
  struct otlp_frame *frame = NULL;
  if (!flow) return;
  if (ended->end != OTLP_NO_BEGIN) frame = otlp_frame_find(flow, e->id, ended->begin_ns, e->depth);
  if (!frame) frame = add_frame(t, flow, e, flow->count, ended->begin_ns);
  if (!frame) return;
  end_frame(t, otlp_domain_of(t, e->domain, e->incarnation), flow, frame, ended);
  otlp_frame_drop(&t->spans, flow, frame);
  otlp_flow_leave(&t->spans, flow);
}

static struct otlp_ended ended_of(const struct eventring_event *e, enum otlp_end end) {
  return (struct otlp_ended){.end = end, .name = e->name, .begin_ns = e->begin_ns, .end_ns = e->ns,
                        .event_class = e->event_class, .context = e->context,
                        .suspended_ns = e->suspended_ns, .off_cpu = eventring_event_off_cpu(e)};
}

static void end_span(struct otlp_traces *t, const struct eventring_event *e) {
  const bool has_begin = e->flags & (EVENTRING_MATCHED | EVENTRING_SYNTHETIC);
  struct otlp_ended ended = ended_of(e, e->flags & EVENTRING_SYNTHETIC ? OTLP_NO_END
                                   : has_begin ? OTLP_WHOLE : OTLP_NO_BEGIN);
  if (!has_begin || ended.begin_ns > ended.end_ns) ended.begin_ns = ended.end_ns;
  end_flow(t, e, &ended);
}

/* ---- Steps of the runtime, and events of the program ------------------------------ */

/* Adds a point to a frame. `took`: the duration of a step; 0 for an event. */
static void add_point(struct otlp_traces *t, struct otlp_frame *frame, const char *name,
                      uint64_t ns, bool is_step, uint64_t took) {
  struct otlp_text *b = &t->scratch;
  otlp_number(b, OTLP_EVENT_TIME, otlp_wall_ns(t->run->info, ns));
  otlp_string(b, OTLP_EVENT_NAME, name, strlen(name));
  t->failed |= b->b.failed;
  const struct otlp_point point = {.ns = ns, .took = took, .is_step = is_step,
                                   .size = (uint32_t)b->b.size};
  if (!b->b.failed) otlp_frame_add_point(&t->spans, frame, &point, b->b.data);
}

/* Returns the frame of the span that a step interrupted, or NULL if the span has ended,
   or there was none. */
static struct otlp_frame *interrupted(struct otlp_traces *t, const struct eventring_event *e,
                                      const struct otlp_step *step) {
  struct otlp_flow *flow = step->span ? otlp_flow_find(&t->spans, e->domain, e->incarnation,
                                                       EVENTRING_USER, step->span_context) : NULL;
  return flow ? otlp_frame_of_span(flow, step->span) : NULL;
}

static void put_step(struct otlp_traces *t, const struct eventring_event *e,
                     const struct otlp_step *step) {
  if (t->is_before) return;
  struct otlp_frame *frame = interrupted(t, e, step);
  const bool torn = e->flags & EVENTRING_TORN;
  const uint64_t begin_ns = step->is_open ? step->begin_ns : e->ns;
  const uint64_t took = e->ns > begin_ns ? e->ns - begin_ns : 0;
  struct otlp_text *b = &t->scratch;
  const char *class_name =
      eventring_cursor_name(t->run->cursor, EVENTRING_NAME_CLASS, e->event_class);
  const int64_t off_cpu = eventring_event_off_cpu(e);
  const struct eventring_def *reason =
      step->reason >= 0 ? eventring_cursor_def(t->run->cursor, (unsigned)step->reason) : NULL;
  if (!frame) {
    t->file.counts.steps++;
    return;
  }
  b->b.size = 0;
  otlp_open_list(b, OTLP_EVENT_ATTRIBUTES);
  otlp_attribute_string(b, OTLP_EVENT_ATTRIBUTES, "eventring.class", class_name ? class_name : "");
  otlp_attribute_int(b, OTLP_EVENT_ATTRIBUTES,
                     torn ? "eventring.at_least_ns" : "eventring.duration_ns", (int64_t)took);
  if (reason)
    otlp_attribute_string(b, OTLP_EVENT_ATTRIBUTES, "eventring.reason", reason->name);
  if (off_cpu > 0) otlp_attribute_int(b, OTLP_EVENT_ATTRIBUTES, "eventring.off_cpu_ns", off_cpu);
  otlp_close_list(b);
  add_point(t, frame, e->name, begin_ns, true, took);
}

static struct otlp_step *step_of(struct otlp_traces *t, const struct eventring_event *e) {
  struct otlp_domain *d = otlp_domain_of(t, e->domain, e->incarnation);
  if (!d->steps) d->steps = calloc(EVENTRING_MAX_CLASSES, sizeof *d->steps);
  t->failed |= !d->steps;
  return d->steps ? &d->steps[e->event_class % EVENTRING_MAX_CLASSES] : NULL;
}

static void begin_step(struct otlp_traces *t, const struct eventring_event *e) {
  struct otlp_step *step = step_of(t, e);
  if (!step || (step->is_open && e->context == step->context && e->depth > step->depth)) return;
  otlp_span_release(step->span);
  *step = (struct otlp_step){.is_open = true, .reason = eva_named_by(e), .depth = e->depth,
                             .begin_ns = e->ns, .context = e->context};
  if (e->flags & EVENTRING_SYNTHETIC) return;
  const struct otlp_frame *frame = running(t, e, &step->span_context);
  if (!frame) return;
  step->span = otlp_span_keep(frame->span);
}

static void end_step(struct otlp_traces *t, const struct eventring_event *e) {
  struct otlp_step *step = step_of(t, e);
  if (!step) return;
  const bool is_own = step->is_open && e->context == step->context;
  if (is_own && e->depth > step->depth) return; /* the event lies within the step */
  if (is_own && e->depth == step->depth) put_step(t, e, step);
  else put_step(t, e, &(struct otlp_step){.reason = -1});
  otlp_span_release(step->span);
  *step = (struct otlp_step){.reason = -1};
}

static struct otlp_frame *frame_of_context(struct otlp_traces *t, const struct eventring_event *e) {
  struct otlp_flow *flow =
      otlp_flow_find(&t->spans, e->domain, e->incarnation, e->ring, e->context);
  return flow ? otlp_frame_innermost(flow) : NULL;
}

static void put_event(struct otlp_traces *t, const struct eventring_event *e, const char *role) {
  if (t->is_before) return;
  struct otlp_frame *frame = frame_of_context(t, e);
  struct otlp_text *b = &t->scratch;
  if (!frame) {
    t->file.counts.events++;
    return;
  }
  b->b.size = 0;
  if (e->payload != EVENTRING_NONE || role) {
    otlp_open_list(b, OTLP_EVENT_ATTRIBUTES);
    otlp_attribute_payload(b, OTLP_EVENT_ATTRIBUTES, "eventring.value", t->run->cursor, e);
    if (role) {
      otlp_attribute_string(b, OTLP_EVENT_ATTRIBUTES, "eventring.flow", role);
      otlp_attribute_int(b, OTLP_EVENT_ATTRIBUTES, "eventring.link", (int64_t)e->link);
    }
    otlp_close_list(b);
  }
  add_point(t, frame, e->name, e->ns, false, 0);
}

/* ---- Async spans and flows -------------------------------------------------------- */

static uint64_t hash_of_link(const struct eventring_event *e) {
  return evr_hash_word(evr_hash_word(evr_hash_seed(), e->link), e->id);
}

static bool is_linked(const void *none, uintptr_t value, const void *key) {
  const struct otlp_linked *l = (const struct otlp_linked *)value;
  const struct eventring_event *e = key;
  (void)none;
  return l->link == e->link && l->id == e->id;
}

static struct otlp_linked *find_linked(struct otlp_traces *t, const struct eventring_event *e) {
  return (struct otlp_linked *)evr_table_find(&t->linked, hash_of_link(e), is_linked, NULL, e);
}

static struct otlp_linked *add_linked(struct otlp_traces *t, const struct eventring_event *e) {
  struct otlp_linked *l = calloc(1, sizeof *l);
  uintptr_t *value =
      l ? evr_table_take(&t->linked, hash_of_link(e), is_linked, NULL, e) : NULL;
  if (!value) {
    free(l);
    t->failed = true;
    return NULL;
  }
  *value = (uintptr_t)l;
  *l = (struct otlp_linked){.link = e->link, .id = e->id, .domain = e->domain, .begin_ns = e->ns,
                       .incarnation = e->incarnation, .context = e->context,
                       .value.is_json = t->file.is_json};
  return l;
}

static void free_linked(struct otlp_linked *l) {
  otlp_span_release(l->span);
  free(l->value.b.data);
  free(l);
}

static void drop_linked(struct otlp_traces *t, struct otlp_linked *l) {
  const struct eventring_event key = {.link = l->link, .id = l->id};
  evr_table_drop(&t->linked, hash_of_link(&key), (uintptr_t)l);
  if (l->is_flow) {
    if (l->older) l->older->newer = l->newer;
    else t->oldest = l->newer;
    if (l->newer) l->newer->older = l->older;
    else t->newest = l->older;
    t->flow_count--;
  }
  free_linked(l);
}

static void end_async(struct otlp_traces *t, struct otlp_linked *l, enum otlp_end end,
                      uint64_t end_ns) {
  const struct eventring_def *def = eventring_cursor_def(t->run->cursor, l->id);
  const struct otlp_domain *d = otlp_domain_of(t, l->domain, l->incarnation);
  const struct otlp_ended ended = {.end = end, .name = def ? def->name : "(other)", .off_cpu = -1,
                              .begin_ns = l->begin_ns < end_ns ? l->begin_ns : end_ns,
                              .end_ns = end_ns, .is_async = true, .link = l->link,
                              .event_class = def ? def->event_class : EVENTRING_CLASS_USER,
                              .context = l->context, .value = l->value.b.data,
                              .value_size = l->value.b.size};
  struct otlp_record *record =
      t->is_before ? NULL : otlp_record_of(t, d, l->span, &ended, NULL);
  otlp_span_ends(&t->ids, l->span, record);
}

/* Returns the link without the number of the process, which links of a merged recording
   have in their upper bits. */
static uint64_t link_of(const struct eventring_event *e) { return e->link << 16; }

static void begin_async(struct otlp_traces *t, const struct eventring_event *e) {
  struct otlp_linked *l = find_linked(t, e);
  if (l) {
    end_async(t, l, OTLP_NO_END, l->begin_ns);
    drop_linked(t, l);
  }
  l = add_linked(t, e);
  if (!l) return;
  const struct otlp_frame *frame = frame_of_context(t, e);
  const struct otlp_domain *d = otlp_domain_of(t, e->domain, e->incarnation);
  l->span = otlp_span_new(&t->ids, frame ? frame->span : NULL);
  if (!l->span) return;
  l->span->key = evr_hash_word(evr_hash_word(d->hash, e->ns - d->start_ns), link_of(e));
  l->span->key = evr_hash_text(l->span->key, e->name) | 1;
  if (e->payload != EVENTRING_NONE)
    otlp_attribute_payload(&l->value, OTLP_ATTRIBUTES, "eventring.value", t->run->cursor, e);
}

static void take_async(struct otlp_traces *t, const struct eventring_event *e) {
  if (e->role == EVENTRING_ROLE_BEGIN) {
    begin_async(t, e);
    return;
  }
  struct otlp_linked *l = find_linked(t, e);
  const bool has_begin = l != NULL;
  if (!has_begin) begin_async(t, e); /* the span gets this moment only */
  l = find_linked(t, e);
  if (!l) return;
  if (l->span) end_async(t, l, has_begin ? OTLP_WHOLE : OTLP_NO_BEGIN, e->ns);
  drop_linked(t, l);
}

/* Stores the last span of a flow. When there are too many flows without an end, the
   oldest are dropped. */
static void remember_flow(struct otlp_traces *t, const struct eventring_event *e,
                          struct otlp_span *span) {
  enum { MOST_FLOWS = 1 << 16 };
  if (t->flow_count >= MOST_FLOWS) drop_linked(t, t->oldest);
  struct otlp_linked *l = add_linked(t, e);
  if (!l) return;
  l->is_flow = true;
  l->span = otlp_span_keep(span);
  l->older = t->newest;
  if (t->newest) t->newest->newer = l;
  else t->oldest = l;
  t->newest = l;
  t->flow_count++;
}

static void take_flow(struct otlp_traces *t, const struct eventring_event *e) {
  struct otlp_linked *l = find_linked(t, e);
  struct otlp_frame *frame = frame_of_context(t, e);
  put_event(t, e, eva_role_name(e->role));
  if (frame && l && l->span != frame->span && e->role != EVENTRING_ROLE_BEGIN)
    otlp_frame_add_link(&t->spans, frame, l->span, e->name);
  if (l && (frame || e->role != EVENTRING_ROLE_STEP)) drop_linked(t, l);
  if (frame && e->role != EVENTRING_ROLE_END) remember_flow(t, e, frame->span);
}

/* ---- Events ----------------------------------------------------------------------- */

static bool is_trace(const struct eventring_event *e) {
  struct eventring_trace ids;
  return eva_trace(e, &ids);
}

static void take_instant(struct otlp_traces *t, const struct eventring_event *e) {
  if (e->ring == EVENTRING_RUNTIME) return;
  if (!is_trace(e)) {
    put_event(t, e, NULL);
    return;
  }
  struct otlp_flow *flow = otlp_flow_of(&t->spans, e);
  struct otlp_trace said;
  memcpy(&said, e->bytes, sizeof said);
  if (flow && otlp_is_id(said.trace, OTLP_TRACE_SIZE) && otlp_is_id(said.span, OTLP_SPAN_SIZE))
    otlp_flow_says(&t->spans, flow, &said, e->ns);
}

static void take(struct otlp_traces *t, const struct eventring_event *e) {
  const bool is_step = e->ring == EVENTRING_RUNTIME;
  switch (e->kind) {
    case EVENTRING_BEGIN: (is_step ? begin_step : begin_span)(t, e); break;
    case EVENTRING_END: (is_step ? end_step : end_span)(t, e); break;
    case EVENTRING_INSTANT: take_instant(t, e); break;
    case EVENTRING_LINKED:
      if (e->def && e->def->kind == EVENTRING_DEF_FLOW) take_flow(t, e);
      else take_async(t, e);
      break;
    default: break;
  }
}

static int on_event(void *state, const struct eventring_event *e) {
  struct otlp_traces *t = state;
  struct eva_span_time time;
  bool ended;
  if (eva_shares_event(t->shares, e, &time, &ended) < 0) t->failed = true;
  t->is_before = e->ns < t->run->since_ns;
  take(t, e);
  t->is_before = false;
  if (++t->seen % OFTEN == 0) t->run->progress(t->run->progress_context);
  return result(t);
}

static int on_switch(void *state, const struct eventring_switch *change) {
  struct otlp_traces *t = state;
  eva_shares_switch(t->shares, change);
  return 0;
}

static int on_lost(void *state, const struct eventring_loss *loss) {
  struct otlp_traces *t = state;
  eva_shares_lost(t->shares, loss);
  if (loss->ns < t->run->since_ns) return 0;
  if (loss->flags & EVENTRING_LOST_BEFORE) t->file.counts.missed += loss->count;
  else t->file.counts.lost += loss->count;
  return result(t);
}

static const struct eva_known *known(struct otlp_traces *t) {
  if (!t->knows) eva_known_find(&t->known, t->run->cursor, t->run->until_ns);
  t->knows = true;
  return &t->known;
}

static int on_open(void *state, const struct eventring_event *e) {
  struct otlp_traces *t = state;
  if (e->ring == EVENTRING_RUNTIME) return 0;
  const struct eva_so_far so_far = eva_so_far(known(t), t->run->cursor, e);
  struct otlp_ended ended = ended_of(e, OTLP_OPEN);
  ended.begin_ns = e->ns;
  ended.end_ns = e->ns + (so_far.known ? so_far.ns : 0);
  end_flow(t, e, &ended);
  return result(t);
}

/* ---- The file --------------------------------------------------------------------- */

static void *begin(struct export_run *run, bool is_json) {
  struct otlp_traces *t = calloc(1, sizeof *t);
  if (!t) return NULL;
  t->run = run;
  t->ids = (struct otlp_ids){.write = otlp_write_record, .context = t};
  t->spans.ids = &t->ids;
  t->scratch.is_json = t->body.is_json = is_json;
  t->shares = eva_shares_new();
  const int status = otlp_file_open(&t->file, run, is_json, OTLP_RESOURCE_SPANS, OTLP_SCOPE_SPANS,
                                    OTLP_SPANS);
  if (status == 0 && t->shares) {
    eventring_cursor_switches(run->cursor, on_switch, t);
    return t;
  }
  eva_shares_free(t->shares);
  otlp_file_close(&t->file);
  free(t);
  return NULL;
}

static void *begin_protobuf(struct export_run *run) { return begin(run, false); }
static void *begin_json(struct export_run *run) { return begin(run, true); }

static int by_begin(const void *a, const void *b) {
  const struct otlp_linked *const *x = a, *const *y = b;
  if ((*x)->begin_ns != (*y)->begin_ns) return (*x)->begin_ns < (*y)->begin_ns ? -1 : 1;
  if ((*x)->id != (*y)->id) return (*x)->id < (*y)->id ? -1 : 1;
  return ((*x)->link > (*y)->link) - ((*x)->link < (*y)->link);
}

/* Ends the async spans that are open, in the order of their begins. */
static void finish_linked(struct otlp_traces *t) {
  struct otlp_linked **all = calloc(t->linked.used + 1, sizeof(struct otlp_linked *));
  size_t count = 0;
  t->failed |= !all;
  for (size_t i = 0; all && i < t->linked.room; i++)
    if (t->linked.entries[i].value) all[count++] = (struct otlp_linked *)t->linked.entries[i].value;
  if (count) qsort(all, count, sizeof(struct otlp_linked *), by_begin);
  for (size_t i = 0; i < count; i++) {
    struct otlp_linked *l = all[i];
    if (!l->is_flow && l->span) {
      const uint64_t until =
          eva_known_until(known(t), t->run->cursor, l->domain, l->incarnation);
      end_async(t, l, OTLP_OPEN, until > l->begin_ns ? until : l->begin_ns);
    }
    free_linked(l);
  }
  free(all);
  evr_table_free(&t->linked);
}

static void free_all(struct otlp_traces *t) {
  for (int i = 0; i < EVENTRING_MAX_DOMAINS; i++) {
    otlp_end_steps(&t->domain[i]);
    free(t->domain[i].attributes.b.data);
  }
  for (int i = 0; i < EVENTRING_MAX_CLASSES; i++) free(t->class_name[i].b.data);
  free(t->scratch.b.data);
  free(t->body.b.data);
  eva_shares_free(t->shares);
  otlp_file_close(&t->file);
  free(t);
}

static int finish(void *state) {
  struct otlp_traces *t = state;
  otlp_spans_finish(&t->spans, cut_off, t);
  finish_linked(t);
  otlp_ids_finish(&t->ids);
  otlp_file_finish(&t->file);
  const int status = t->failed || t->ids.failed || t->file.failed ? -1 : 0;
  free_all(t);
  return status;
}

const struct export_events export_events_otlp = {
    .reads_before = true, .merged = true, .begin = begin_protobuf, .event = on_event,
    .lost = on_lost, .open = on_open, .finish = finish};
const struct export_events export_events_otlp_json = {
    .reads_before = true, .merged = true, .begin = begin_json, .event = on_event,
    .lost = on_lost, .open = on_open, .finish = finish};
