/* SPDX-License-Identifier: MIT */
/* backwards.c: a ring read from its newest event to its oldest.
 *
 * A block stands on its own: its header has the full time of its begin, the context, and the
 * spans that are open there. So it can be interpreted without those before it, forwards, as
 * always, and what that delivers is handed out in the opposite order.
 *
 * What lies between two blocks (a loss, spans that are torn by it or found behind it, the end
 * of an incarnation) becomes known when a reader enters the second one, and depends on what
 * was open at the end of the first. So of the block that was read before, the later one, the
 * header is kept: when a block has been interpreted, its reader enters that. A stretch is
 * what that delivers: the events of a block, and what comes before those of the next one. The
 * stretches of a ring, each in its own order, make what a cursor delivers that reads forwards.
 *
 * There are two exceptions. Of more than 64 open spans a header lists 64, so the end of another
 * one is torn if its begin lies in an earlier block. And where classes were switched more often
 * than the log of the control page has entries, headers know more: what the producer has torn is
 * not listed, while a reader that comes from before such a block takes it for open.
 *
 * Data: the ring reader of the cursor has the counts, holds the newest block, and has the
 * spans that were open at its end. A second one, `work`, interprets the others. A stretch
 * has at most the events of a block and as many synthetic ones, some 75 KiB in the usual
 * case. Its events point into the block that is held.
 *
 * A live producer may overwrite the oldest blocks meanwhile. What was gone when reading began is
 * missed, what was overwritten since is lost. */
#include "reader/backwards.h"

#include <stdlib.h>
#include <string.h>

#include "format/array.h"

struct entry {
  uint64_t order_ns; /* its place in a merged order */
  bool is_loss;
  union {
    struct eventring_event event;
    struct eventring_loss loss;
  };
};

struct evr_backwards {
  struct evr_ring_reader *work; /* NULL until the second block is read */
  struct evr_ring_reader *held; /* the one that holds the block read last */
  struct evr_block later;       /* the header of the block behind it, with its list ... */
  bool has_later;               /* ... if there is one */
  bool is_prepared;             /* the block held was interpreted */
  bool is_over;                 /* there is no block before it */
  bool no_memory;
  uint64_t gone;                /* events that were gone when reading began; all: the most */
  struct entry *entry;          /* of the present stretch; the last one is next */
  uint32_t count, room;
};

/* ---- Stretches -------------------------------------------------------------------------- */

static int add_entry(struct evr_backwards *back, struct entry entry) {
  if (!EVR_MAKE_ROOM(back->entry, back->room, back->count, 16)) {
    back->no_memory = true;
    return 1;
  }
  back->entry[back->count++] = entry;
  return 0;
}

static int take_event(void *context, const struct eventring_event *event) {
  struct evr_backwards *back = context;
  bool is_made = event->flags & EVENTRING_SYNTHETIC;
  return add_entry(back, (struct entry){.event = *event,
                                        .order_ns = is_made ? back->held->order_ns : event->ns});
}

static int take_loss(void *context, const struct eventring_loss *loss) {
  return add_entry(context, (struct entry){.is_loss = true, .loss = *loss, .order_ns = loss->ns});
}

/* Adds what the reader delivers up to the end that is set. */
static void collect(struct evr_backwards *back) {
  unsigned none = 1;
  struct evr_sink sink = {.callbacks = {take_event, take_loss}, .context = back,
                          .left = UINT64_MAX, .budget = none};
  evr_ring_reader_drain(back->held, UINT64_MAX, &sink);
}

static void note_no_memory(struct evr_ring_reader *reader) {
  evr_fail(&reader->blocks.meta->damage, EVENTRING_E_MEMORY, 0, "no memory for a block");
}

/* Interprets the block held, up to the one behind it. What its reader counts is not what was
   delivered. */
static void prepare(struct evr_ring_reader *reader) {
  struct evr_backwards *back = reader->back;
  struct evr_ring_reader *held = back->held;
  struct evr_block *block = held->blocks.held;
  uint64_t missed = reader->missed, delivered = reader->delivered, lost = reader->lost;
  uint64_t torn = reader->torn;
  back->is_prepared = true;
  evr_ring_reader_isolate(held, false);
  collect(back);
  if (back->has_later) {
    evr_ring_reader_enter(held, &back->later);
    collect(back);
    held->blocks.held = block;
  }
  reader->missed = missed;
  reader->delivered = delivered;
  reader->lost = lost;
  reader->torn = torn;
  if (back->no_memory) note_no_memory(reader);
}

