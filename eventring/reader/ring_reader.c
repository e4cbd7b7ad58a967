/* SPDX-License-Identifier: MIT */
/* ring_reader.c: the reader of one ring: what a change of blocks means.
 *
 * Data: a block cursor, which holds a copy of the block that is read and whose position
 * counts on with the events delivered (from 0 over the whole life of the ring); the stack
 * of open spans; and a queue of things to deliver before the next event of the block:
 * losses, synthetic begins and ends. delivery.c interprets the words of the block held.
 *
 * Invariants
 *  - missed + delivered + lost = position: the gap before a block that is taken up is
 *    lost (or missed, when it was so before the cursor came);
 *  - all delivered begins and ends are balanced, except ends marked TORN that
 *    are not synthetic: a span that was open before a loss and is not open after
 *    it gets a synthetic end; one that is open after and was not before gets a
 *    synthetic begin, with its true time. A span is known by id and time of
 *    begin, so one that outlasts the loss goes on.
 */
#include "reader/delivery.h"

#include <stdlib.h>
#include <string.h>

struct evr_ring_reader *evr_ring_reader_new(struct evr_metadata *meta,
                                            struct evr_definitions *definitions,
                                            unsigned slot, unsigned ring,
                                            uint64_t opened_head) {
  struct evr_ring_reader *reader = calloc(1, sizeof *reader);
  if (!reader) return NULL;
  evr_block_cursor_init(&reader->blocks, meta, slot, ring, &meta->damage);
  reader->blocks.distance = meta->blocks / 4;
  reader->definitions = definitions;
  reader->opened_head = opened_head;
  return reader;
}

void evr_ring_reader_free(struct evr_ring_reader *reader) {
  if (!reader) return;
  free(reader->stack.span);
  free(reader->pending);
  free(reader->blocks.rooms);
  free(reader);
}

/* ---- The queue -------------------------------------------------------------------- */

static bool queue_pending(struct evr_ring_reader *reader, struct evr_pending pending) {
  if (reader->pending_at == reader->pending_count)
    reader->pending_at = reader->pending_count = 0;
  if (reader->pending_count == reader->pending_room) {
    uint32_t room = reader->pending_room ? 2 * reader->pending_room : 16;
    struct evr_pending *grown = realloc(reader->pending, room * sizeof *grown);
    if (!grown) return false;
    reader->pending = grown;
    reader->pending_room = room;
  }
  reader->pending[reader->pending_count++] = pending;
  return true;
}

/* (Out of memory: the synthetic event is left out, its span is counted.) */
static void queue_end(struct evr_ring_reader *reader, const struct evr_span *span,
                      uint32_t depth) {
  reader->torn++;
  queue_pending(reader, (struct evr_pending){.kind = EVENTRING_END,
                                             .flags = EVENTRING_SYNTHETIC | EVENTRING_TORN,
                                             .id = (uint16_t)span->id, .depth = depth,
                                             .incarnation = reader->incarnation,
                                             .when = reader->now, .value = span->ticks});
}

static void queue_begin(struct evr_ring_reader *reader, unsigned id, uint64_t ticks,
                        uint32_t depth) {
  uint32_t incarnation = evr_block_header(reader->blocks.held)->incarnation;
  queue_pending(reader, (struct evr_pending){.kind = EVENTRING_BEGIN,
                                             .incarnation = incarnation, .when = reader->now,
                                             .flags = EVENTRING_SYNTHETIC,
                                             .id = (uint16_t)id, .depth = depth,
                                             .value = ticks});
}

uint32_t evr_ring_reader_depth(const struct evr_ring_reader *reader, uint32_t index) {
  return index + (index >= reader->stack.mark ? reader->stack.hidden : 0);
}

static void tear_span(struct evr_ring_reader *reader, uint32_t index) {
  if (reader->now < reader->stack.span[index].ticks)
    reader->now = reader->stack.span[index].ticks;
  queue_end(reader, &reader->stack.span[index], evr_ring_reader_depth(reader, index));
  evr_span_remove(&reader->stack, index);
}

/* ---- Classes switched off and on again (control.c) -------------------------------- */

static void tear_classes(struct evr_ring_reader *reader, uint32_t classes, uint64_t ticks) {
  for (uint32_t i = reader->stack.count; i-- > 0;) {
    const struct evr_span *span = &reader->stack.span[i];
    const struct eventring_def *def = evr_definition_of(reader->definitions, span->id);
    if (span->ticks < ticks && (!def || classes >> def->event_class & 1))
      tear_span(reader, i);
  }
}

