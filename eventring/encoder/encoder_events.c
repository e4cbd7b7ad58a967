/* SPDX-License-Identifier: MIT */
/* encoder_events.c: events, losses, suspensions (encoder.h has the design). */
#include "encoder/encoder.h"

#include <string.h>

#include "format/sized.h"

enum { LINK_WORDS = 2 };

/* ---- Arguments ---------------------------------------------------------------------- */

static int check_place(const eventring_encoder *e, unsigned slot, unsigned ring, uint64_t ns,
                       struct eventring_error *error) {
  if (slot >= EVENTRING_MAX_DOMAINS || ring >= EVENTRING_RINGS)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "there is no domain %u, ring %u", slot, ring);
  if (ns < e->header.start_ns || ns > INT64_MAX)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "a time is before the start, or too late");
  return EVENTRING_OK;
}

static int check_event(const eventring_encoder *e, const struct eventring_event *event,
                       struct eventring_error *error) {
  if (event->kind < EVENTRING_BEGIN || event->kind > EVENTRING_LINKED || !event->incarnation ||
      event->id >= EVENTRING_MAX_EVENTS || event->context == UINT64_MAX)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0,
                    "kind, id, incarnation or context of an event is out of range");
  return check_place(e, event->domain, event->ring, event->ns, error);
}

/* ---- Payloads ----------------------------------------------------------------------- */

static unsigned put_bytes(const struct eventring_event *event, unsigned most, uint64_t *words) {
  size_t room = (most - 1) * sizeof *words, size = event->size;
  if (room > EVENTRING_MAX_PAYLOAD) room = EVENTRING_MAX_PAYLOAD;
  bool cut = size > room || event->flags & EVENTRING_TRUNCATED;
  if (size > room)
    size = event->payload == EVENTRING_STRING ? eventring_text_fit(event->bytes, size, room) : room;
  unsigned count = format_text_words(size);
  words[count] = 0; /* words[0] if there are none */
  words[0] = size | (cut ? FORMAT_BYTES_TRUNCATED : 0);
  if (size) memcpy(words + 1, event->bytes, size);
  return 1 + count;
}

/* Words of the payload, which is stored in `words`; -1: it is not valid. */
static int put_payload(const struct eventring_event *event, uint64_t *words) {
  unsigned most = FORMAT_PAYLOAD_WORDS, first = 0;
  if (event->kind == EVENTRING_LINKED) {
    words[0] = event->link;
    words[1] = event->role;
    first = LINK_WORDS;
    most -= LINK_WORDS;
  }
  switch (event->payload) {
  case EVENTRING_NONE:
    return (int)first;
  case EVENTRING_INT:
  case EVENTRING_UINT:
  case EVENTRING_DOUBLE:
  case EVENTRING_STRING_ID:
  case EVENTRING_STACK_ID:
    words[first] = event->value.u;
    return (int)first + 1;
  case EVENTRING_STRING:
  case EVENTRING_BYTES:
    if (event->size && !event->bytes) return -1;
    return (int)(first + put_bytes(event, most, words + first));
  case EVENTRING_VALUES:
  case EVENTRING_SAMPLE:
  case EVENTRING_RAW:
    if (!event->bytes || event->size % 8 || event->size > most * sizeof *words) return -1;
    memcpy(words + first, event->bytes, event->size);
    return (int)(first + event->size / 8);
  default:
    return -1;
  }
}

/* ---- Open spans --------------------------------------------------------------------- */

/* As a reader of the file does when it comes to the event. */
static void apply(struct encoder_ring *ring, const struct eventring_event *event) {
  struct evr_span_stacks *spans = &ring->spans;
  struct evr_span begin;
  if (event->kind == EVENTRING_BEGIN)
    evr_spans_push(spans, (struct evr_span){.ticks = event->ns, .ns = event->ns,
                                            .id = event->id,
                                            .suspended = spans->present->suspended});
  else if (event->kind == EVENTRING_END)
    evr_spans_pop(spans, event->id, &begin);
}

/* The span that an end of this id closes; NULL: none. */
static const struct evr_span *span_of_end(const struct evr_span_stack *stack, unsigned id) {
  unsigned left = FORMAT_END_SEARCH;
  for (uint32_t i = stack->count; i > 0 && left > 0; left--)
    if (stack->span[--i].id == id) return &stack->span[i];
  return NULL;
}