/* ---- From block to block ------------------------------------------------------------------ */

/* The reader of the next block: that of the cursor keeps the newest one. */
static struct evr_ring_reader *next_reader(struct evr_ring_reader *reader) {
  struct evr_backwards *back = reader->back;
  const struct evr_block_cursor *blocks = &reader->blocks;
  if (!blocks->sequence) return reader;
  if (back->work) return back->work;
  struct evr_ring_reader *work = evr_ring_reader_new(
      blocks->meta, reader->definitions, blocks->slot, blocks->ring, reader->opened_head);
  if (!work || !evr_ring_reader_make_room(work)) {
    evr_ring_reader_free(work);
    return NULL;
  }
  work->blocks.descends = true;
  work->blocks.next = blocks->next;
  return back->work = work;
}

/* Keeps the header of the block held, which is about to be released. */
static void keep_header(struct evr_backwards *back) {
  const struct evr_block *block = back->held->blocks.held;
  if (!back->is_prepared) return;
  back->later.have = evr_block_first(block);
  memcpy(back->later.words, block->words, back->later.have * sizeof block->words[0]);
  back->has_later = true;
  back->is_prepared = false;
}

/* Goes on to the block before. False: there is none, or the budget is spent. */
static bool go_back(struct evr_ring_reader *reader, unsigned *budget) {
  struct evr_backwards *back = reader->back;
  keep_header(back);
  struct evr_ring_reader *next = next_reader(reader);
  if (!next) {
    note_no_memory(reader);
    back->is_over = true;
    return false;
  }
  back->held = next;
  bool found = evr_block_cursor_previous(&next->blocks, budget);
  back->is_over = !found && !next->blocks.next;
  return found;
}

/* What was before the oldest block: which spans were open, what is missed, and what was lost
   since reading began. In the order of a reader that comes from there. */
static void end_at_begin(struct evr_ring_reader *reader) {
  struct evr_backwards *back = reader->back;
  struct evr_ring_reader *held = back->held;
  const struct format_block *h = evr_block_header(&back->later);
  uint64_t missed = h->before < back->gone ? h->before : back->gone;
  struct eventring_loss loss = {.domain = reader->blocks.slot, .incarnation = h->incarnation,
                                .ring = (uint8_t)reader->blocks.ring, .count = missed,
                                .ns = evr_metadata_ns(reader->blocks.meta, h->base_ticks),
                                .flags = EVENTRING_LOST_BEFORE};
  struct evr_block *room = held->blocks.held;
  held->blocks.held = &back->later;
  evr_ring_reader_isolate(held, true);
  collect(back);
  held->blocks.held = room;
  if (missed) take_loss(back, &loss);
  loss.count = h->before - missed;
  loss.flags = 0;
  if (loss.count) take_loss(back, &loss);
}

/* ---- Beginning ------------------------------------------------------------------------------ */

enum { TRIES = 8 /* at a block that may be overwritten before it is copied */ };

/* A cursor on the same ring, with room for a block. */
static void init_other(struct evr_block_cursor *other, const struct evr_block_cursor *blocks,
                       struct evr_block *room, struct eventring_error *damage) {
  evr_block_cursor_init(other, blocks->meta, blocks->slot, blocks->ring, damage);
  other->rooms = room;
  other->room_count = 1;
}

/* Events before the oldest block that is there now, if the ring was filled once. */
static uint64_t events_gone(const struct evr_ring_reader *reader) {
  struct eventring_error damage = {0};
  struct evr_block block;
  struct evr_block_cursor oldest;
  unsigned tries = TRIES;
  if (!evr_ring_reader_began_late(reader)) return 0;
  if (reader->blocks.meta->over) return UINT64_MAX; /* nothing is overwritten any more */
  init_other(&oldest, &reader->blocks, &block, &damage);
  return evr_block_cursor_next(&oldest, &tries) ? oldest.position : 0;
}

/* Events up to the present end of the ring; 0: that is not known. */
static uint64_t events_written(const struct evr_ring_reader *reader, uint64_t head) {
  struct eventring_error damage = {0};
  struct evr_block block;
  struct evr_block_cursor newest;
  unsigned tries = TRIES;
  init_other(&newest, &reader->blocks, &block, &damage);
  newest.descends = true;
  newest.next = head;
  return evr_block_cursor_previous(&newest, &tries)
             ? newest.position + evr_block_events(&block) : 0;
}

