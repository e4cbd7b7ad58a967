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
 * The spans that have no others within, which are often half of them, are taken in one step.
 *
 * The spans that begin in a batch are on a stack of its own, which has room for all that a
 * block can begin; those that it leaves open go to that of the reader at its end. That one
 * would grow for each of them if they were delivered one by one, so there is no batch where it
 * is about to become too large (span_stack.h).
 */
#include "reader/run.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "reader/cursor.h"

_Static_assert(EVENTRING_BATCH >= FORMAT_BLOCK_WORDS, "a batch is of one block");
_Static_assert(EVENTRING_END == EVENTRING_BEGIN + 1, "ticks_of_leaf");

struct evr_batched evr_definition_batched(const struct evr_definition *d) {
  const uint64_t id = d->def.id, event_class = d->def.event_class;
  if (d->plain != EVENTRING_BEGIN) return (struct evr_batched){0};
  return (struct evr_batched){.tail = id | (uint64_t)EVENTRING_END << 16 | event_class << 24,
                              .classes = 1ull << (event_class & 63)};
}

#define FIELD_AT(member, at) \
  _Static_assert(offsetof(struct eventring_brief, member) == \
                     offsetof(struct eventring_brief, id) + (at), "tail")
FIELD_AT(kind, 2);
FIELD_AT(event_class, 3);
FIELD_AT(began_before, 4);

struct begun { /* a span that began in the batch */
  uint64_t ns;
  uint64_t word;   /* its begin */
  uint64_t before; /* of the span around it: ns of those directly within that, before it */
  uint64_t tail;
};

_Static_assert(sizeof(struct eventring_brief) == sizeof(struct begun), "step");

/* What evr_sink has for batches. */
struct evr_batch_room {
  struct eventring_brief ended[EVENTRING_BATCH], opened[EVENTRING_BATCH];
  struct begun begun[1 + EVENTRING_BATCH]; /* the first one is none: its tail is NO_TAIL */
};
#define NO_TAIL UINT64_MAX

struct filling { /* of a batch */
  struct eventring_brief *next;  /* of those that ended */
  const struct evr_batched *batched; /* definitions, by id */
  struct begun *bottom, *top;    /* of those that began: the first one and the next one */
  uint64_t classes;              /* of its events */
  uint64_t within;               /* of the innermost span that is open: of those within */
};

/* Times of a run, relative to its first event, so that 64 bits suffice:
     ns = from_ns + ((fraction + ticks * multiplier) >> FORMAT_CLOCK_SHIFT) */
struct relative {
  uint64_t base_word, ticks; /* of the first event */
  uint64_t from_ns, fraction, multiplier;
  uint64_t bound;            /* ticks from the first event on at which the batch must end */
};

static struct relative relative_to(const struct evr_event_run *run, uint64_t until) {
  const uint64_t tail = FORMAT_TAIL_MASK, one = (uint64_t)1 << FORMAT_CLOCK_SHIFT;
  unsigned __int128 first = (unsigned __int128)(run->since + run->within) * run->multiplier;
  struct relative r = {.base_word = run->words[run->at] & ~tail,
                       .ticks = run->from_ticks + run->since,
                       .from_ns = run->from_ns + (uint64_t)(first >> FORMAT_CLOCK_SHIFT),
                       .fraction = (uint64_t)first & (one - 1),
                       .multiplier = run->multiplier};
  uint64_t most = UINT64_MAX - r.fraction; /* that ticks * multiplier may be */
  if (run->since >= run->room) r.from_ns = run->ns; /* outside the clock segment, as in damaged
                                                       files: the batch has this event alone */
  if (run->since >= run->room || until < r.from_ns) return r;
  r.bound = run->room - run->since;
  if (until - r.from_ns < most >> FORMAT_CLOCK_SHIFT)
    most = ((until - r.from_ns + 1) << FORMAT_CLOCK_SHIFT) - 1 - r.fraction;
  if (r.multiplier && r.bound > most / r.multiplier) r.bound = most / r.multiplier + 1;
  return r;
}

static inline __attribute__((always_inline)) uint64_t
relative_ticks(const struct relative *relative, uint64_t word) {
  return (word - relative->base_word) >> EVENTRING_WORD_TIME_SHIFT;
}

static inline __attribute__((always_inline)) uint64_t
relative_ns(const struct relative *relative, uint64_t ticks) {
  return relative->from_ns +
         ((ticks * relative->multiplier + relative->fraction) >> FORMAT_CLOCK_SHIFT);
}

