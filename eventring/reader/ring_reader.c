/* SPDX-License-Identifier: MIT */
/* ring_reader.c: the reader of one ring: positions, losses, open spans.
 *
 * Data: a block cursor, which holds a copy of the block that is being read, and whose
 * position is the number of events that were passed since the ring began; the stacks of
 * open spans; and a queue of losses, synthetic begins and ends to be delivered before the
 * next event of the block. delivery.c interprets the words of the block held.
 *
 * Invariants (asserted in debug builds: ring_reader.h)
 *
 *  - missed + delivered + lost = position: the events in the gap before a new block are
 *    lost (or missed, when they were overwritten before the cursor was opened);
 *  - all delivered begins and ends are balanced, except ends marked TORN that are not
 *    synthetic: a span that was open before a loss and is not open after it gets a
 *    synthetic end; a span that is open after the loss and was not open before it gets a
 *    synthetic begin with its true time. A span is identified by its id and the time of
 *    its begin, so a span that outlasts the loss goes on;
 *  - a synthetic end lies where the span is last known to have been open: at the last
 *    event before the loss, or where its class was switched off. It comes before the
 *    loss;
 *  - synthetic begins that become known at one moment are delivered in the order of their
 *    times. Where reading begins, they come before the loss, and a merged poll delivers
 *    them at their times. After a later loss they are delivered when they become known.
 */
#include "reader/backwards.h"

#include <stdlib.h>
#include <string.h>

#include "format/array.h"

struct evr_ring_reader *evr_ring_reader_new(struct evr_metadata *meta,
                                            struct evr_definitions *definitions,
                                            unsigned slot, unsigned ring,
                                            uint64_t opened_head) {
  struct evr_ring_reader *reader = calloc(1, sizeof *reader);
  if (!reader) return NULL;
  evr_block_cursor_init(&reader->blocks, meta, slot, ring, &meta->damage);
  if (!evr_metadata_is_stream(meta, slot, ring))
    reader->blocks.distance = evr_metadata_blocks(meta, slot, ring) / 4;
  evr_spans_init(&reader->spans);
  reader->definitions = definitions;
  reader->log = &meta->log;
  reader->opened_head = opened_head;
  return reader;
}

void evr_ring_reader_free(struct evr_ring_reader *reader) {
  if (!reader) return;
  evr_backwards_free(reader);
  evr_spans_free(&reader->spans);
  free(reader->pending);
  evr_block_cursor_end(&reader->blocks);
  free(reader->blocks.rooms);
  free(reader);
}

/* ---- The queue -------------------------------------------------------------------- */

static bool queue_pending(struct evr_ring_reader *reader, struct evr_pending pending) {
  if (reader->pending_at == reader->pending_count)
    reader->pending_at = reader->pending_count = 0;
  if (!EVR_MAKE_ROOM(reader->pending, reader->pending_room, reader->pending_count, 16)) {
    EVR_IN_DEBUG(reader->is_unbalanced = true;)
    return false;
  }
  reader->pending[reader->pending_count++] = pending;
  return true;
}

/* Queues a synthetic end for a span that is torn, and counts the span. When out of
   memory, the end is left out, but the span is counted. */
static void queue_end(struct evr_ring_reader *reader, const struct evr_span *span,
                      uint64_t context, uint32_t depth, uint64_t ns) {
  reader->torn++;
  queue_pending(reader, (struct evr_pending){.kind = EVENTRING_END,
                                             .flags = EVENTRING_SYNTHETIC | EVENTRING_TORN,
                                             .id = (uint16_t)span->id, .depth = depth,
                                             .incarnation = reader->position.incarnation,
                                             .context = context,
                                             .when = ns > span->ns ? ns : span->ns,
                                             .value = span->ticks});
}

/* Moves the begin that was queued last before all queued begins with later times. */
static void sort_begin(struct evr_ring_reader *reader) {
  struct evr_pending *last = &reader->pending[reader->pending_count - 1], begin = *last;
  const struct evr_pending *first = &reader->pending[reader->pending_at];
  for (; last > first && last[-1].kind == EVENTRING_BEGIN && last[-1].value > begin.value; last--)
    *last = last[-1];
  *last = begin;
}