static int put_suspension(eventring_encoder *e, struct encoder_ring *ring, uint64_t from,
                          const struct eventring_event *event, struct eventring_error *error) {
  uint64_t suspend = EVENTRING_TAIL(FORMAT_WORD_REMARK, FORMAT_REMARK_SUSPEND, 0);
  uint64_t resume = EVENTRING_TAIL(FORMAT_WORD_REMARK, FORMAT_REMARK_RESUME, 0);
  int status = encoder_append(e, ring, suspend, from, event->incarnation, event->context, NULL,
                              error);
  if (status != EVENTRING_OK) return status;
  evr_spans_suspend(&ring->spans, event->context, from);
  status = encoder_append(e, ring, resume, event->ns, event->incarnation, event->context, NULL,
                          error);
  evr_spans_resume(&ring->spans, event->context, event->ns);
  return status;
}

/* Makes up for what the stacks do not know of the suspensions within the span that ends. If others
   that began later are still open, it would count for them, too: then it is not known. */
static int catch_up(eventring_encoder *e, struct encoder_ring *ring,
                    const struct eventring_event *event, struct eventring_error *error) {
  if (ring->position.incarnation != event->incarnation) return EVENTRING_OK;
  struct evr_span_stack *stack = evr_spans_of(&ring->spans, event->context);
  const struct evr_span *span = stack ? span_of_end(stack, event->id) : NULL;
  if (!span || span->ticks >= event->ns || span != &stack->span[stack->count - 1])
    return EVENTRING_OK;
  evr_spans_resume(&ring->spans, event->context, event->ns);
  uint64_t known = stack->suspended - span->suspended, said = event->suspended_ns;
  if (said > event->ns - span->ticks) said = event->ns - span->ticks;
  if (said <= known) return EVENTRING_OK;
  return put_suspension(e, ring, event->ns - (said - known), event, error);
}

/* ---- Events ------------------------------------------------------------------------- */

static int put_event(eventring_encoder *e, struct encoder_ring *ring,
                     const struct eventring_event *event, struct eventring_error *error) {
  uint64_t words[FORMAT_PAYLOAD_WORDS + 1];
  int count = put_payload(event, words), status = EVENTRING_OK;
  if (count < 0)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "the payload of an event is not valid");
  if (event->kind == EVENTRING_END && event->suspended_ns)
    status = catch_up(e, ring, event, error);
  if (status == EVENTRING_OK)
    status = encoder_append(e, ring, EVENTRING_TAIL(event->kind, event->id, count), event->ns,
                            event->incarnation, event->context, words, error);
  if (status != EVENTRING_OK) return status;
  ring->events++;
  if (ring->spans.present->since) evr_spans_resume(&ring->spans, event->context, event->ns);
  apply(ring, event);
  return EVENTRING_OK;
}

static int put_open_remark(eventring_encoder *e, struct encoder_ring *ring,
                           enum format_remark remark, struct format_open open, uint64_t ns,
                           struct eventring_error *error) {
  uint64_t words[FORMAT_OPEN_WORDS];
  memcpy(words, &open, sizeof words);
  return encoder_append(e, ring, EVENTRING_TAIL(FORMAT_WORD_REMARK, remark, FORMAT_OPEN_WORDS),
                        ns, ring->position.incarnation, ring->position.context, words, error);
}

/* A span that is open, and began where nothing was recorded. */
static int find_span(eventring_encoder *e, struct encoder_ring *ring,
                     const struct eventring_event *event, struct eventring_error *error) {
  struct format_open open = {.tail = EVENTRING_TAIL(EVENTRING_BEGIN, event->id, 0),
                             .ticks = event->ns, .context = event->context};
  uint64_t now = ring->latest > event->ns ? ring->latest : event->ns;
  int status = EVENTRING_OK;
  if (!ring->at) encoder_set_incarnation(ring, event->incarnation);
  if (ring->at)
    status = put_open_remark(e, ring, FORMAT_REMARK_FOUND, open, now, error);
  else
    ring->pending = true;
  if (status != EVENTRING_OK) return status;
  evr_spans_found(&ring->spans, event->context,
                  (struct evr_span){.ticks = event->ns, .ns = event->ns, .id = event->id}, 0, now);
  if (ring->latest < event->ns) ring->latest = event->ns;
  return EVENTRING_OK;
}

/* A span whose end is not known. */
static int tear_span(eventring_encoder *e, struct encoder_ring *ring,
                     const struct eventring_event *event, struct eventring_error *error) {
  struct format_open open = {.tail = EVENTRING_TAIL(EVENTRING_BEGIN, event->id, 0),
                             .ticks = event->begin_ns, .context = event->context};
  struct evr_span_stack *stack = evr_spans_of(&ring->spans, event->context);
  uint32_t i = stack ? stack->count : 0;
  while (i > 0 && (stack->span[i - 1].id != event->id ||
                   stack->span[i - 1].ticks != event->begin_ns))
    i--;
  if (!i) return EVENTRING_OK;
  int status = EVENTRING_OK;
  if (ring->at)
    status = put_open_remark(e, ring, FORMAT_REMARK_TORN, open, event->ns, error);
  else
    ring->pending = true;
  if (status == EVENTRING_OK) evr_spans_remove(&ring->spans, stack, i - 1);
  return status;
}