/* Entry n of the log as last read; false when it is not there. */
static bool read_logged_switch(const struct evr_metadata *meta, uint32_t n,
                               struct format_switch *entry) {
  *entry = meta->control.log[n % FORMAT_LOG_ENTRIES];
  return entry->what >> 32 == (uint32_t)(n + 1);
}

/* Notes too when the next is due. */
void evr_ring_reader_switch(struct evr_ring_reader *reader, uint64_t ticks) {
  const struct evr_metadata *meta = reader->blocks.meta;
  struct format_switch entry;
  uint32_t now = meta->switches;
  reader->switch_due = 0;
  if (now - reader->switches > FORMAT_LOG_ENTRIES) {
    /* some entries are gone: any class may have been off before the oldest */
    uint32_t first = now - FORMAT_LOG_ENTRIES;
    uint64_t until = read_logged_switch(meta, first, &entry) ? entry.ticks : ticks;
    reader->switch_due = until;
    if (until > ticks) return;
    reader->now = until;
    tear_classes(reader, UINT32_MAX, until);
    reader->switches = first;
  }
  for (; reader->switches != now; reader->switches++) {
    if (!read_logged_switch(meta, reader->switches, &entry)) continue;
    reader->switch_due = entry.ticks;
    if (entry.ticks > ticks) return;
    reader->now = entry.ticks;
    tear_classes(reader, (uint32_t)entry.what, entry.ticks);
  }
}

/* ---- Taking up a block ------------------------------------------------------------ */

static bool is_listed(const struct evr_block *block, const struct evr_span *span) {
  const uint64_t *entry = block->words + FORMAT_BLOCK_HEADER_WORDS;
  for (uint32_t i = 0; i < evr_block_header(block)->open; i++, entry += 2)
    if (word_id(entry[0]) == span->id && entry[1] == span->ticks) return true;
  return false;
}

static bool is_open(const struct evr_span *spans, uint32_t count, unsigned id,
                    uint64_t ticks) {
  for (uint32_t i = 0; i < count; i++)
    if (spans[i].id == id && spans[i].ticks == ticks) return true;
  return false;
}

static void push_span(struct evr_ring_reader *reader, unsigned id, uint64_t ticks) {
  evr_span_push(&reader->stack,
                (struct evr_span){
                    .ticks = ticks, .ns = evr_metadata_ns(reader->blocks.meta, ticks), .id = id});
}

/* Makes the stack that of the block's header; queues the difference. */
static void adopt_stack(struct evr_ring_reader *reader) {
  const struct evr_block *block = reader->blocks.held;
  const struct format_block *h = evr_block_header(block);
  const uint64_t *entry = block->words + FORMAT_BLOCK_HEADER_WORDS;
  for (uint32_t i = reader->stack.count; i-- > 0;)
    if (!is_listed(block, &reader->stack.span[i])) tear_span(reader, i);
  struct evr_span kept[FORMAT_MAX_OPEN];
  uint32_t kept_count = reader->stack.count < FORMAT_MAX_OPEN ? reader->stack.count
                                                              : FORMAT_MAX_OPEN;
  if (kept_count) memcpy(kept, reader->stack.span, kept_count * sizeof kept[0]);
  evr_span_clear(&reader->stack);
  for (uint32_t i = 0; i < h->open; i++, entry += FORMAT_OPEN_WORDS) {
    unsigned id = word_id(entry[0]);
    push_span(reader, id, entry[1]);
    if (!is_open(kept, kept_count, id, entry[1])) queue_begin(reader, id, entry[1], i);
  }
  reader->stack.hidden = h->open_hidden;
  reader->stack.mark = reader->stack.count;
  evr_ring_reader_switch(reader, h->base_ticks);
}

/* Goes on in the block just taken up. `before`: what lies between was written before the
   cursor came. */
