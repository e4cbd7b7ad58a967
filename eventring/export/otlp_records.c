/* SPDX-License-Identifier: MIT */
/* otlp_records.c: makes a record of each span that has ended, and writes records as spans
   of the file when their ids are settled (otlp_ids.h). */
#include "export/otlp_traces.h"

#include <stdlib.h>

#include "eventring/tools.h"

enum { KIND_INTERNAL = 1, KIND_SERVER = 2 };
/* flags of a record, added to those that the span said */
enum { PARENT_IS_KNOWN = 0x100, PARENT_IS_REMOTE = 0x200 };

/* ---- Domains and classes ---------------------------------------------------------- */

static uint64_t hash_of_domain(uint64_t pid, uint64_t start_wall_ns, uint64_t tid,
                               uint64_t since_start) {
  const uint64_t hash = evr_hash_word(evr_hash_word(0, pid), start_wall_ns);
  return evr_hash_word(evr_hash_word(hash, tid), since_start);
}

static void describe(struct otlp_traces *t, struct otlp_domain *d, uint32_t slot,
                     uint32_t incarnation) {
  struct eventring_domain_info life = {.size = sizeof life};
  const struct eventring_info *info = t->run->info;
  struct eventring_process process = {.pid = info->pid, .start_wall_ns = info->start_wall_ns,
                                      .start_ns = info->start_ns};
  struct otlp_text *a = &d->attributes;
  if (eventring_cursor_life(t->run->cursor, slot, incarnation, &life) != 0)
    life = (struct eventring_domain_info){.start_ns = 0};
  if (life.process) eventring_cursor_process(t->run->cursor, life.process, &process);
  d->process = life.process;
  d->incarnation = incarnation;
  d->is_known = true;
  d->start_ns = process.start_ns;
  d->hash = hash_of_domain((uint64_t)process.pid, (uint64_t)process.start_wall_ns,
                           (uint64_t)life.tid, life.start_ns - process.start_ns);
  a->is_json = t->file.is_json;
  a->b.size = 0;
  otlp_attribute_int(a, OTLP_ATTRIBUTES, "eventring.domain", slot);
  if (life.name[0]) otlp_attribute_string(a, OTLP_ATTRIBUTES, "thread.name", life.name);
  if (life.tid) otlp_attribute_int(a, OTLP_ATTRIBUTES, "thread.id", life.tid);
  t->failed |= a->b.failed;
}

void otlp_end_steps(struct otlp_domain *d) {
  for (int i = 0; d->steps && i < EVENTRING_MAX_CLASSES; i++) otlp_span_release(d->steps[i].span);
  free(d->steps);
  d->steps = NULL;
}

struct otlp_domain *otlp_domain_of(struct otlp_traces *t, uint32_t slot, uint32_t incarnation) {
  struct otlp_domain *d = &t->domain[slot % EVENTRING_MAX_DOMAINS];
  if (__builtin_expect(d->is_known && d->incarnation == incarnation, 1)) return d;
  otlp_end_steps(d);
  describe(t, d, slot, incarnation);
  return d;
}

static const struct otlp_text *class_of(struct otlp_traces *t, unsigned event_class) {
  struct otlp_text *text = &t->class_name[event_class % EVENTRING_MAX_CLASSES];
  const char *name = eventring_cursor_name(t->run->cursor, EVENTRING_NAME_CLASS, event_class);
  if (text->b.size) return text;
  text->is_json = t->file.is_json;
  otlp_attribute_string(text, OTLP_ATTRIBUTES, "eventring.class", name ? name : "");
  t->failed |= text->b.failed;
  return text;
}

/* ---- Bodies of spans -------------------------------------------------------------- */

static void put_attributes(struct otlp_traces *t, struct otlp_text *b, const struct otlp_domain *d,
                           const struct otlp_span *span, const struct otlp_ended *s) {
  const struct otlp_text *class_name = class_of(t, s->event_class);
  otlp_open_list(b, OTLP_ATTRIBUTES);
  otlp_join(b, s->value, s->value_size);
  otlp_join(b, class_name->b.data, class_name->b.size);
  otlp_join(b, d->attributes.b.data, d->attributes.b.size);
  if (s->context)
    otlp_attribute_int(b, OTLP_ATTRIBUTES, "eventring.context", (int64_t)s->context);
  if (s->is_async) otlp_attribute_int(b, OTLP_ATTRIBUTES, "eventring.link", (int64_t)s->link);
  if (s->suspended_ns)
    otlp_attribute_int(b, OTLP_ATTRIBUTES, "eventring.suspended_ns", (int64_t)s->suspended_ns);
  if (s->off_cpu > 0) otlp_attribute_int(b, OTLP_ATTRIBUTES, "eventring.off_cpu_ns", s->off_cpu);
  if (s->end == OTLP_OPEN) otlp_attribute_bool(b, OTLP_ATTRIBUTES, "eventring.open", true);
  if (span->is_unknown && !span->says)
    otlp_attribute_bool(b, OTLP_ATTRIBUTES, "eventring.trace_unknown", true);
  if (s->end == OTLP_NO_BEGIN || s->end == OTLP_NO_END)
    otlp_attribute_string(b, OTLP_ATTRIBUTES, "eventring.torn",
                          s->end == OTLP_NO_END ? "its end was not recorded"
                                                : "its begin is unknown");
  otlp_close_list(b);
}