int eventring_encoder_event_sized(eventring_encoder *e, const struct eventring_event *event,
                                  size_t event_size, struct eventring_error *error) {
  struct eventring_event own;
  int status = encoder_check(e, error);
  if (status != EVENTRING_OK) return status;
  if (!event) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no event");
  if (event_size < sizeof own) {
    evr_copy_sized(&own, sizeof own, event, event_size);
    event = &own;
  }
  status = check_event(e, event, error);
  if (status != EVENTRING_OK) return status;
  struct encoder_ring *ring = encoder_ring(e, event->domain, event->ring, error);
  if (!ring) return EVENTRING_E_MEMORY;
  if (!(event->flags & EVENTRING_SYNTHETIC)) return put_event(e, ring, event, error);
  if (event->kind == EVENTRING_BEGIN) return find_span(e, ring, event, error);
  if (event->kind == EVENTRING_END) return tear_span(e, ring, event, error);
  return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "a synthetic event is a begin or an end");
}

/* ---- Losses ------------------------------------------------------------------------- */

int eventring_encoder_lost_sized(eventring_encoder *e, const struct eventring_loss *loss,
                                 size_t loss_size, struct eventring_error *error) {
  struct eventring_loss own = {0};
  int status = encoder_check(e, error);
  if (status != EVENTRING_OK) return status;
  if (loss) evr_copy_sized(&own, sizeof own, loss, loss_size);
  if (!own.incarnation) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no loss");
  status = check_place(e, own.domain, own.ring, own.ns, error);
  if (status != EVENTRING_OK) return status;
  struct encoder_ring *ring = encoder_ring(e, own.domain, own.ring, error);
  if (!ring) return EVENTRING_E_MEMORY;
  if (own.count >= FORMAT_MAX_SEQUENCE - ring->events)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "more events are lost than can be counted");
  if (!own.count) return EVENTRING_OK;
  bool is_missed = !ring->sequence && own.flags & EVENTRING_LOST_BEFORE;
  if (!ring->position.incarnation) encoder_set_incarnation(ring, own.incarnation);
  if (!ring->sequence && !is_missed) status = encoder_block_begin(e, ring, own.ns, error);
  if (status == EVENTRING_OK) status = encoder_block_end(e, ring, error);
  if (status != EVENTRING_OK) return status;
  e->incomplete |= is_missed;
  encoder_set_incarnation(ring, own.incarnation);
  ring->events += own.count;
  ring->pending = true;
  ring->gap_ns = own.ns;
  if (ring->latest < own.ns) ring->latest = own.ns;
  return EVENTRING_OK;
}

/* ---- Suspensions -------------------------------------------------------------------- */

static int change_context(eventring_encoder *e, unsigned slot, enum eventring_ring index,
                          uint64_t context, uint64_t ns, enum format_remark remark,
                          struct eventring_error *error) {
  int status = encoder_check(e, error);
  if (status == EVENTRING_OK) status = check_place(e, slot, (unsigned)index, ns, error);
  if (status != EVENTRING_OK) return status;
  if (context == UINT64_MAX)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "the context is out of range");
  struct encoder_ring *ring = e->ring[slot * EVENTRING_RINGS + (unsigned)index];
  if (!ring || !ring->position.incarnation || !evr_spans_of(&ring->spans, context))
    return EVENTRING_OK;
  const struct format_position *p = &ring->position;
  status = encoder_append(e, ring, EVENTRING_TAIL(FORMAT_WORD_REMARK, remark, 1), ns,
                          p->incarnation, p->context, &context, error);
  if (status != EVENTRING_OK) return status;
  if (remark == FORMAT_REMARK_SUSPEND) {
    evr_spans_suspend(&ring->spans, context, ns);
  } else {
    evr_spans_resume(&ring->spans, context, ns);
    ring->position.context = context;
    evr_spans_enter(&ring->spans, context);
  }
  return EVENTRING_OK;
}

int eventring_encoder_suspend(eventring_encoder *e, unsigned slot, enum eventring_ring ring,
                              uint64_t context, uint64_t ns, struct eventring_error *error) {
  return change_context(e, slot, ring, context, ns, FORMAT_REMARK_SUSPEND, error);
}

int eventring_encoder_resume(eventring_encoder *e, unsigned slot, enum eventring_ring ring,
                             uint64_t context, uint64_t ns, struct eventring_error *error) {
  return change_context(e, slot, ring, context, ns, FORMAT_REMARK_RESUME, error);
}