/* Queues a synthetic begin. `at_start` says that reading begins here: then the begin is
   ordered among the events of all rings by its own time. */
static void queue_begin(struct evr_ring_reader *reader, const struct evr_span *span,
                        uint64_t context, uint32_t depth, bool at_start) {
  if (queue_pending(reader, (struct evr_pending){.kind = EVENTRING_BEGIN,
                                                 .incarnation = reader->position.incarnation,
                                                 .context = context,
                                                 .when = at_start ? span->ticks : reader->now,
                                                 .flags = EVENTRING_SYNTHETIC,
                                                 .id = (uint16_t)span->id, .depth = depth,
                                                 .value = span->ticks}))
    sort_begin(reader);
}

/* Tears a span: queues its end and takes it off the stack. `ns` is the last time at which
   it is known to have been open. */
static void tear_span(struct evr_ring_reader *reader, struct evr_span_stack *stack,
                      uint32_t index, uint64_t ns) {
  queue_end(reader, &stack->span[index], stack->context, index, ns);
  evr_spans_remove(&reader->spans, stack, index);
  evr_spans_hide(stack, index ? index - 1 : 0);
}

static uint64_t now_ns(const struct evr_ring_reader *reader) {
  return evr_metadata_ns(reader->blocks.meta, reader->now);
}

/* Returns the last time, in ns, at which the open spans are known to have been open: the
   time of the last event or, if later, the base of times. */
static uint64_t last_known_ns(const struct evr_ring_reader *reader) {
  uint64_t base = evr_metadata_ns(reader->blocks.meta, reader->position.base);
  return base > reader->known_ns ? base : reader->known_ns;
}

static void tear_all(struct evr_ring_reader *reader) {
  struct evr_span_stack *stack = NULL;
  const uint64_t ns = last_known_ns(reader);
  while ((stack = evr_spans_next(&reader->spans, stack)) != NULL)
    for (uint32_t i = stack->count; i-- > 0;) tear_span(reader, stack, i, ns);
  evr_spans_clear(&reader->spans);
}

/* ---- Remarks --------------------------------------------------------------------- */

static void queue_switch(struct evr_ring_reader *reader, uint8_t kind, uint64_t context,
                         uint64_t ticks) {
  const struct evr_span_stack *stack =
      reader->tells_switches ? evr_spans_of(&reader->spans, context) : NULL;
  if (stack && stack->count)
    queue_pending(reader, (struct evr_pending){.kind = kind, .context = context, .when = ticks,
                                               .incarnation = reader->position.incarnation});
}

void evr_ring_reader_remark(struct evr_ring_reader *reader, const uint64_t *words) {
  const uint64_t *end = reader->blocks.held->words + reader->blocks.held->have;
  struct format_position position = reader->position;
  uint64_t ticks = word_ticks(*words, position.base);
  uint64_t context = format_apply_remark(words, end, &position);
  switch (word_id(*words)) {
    case FORMAT_REMARK_SUSPEND:
      queue_switch(reader, EVR_CONTEXT_LEFT, context, ticks);
      evr_spans_suspend(&reader->spans, context, ticks);
      break;
    case FORMAT_REMARK_RESUME:
      queue_switch(reader, EVR_CONTEXT_RESUMED, context, ticks);
      evr_spans_resume(&reader->spans, context, ticks);
      break;
    case FORMAT_REMARK_INCARNATION:
      reader->now = ticks;
      tear_all(reader); /* before the position changes to the new incarnation */
      break;
    case FORMAT_REMARK_REBASE:
    case FORMAT_REMARK_CONTEXT:
      break;
    default:
      reader->remarks_unknown++;
      break;
  }
  reader->position = position;
  evr_spans_enter(&reader->spans, position.context);
}

