/* SPDX-License-Identifier: MIT */
/* batch.c: begins and ends of spans, handed over many at a time.
 *
 * What delivery.c does for each event of a run, without a call and without an event to fill:
 * three stores into an array. It does so for the events of which there are many: begins and
 * ends without payload, in a context that was not suspended since the span began, each end
 * that of the innermost span. The first event that is none of these ends the batch, and
 * delivery.c delivers it.
 *
 * The processor cannot foresee whether a begin or an end comes next where spans are nested,
 * and a wrong guess costs more than all the rest. So the two are decoded by the same
 * instructions, as in decode_nested there: both push (what an end pushes is never read), and
 * both read the begin.
 */
#include "reader/run.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "reader/cursor.h"

_Static_assert(sizeof(struct eventring_brief) == 24, "a batch is three words an event");
_Static_assert(EVENTRING_BATCH >= FORMAT_BLOCK_WORDS, "a batch is of one block");
_Static_assert(EVENTRING_END == EVENTRING_BEGIN + 1, "is_end");

/* Of a definition whose events may be in batches: its id and class in the places of brief
   events (behind the depth), and kind BEGIN. */
uint32_t evr_definition_tail(const struct evr_definition *d) {
  const uint64_t id = d->def.id, event_class = d->def.event_class;
  if (d->plain != EVENTRING_BEGIN) return 0;
  return (uint32_t)(id | (uint64_t)EVENTRING_BEGIN << 16 | event_class << 24);
}

#define FIELD_AT(member, at) \
  _Static_assert(offsetof(struct eventring_brief, member) == \
                     offsetof(struct eventring_brief, depth) + (at), "tail")
FIELD_AT(id, 4);
FIELD_AT(kind, 6);
FIELD_AT(event_class, 7);

