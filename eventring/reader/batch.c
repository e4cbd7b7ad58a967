/* SPDX-License-Identifier: MIT */
/* batch.c: delivers spans many at a time.
 *
 * This file does what delivery.c does for each event of a run, but without a call for
 * each event and without an event to fill. It handles the frequent events: begins, ends
 * of the innermost span, counters, instants, flows and async spans, none of them earlier
 * than the event before it. The first event of another form, or one that the user of the
 * cursor does not want in batches, ends the batch, and delivery.c delivers it.
 *
 * Where the context changes, the events that follow are a separate part (decode.h), whose
 * ends are compared with the stack of the part's context. For a user who wants events of
 * several contexts the batch goes on with that part.
 *
 * A reader that counts spans needs only ends: an end has all that the begin has. So a
 * batch has the spans that ended in it and the spans that it left open, each with the
 * time that the spans directly within it took. For a user who wants the events as they
 * were written, eventring_batch_each makes them again from the words.
 *
 * decode.c makes these lists out of words. A thread may have done so already (ahead.c):
 * its result is used if the reader may go that far, else the words are decoded here. In
 * both cases the ends of spans that began before the batch are compared with the stack of
 * the reader. The batch ends before an end that is not that of the innermost span, or
 * whose context was suspended after the span's begin.
 *
 * At the end of a batch, the spans that it leaves open are put onto the stack of the
 * reader. There is no batch when the stack is about to become too large (span_stack.h).
 */
#include "reader/run.h"

#include <stdlib.h>
#include <string.h>

#include "reader/cursor.h"

/* Returns what batches need of a definition whose events are points of `words` words,
   exactly or at least. */
static struct evr_batched points_of(const struct eventring_def *def, unsigned kind,
                                    unsigned words) {
  const uint64_t payload = kind == EVENTRING_COUNTER ? def->payload : 0;
  return (struct evr_batched){
      .tail = (uint64_t)def->id << 32 | (uint64_t)kind << 48 | payload << 56,
      .what = (uint32_t)EVENTRING_TAIL(kind, 0, words),
      .is_linked = kind == EVENTRING_LINKED, .value = kind != EVENTRING_INSTANT};
}

struct evr_batched evr_definition_batched(const struct evr_definition *d) {
  const struct eventring_def *def = &d->def;
  const bool is_number = def->payload - EVENTRING_INT <= EVENTRING_DOUBLE - EVENTRING_INT;
  const bool is_named =
      def->payload == EVENTRING_INT && strcmp(def->unit, EVENTRING_UNIT_ID) == 0;
  if (def->kind == EVENTRING_DEF_SPAN)
    return (struct evr_batched){.tail = (uint64_t)def->id << 32,
                                .classes = 1ull << (def->event_class & 63), .is_named = is_named,
                                .is_measured = def->measure == EVENTRING_OFF_CPU};
  if (is_named) return (struct evr_batched){0};
  switch (def->kind) {
    case EVENTRING_DEF_COUNTER:
      return is_number && !def->quantity ? points_of(def, EVENTRING_COUNTER, 1)
                                         : (struct evr_batched){0};
    case EVENTRING_DEF_INSTANT: return points_of(def, EVENTRING_INSTANT, is_number);
    case EVENTRING_DEF_ASYNC:
    case EVENTRING_DEF_FLOW: return points_of(def, EVENTRING_LINKED, 2);
    default: return (struct evr_batched){0};
  }
}

struct stretch { /* events of a batch that have the same context */
  const uint64_t *words;
  uint64_t context;
  uint32_t depth; /* depth of the stack before the first of these events */
};

/* The memory that an evr_sink needs to make batches. */
struct evr_batch_room {
  struct eventring_outer outer[EVENTRING_BATCH];
  struct stretch stretch[EVENTRING_BATCH];
  struct evr_decoded_room decoded;
};