/* ---- Classes switched off and on again (control.c) -------------------------------- */

static void tear_classes(struct evr_ring_reader *reader, uint64_t classes, uint64_t ticks) {
  struct evr_span_stack *stack = NULL;
  const uint64_t ns = now_ns(reader);
  while ((stack = evr_spans_next(&reader->spans, stack)) != NULL)
    for (uint32_t i = stack->count; i-- > 0;) {
      const struct evr_span *span = &stack->span[i];
      const struct eventring_def *def = evr_definition_of(reader->definitions, span->id);
      if (span->ticks < ticks && (!def || classes >> def->event_class & 1))
        tear_span(reader, stack, i, ns);
    }
}

/* Copies entry n of the log as last read. Returns false if it is not there. */
static bool read_logged_switch(const struct evr_log *log, uint32_t n,
                               struct format_switch *entry) {
  *entry = log->entry[n % FORMAT_LOG_ENTRIES];
  return entry->number == (uint64_t)n + 1;
}

/* Returns the number of the oldest entry that can still be there. */
static uint32_t oldest_switch(const struct evr_log *log) {
  uint32_t count = log->told;
  return count > FORMAT_LOG_ENTRIES ? count - FORMAT_LOG_ENTRIES : 0;
}

/* Tells whether entries are gone that this reader has not applied. */
static bool misses_switches(const struct evr_ring_reader *reader) {
  return reader->log->told - reader->switches > FORMAT_LOG_ENTRIES;
}

/* Skips entries that are gone: any class may have been off before the oldest remaining
   entry. Returns false if that entry is later than `ticks`. */
static bool pass_missed_switches(struct evr_ring_reader *reader, uint64_t ticks) {
  const struct evr_log *log = reader->log;
  uint32_t first = oldest_switch(log);
  struct format_switch entry;
  uint64_t until = read_logged_switch(log, first, &entry) ? entry.ticks : ticks;
  reader->switch_due = until;
  if (until > ticks) return false;
  reader->now = until;
  tear_classes(reader, UINT64_MAX, until);
  reader->switches = first;
  reader->missed_switches = true;
  return true;
}

/* Applies the entries of the log up to `ticks`, and notes when the next entry is due.
   Each entry applies to all events up to its second time, `until`; an entry whose writer
   died before it set `until` applies for good. If the number of entries has gone back,
   there is no further entry to apply. */
void evr_ring_reader_switch(struct evr_ring_reader *reader, uint64_t ticks) {
  const struct evr_log *log = reader->log;
  struct format_switch entry;
  bool passed = true; /* all entries so far are of the past */
  reader->switches_known = log->written;
  if (misses_switches(reader) && !pass_missed_switches(reader, ticks)) return;
  reader->switch_due = UINT64_MAX;
  for (uint32_t n = reader->switches; log->written - n - 1 < FORMAT_LOG_ENTRIES; n++) {
    if (read_logged_switch(log, n, &entry)) {
      if (entry.ticks <= ticks) {
        reader->now = entry.ticks;
        tear_classes(reader, entry.classes, entry.until);
      }
      passed = passed && entry.ticks <= ticks && entry.until <= ticks;
      /* 0: the entry applies again at the next event */
      uint64_t due = entry.ticks <= ticks ? 0 : entry.ticks;
      if (!passed && due < reader->switch_due) reader->switch_due = due;
    }
    if (passed) reader->switches = n + 1;
  }
}

bool evr_ring_reader_was_off(const struct evr_ring_reader *reader, uint64_t classes,
                             uint64_t ticks) {
  const struct evr_log *log = reader->log;
  struct format_switch entry;
  uint32_t n = reader->switches;
  if (misses_switches(reader)) {
    n = oldest_switch(log);
    if (!read_logged_switch(log, n, &entry) || ticks < entry.ticks) return true;
  }
  for (; log->written - n - 1 < FORMAT_LOG_ENTRIES; n++)
    if (read_logged_switch(log, n, &entry) && entry.classes & classes && ticks < entry.until)
      return true;
  return false;
}