static int by_time(const void *a, const void *b) {
  const struct otlp_point *const *x = a, *const *y = b;
  return ((*x)->ns > (*y)->ns) - ((*x)->ns < (*y)->ns);
}

static void put_points(struct otlp_text *b, struct otlp_frame *frame) {
  if (frame->point_count) {
    qsort(frame->points, frame->point_count, sizeof(struct otlp_point *), by_time);
    otlp_open_list(b, OTLP_EVENTS);
    for (uint32_t i = 0; i < frame->point_count; i++) {
      const size_t item = otlp_item(b, OTLP_EVENTS);
      otlp_join(b, frame->points[i]->body, frame->points[i]->size);
      otlp_close(b, item);
    }
    otlp_close_list(b);
  }
  if (frame->dropped_points) otlp_number(b, OTLP_DROPPED_EVENTS, frame->dropped_points);
}

/* Makes the record of a span. `frame` has what happened in it, or is NULL. Returns NULL
   when out of memory. */
struct otlp_record *otlp_record_of(struct otlp_traces *t, const struct otlp_domain *d,
                                     struct otlp_span *span, const struct otlp_ended *s,
                                     struct otlp_frame *frame) {
  struct otlp_text *b = &t->body;
  const struct eventring_info *info = t->run->info;
  b->b.size = 0;
  otlp_string(b, OTLP_NAME, s->name, strlen(s->name));
  otlp_number(b, OTLP_START_TIME, otlp_wall_ns(info, s->begin_ns));
  otlp_number(b, OTLP_END_TIME, otlp_wall_ns(info, s->end_ns));
  put_attributes(t, b, d, span, s);
  if (frame) put_points(b, frame);
  struct otlp_record *record = b->b.failed ? NULL : otlp_record_new(&t->ids, span, b->b.size);
  t->failed |= !record;
  if (!record) return NULL;
  memcpy(record->body, b->b.data, b->b.size);
  record->process = d->process;
  if (!frame) return record;
  record->links = frame->links;
  record->link_count = frame->link_count;
  record->dropped_links = frame->dropped_links;
  frame->links = NULL;
  frame->link_count = 0;
  return record;
}

/* ---- Writing ---------------------------------------------------------------------- */

static void put_link(struct otlp_text *b, const struct otlp_trace *ids, const char *why,
                     const char *name) {
  const size_t item = otlp_item(b, OTLP_LINKS);
  otlp_bytes(b, OTLP_LINK_TRACE_ID, ids->trace, OTLP_TRACE_SIZE);
  otlp_bytes(b, OTLP_LINK_SPAN_ID, ids->span, OTLP_SPAN_SIZE);
  otlp_open_list(b, OTLP_LINK_ATTRIBUTES);
  otlp_attribute_string(b, OTLP_LINK_ATTRIBUTES, "eventring.link", why);
  if (name) otlp_attribute_string(b, OTLP_LINK_ATTRIBUTES, "eventring.flow", name);
  otlp_close_list(b);
  otlp_number(b, OTLP_LINK_FLAGS, ids->flags | PARENT_IS_KNOWN);
  otlp_close(b, item);
}

static void put_links(struct otlp_text *b, const struct otlp_record *record) {
  const struct otlp_trace *late = otlp_span_late(record->span);
  uint32_t count = late != NULL;
  for (uint32_t i = 0; i < record->link_count; i++)
    count += otlp_is_link(record, &record->links[i]);
  if (count) {
    otlp_open_list(b, OTLP_LINKS);
    if (late) put_link(b, late, "ids said late", NULL);
    for (uint32_t i = 0; i < record->link_count; i++) {
      const struct otlp_link *link = &record->links[i];
      if (otlp_is_link(record, link))
        put_link(b, &link->span->ids, link->flow ? "flow" : "within", link->flow);
    }
    otlp_close_list(b);
  }
  if (record->dropped_links) otlp_number(b, OTLP_DROPPED_LINKS, record->dropped_links);
}

void otlp_write_record(void *context, struct otlp_record *record) {
  struct otlp_traces *t = context;
  const struct otlp_span *span = record->span;
  const bool has_parent = otlp_is_id(span->ids.parent, OTLP_SPAN_SIZE);
  struct otlp_text *b = otlp_file_items(&t->file, record->process);
  const uint32_t flags =
      span->ids.flags | PARENT_IS_KNOWN | (span->is_remote ? PARENT_IS_REMOTE : 0);
  if (!b) return;
  const size_t item = otlp_item(b, OTLP_SPANS);
  otlp_bytes(b, OTLP_TRACE_ID, span->ids.trace, OTLP_TRACE_SIZE);
  otlp_bytes(b, OTLP_SPAN_ID, span->ids.span, OTLP_SPAN_SIZE);
  if (has_parent) otlp_bytes(b, OTLP_PARENT_SPAN_ID, span->ids.parent, OTLP_SPAN_SIZE);
  otlp_number(b, OTLP_FLAGS, flags);
  otlp_number(b, OTLP_KIND, span->is_remote ? KIND_SERVER : KIND_INTERNAL);
  otlp_join(b, record->body, record->size);
  put_links(b, record);
  otlp_close(b, item);
}

