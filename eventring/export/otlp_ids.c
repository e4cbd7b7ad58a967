/* SPDX-License-Identifier: MIT */
/* otlp_ids.c: finds which trace each span belongs to, once that is known (otlp_ids.h). */
#include "export/otlp_ids.h"

#include <stdlib.h>
#include <string.h>

#include "format/table.h"

_Static_assert(sizeof(struct otlp_trace) == OTLP_SAID_SIZE, "as in the payload");

/* ---- Spans ------------------------------------------------------------------------ */

struct otlp_span *otlp_span_keep(struct otlp_span *span) {
  span->refs++;
  return span;
}

struct otlp_span *otlp_span_new(struct otlp_ids *ids, struct otlp_span *parent) {
  struct otlp_span *span = calloc(1, sizeof *span);
  if (!span) {
    ids->failed = true;
    return NULL;
  }
  span->refs = 1;
  span->parent = parent ? otlp_span_keep(parent) : NULL;
  return span;
}

void otlp_span_release(struct otlp_span *span) {
  while (span && --span->refs == 0) {
    struct otlp_span *parent = span->parent;
    free(span);
    span = parent;
  }
}

/* ---- What was said ---------------------------------------------------------------- */

static bool is_same(const uint8_t *a, const uint8_t *b, size_t size) {
  return memcmp(a, b, size) == 0;
}

/* The most spans that a search outward visits, so that a file with many events `trace` in
   very many spans does not take long. */
enum { MOST_AROUND = 4096 };

/* Tells whether the parent that the span has said is a span around it or around its
   context. */
static bool is_around(const struct otlp_span *span, const uint8_t *id) {
  if (span->inherits && is_same(span->said.span, id, OTLP_SPAN_SIZE)) return true;
  int count = 0;
  for (const struct otlp_span *s = span->parent; s && count < MOST_AROUND; s = s->parent, count++)
    if ((s->says || s->inherits) && is_same(s->said.span, id, OTLP_SPAN_SIZE)) return true;
  return false;
}

/* Gives the trace of this span to the outermost span around it, if no span around it has
   one. */
static void offer(struct otlp_span *span, const struct otlp_trace *said) {
  struct otlp_span *outermost = NULL;
  int count = 0;
  for (struct otlp_span *s = span->parent; s; s = s->parent) {
    if (s->says || s->inherits || s->adopts || s->is_unknown || s->settled ||
        ++count > MOST_AROUND)
      return;
    outermost = s;
  }
  if (!outermost) return;
  outermost->adopts = true;
  outermost->said = *said;
}

void otlp_span_says(struct otlp_span *span, const struct otlp_trace *said) {
  const bool has_parent = otlp_is_id(said->parent, OTLP_SPAN_SIZE);
  const bool remote = has_parent && !is_around(span, said->parent);
  if (span->settled) {
    span->said_late = true;
    span->said = *said;
    return;
  }
  span->is_remote = remote;
  span->says = true;
  span->adopts = span->inherits = false;
  span->said = *said;
  if (!has_parent) offer(span, said);
}

void otlp_span_inherits(struct otlp_span *span, const struct otlp_trace *said) {
  if (span->says || span->settled) return;
  span->inherits = true;
  span->adopts = false;
  span->said = *said;
}

/* ---- Ids -------------------------------------------------------------------------- */

enum { SPAN_ID = 1, TRACE_ID = 2 };

static void derive(uint8_t *id, size_t size, uint64_t key, uint64_t what) {
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    uint64_t part = evr_hash_word(evr_hash_word(key, what), at + 1);
    if (!part) part = 1; /* all zeros is no id */
    memcpy(id + at, &part, sizeof part);
  }
}

static void settle_said(struct otlp_span *span, const struct otlp_span *parent) {
  struct otlp_trace *ids = &span->ids;
  *ids = span->said;
  if (span->is_remote || !parent) return;
  if (is_same(parent->ids.trace, ids->trace, OTLP_TRACE_SIZE))
    memcpy(ids->parent, parent->ids.span, OTLP_SPAN_SIZE);
}

/* Settles the ids of one span. The ids of its parent must be settled. */
static void settle_one(struct otlp_span *span) {
  const struct otlp_span *parent = span->parent;
  struct otlp_trace *ids = &span->ids;
  span->settled = true;
  if (span->says) {
    settle_said(span, parent);
    return;
  }
  derive(ids->span, OTLP_SPAN_SIZE, span->key, SPAN_ID);
  ids->flags = 1; /* means: sampled */
  if (parent) {
    memcpy(ids->trace, parent->ids.trace, OTLP_TRACE_SIZE);
    memcpy(ids->parent, parent->ids.span, OTLP_SPAN_SIZE);
    ids->flags = parent->ids.flags;
  } else if (span->inherits || span->adopts) {
    memcpy(ids->trace, span->said.trace, OTLP_TRACE_SIZE);
    ids->flags = span->said.flags;
    if (span->inherits) memcpy(ids->parent, span->said.span, OTLP_SPAN_SIZE);
  } else {
    derive(ids->trace, OTLP_TRACE_SIZE, span->key, TRACE_ID);
  }
}

static void settle(struct otlp_span *span) {
  struct otlp_span *s = span;
  if (span->settled) return;
  for (; !s->is_remote && s->parent && !s->parent->settled; s = s->parent) s->parent->below = s;
  for (;; s = s->below) {
    settle_one(s);
    if (s == span) return;
  }
}

