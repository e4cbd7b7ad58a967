/* SPDX-License-Identifier: MIT */
/* batch.c: spans handed over many at a time.
 *
 * What delivery.c does for each event of a run, without a call and without an event to fill.
 * It does so for the events of which there are many: begins and ends without payload, in a
 * context that was not suspended since the span began, each end that of the innermost span,
 * none earlier than the one before. The first event that is none of these ends the batch, and
 * delivery.c delivers it.
 *
 * A reader that counts spans needs of a begin only what its end says too. So a batch has the
 * spans that ended in it, and those that it left open, and of each the time that the spans
 * directly within took. Who wants the events as they were written gets them made again out of
 * the words (eventring_batch_each).
 *
 * decode.c makes these lists out of words. A thread may have done so already (ahead.c): what it
 * has decoded is taken if the reader may go as far, else the words are decoded here. Either way
 * the spans that began before the batch are compared with the stack of the reader. If an end is
 * not that of the innermost one, or the context was suspended since, the batch ends before it.
 *
 * Those that a batch leaves open go to the stack of the reader at its end. That one
 * would grow for each of them if they were delivered one by one, so there is no batch where it
 * is about to become too large (span_stack.h).
 */
#include "reader/run.h"

#include <stdlib.h>

#include "reader/cursor.h"

struct evr_batched evr_definition_batched(const struct evr_definition *d) {
  const uint64_t id = d->def.id, event_class = d->def.event_class;
  if (d->plain != EVENTRING_BEGIN) return (struct evr_batched){0};
  return (struct evr_batched){.tail = id << 32, .classes = 1ull << (event_class & 63)};
}

/* What evr_sink has for batches. */
struct evr_batch_room {
  struct eventring_outer outer[EVENTRING_BATCH];
  struct evr_decoded_room decoded;
};

struct eventring_written { /* what a batch was made of */
  const uint64_t *words;
  struct evr_times times;
};

static bool may_begin(const struct evr_span_stacks *spans) {
  return spans->present != &spans->homeless &&
         spans->spans + EVENTRING_BATCH <= EVR_MOST_SPANS;
}

struct lists { /* of a part */
  const struct eventring_brief *ended, *opened;
  const struct evr_mark *outer, *marks_opened;
};

static struct lists lists_of(const struct evr_part *part, const struct eventring_brief *brief,
                             const struct evr_mark *mark) {
  return (struct lists){brief, brief + part->ended, mark, mark + part->outer};
}

/* Finds the spans that began before the part on the stack, which stays as it is. Returns the word
   up to which the part can be a batch. */
static uint32_t match_outer(const struct evr_ring_reader *reader, const struct evr_part *part,
                            const struct lists *lists, struct eventring_outer *outer) {
  const struct evr_span_stack *stack = reader->spans.present;
  const uint64_t *words = reader->blocks.held->words;
  uint64_t before = 0; /* took the one that ended before */
  for (uint32_t i = 0; i < part->outer; i++) {
    const struct evr_mark mark = lists->outer[i];
    if (i >= stack->count) return mark.word;
    const struct evr_span *span = &stack->span[stack->count - 1 - i];
    if (span->id != word_id(words[mark.word]) || span->suspended != stack->suspended)
      return mark.word;
    const struct eventring_brief *ended = &lists->ended[mark.brief];
    uint64_t ns = part->times.from_ns + ended->after;
    outer[i].within = span->within + before + ended->within;
    before = outer[i].took = span->ns < ns ? ns - span->ns : 0;
  }
  return part->to;
}

/* Moves on behind the part: what ended leaves the stack of the reader, and what is left open
   goes there. `within`: took the spans that are directly within the innermost one of the others. */
static void pass_part(struct evr_ring_reader *reader, struct evr_sink *sink,
                      const struct evr_part *part, const struct lists *lists, uint64_t within) {
  const uint64_t *words = reader->blocks.held->words;
  struct evr_event_run run = {.at = words + part->to, .depth = reader->spans.present->count - part->outer};
  reader->in_run = part->to - part->from;
  end_run(reader, sink, &run);
  if (run.depth) reader->spans.present->span[run.depth - 1].within += within;
  for (uint32_t i = 0; i < part->opened; i++) {
    uint64_t word = words[lists->marks_opened[i].word];
    uint64_t ticks = part->times.ticks + evr_times_ticks(&part->times, word);
    evr_spans_push(&reader->spans,
                   (struct evr_span){.ticks = ticks,
                                     .ns = part->times.from_ns + lists->opened[i].after,
                                     .id = word_id(word), .within = lists->opened[i].within,
                                     .suspended = reader->spans.present->suspended});
  }
}

static void hand_over(struct evr_ring_reader *reader, struct evr_sink *sink,
                      const struct evr_part *part, const struct lists *lists) {
  const struct eventring_outer *outer = sink->room->outer;
  const uint64_t *words = reader->blocks.held->words;
  const struct eventring_written written = {words + part->from, part->times};
  struct eventring_batch batch = {
      .count = part->to - part->from, .ended = lists->ended, .opened = lists->opened,
      .ended_count = part->ended, .opened_count = part->opened, .outer = outer,
      .depth = reader->spans.present->count,
      .depth_around = reader->spans.present->count - part->outer,
      .earliest_ns = part->times.from_ns,
      .latest_ns = evr_times_ns(&part->times, words[part->to - 1]), .classes = part->classes,
      .context = reader->position.context, .domain = reader->blocks.slot,
      .incarnation = reader->position.incarnation, .ring = (uint8_t)reader->blocks.ring,
      .cursor = sink->cursor, .written = &written};
  pass_part(reader, sink, part, lists,
            part->within + (part->outer ? outer[part->outer - 1].took : 0));
  EVR_IN_DEBUG(reader->balance += batch.count - 2 * (uint64_t)batch.ended_count;)
  reader->known_ns = batch.latest_ns;
  if (sink->batch(sink->batch_context, &batch) || !sink->left) sink->stopped = true;
}