/* Begins with the block behind the last one that begins at `ns` or before, as times may go back
   a little. What is behind that is passed over. */
static void seek(struct evr_ring_reader *reader, uint64_t ns, unsigned *budget) {
  struct evr_block_cursor *blocks = &reader->blocks;
  uint64_t head = blocks->next, last = evr_block_cursor_last(blocks, ns);
  uint64_t written = events_written(reader, head);
  if (last < head) blocks->next = last + 1;
  if (!evr_block_cursor_previous(blocks, budget)) return;
  uint64_t end = blocks->position + evr_block_events(blocks->held);
  if (written > end) reader->missed += written - end;
}

void evr_backwards_begin(struct evr_ring_reader *reader, uint64_t ns, unsigned *budget) {
  struct evr_block_cursor *blocks = &reader->blocks;
  struct evr_backwards *back = calloc(1, sizeof *back);
  reader->back = back;
  if (!back || !evr_ring_reader_make_room(reader)) {
    note_no_memory(reader);
    if (back) back->is_over = true;
    return;
  }
  back->held = reader;
  blocks->descends = true;
  blocks->next = evr_block_cursor_head(blocks);
  back->is_over = !blocks->next;
  if (back->is_over) return;
  back->gone = events_gone(reader);
  if (ns) seek(reader, ns, budget);
  else evr_block_cursor_previous(blocks, budget);
}

void evr_backwards_prepare(struct evr_ring_reader *reader) {
  struct evr_backwards *back = reader->back;
  if (back && back->held == reader && reader->blocks.sequence && !back->is_prepared)
    prepare(reader);
}

void evr_backwards_free(struct evr_backwards *back) {
  if (!back) return;
  evr_ring_reader_free(back->work);
  free(back->entry);
  free(back);
}

/* ---- Delivering ------------------------------------------------------------------------------ */

bool evr_backwards_is_over(const struct evr_ring_reader *reader) {
  const struct evr_backwards *back = reader->back;
  return !back || (back->is_over && !back->count);
}

/* Interprets the next block, or what is before the oldest. False: there is none now. */
static bool next_stretch(struct evr_ring_reader *reader, unsigned *budget) {
  struct evr_backwards *back = reader->back;
  bool is_held = back->held->blocks.sequence && !back->is_prepared;
  if (is_held || go_back(reader, budget)) {
    prepare(reader);
    return true;
  }
  if (!back->is_over) return false;
  if (back->has_later) end_at_begin(reader);
  else evr_ring_reader_note_no_block(reader);
  return back->count != 0;
}

bool evr_backwards_look(struct evr_ring_reader *reader, unsigned *budget) {
  const struct evr_backwards *back = reader->back;
  if (!back) return false;
  while (!back->count)
    if (back->is_over || !next_stretch(reader, budget)) return false;
  reader->order_ns = UINT64_MAX - back->entry[back->count - 1].order_ns;
  return true;
}

static int deliver_event(struct evr_ring_reader *reader, const struct eventring_event *event,
                         struct evr_sink *sink) {
  bool is_real = !(event->flags & EVENTRING_SYNTHETIC);
  reader->torn += (event->flags & EVENTRING_TORN) != 0;
  reader->delivered += is_real;
  sink->delivered += is_real;
  sink->left -= is_real;
  return sink->callbacks.event(sink->context, event);
}

static int deliver_loss(struct evr_ring_reader *reader, const struct eventring_loss *loss,
                        struct evr_sink *sink) {
  *(loss->flags & EVENTRING_LOST_BEFORE ? &reader->missed : &reader->lost) += loss->count;
  return sink->callbacks.lost(sink->context, loss);
}

bool evr_backwards_drain(struct evr_ring_reader *reader, uint64_t until, struct evr_sink *sink) {
  struct evr_backwards *back = reader->back;
  while (evr_backwards_look(reader, &sink->budget)) {
    if (sink->stopped || reader->order_ns > until) return true;
    const struct entry *entry = &back->entry[--back->count];
    int stop = entry->is_loss ? deliver_loss(reader, &entry->loss, sink)
                              : deliver_event(reader, &entry->event, sink);
    if (stop || !sink->left) sink->stopped = true;
  }
  return false;
}