struct filling { /* of a batch */
  struct eventring_brief *next;
  const uint32_t *tail; /* of definitions, by id; 0: not for batches */
  uint64_t suspended;   /* of the context */
  uint32_t room;        /* of its stack */
  uint32_t different;   /* bits in which tails differ from the first one */
  bool went_back;       /* a time is before that of the event before */
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

/* Decodes what of the run a batch may have, from run->at on. An entry that is pushed onto the
   stack has the tail as its id, and its word as its ticks, until the end of the batch: an end
   that finds an older one is checked more closely. (All that the loop needs is in locals: they
   are to be in registers.) */
static inline __attribute__((always_inline)) void
fill_batch(struct evr_event_run *run, const struct relative *relative, struct filling *to) {
  const uint64_t base_word = relative->base_word, bound = relative->bound;
  const uint64_t multiplier = relative->multiplier, fraction = relative->fraction;
  const uint64_t from_ns = relative->from_ns;
  const uint64_t *at = run->words + run->at, *const end = run->words + run->end;
  const uint32_t *const tails = to->tail;
  struct evr_span *const stack = run->top - run->depth;
  struct eventring_brief *next = to->next;
  uint64_t depth = run->depth, word = *at, ns = from_ns, before = ns, went_back = 0;
  uint32_t different = 0;
  const uint32_t first_tail = tails[word_id(word)], room = to->room;
  for (;;) {
    uint64_t is_end = (word & FORMAT_WHAT_MASK) - EVENTRING_BEGIN;
    uint32_t tail = tails[word_id(word)];
    if (is_end > 1 || !tail || depth >= room || depth < is_end) break;
    stack[depth].ns = ns;
    stack[depth].ticks = word;
    stack[depth].id = tail;
    depth -= is_end;
    uint64_t begin_ns = stack[depth].ns;
    if (__builtin_expect(stack[depth].id != tail, 0)) {
      bool is_its = stack[depth].id == word_id(word) && stack[depth].suspended == to->suspended;
      if (!is_its) {
        depth += is_end;
        break;
      }
      if (begin_ns > ns) begin_ns = ns;
    }
    next->ns = ns;
    next->begin_ns = begin_ns;
    next->depth = (uint32_t)depth;
    tail += (uint32_t)is_end << 16;
    memcpy(&next->id, &tail, sizeof tail);
    next++;
    depth += 1 - is_end;
    different |= tail ^ first_tail;
    went_back |= ns - before;
    before = ns;
    if (++at >= end) break;
    word = *at;
    uint64_t ticks = (word - base_word) >> EVENTRING_WORD_TIME_SHIFT;
    if (ticks >= bound) break;
    ns = from_ns + ((fraction + ticks * multiplier) >> FORMAT_CLOCK_SHIFT);
  }
  to->next = next;
  to->went_back = went_back >> 63;
  to->different = different;
  run->at = (uint32_t)(at - run->words);
  run->depth = (uint32_t)depth;
  run->top = stack + depth;
}

/* Makes the entries that were pushed what they are to be. */
static void settle(const struct evr_event_run *run, const struct relative *relative,
                   uint64_t suspended) {
  struct evr_span *span = run->top;
  for (uint32_t depth = run->depth; depth-- > 0 && (--span)->id >= EVENTRING_MAX_EVENTS;) {
    span->id = span->id & 0xFFFF;
    span->suspended = suspended;
    span->ticks = relative->ticks +
                  ((span->ticks - relative->base_word) >> EVENTRING_WORD_TIME_SHIFT);
  }
}

/* What is true of all events of a batch. */
static void sum_up(struct eventring_batch *batch, const struct filling *filling) {
  const struct eventring_brief *first = batch->events, *last = first + batch->count - 1;
  batch->earliest_ns = first->ns; /* one that is before it does not come with it */
  batch->latest_ns = last->ns;
  batch->classes = 1ull << (first->event_class & 63);
  if (filling->different >> 24)
    for (const struct eventring_brief *e = first; e <= last; e++)
      batch->classes |= 1ull << (e->event_class & 63);
  if (filling->went_back)
    for (const struct eventring_brief *e = first; e <= last; e++)
      if (e->ns > batch->latest_ns) batch->latest_ns = e->ns;
}

/* A begin may be later than its end where times went back. */
static void limit_begins(struct eventring_brief *first, const struct eventring_brief *end) {
  for (struct eventring_brief *e = first; e < end; e++)
    if (e->begin_ns > e->ns) e->begin_ns = e->ns;
}

bool evr_ring_reader_batch(struct evr_ring_reader *reader, uint64_t until,
                           struct evr_sink *sink) {
  const struct evr_span_stack *stack = reader->spans.present;
  struct filling filling = {.next = sink->briefs, .suspended = stack->suspended,
                            .room = stack->room, .tail = reader->definitions->tail};
  struct evr_event_run run;
  begin_run(reader, sink, false, &run);
  if (!run.top) return false;
  const struct relative relative = relative_to(&run, until);
  fill_batch(&run, &relative, &filling);
  settle(&run, &relative, filling.suspended);
  size_t count = (size_t)(filling.next - sink->briefs);
  if (!count) return false;
  if (filling.went_back) limit_begins(sink->briefs, filling.next);
  reader->in_run = count;
  end_run(reader, sink, &run);
  struct eventring_batch batch = {
      .events = sink->briefs, .count = count, .cursor = sink->cursor,
      .context = reader->position.context, .domain = reader->blocks.slot,
      .incarnation = reader->position.incarnation, .ring = (uint8_t)reader->blocks.ring};
  sum_up(&batch, &filling);
  if (sink->batch(sink->batch_context, &batch) || !sink->left) sink->stopped = true;
  return true;
}

void eventring_batch_event(const struct eventring_batch *batch, size_t index,
                           struct eventring_event *event) {
  const struct eventring_brief *brief = &batch->events[index];
  const struct eventring_def *def = evr_definition_of(&batch->cursor->definitions, brief->id);
  *event = (struct eventring_event){
      .ns = brief->ns, .begin_ns = brief->begin_ns, .domain = batch->domain,
      .incarnation = batch->incarnation, .id = brief->id, .ring = batch->ring,
      .kind = brief->kind, .event_class = brief->event_class,
      .flags = brief->kind == EVENTRING_END ? EVENTRING_MATCHED : 0, .depth = brief->depth,
      .name = def->name, .def = def, .context = batch->context};
}

int eventring_cursor_batches(eventring_cursor *c,
                             int (*callback)(void *context, const struct eventring_batch *batch),
                             void *context) {
  if (c->flags & EVENTRING_OPEN_BACKWARDS || c->busy) return EVENTRING_E_STATE;
  if (callback && !c->briefs) c->briefs = malloc(EVENTRING_BATCH * sizeof *c->briefs);
  if (callback && !c->briefs) return EVENTRING_E_MEMORY;
  c->batch = callback;
  c->batch_context = context;
  return EVENTRING_OK;
}