const struct otlp_trace *otlp_span_late(const struct otlp_span *span) {
  const bool is_news = span->said_late &&
                       (!is_same(span->said.trace, span->ids.trace, OTLP_TRACE_SIZE) ||
                        !is_same(span->said.span, span->ids.span, OTLP_SPAN_SIZE));
  return is_news ? &span->said : NULL;
}

/* ---- Records ---------------------------------------------------------------------- */

struct otlp_record *otlp_record_new(struct otlp_ids *ids, struct otlp_span *span, size_t size) {
  struct otlp_record *record = malloc(sizeof *record + size);
  if (!record) {
    ids->failed = true;
    return NULL;
  }
  *record = (struct otlp_record){.span = otlp_span_keep(span), .size = size};
  return record;
}

static void free_record(struct otlp_record *record) {
  for (uint32_t i = 0; i < record->link_count; i++) otlp_span_release(record->links[i].span);
  free(record->links);
  otlp_span_release(record->span);
  free(record);
}

static size_t weight(const struct otlp_record *record) {
  return sizeof *record + sizeof *record->span + record->size +
         record->link_count * sizeof *record->links;
}

/* Returns the open span on which the ids of `span` depend, or NULL if there is none. */
static struct otlp_span *awaited(struct otlp_span *span) {
  for (; span && !span->settled; span = span->parent) {
    if (!span->ended) return span;
    if (span->is_remote) return NULL;
  }
  return NULL;
}

static struct otlp_span *awaited_by(const struct otlp_record *record) {
  struct otlp_span *span = awaited(record->span);
  for (uint32_t i = 0; !span && i < record->link_count; i++)
    span = awaited(record->links[i].span);
  return span;
}

bool otlp_is_link(const struct otlp_record *record, const struct otlp_link *link) {
  return link->flow || !is_same(link->span->ids.parent, record->span->ids.span, OTLP_SPAN_SIZE);
}

static void write_record(struct otlp_ids *ids, struct otlp_record *record) {
  settle(record->span);
  for (uint32_t i = 0; i < record->link_count; i++) settle(record->links[i].span);
  ids->write(ids->context, record);
  free_record(record);
}

/* ---- What is held ----------------------------------------------------------------- */

static void add_holder(struct otlp_ids *ids, struct otlp_span *span) {
  otlp_span_keep(span);
  span->before = NULL;
  span->after = ids->holders;
  if (ids->holders) ids->holders->before = span;
  ids->holders = span;
  ids->holder_count++;
}

static void drop_holder(struct otlp_ids *ids, struct otlp_span *span) {
  if (span->before) span->before->after = span->after;
  else ids->holders = span->after;
  if (span->after) span->after->before = span->before;
  ids->holder_count--;
  otlp_span_release(span);
}

/* Adds a list of records, of `bytes` in all, to those held for the span. */
static void hold(struct otlp_ids *ids, struct otlp_span *span, struct otlp_record *first,
                 struct otlp_record *last, size_t bytes) {
  if (!span->first) {
    add_holder(ids, span);
    span->first = first;
  } else {
    span->last->next = first;
  }
  span->last = last;
  span->held += bytes;
  ids->held += bytes;
}

/* Removes and returns the records held for the span. */
static struct otlp_record *take_held(struct otlp_ids *ids, struct otlp_span *span,
                                     struct otlp_record **last, size_t *bytes) {
  struct otlp_record *first = span->first;
  *last = span->last;
  *bytes = span->held;
  if (!first) return NULL;
  ids->held -= span->held;
  span->first = span->last = NULL;
  span->held = 0;
  drop_holder(ids, span);
  return first;
}

/* Writes a record, or holds it for the span on which it depends. */
static void pass_on(struct otlp_ids *ids, struct otlp_record *record) {
  struct otlp_span *span = awaited_by(record);
  record->next = NULL;
  if (span) hold(ids, span, record, record, weight(record));
  else write_record(ids, record);
}

static void settle_holder(struct otlp_ids *ids, struct otlp_span *span) {
  struct otlp_record *last, *next;
  size_t bytes;
  otlp_span_keep(span);
  settle(span);
  for (struct otlp_record *r = take_held(ids, span, &last, &bytes); r; r = next) {
    next = r->next;
    write_record(ids, r);
  }
  otlp_span_release(span);
}

/* Settles the spans that hold at least half of the average; together they hold at least
   half of all bytes. */
static void settle_largest(struct otlp_ids *ids) {
  const size_t least = ids->held / (2 * ids->holder_count);
  struct otlp_span *next;
  for (struct otlp_span *span = ids->holders; span; span = next) {
    next = span->after;
    if (span->held >= least) settle_holder(ids, span);
  }
}

void otlp_span_ends(struct otlp_ids *ids, struct otlp_span *span, struct otlp_record *record) {
  struct otlp_record *last, *next;
  size_t bytes;
  otlp_span_keep(span);
  span->ended = true;
  struct otlp_record *held = take_held(ids, span, &last, &bytes);
  struct otlp_span *outer = awaited(span);
  if (outer && held) hold(ids, outer, held, last, bytes);
  if (record) pass_on(ids, record);
  for (struct otlp_record *r = outer ? NULL : held; r; r = next) {
    next = r->next;
    pass_on(ids, r);
  }
  if (ids->held > OTLP_MOST_HELD) settle_largest(ids);
  otlp_span_release(span);
}

void otlp_ids_finish(struct otlp_ids *ids) {
  while (ids->holders) settle_holder(ids, ids->holders);
}