static void enter_block(struct evr_ring_reader *reader, bool before) {
  const struct evr_block_cursor *blocks = &reader->blocks;
  const struct format_block *h = evr_block_header(blocks->held);
  bool jumped = !reader->joined || blocks->gap != 0 || blocks->backwards;
  reader->at = evr_block_first(blocks->held);
  reader->base = reader->now = h->base_ticks;
  evr_ring_reader_survey(reader);
  if (blocks->gap) {
    *(before ? &reader->missed : &reader->lost) += blocks->gap;
    queue_pending(reader, (struct evr_pending){.kind = 0, .value = blocks->gap,
                                               .incarnation = h->incarnation,
                                               .when = reader->now,
                                               .flags = before ? EVENTRING_LOST_BEFORE : 0});
  }
  if (jumped || h->incarnation != reader->incarnation) adopt_stack(reader);
  reader->incarnation = h->incarnation;
  reader->joined = true;
}

/* Room for the blocks that this reader reads, from the first on. */
static bool has_room(struct evr_ring_reader *reader) {
  struct evr_block_cursor *blocks = &reader->blocks;
  if (blocks->rooms) return true;
  blocks->room_count = evr_block_cursor_rooms(blocks);
  blocks->rooms = malloc(blocks->room_count * sizeof *blocks->rooms);
  blocks->held = blocks->rooms;
  if (!blocks->rooms)
    evr_fail(&blocks->meta->damage, EVENTRING_E_MEMORY, 0, "no memory for a block");
  return blocks->rooms != NULL;
}

/* Goes on to the next block that can be read. False: none now. */
static bool next_block(struct evr_ring_reader *reader, bool before, unsigned *budget) {
  if (!has_room(reader) || !evr_block_cursor_next(&reader->blocks, budget)) return false;
  enter_block(reader, before);
  return true;
}

/* ---- Joining ------------------------------------------------------------------------ */

/* Applies all events of the block to the stack and passes over them. */
static void skip_to_end(struct evr_ring_reader *reader) {
  struct evr_block_walk walk = {reader->blocks.held, reader->at, reader->base};
  struct evr_span begin;
  uint64_t word;
  for (; (word = evr_block_next_event(&walk)) != 0; reader->blocks.position++) {
    if (word_kind(word) == EVENTRING_BEGIN)
      push_span(reader, word_id(word), word_ticks(word, walk.base));
    else if (word_kind(word) == EVENTRING_END)
      evr_span_pop(&reader->stack, word_id(word), &begin);
  }
  reader->at = walk.at;
  reader->base = walk.base;
}

/* Makes the present the start: what was is missed, what is open is begun. */
static void start_now(struct evr_ring_reader *reader) {
  reader->pending_at = reader->pending_count = 0;
  reader->torn = 0;
  skip_to_end(reader);
  reader->missed = reader->blocks.position;
  reader->lost = 0;
  for (uint32_t i = 0; i < reader->stack.count; i++)
    queue_begin(reader, reader->stack.span[i].id, reader->stack.span[i].ticks,
                evr_ring_reader_depth(reader, i));
}

static void note_no_block(struct evr_ring_reader *reader) {
  evr_note_damage(&reader->blocks.meta->damage, "domain %u, ring %u: no valid block",
                  reader->blocks.slot, reader->blocks.ring);
}

void evr_ring_reader_join_now(struct evr_ring_reader *reader, unsigned *budget) {
  uint64_t head = evr_block_cursor_head(&reader->blocks);
  if (!head) return;
  reader->blocks.next = head;
  if (next_block(reader, true, budget)) start_now(reader);
  else note_no_block(reader);
}

/* Before the oldest event. What lies before it was overwritten before the cursor was
   opened if the ring had gone round by then. */
static void join_ring(struct evr_ring_reader *reader, unsigned *budget) {
  if (reader->blocks.next > reader->limit_sequence) return; /* all of it was unreadable */
  if (!next_block(reader, reader->opened_head > reader->blocks.meta->blocks, budget))
    note_no_block(reader);
}

/* ---- Limits ---------------------------------------------------------------------------- */

/* Copies what was added to the block held. False: it is gone. */
static bool read_more(struct evr_ring_reader *reader, uint64_t head) {
  if (!evr_block_cursor_more(&reader->blocks, head)) return false;
  evr_ring_reader_survey(reader);
  return true;
}

/* Where this poll ends in the block held. */
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
  uint64_t head = blocks->meta->head[blocks->slot][blocks->ring];
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

/* A jump went beyond the limit of this poll: the block it led to may be delivered
   as it is, once, so that a reader much slower than the producer sees something.
   False: the poll ends here. */
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
    /* it was being filled when it was copied, and is complete by now; if gone,
       the rest of it is lost */
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