/* Applies the log to the spans that a header lists. */
static void switch_listed(struct evr_ring_reader *reader, uint64_t ticks) {
  const struct evr_log *log = reader->log;
  if (!misses_switches(reader))
    reader->switches = oldest_switch(log) - reader->missed_switches;
  if (reader->switches != log->written) evr_ring_reader_switch(reader, ticks);
}

/* ---- Entering a block -------------------------------------------------------------- */

struct listed { /* the open spans of a block's header */
  struct format_open entry[FORMAT_MAX_OPEN];
  uint32_t count;
};

static void read_list(const struct evr_block *block, struct listed *list) {
  const struct format_block *h = evr_block_header(block);
  const uint64_t *words = block->words + FORMAT_BLOCK_HEADER_WORDS;
  memcpy(list->entry, words, h->open * sizeof list->entry[0]);
  words += h->open * FORMAT_OPEN_WORDS;
  for (uint32_t i = 0; i < h->open_brief; i++, words++)
    list->entry[h->open + i] =
        (struct format_open){.tail = *words & FORMAT_TAIL_MASK,
                             .ticks = word_ticks(*words, h->base_ticks), .context = h->context};
  list->count = h->open + (uint32_t)h->open_brief;
}

static bool is_listed(const struct listed *list, const struct evr_span_stack *stack,
                      const struct evr_span *span) {
  const struct format_open *entry = list->entry;
  for (uint32_t i = 0; i < list->count; i++, entry++)
    if (word_id(entry->tail) == span->id && entry->ticks == span->ticks &&
        entry->context == stack->context)
      return true;
  return false;
}

static bool is_open(const struct evr_span_stacks *stacks, const struct format_open *entry) {
  const struct evr_span_stack *stack = evr_spans_of(stacks, entry->context);
  for (uint32_t i = stack ? stack->count : 0; i-- > 0;)
    if (stack->span[i].id == word_id(entry->tail) && stack->span[i].ticks == entry->ticks)
      return true;
  return false;
}

/* Notes for how long the context has been suspended, as far as known: usually as long as
   the outermost span that the header lists. */
static void raise_suspended(struct evr_span_stack *stack, uint64_t suspended) {
  if (suspended <= stack->suspended) return;
  for (uint32_t i = 0; i < stack->count; i++)
    stack->span[i].suspended += suspended - stack->suspended;
  stack->suspended = suspended;
}

/* Puts an entry of a header's list onto the stack of its context. */
static struct evr_span push_listed(struct evr_ring_reader *reader,
                                   const struct format_open *entry, uint64_t base) {
  struct evr_span_stacks *spans = &reader->spans;
  uint64_t suspended = entry->suspended & ~FORMAT_OPEN_SUSPENDED;
  evr_spans_enter(spans, entry->context);
  struct evr_span_stack *stack = spans->present;
  raise_suspended(stack, suspended);
  if (entry->suspended & FORMAT_OPEN_SUSPENDED) stack->since = base;
  struct evr_span span = {
      .ticks = entry->ticks, .ns = evr_metadata_ns(reader->blocks.meta, entry->ticks),
      .id = word_id(entry->tail), .suspended = stack->suspended - suspended,
      .within = EVR_NOT_SEEN};
  evr_spans_push(spans, span);
  return span;
}

/* Tears the spans that the header of the block does not list. */
static void tear_unlisted(struct evr_ring_reader *reader, const struct listed *list) {
  const uint64_t ns = last_known_ns(reader);
  for (struct evr_span_stack *stack = NULL;
       (stack = evr_spans_next(&reader->spans, stack)) != NULL;)
    for (uint32_t i = stack->count; i-- > 0;)
      if (!is_listed(list, stack, &stack->span[i])) tear_span(reader, stack, i, ns);
}

/* Replaces the open spans by the list in the block's header; queues begins of the spans
   that are new. */
