/* SPDX-License-Identifier: MIT */
/* backwards.c: a ring read from its newest event to its oldest.
 *
 * A block stands on its own: its header has the full time of its begin, the context, and
 * the spans that are open at its begin. So reading backwards means to go to the previous
 * block, to read it forwards with a reader that begins there, and to deliver its events
 * in the opposite order.
 *
 * What lies between two blocks (a loss, spans that are torn by it or found behind it, the
 * end of an incarnation) becomes known when a reader goes on from the first block to the
 * second, because it depends on which spans were open at the end of the first. So a
 * reader that has read its block then enters the next block, of which the reader that
 * read it still holds a copy. The events that one reader delivers in this way are called
 * a stretch: the events of a block, and what comes before the events of the next one. All
 * stretches of a ring together are what a cursor that reads forwards delivers. What a
 * reader delivers before the first event of its block (begins of open spans, the loss
 * before the block) counts only for the oldest block.
 *
 * There are two exceptions. If more than 64 spans are open, a header lists 64 of them, so
 * the end of a span that is not listed is torn if its begin lies in an earlier block. And
 * where classes were switched more often than the log of the control page has entries,
 * headers are more exact: they do not list spans that the producer has torn, while a
 * reader that comes from an earlier block takes these spans for open.
 *
 * Data: the cursor's ring reader has the counts, reads the newest block, and has the
 * spans that were open at its end. Each other block has a reader of its own, until the
 * previous block has been read. A stretch has at most the events of a block and as many
 * synthetic ones, about 75 KiB in the usual case. Its events point into the block that is
 * held.
 *
 * A live producer may overwrite the oldest blocks while they are being read. Events that
 * were gone when reading began are missed; events that were overwritten since are
 * lost. */
#include "reader/backwards.h"

#include <stdlib.h>

#include "format/array.h"

struct entry {
  uint64_t order_ns; /* time by which the entry is ordered among the rings */
  bool is_loss;
  union {
    struct eventring_event event;
    struct eventring_loss loss;
  };
};

struct evr_backwards {
  /* the reader of the block that was found last; for the newest block, the cursor's own
     reader */
  struct evr_ring_reader *held;
  struct evr_ring_reader *behind; /* the reader of the block after it, or NULL */
  uint64_t next;                  /* the next block to look for, downwards, or 0 */
  bool is_read;                   /* the block held has been read */
  bool is_over;                   /* there is no block before the block held */
  bool no_memory;
  /* events that were gone when reading began; UINT64_MAX if all missing events were gone
     then */
  uint64_t gone;
  uint64_t passed;                /* events after the position where reading began */
  struct entry *entry;            /* entries of the present stretch; the last one is
                                     delivered next */
  uint32_t count, room;
  uint32_t first;                 /* entries before the first event of the block */
};

/* ---- Stretches --------------------------------------------------------------------- */

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

/* Adds to the stretch the events that the reader delivers up to word `end` of its
   block. */
static void collect(struct evr_backwards *back, uint32_t end) {
  struct evr_sink sink = {.callbacks = {sizeof sink.callbacks, take_event, take_loss},
                          .context = back, .left = UINT64_MAX, .budget = 1};
  back->held->end = end;
  evr_ring_reader_drain(back->held, UINT64_MAX, &sink);
}

static void note_no_memory(struct evr_ring_reader *reader) {
  evr_fail(&reader->blocks.meta->damage, EVENTRING_E_MEMORY, 0, "no memory for a block");
}

/* Reads the block held, and enters the block after it. These events are not delivered
   yet, so the counts of the cursor's reader are set back afterwards. */
static void read_held(struct evr_ring_reader *reader) {
  struct evr_backwards *back = reader->back;
  struct evr_ring_reader *held = back->held;
  struct evr_block *block = held->blocks.held;
  back->is_read = true;
  back->count = 0;
  evr_ring_reader_begin(held);
  collect(back, held->at);
  back->first = back->count;
  collect(back, block->have);
  if (back->behind) {
    evr_ring_reader_enter(held, back->behind->blocks.held);
    collect(back, held->at);
    held->blocks.held = block;
  } else {
    reader->missed = back->passed;
    reader->delivered = reader->lost = reader->torn = 0;
  }
  if (back->no_memory) note_no_memory(reader);
}

/* ---- From block to block ----------------------------------------------------------- */

/* Returns a reader for the next block to look for, or NULL when out of memory. The newest
   block is read by the cursor's own reader. */