struct eventring_written { /* what a batch was made of */
  const struct stretch *stretch;
  uint32_t stretches;
  struct evr_times times;
};

static bool may_begin(const struct evr_span_stacks *spans) {
  return spans->present != &spans->homeless &&
         spans->spans + EVENTRING_BATCH <= EVR_MOST_SPANS;
}

/* Returns for how many nanoseconds a context was suspended for `ticks`, at most `took`,
   with the conversion of duration_ns in delivery.c. */
static uint64_t suspended_ns(const struct evr_part *part, uint64_t ticks, uint64_t took) {
  if (!ticks) return 0;
  const uint64_t ns =
      (uint64_t)((unsigned __int128)ticks * part->times.multiplier >> FORMAT_CLOCK_SHIFT);
  return ns < took ? ns : took;
}

/* Finds on the stack, without changing it, the spans that end in the part and began
   before it. Returns the word up to which the part can be a batch. */
static uint32_t match_outer(const struct evr_ring_reader *reader, const struct evr_part *part,
                            const struct evr_lists *lists, const struct evr_sink *sink,
                            struct eventring_outer *outer) {
  const struct evr_span_stack *stack = reader->spans.present;
  const uint64_t *words = reader->blocks.held->words;
  const bool may_suspend = sink->contents & EVENTRING_BATCH_SUSPENDED;
  uint64_t before = 0; /* running time of the span that ended just before */
  for (uint32_t i = 0; i < part->outer; i++) {
    const struct evr_mark mark = lists->mark[i];
    if (i >= stack->count) return mark.word;
    const struct evr_span *span = &stack->span[stack->count - 1 - i];
    const uint64_t ticks = stack->suspended - span->suspended;
    if (span->id != word_id(words[mark.word]) || (ticks && !may_suspend)) return mark.word;
    const struct eventring_brief *ended = &lists->brief[mark.brief];
    uint64_t ns = part->times.from_ns + ended->after;
    outer[i].within = span->within + before + ended->within;
    outer[i].took = span->ns < ns ? ns - span->ns : 0;
    outer[i].suspended = suspended_ns(part, ticks, outer[i].took);
    before = outer[i].took - outer[i].suspended;
  }
  return part->to;
}

/* Moves on behind the part: takes the spans that ended off the reader's stack, and puts
   those left open onto it. `within` is the running time, in ns, of the spans directly
   within the innermost span that stays. */
static void pass_part(struct evr_ring_reader *reader, struct evr_sink *sink,
                      const struct evr_part *part, const struct evr_lists *lists,
                      uint64_t within) {
  const uint64_t *words = reader->blocks.held->words;
  const struct eventring_brief *opened = lists->opened - part->opened;
  const struct evr_mark *marks = lists->mark + part->outer;
  struct evr_event_run run = {.at = words + part->to,
                              .depth = reader->spans.present->count - part->outer};
  reader->in_run = evr_part_events(part);
  end_run(reader, sink, &run);
  if (run.depth) reader->spans.present->span[run.depth - 1].within += within;
  for (uint32_t i = 0; i < part->opened; i++) {
    uint64_t word = words[marks[i].word];
    uint64_t ticks = part->times.ticks + evr_times_ticks(&part->times, word);
    evr_spans_push(&reader->spans,
                   (struct evr_span){.ticks = ticks,
                                     .ns = part->times.from_ns + opened[i].after,
                                     .id = word_id(word), .within = opened[i].within,
                                     .suspended = reader->spans.present->suspended});
  }
}

/* a batch that is being made; `outer` is where the outer spans of its next part go */
struct making {
  struct eventring_batch batch;
  struct eventring_outer *outer;
  uint32_t stretches;
};