/* ---- What a thread has decoded ----------------------------------------------------------- */

/* The first part from the next event on; NULL: there is none. */
static const struct evr_decoded_part *next_part(struct evr_ring_reader *reader) {
  const struct evr_decoded *decoded = evr_block_cursor_decoded(&reader->blocks);
  if (!decoded) return NULL;
  for (uint32_t i = 0; i < decoded->parts; i++)
    if (decoded->part[i].part.from >= reader->at) return &decoded->part[i];
  return NULL;
}

/* May all of it be delivered? */
static bool is_within_bounds(const struct evr_ring_reader *reader, uint64_t until,
                             const struct evr_part *part, const struct evr_sink *sink) {
  uint64_t last = reader->blocks.held->words[part->to - 1];
  uint64_t ticks = part->times.ticks + evr_times_ticks(&part->times, last);
  return part->to <= reader->end && part->to - part->from <= sink->left &&
         evr_times_ns(&part->times, last) <= until &&
         ticks < evr_ring_reader_switch_due(reader);
}

enum evr_ready evr_ring_reader_ready(struct evr_ring_reader *reader, uint64_t until,
                                     struct evr_sink *sink) {
  const struct evr_decoded_part *next = next_part(reader);
  if (!next) return EVR_NOT_DECODED;
  const struct evr_part *part = &next->part;
  if (part->from > reader->at) {
    sink->most = part->from - reader->at;
    return EVR_READY_LATER;
  }
  const struct evr_decoded *decoded = evr_block_cursor_decoded(&reader->blocks);
  const struct lists lists = lists_of(part, decoded->room.brief + next->brief,
                                      decoded->room.mark + next->mark);
  if (!may_begin(&reader->spans) || !is_within_bounds(reader, until, part, sink) ||
      match_outer(reader, part, &lists, sink->room->outer) < part->to)
    return EVR_NOT_DECODED;
  hand_over(reader, sink, part, &lists);
  return EVR_DELIVERED;
}

/* ---- What is decoded here ---------------------------------------------------------------- */

bool evr_ring_reader_batch(struct evr_ring_reader *reader, uint64_t until,
                           struct evr_sink *sink) {
  struct evr_decoded_room *room = &sink->room->decoded;
  struct evr_event_run run;
  if (!may_begin(&reader->spans)) return false;
  begin_run(reader, sink, false, &run);
  const uint64_t *words = reader->blocks.held->words;
  struct evr_part part = {.from = reader->at};
  evr_times_begin(&part.times, &reader->blocks.meta->segment, end_of_run(reader),
                  *run.at, run.from_ticks + run.since, until);
  if (!part.times.bound) return false; /* outside the clock segment, as in damaged files */
  for (uint32_t end = (uint32_t)(run.end - words);; end = part.to) {
    if (end <= part.from ||
        !evr_decode_part(reader->definitions->batched, words, end, &part, room->brief,
                         room->mark))
      return false;
    const struct lists lists = lists_of(&part, room->brief, room->mark);
    uint32_t to = match_outer(reader, &part, &lists, sink->room->outer);
    if (to == part.to) {
      hand_over(reader, sink, &part, &lists);
      return true;
    }
    part.to = to;
  }
}

/* ---- For users --------------------------------------------------------------------------- */

int eventring_batch_each(const struct eventring_batch *batch,
                         int (*callback)(void *context, const struct eventring_event *event),
                         void *context) {
  const struct eventring_brief *ended = batch->ended;
  const struct eventring_outer *outer = batch->outer;
  const uint64_t *words = batch->written->words;
  uint32_t depth = batch->depth;
  int result = 0;
  for (size_t i = 0; i < batch->count && !result; i++) {
    bool is_end = word_kind(words[i]) == EVENTRING_END;
    const struct evr_definition *d = batch->cursor->definitions.definition[word_id(words[i])];
    depth -= is_end;
    struct eventring_event event = {
        .ns = evr_times_ns(&batch->written->times, words[i]), .domain = batch->domain,
        .incarnation = batch->incarnation, .id = d->def.id, .ring = batch->ring,
        .kind = is_end ? EVENTRING_END : EVENTRING_BEGIN, .event_class = d->def.event_class,
        .flags = is_end ? EVENTRING_MATCHED : 0, .depth = depth, .name = d->def.name,
        .def = &d->def, .context = batch->context};
    event.begin_ns = event.ns;
    if (is_end) {
      const struct eventring_outer span =
          ended->began_before ? *outer++ : (struct eventring_outer){ended->took, ended->within};
      event.begin_ns -= span.took;
      event.within_ns = span.within;
      ended++;
    }
    depth += !is_end;
    result = callback(context, &event);
  }
  return result;
}

int eventring_cursor_batches(eventring_cursor *c,
                             int (*callback)(void *context, const struct eventring_batch *batch),
                             void *context) {
  if (c->flags & EVENTRING_OPEN_BACKWARDS || c->busy) return EVENTRING_E_STATE;
  if (callback && !c->batch_room) c->batch_room = malloc(sizeof *c->batch_room);
  if (callback && !c->batch_room) return EVENTRING_E_MEMORY;
  c->batch = callback;
  c->batch_context = context;
  for (unsigned n = 0; n < c->made_count; n++)
    c->reader[c->made[n]]->blocks.batched = callback ? c->definitions.batched : NULL;
  return EVENTRING_OK;
}
