/* SPDX-License-Identifier: MIT */
/* run.h: events of a block that are delivered together (delivery.c, batch.c). The values
 * that hold for all of them are computed once. */
#ifndef EVENTRING_RUN_H
#define EVENTRING_RUN_H

#include "reader/delivery.h"

struct evr_event_run {
  const struct evr_definition *const *definition; /* the definitions, by id */
  uint64_t since, ns;  /* time of the next event, in ticks after from_ticks and in ns */
  uint64_t from_ticks; /* ticks of the earliest event that the run may have */
  uint64_t within;     /* from_ticks less that of the clock segment */
  uint64_t from_ns, multiplier; /* members of the clock segment */
  uint64_t room;       /* `since` at the end of the run */
  uint64_t base;       /* `since` of the base of times */
  uint64_t base_word;  /* the base, shifted to the position of the time in a word */
  const uint64_t *at, *end; /* words of the block: the next one, and the end of the run */
  /* The stack of open spans of the present context. Its own count is not kept up to date
     in a run: `depth` is the count. A begin is plain while depth < full. If there is no
     span to end, the entry below `top` matches no end. */
  struct evr_span *top;
  uint32_t depth, full;
  bool clean;          /* the rarely used fields of the event are 0 */
};

static inline void take_stack(struct evr_ring_reader *reader, struct evr_event_run *run) {
  const struct evr_span_stack *stack = reader->spans.present;
  bool is_plain = stack->room && !stack->suspended;
  run->depth = stack->count;
  run->top = is_plain ? stack->span + stack->count : &reader->spans.none + 1;
  run->full = is_plain ? stack->room : 0;
}

/* Returns the ticks at which the run that begins with the next event must end. */
static uint64_t end_of_run(const struct evr_ring_reader *reader) {
  uint64_t end = reader->blocks.meta->segment_end, due = evr_ring_reader_switch_due(reader);
  return due < end ? due : end;
}

/* Returns word_ticks (format.h) less from_ticks. */
static inline __attribute__((always_inline)) uint64_t since_of(const struct evr_event_run *run,
                                                               uint64_t word) {
  return run->base +
         (uint64_t)((int64_t)(word - run->base_word) >> EVENTRING_WORD_TIME_SHIFT);
}

/* Begins a run with the next event. An event has at least one word, so a run with no more
   words than the sink takes events cannot be too long. */
static inline void begin_run(struct evr_ring_reader *reader, const struct evr_sink *sink,
                             bool checked, struct evr_event_run *run) {
  const struct format_segment *segment = &reader->blocks.meta->segment;
  uint64_t end = end_of_run(reader), from = segment->from_ticks;
  uint64_t newest = reader->definitions->newest_since_ticks;
  uint64_t begin = checked || newest < from ? from : newest;
  if (checked && newest < end) end = newest;
  uint32_t words = reader->end - reader->at;
  if (words > sink->left) words = (uint32_t)sink->left;
  if (words > sink->most) words = sink->most;
  *run = (struct evr_event_run){.definition = reader->definitions->definition,
                          .base = reader->position.base - begin,
                          .base_word = reader->position.base << EVENTRING_WORD_TIME_SHIFT,
                          .from_ticks = begin,
                          .within = begin - from,
                          .from_ns = segment->from_ns,
                          .multiplier = segment->multiplier,
                          .room = end > begin ? end - begin : 0,
                          .at = reader->blocks.held->words + reader->at,
                          .end = reader->blocks.held->words + reader->at + words,
                          .ns = reader->order_ns};
  run->since = since_of(run, *run->at);
  take_stack(reader, run);
  reader->event.domain = reader->blocks.slot;
  reader->event.incarnation = reader->position.incarnation;
  reader->event.context = reader->position.context;
}

static inline void set_depth(struct evr_ring_reader *reader, uint32_t depth) {
  struct evr_span_stack *stack = reader->spans.present;
  reader->spans.spans += depth - stack->count;
  stack->count = depth;
}

static inline void end_run(struct evr_ring_reader *reader, struct evr_sink *sink,
                           const struct evr_event_run *run) {
  reader->at = (uint32_t)(run->at - reader->blocks.held->words);
  set_depth(reader, run->depth);
  reader->blocks.position += reader->in_run;
  reader->delivered += reader->in_run;
  sink->delivered += reader->in_run;
  sink->left -= reader->in_run;
  reader->in_run = 0;
  EVR_LAW(evr_ring_reader_is_accounted(reader));
}

/* Tells whether the run has another word, and if so sets the ticks and ns of that
   word. */
static inline __attribute__((always_inline)) bool
goes_on(struct evr_event_run *run, uint64_t until) {
  if (run->at >= run->end) return false;
  run->since = since_of(run, *run->at);
  if (__builtin_expect(run->since >= run->room, 0)) return false;
  uint64_t ticks = run->since + run->within;
  run->ns = run->from_ns + (uint64_t)((unsigned __int128)ticks * run->multiplier >>
                                      FORMAT_CLOCK_SHIFT);
  return until == UINT64_MAX || run->ns <= until;
}

#endif /* EVENTRING_RUN_H */