/* Begins a batch with its first part, whose times count from its first event. */
static void begin_batch(const struct evr_ring_reader *reader, const struct evr_sink *sink,
                        const struct evr_part *part, const struct evr_lists *lists,
                        struct making *making) {
  struct evr_batch_room *room = sink->room;
  making->outer = room->outer;
  making->stretches = 0;
  making->batch = (struct eventring_batch){
      .ended = lists->brief, .points = lists->point, .outer = room->outer,
      .depth = reader->spans.present->count,
      .depth_around = reader->spans.present->count - part->outer,
      .earliest_ns = part->times.from_ns,
      .context = reader->position.context, .domain = reader->blocks.slot,
      .incarnation = reader->position.incarnation, .ring = (uint8_t)reader->blocks.ring,
      .cursor = sink->cursor};
}

/* Adds to the batch a part whose outer spans were matched, and moves on behind that
   part. */
static void add_part(struct evr_ring_reader *reader, struct evr_sink *sink,
                     const struct evr_part *part, const struct evr_lists *lists,
                     struct making *making) {
  struct eventring_batch *batch = &making->batch;
  const struct evr_span_stack *stack = reader->spans.present;
  const uint64_t *words = reader->blocks.held->words;
  uint64_t within = part->within;
  sink->room->stretch[making->stretches++] =
      (struct stretch){words + part->from, reader->position.context, stack->count};
  if (making->stretches > 1) batch->depth_around = UINT32_MAX;
  batch->count += evr_part_events(part);
  batch->opened = lists->opened - part->opened;
  batch->ended_count += part->ended;
  batch->opened_count += part->opened;
  batch->point_count += part->points;
  batch->classes |= part->classes;
  batch->bare |= part->outside && stack->count == part->outer;
  batch->latest_ns = evr_times_ns(&part->times, words[part->last]);
  making->outer += part->outer;
  if (part->outer) within += making->outer[-1].took - making->outer[-1].suspended;
  pass_part(reader, sink, part, lists, within);
  EVR_IN_DEBUG(reader->balance += (uint64_t)part->opened - part->outer;)
}

static void hand_over(struct evr_ring_reader *reader, struct evr_sink *sink,
                      const struct evr_times *times, struct making *making) {
  const struct eventring_written written = {sink->room->stretch, making->stretches, *times};
  making->batch.written = &written;
  reader->known_ns = making->batch.latest_ns;
  if (sink->batch(sink->batch_context, &making->batch) || !sink->left) sink->stopped = true;
}

/* Applies the changes of context behind a part. Returns true if the batch may go on with
   the event that follows: nothing else must be applied or delivered before it. */
static bool joins(struct evr_ring_reader *reader, const struct evr_sink *sink) {
  const uint64_t *words = reader->blocks.held->words;
  const uint32_t from = reader->at;
  if (!(sink->contents & EVENTRING_BATCH_CONTEXTS) || !sink->left) return false;
  while (reader->at < reader->end && evr_remark_is_of_context(words[reader->at])) {
    const uint64_t *remark = words + reader->at;
    reader->at += 1 + word_length(*remark);
    evr_ring_reader_remark(reader, remark);
    if (reader->pending_at < reader->pending_count) return false;
  }
  if (reader->at == from || reader->at >= reader->end || !word_is_event(words[reader->at]) ||
      !may_begin(&reader->spans))
    return false;
  const uint64_t ticks = word_ticks(words[reader->at], reader->position.base);
  if (ticks >= evr_ring_reader_switch_due(reader)) return false;
  if (reader->spans.present->since)
    evr_spans_resume(&reader->spans, reader->spans.present->context, ticks);
  return true;
}

/* ---- What a thread has decoded --------------------------------------------------- */

/* Returns the first part from the next event on, or NULL if there is none. */
static const struct evr_decoded_part *next_part(struct evr_ring_reader *reader) {
  const struct evr_decoded *decoded = evr_block_cursor_decoded(&reader->blocks);
  if (!decoded) return NULL;
  for (uint32_t i = 0; i < decoded->parts; i++)
    if (decoded->part[i].part.from >= reader->at) return &decoded->part[i];
  return NULL;
}