static uint64_t ns_of_word(const struct relative *relative, uint64_t word) {
  return relative_ns(relative, relative_ticks(relative, word));
}

/* An end of a span that began before the batch: takes it from the stack of the reader.
   False: it is not the innermost one, or its context was suspended since. */
static bool end_outer(struct evr_event_run *run, const struct evr_span_stack *stack,
                      uint64_t word, uint64_t ns, struct eventring_brief *ended) {
  if (!run->depth) return false;
  const struct evr_span *span = run->top - 1;
  if (span->id != word_id(word) || span->suspended != stack->suspended) return false;
  ended->took = span->ns < ns ? ns - span->ns : 0;
  ended->began_before = 1;
  run->depth--;
  run->top--;
  return true;
}

/* The definition of an event. (Its id, times the size of an entry, in one step.) */
static inline __attribute__((always_inline)) const struct evr_batched *
batched_at(const struct evr_batched *batched, uint64_t word) {
  enum { SHIFT = EVENTRING_WORD_ID_SHIFT - 4, SIZE = sizeof *batched };
  _Static_assert(SIZE == 16, "SHIFT");
  const uint64_t bytes = word >> SHIFT & (uint64_t)(EVENTRING_MAX_EVENTS - 1) * SIZE;
  return (const struct evr_batched *)((const char *)batched + bytes);
}

/* Keeps the compiler from having what is there in registers, which are too few: it adds and
   compares as well in memory. */
#define KEEP_IN_MEMORY(place) __asm__("" : "+m"(place))

/* If the word that follows a begin is the end of the same span: its time, else UINT64_MAX. */
static inline __attribute__((always_inline)) uint64_t
ticks_of_leaf(const struct relative *relative, const uint64_t *begin, const uint64_t *last) {
  bool is_leaf = begin < last && ((begin[1] - begin[0]) & FORMAT_TAIL_MASK) ==
                                     EVENTRING_END - EVENTRING_BEGIN;
  return is_leaf ? relative_ticks(relative, begin[1]) : UINT64_MAX;
}

/* Decodes what of the run a batch may have, from run->at on. (What changes is in locals, as few
   as possible: they are to be in registers.) */
static inline __attribute__((always_inline)) void
fill_batch(struct evr_event_run *run, struct relative relative,
           const struct evr_span_stack *stack, struct filling *to) {
  const uint64_t *at = run->words + run->at, *const last = run->words + run->end - 1;
  const struct evr_batched *const batched = to->batched;
  struct eventring_brief *next = to->next;
  struct begun *const bottom = to->bottom, *top = bottom;
  uint64_t word = *at, ns = relative.from_ns, within = 0, classes = 0, ticks = 0;
  for (;;) {
    const uint64_t what = word & FORMAT_WHAT_MASK;
    const struct evr_batched *const definition = batched_at(batched, word);
    const uint64_t tail = definition->tail;
    KEEP_IN_MEMORY(relative);
    if (what == EVENTRING_BEGIN) {
      if (!tail) break;
      const uint64_t end_ticks = ticks_of_leaf(&relative, at, last);
      if (end_ticks < relative.bound && end_ticks >= ticks) {
        ticks = end_ticks;
        next->ns = relative_ns(&relative, ticks);
        next->took = next->ns - ns;
        next->within = 0;
        memcpy(&next->id, &tail, sizeof tail);
        within += next->took;
        next++;
        at++;
      } else {
        top->ns = ns;
        top->word = word;
        top->before = within;
        top->tail = tail;
        top++;
        within = 0;
      }
    } else if (what == EVENTRING_END) {
      memcpy(&next->id, &tail, sizeof tail);
      next->ns = ns;
      next->within = within;
      if (__builtin_expect(top[-1].tail == tail, 1)) {
        top--;
        next->took = ns - top->ns;
        within = top->before + next->took;
      } else {
        if (top != bottom || !tail || !end_outer(run, stack, word, ns, next)) break;
        within = next->took;
      }
      next++;
    } else {
      break;
    }
    classes |= definition->classes;
    if (at++ >= last) break;
    word = *at;
    const uint64_t before = ticks;
    ticks = relative_ticks(&relative, word);
    if (ticks >= relative.bound || ticks < before) break;
    ns = relative_ns(&relative, ticks);
  }
  to->next = next;
  to->top = top;
  to->within = within;
  to->classes = classes;
  run->at = (uint32_t)(at - run->words);
}