static void adopt_list(struct evr_ring_reader *reader, const struct listed *list) {
  const struct evr_block *block = reader->blocks.held;
  const struct format_block *h = evr_block_header(block);
  bool known[FORMAT_MAX_OPEN];
  const struct format_open *entry = list->entry;
  for (uint32_t i = 0; i < list->count; i++) known[i] = is_open(&reader->spans, &entry[i]);
  evr_spans_clear(&reader->spans);
  reader->position = evr_block_start(block);
  for (uint32_t i = 0; i < list->count; i++) {
    struct evr_span span = push_listed(reader, &entry[i], h->base_ticks);
    uint32_t depth = reader->spans.present->count;
    if (!known[i])
      queue_begin(reader, &span, entry[i].context, depth ? depth - 1 : 0, !reader->joined);
  }
  reader->spans.hidden += h->open_hidden;
  evr_spans_enter(&reader->spans, h->context);
  switch_listed(reader, h->base_ticks);
}

static void queue_gap(struct evr_ring_reader *reader, bool before) {
  uint64_t gap = reader->blocks.gap;
  uint32_t incarnation = evr_block_header(reader->blocks.held)->incarnation;
  *(before ? &reader->missed : &reader->lost) += gap;
  queue_pending(reader, (struct evr_pending){.kind = 0, .value = gap,
                                             .incarnation = incarnation, .when = reader->now,
                                             .flags = before ? EVENTRING_LOST_BEFORE : 0});
}

/* Enters the first block, or a block before which events are missing. */
static void jump(struct evr_ring_reader *reader, bool before) {
  struct listed list;
  read_list(reader->blocks.held, &list);
  tear_unlisted(reader, &list);
  if (reader->blocks.gap && reader->joined) queue_gap(reader, before);
  adopt_list(reader, &list);
}

/* Changes to the log of a process: where several processes have used a ring, each has its
   own log. */
static void follow_log(struct evr_ring_reader *reader, uint32_t process) {
  if (process == reader->process) return;
  reader->process = process;
  reader->log = evr_definitions_log(reader->definitions, reader->blocks.meta, process);
  reader->switches = reader->switches_known = 0;
  reader->missed_switches = false;
}

/* Goes on in the block just copied. `before` says that the events of the gap were
   overwritten before the cursor was opened. */
static void enter_block(struct evr_ring_reader *reader, bool before) {
  const struct evr_block_cursor *blocks = &reader->blocks;
  const struct format_block *h = evr_block_header(blocks->held);
  bool jumped = !reader->joined || blocks->gap != 0 || blocks->backwards;
  reader->at = evr_block_first(blocks->held);
  reader->now = h->base_ticks;
  follow_log(reader, h->process);
  evr_ring_reader_survey(reader);
  if (reader->joined && h->incarnation != reader->position.incarnation) tear_all(reader);
  if (jumped) jump(reader, before);
  /* set again: jump tears spans of classes that were switched off before */
  reader->now = h->base_ticks;
  if (blocks->gap && !reader->joined) queue_gap(reader, before);
  reader->position = evr_block_start(blocks->held);
  evr_spans_enter(&reader->spans, h->context);
  reader->joined = true;
}

/* ---- One block by itself --------------------------------------------------------- */

void evr_ring_reader_begin(struct evr_ring_reader *reader) {
  enter_block(reader, evr_ring_reader_began_late(reader));
}

void evr_ring_reader_enter(struct evr_ring_reader *reader, struct evr_block *next) {
  uint64_t base = evr_block_header(next)->base_ticks;
  reader->blocks.held = next;
  evr_block_cursor_count(&reader->blocks, evr_block_header(next)->sequence);
  enter_block(reader, false);
  /* applies switches between the blocks, which the block's list does not show */
  if (base >= evr_ring_reader_switch_due(reader)) evr_ring_reader_switch(reader, base);
}

/* ---- From block to block --------------------------------------------------------- */