/* Tells whether all of a part may be delivered. */
static bool is_within_bounds(const struct evr_ring_reader *reader, uint64_t until,
                             const struct evr_part *part, const struct evr_sink *sink) {
  uint64_t last = reader->blocks.held->words[part->last];
  uint64_t ticks = part->times.ticks + evr_times_ticks(&part->times, last);
  return part->to <= reader->end && evr_part_events(part) <= sink->left &&
         evr_times_ns(&part->times, last) <= until &&
         ticks < evr_ring_reader_switch_due(reader);
}

enum evr_ready evr_ring_reader_ready(struct evr_ring_reader *reader, uint64_t until,
                                     struct evr_sink *sink) {
  const struct evr_decoded_part *next = next_part(reader);
  if (!next) return EVR_NOT_DECODED;
  if (next->part.from > reader->at) {
    sink->most = next->part.from - reader->at;
    return EVR_READY_LATER;
  }
  struct evr_decoded *decoded = evr_block_cursor_decoded(&reader->blocks);
  const struct evr_decoded_part *const end = &decoded->part[decoded->parts];
  const struct evr_times times = next->part.times;
  struct evr_lists lists = evr_decoded_lists(decoded, next);
  struct making making;
  /* a part that joins the previous part has the times of that part */
  if (next->part.joins || !may_begin(&reader->spans) ||
      !is_within_bounds(reader, until, &next->part, sink) ||
      match_outer(reader, &next->part, &lists, sink, sink->room->outer) < next->part.to) {
    reader->blocks.declined++;
    return EVR_NOT_DECODED;
  }
  reader->blocks.declined = 0;
  begin_batch(reader, sink, &next->part, &lists, &making);
  add_part(reader, sink, &next->part, &lists, &making);
  while (++next < end && next->part.joins && joins(reader, sink) &&
         next->part.from == reader->at && is_within_bounds(reader, until, &next->part, sink)) {
    lists = evr_decoded_lists(decoded, next);
    if (match_outer(reader, &next->part, &lists, sink, making.outer) < next->part.to) break;
    add_part(reader, sink, &next->part, &lists, &making);
  }
  hand_over(reader, sink, &times, &making);
  return EVR_DELIVERED;
}

/* ---- What is decoded here -------------------------------------------------------- */

/* Decodes the part that begins at part->from, with the times in part->times, and matches
   its outer spans. Returns false if there is no such part. */
static bool decode_here(const struct evr_ring_reader *reader, const struct evr_sink *sink,
                        uint32_t end, struct eventring_outer *outer, const struct evr_lists *lists,
                        struct evr_part *part) {
  const uint64_t *words = reader->blocks.held->words;
  for (;; end = part->to) {
    if (end <= part->from || !evr_decode_part(reader->definitions->batched, sink->contents, words,
                                              end, part, lists))
      return false;
    const uint32_t to = match_outer(reader, part, lists, sink, outer);
    if (to == part->to) return true;
    part->to = to;
  }
}

/* Returns the end of the words that may be delivered in this run. */
static uint32_t end_of_words(const struct evr_ring_reader *reader, const struct evr_sink *sink) {
  const uint64_t words = reader->end - reader->at;
  return reader->at + (uint32_t)(words < sink->left ? words : sink->left);
}