/* Hands the spans that the batch left open to the reader's stack, and lists them. */
static size_t leave_open(struct evr_ring_reader *reader, const struct relative *relative,
                         const struct filling *filling, struct eventring_brief *opened) {
  const struct evr_span_stack *stack = reader->spans.present;
  size_t count = 0;
  for (const struct begun *begun = filling->bottom; begun < filling->top; begun++, count++) {
    uint64_t ticks = relative_ticks(relative, begun->word);
    bool innermost = begun + 1 == filling->top;
    memcpy(&opened[count].id, &begun->tail, sizeof begun->tail);
    opened[count].kind = EVENTRING_BEGIN;
    opened[count].ns = begun->ns;
    opened[count].took = 0;
    opened[count].within = innermost ? filling->within : begun[1].before;
    evr_spans_push(&reader->spans,
                   (struct evr_span){.ticks = relative->ticks + ticks, .ns = begun->ns,
                                     .id = word_id(begun->word), .suspended = stack->suspended});
  }
  return count;
}

struct eventring_written { /* what a batch was made of */
  const uint64_t *words;
  struct relative relative;
};

static bool may_begin(const struct evr_span_stacks *spans) {
  return spans->present != &spans->homeless &&
         spans->spans + EVENTRING_BATCH <= EVR_MOST_SPANS;
}

bool evr_ring_reader_batch(struct evr_ring_reader *reader, uint64_t until,
                           struct evr_sink *sink) {
  struct evr_batch_room *room = sink->room;
  const struct evr_span_stack *stack = reader->spans.present;
  struct filling filling = {.next = room->ended, .bottom = room->begun + 1,
                            .batched = reader->definitions->batched};
  struct evr_event_run run;
  if (!may_begin(&reader->spans)) return false;
  begin_run(reader, sink, false, &run);
  const uint32_t from = run.at, depth = run.depth;
  const struct eventring_written written = {run.words + from, relative_to(&run, until)};
  fill_batch(&run, written.relative, stack, &filling);
  if (run.at == from) return false;
  reader->in_run = run.at - from;
  end_run(reader, sink, &run);
  struct eventring_batch batch = {
      .count = run.at - from, .ended = room->ended, .opened = room->opened,
      .ended_count = (size_t)(filling.next - room->ended), .depth = depth,
      .depth_around = run.depth, .earliest_ns = written.relative.from_ns,
      .latest_ns = ns_of_word(&written.relative, run.words[run.at - 1]),
      .classes = filling.classes, .cursor = sink->cursor, .written = &written,
      .within = filling.top == filling.bottom ? filling.within : filling.bottom->before,
      .context = reader->position.context, .domain = reader->blocks.slot,
      .incarnation = reader->position.incarnation, .ring = (uint8_t)reader->blocks.ring};
  batch.opened_count = leave_open(reader, &written.relative, &filling, room->opened);
  if (sink->batch(sink->batch_context, &batch) || !sink->left) sink->stopped = true;
  return true;
}

int eventring_batch_each(const struct eventring_batch *batch,
                         int (*callback)(void *context, const struct eventring_event *event),
                         void *context) {
  const struct eventring_brief *ended = batch->ended;
  const uint64_t *words = batch->written->words;
  uint32_t depth = batch->depth;
  int result = 0;
  for (size_t i = 0; i < batch->count && !result; i++) {
    bool is_end = word_kind(words[i]) == EVENTRING_END;
    const struct evr_definition *d = batch->cursor->definitions.definition[word_id(words[i])];
    depth -= is_end;
    struct eventring_event event = {
        .ns = ns_of_word(&batch->written->relative, words[i]), .domain = batch->domain,
        .incarnation = batch->incarnation, .id = d->def.id, .ring = batch->ring,
        .kind = is_end ? EVENTRING_END : EVENTRING_BEGIN, .event_class = d->def.event_class,
        .flags = is_end ? EVENTRING_MATCHED : 0, .depth = depth, .name = d->def.name,
        .def = &d->def, .context = batch->context};
    event.begin_ns = is_end ? event.ns - ended++->took : event.ns;
    depth += !is_end;
    result = callback(context, &event);
  }
  return result;
}

int eventring_cursor_batches(eventring_cursor *c,
                             int (*callback)(void *context, const struct eventring_batch *batch),
                             void *context) {
  if (c->flags & EVENTRING_OPEN_BACKWARDS || c->busy) return EVENTRING_E_STATE;
  if (callback && !c->batch_room) c->batch_room = calloc(1, sizeof *c->batch_room);
  if (callback && !c->batch_room) return EVENTRING_E_MEMORY;
  if (callback) c->batch_room->begun[0].tail = NO_TAIL;
  c->batch = callback;
  c->batch_context = context;
  return EVENTRING_OK;
}