/* Allocates the rooms before the first block; they are kept from then on. */
bool evr_ring_reader_make_room(struct evr_ring_reader *reader) {
  struct evr_block_cursor *blocks = &reader->blocks;
  if (blocks->rooms) return true;
  if (!blocks->room_count) blocks->room_count = evr_block_cursor_rooms(blocks);
  blocks->rooms = malloc(blocks->room_count * sizeof *blocks->rooms);
  blocks->held = blocks->rooms;
  if (!blocks->rooms)
    evr_fail(&blocks->meta->damage, EVENTRING_E_MEMORY, 0, "no memory for a block");
  return blocks->rooms != NULL;
}

/* Goes on to the next block that can be read. Returns false if there is none now. */
static bool next_block(struct evr_ring_reader *reader, bool before, unsigned *budget) {
  if (!evr_ring_reader_make_room(reader) || !evr_block_cursor_next(&reader->blocks, budget))
    return false;
  enter_block(reader, before);
  return true;
}

/* ---- Joining --------------------------------------------------------------------- */

static void apply_event(struct evr_ring_reader *reader, uint64_t word) {
  struct evr_span_stacks *spans = &reader->spans;
  uint64_t ticks = word_ticks(word, reader->position.base);
  struct evr_span begin;
  if (spans->present->since) evr_spans_resume(spans, spans->present->context, ticks);
  if (word_kind(word) == EVENTRING_BEGIN)
    evr_spans_push(spans, (struct evr_span){
                              .ticks = ticks, .ns = evr_metadata_ns(reader->blocks.meta, ticks),
                              .id = word_id(word), .suspended = spans->present->suspended});
  else if (word_kind(word) == EVENTRING_END)
    evr_spans_pop(spans, word_id(word), &begin);
}

/* Applies all events of the block to the open spans and skips them. */
static void skip_to_end(struct evr_ring_reader *reader) {
  const struct evr_block *block = reader->blocks.held;
  reader->known_ns = evr_metadata_ns(reader->blocks.meta, evr_block_newest_ticks(block));
  for (; reader->at < block->have; reader->at += 1 + word_length(block->words[reader->at])) {
    const uint64_t *words = block->words + reader->at;
    if (word_is_event(*words)) apply_event(reader, *words);
    else evr_ring_reader_remark(reader, words);
    reader->blocks.position += (uint64_t)word_is_event(*words);
  }
}

/* Begins at the present end of the ring: earlier events are missed, and open spans get a
   synthetic begin. */
static void start_now(struct evr_ring_reader *reader) {
  skip_to_end(reader);
  reader->pending_at = reader->pending_count = 0;
  reader->torn = 0;
  reader->missed = reader->blocks.position;
  reader->lost = 0;
  for (struct evr_span_stack *stack = NULL;
       (stack = evr_spans_next(&reader->spans, stack)) != NULL;) {
    evr_spans_hide(stack, 0);
    for (uint32_t i = 0; i < stack->count; i++)
      queue_begin(reader, &stack->span[i], stack->context, i, true);
  }
}

void evr_ring_reader_note_no_block(struct evr_ring_reader *reader) {
  evr_note_damage(&reader->blocks.meta->damage, "domain %u, ring %u: no valid block",
                  reader->blocks.slot, reader->blocks.ring);
}

void evr_ring_reader_join_now(struct evr_ring_reader *reader, unsigned *budget) {
  uint64_t head = evr_block_cursor_head(&reader->blocks);
  if (!head) return;
  reader->blocks.next = head;
  if (next_block(reader, true, budget)) start_now(reader);
  else evr_ring_reader_note_no_block(reader);
}

static uint32_t blocks_of(const struct evr_ring_reader *reader) {
  return evr_metadata_blocks(reader->blocks.meta, reader->blocks.slot, reader->blocks.ring);
}

void evr_ring_reader_seek(struct evr_ring_reader *reader, uint64_t ns) {
  evr_block_cursor_seek(&reader->blocks, ns);
  reader->sought = true;
}

/* Tells whether the events before the first block were gone when the cursor was opened.
   In a ring that had been filled once by then, they were. */