static struct evr_ring_reader *reader_of_next(struct evr_ring_reader *reader) {
  const struct evr_block_cursor *blocks = &reader->blocks;
  struct evr_ring_reader *next = reader;
  if (blocks->sequence)
    next = evr_ring_reader_new(blocks->meta, reader->definitions, blocks->slot, blocks->ring,
                               reader->opened_head);
  if (!next) return NULL;
  next->blocks.room_count = 1;
  next->blocks.next = reader->back->next;
  if (evr_ring_reader_make_room(next)) return next;
  if (next != reader) evr_ring_reader_free(next);
  return NULL;
}

/* Ends at the oldest block. Splits what is missing before it: events that were
   overwritten since reading began are lost, the others missed. */
static void end_at_oldest(struct evr_backwards *back) {
  struct entry *before = back->first ? &back->entry[back->first - 1] : NULL;
  back->is_over = true;
  if (!before || !before->is_loss || before->loss.count <= back->gone) return;
  struct entry lost = *before;
  before->loss.count = back->gone;
  lost.loss.count -= back->gone;
  lost.loss.flags = 0;
  add_entry(back, lost);
}

static void release(struct evr_ring_reader *reader, struct evr_ring_reader *other) {
  if (other != reader) evr_ring_reader_free(other);
}

/* Goes to the previous block, whose events are to be read. Returns false if there is
   none, or the budget is spent. */
static bool go_back(struct evr_ring_reader *reader, unsigned *budget) {
  struct evr_backwards *back = reader->back;
  struct evr_ring_reader *next = reader_of_next(reader);
  if (!next) {
    note_no_memory(reader);
    back->is_over = true;
    return false;
  }
  bool found = evr_block_cursor_previous(&next->blocks, budget);
  back->next = next->blocks.next;
  if (found && next != reader) {
    release(reader, back->behind);
    back->behind = back->held;
    back->held = next;
    back->is_read = false;
  } else if (!found) {
    release(reader, next);
    if (!back->next) end_at_oldest(back);
    if (!back->next && !reader->blocks.sequence) evr_ring_reader_note_no_block(reader);
  }
  return found;
}

/* ---- Beginning --------------------------------------------------------------------- */

/* Begins one block after the last block that begins at `ns` or before, because times may
   go back a little. Skips the events after that block. */
static void begin_near(struct evr_ring_reader *reader, uint64_t ns, uint64_t emitted,
                       unsigned *budget) {
  struct evr_block_cursor *blocks = &reader->blocks;
  uint64_t last = evr_block_cursor_last(blocks, ns);
  if (last < reader->back->next) reader->back->next = last + 1;
  if (!go_back(reader, budget)) return;
  uint64_t end = blocks->position + evr_block_events(blocks->held);
  reader->back->passed = emitted > end ? emitted - end : 0;
}

void evr_backwards_begin(struct evr_ring_reader *reader, uint64_t ns, unsigned *budget) {
  struct evr_block_cursor *blocks = &reader->blocks;
  struct evr_backwards *back = calloc(1, sizeof *back);
  struct eventring_ring_info now = {.size = sizeof now};
  reader->back = back;
  if (!back) {
    note_no_memory(reader);
    return;
  }
  back->held = reader;
  back->next = evr_block_cursor_head(blocks);
  back->is_over = !back->next;
  if (back->is_over) return;
  bool overwrites = evr_ring_reader_began_late(reader) && !blocks->meta->over;
  if (ns || overwrites) evr_block_cursor_extent(blocks->meta, blocks->slot, blocks->ring, &now);
  back->gone = overwrites ? now.emitted - now.available : UINT64_MAX;
  if (ns) begin_near(reader, ns, now.emitted, budget);
  else go_back(reader, budget);
}

/* Tells whether a block was found that is yet to be read. */
static bool has_unread(const struct evr_backwards *back) {
  return back->held->blocks.sequence && !back->is_read;
}

void evr_backwards_prepare(struct evr_ring_reader *reader) {
  const struct evr_backwards *back = reader->back;
  if (back && back->held == reader && has_unread(back)) read_held(reader);
}

void evr_backwards_free(struct evr_ring_reader *reader) {
  struct evr_backwards *back = reader->back;
  if (!back) return;
  release(reader, back->held);
  release(reader, back->behind);
  free(back->entry);
  free(back);
}

/* ---- Delivering -------------------------------------------------------------------- */

bool evr_backwards_is_over(const struct evr_ring_reader *reader) {
  const struct evr_backwards *back = reader->back;
  return !back || (back->is_over && !back->count);
}

bool evr_backwards_look(struct evr_ring_reader *reader, unsigned *budget) {
  struct evr_backwards *back = reader->back;
  if (!back) return false;
  while (back->count == back->first && !back->is_over) {
    if (has_unread(back) || go_back(reader, budget)) read_held(reader);
    else if (!back->is_over) return false;
  }
  if (!back->count) return false;
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