bool evr_ring_reader_batch(struct evr_ring_reader *reader, uint64_t until,
                           struct evr_sink *sink) {
  const uint64_t *words = reader->blocks.held->words;
  struct evr_lists lists = evr_lists_of(&sink->room->decoded);
  struct evr_event_run run;
  struct making making;
  if (!may_begin(&reader->spans)) return false;
  begin_run(reader, sink, false, &run);
  struct evr_part part = {.from = reader->at};
  evr_times_begin(&part.times, &reader->blocks.meta->segment, end_of_run(reader),
                  *run.at, run.from_ticks + run.since, until);
  if (!part.times.bound || /* outside the clock segment, as in damaged files */
      !decode_here(reader, sink, (uint32_t)(run.end - words), sink->room->outer, &lists, &part))
    return false;
  begin_batch(reader, sink, &part, &lists, &making);
  add_part(reader, sink, &part, &lists, &making);
  while (joins(reader, sink)) {
    const uint64_t since = evr_times_ticks(&part.times, words[reader->at]);
    if (since >= part.times.bound || since < evr_times_ticks(&part.times, words[part.last])) break;
    lists = evr_lists_after(&lists, &part);
    part.from = reader->at;
    if (!decode_here(reader, sink, end_of_words(reader, sink), making.outer, &lists, &part)) break;
    add_part(reader, sink, &part, &lists, &making);
  }
  hand_over(reader, sink, &part.times, &making);
  return true;
}

/* ---- For users ------------------------------------------------------------------- */

/* Fills in a begin or an end of the batch, except for its payload. */
static void fill_span(struct eventring_event *event, uint32_t *depth,
                      const struct eventring_brief **ended, const struct eventring_outer **outer) {
  event->begin_ns = event->ns;
  if (event->kind == EVENTRING_BEGIN) {
    event->depth = (*depth)++;
    return;
  }
  const struct eventring_brief *brief = (*ended)++;
  const struct eventring_outer span =
      brief->began_before ? *(*outer)++ : (struct eventring_outer){brief->took, brief->within, 0};
  event->begin_ns -= span.took;
  event->within_ns = span.within;
  event->suspended_ns = span.suspended;
  event->flags = EVENTRING_MATCHED;
  event->depth = --*depth;
}

int eventring_batch_each(const struct eventring_batch *batch,
                         int (*callback)(void *context, const struct eventring_event *event),
                         void *context) {
  const struct eventring_brief *ended = batch->ended;
  const struct eventring_outer *outer = batch->outer;
  const struct stretch *next = batch->written->stretch, *const end =
                                                            next + batch->written->stretches;
  const uint64_t *word = next->words;
  uint64_t present = 0;
  uint32_t depth = 0;
  int result = 0;
  for (size_t i = 0; i < batch->count && !result; word += 1 + word_length(*word)) {
    if (!word_is_event(*word)) continue; /* the context changes */
    if (next < end && word == next->words) {
      depth = next->depth;
      present = next++->context;
    }
    const struct evr_definition *d = batch->cursor->definitions.definition[word_id(*word)];
    struct eventring_event event = {
        .ns = evr_times_ns(&batch->written->times, *word), .domain = batch->domain,
        .incarnation = batch->incarnation, .id = d->def.id, .ring = batch->ring,
        .kind = (uint8_t)word_kind(*word), .event_class = d->def.event_class, .name = d->def.name,
        .def = &d->def, .context = present};
    if (event.kind <= EVENTRING_END) fill_span(&event, &depth, &ended, &outer);
    evr_event_payload(&event, d, word);
    result = callback(context, &event);
    i++;
  }
  return result;
}

void evr_cursor_set_batches(const eventring_cursor *c, struct evr_ring_reader *reader) {
  reader->blocks.batched = c->batch ? c->definitions.batched : NULL;
  reader->blocks.contents = c->batch_contents;
}

int eventring_cursor_batches(eventring_cursor *c, unsigned contents,
                             int (*callback)(void *context, const struct eventring_batch *batch),
                             void *context) {
  if (c->flags & EVENTRING_OPEN_BACKWARDS || c->busy) return EVENTRING_E_STATE;
  if (callback && !c->batch_room) c->batch_room = malloc(sizeof *c->batch_room);
  if (callback && !c->batch_room) return EVENTRING_E_MEMORY;
  c->batch = callback;
  c->batch_context = context;
  c->batch_contents = contents;
  for (unsigned n = 0; n < c->made_count; n++) evr_cursor_set_batches(c, c->reader[c->made[n]]);
  return EVENTRING_OK;
}