bool evr_ring_reader_began_late(const struct evr_ring_reader *reader) {
  const struct evr_metadata *meta = reader->blocks.meta;
  if (reader->sought) return true;
  if (evr_metadata_is_stream(meta, reader->blocks.slot, reader->blocks.ring))
    return meta->header.flags & FORMAT_INCOMPLETE;
  return reader->opened_head > blocks_of(reader);
}

/* Takes the first position of a reader, before the oldest event. */
static void join_ring(struct evr_ring_reader *reader, unsigned *budget) {
  /* the whole ring was unreadable */
  if (reader->blocks.next > reader->limit_sequence) return;
  bool found = next_block(reader, evr_ring_reader_began_late(reader), budget);
  if (!found && reader->blocks.next > reader->limit_sequence) evr_ring_reader_note_no_block(reader);
}

/* ---- Limits ---------------------------------------------------------------------- */

/* Copies what was added to the block held. Returns false if that fails, usually because
   the block is gone. */
static bool read_more(struct evr_ring_reader *reader, uint64_t head) {
  if (!evr_block_cursor_more(&reader->blocks, head)) return false;
  evr_ring_reader_survey(reader);
  return true;
}

/* Sets the word at which this poll ends in the block held. */
static void set_end(struct evr_ring_reader *reader) {
  const struct evr_block_cursor *blocks = &reader->blocks;
  reader->end = reader->at;
  if (!blocks->sequence || blocks->sequence > reader->limit_sequence) return;
  bool last = blocks->sequence == reader->limit_sequence;
  reader->end = last && reader->limit_at < blocks->held->have ? reader->limit_at
                                                              : blocks->held->have;
}

bool evr_ring_reader_limit(struct evr_ring_reader *reader, unsigned *budget) {
  struct evr_block_cursor *blocks = &reader->blocks;
  uint64_t head = blocks->meta->ring[blocks->slot][blocks->ring].head;
  reader->limit_moved = false;
  reader->limit_sequence = head;
  reader->limit_at = 0;
  if (head && !reader->joined) join_ring(reader, budget);
  if (head && blocks->sequence == head) {
    if (evr_block_cursor_has_more(blocks)) read_more(reader, head);
    reader->limit_at = blocks->held->have;
  } else if (head) {
    reader->limit_at = evr_block_cursor_length(blocks, head);
  }
  set_end(reader);
  return reader->pending_at < reader->pending_count || reader->at < reader->end ||
         (blocks->sequence < head && blocks->next <= head);
}

/* Moves the limit of this poll if the reader has jumped beyond it. Once in a poll, the
   block at the new position is delivered up to its present end, so that a reader much
   slower than the producer sees some events. Returns false if the poll ends here. */
static bool move_limit(struct evr_ring_reader *reader) {
  const struct evr_block_cursor *blocks = &reader->blocks;
  struct evr_metadata *meta = blocks->meta;
  if (blocks->sequence <= reader->limit_sequence) return true;
  if (reader->limit_moved) return false;
  reader->limit_moved = true;
  reader->limit_sequence = blocks->sequence;
  reader->limit_at = blocks->held->have;
  return evr_definitions_catch_up(reader->definitions, meta, &meta->damage) == EVENTRING_OK;
}

static bool advance_reader(struct evr_ring_reader *reader, unsigned *budget) {
  if (reader->blocks.sequence && !reader->blocks.complete) {
    /* the block was being filled when it was copied, and is complete now; if it is gone,
       the rest of its events is lost */
    bool more = read_more(reader, reader->limit_sequence);
    reader->blocks.complete = true;
    if (more) return true;
  }
  return next_block(reader, false, budget) && move_limit(reader);
}

bool evr_ring_reader_go_on(struct evr_ring_reader *reader, unsigned *budget) {
  if (reader->blocks.sequence >= reader->limit_sequence ||
      reader->blocks.next > reader->limit_sequence || !*budget)
    return false;
  bool going = advance_reader(reader, budget);
  set_end(reader);
  return going;
}
