/* ring_reader.c: the reader of one ring: from block to block.
 *
 * Data: a copy of the block it reads (and, with pread, of some that follow), the
 * number of the next event in the ring (`position`, from 0 over the whole life of the
 * ring), the stack of open spans, and a queue of things to deliver before the next
 * event of the block: losses, synthetic begins and ends. delivery.c interprets the
 * words of the block held.
 *
 * Invariants
 *  - missed + delivered + lost = position.
 *    A block says how many events were written before it; whatever lies between
 *    that and `position` when it is taken up is lost (or missed, when it was so
 *    before the cursor came);
 *  - all delivered begins and ends are balanced, except ends marked TORN that
 *    are not synthetic: a span that was open before a loss and is not open after
 *    it gets a synthetic end; one that is open after and was not before gets a
 *    synthetic begin, with its true time. A span is known by id and time of
 *    begin, so one that outlasts the loss goes on;
 *  - a copied block is read to its end even when the producer has overwritten it
 *    in the meantime.
 *
 * A reader that finds its next block overwritten goes to a block that the
 * producer will not reach soon: a quarter of the ring after the oldest one.
 */
#include "reader/delivery.h"
#include "format/atomics.h"

#include <stdlib.h>
#include <string.h>

struct evr_ring_reader *evr_ring_reader_new(unsigned slot, unsigned ring, uint64_t opened_head) {
  struct evr_ring_reader *reader = calloc(1, sizeof *reader);
  if (!reader) return NULL;
  reader->slot = slot;
  reader->ring = ring;
  reader->opened_head = opened_head;
  return reader;
}

void evr_ring_reader_free(struct evr_ring_reader *reader) {
  if (!reader) return;
  free(reader->stack.span);
  free(reader->pending);
  free(reader->blocks);
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
  uint32_t incarnation = evr_block_header(reader->block)->incarnation;
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

static void tear_classes(const struct evr_metadata *meta, struct evr_ring_reader *reader,
                         uint32_t classes, uint64_t ticks) {
  for (uint32_t i = reader->stack.count; i-- > 0;) {
    const struct evr_span *span = &reader->stack.span[i];
    const struct eventring_def *def = evr_metadata_def(meta, span->id);
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
void evr_ring_reader_switch(const struct evr_metadata *meta, struct evr_ring_reader *reader,
                     uint64_t ticks) {
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
    tear_classes(meta, reader, UINT32_MAX, until);
    reader->switches = first;
  }
  for (; reader->switches != now; reader->switches++) {
    if (!read_logged_switch(meta, reader->switches, &entry)) continue;
    reader->switch_due = entry.ticks;
    if (entry.ticks > ticks) return;
    reader->now = entry.ticks;
    tear_classes(meta, reader, (uint32_t)entry.what, entry.ticks);
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

static struct evr_span span_of(const struct evr_metadata *meta, unsigned id,
                               uint64_t ticks) {
  return (struct evr_span){.ticks = ticks, .ns = evr_metadata_ns(meta, ticks), .id = id};
}

/* Makes the stack that of the block's header; queues the difference. */
static void adopt_stack(const struct evr_metadata *meta, struct evr_ring_reader *reader) {
  const struct format_block *h = evr_block_header(reader->block);
  const uint64_t *entry = reader->block->words + FORMAT_BLOCK_HEADER_WORDS;
  for (uint32_t i = reader->stack.count; i-- > 0;)
    if (!is_listed(reader->block, &reader->stack.span[i])) tear_span(reader, i);
  struct evr_span kept[FORMAT_MAX_OPEN];
  uint32_t kept_count = reader->stack.count < FORMAT_MAX_OPEN ? reader->stack.count
                                                            : FORMAT_MAX_OPEN;
  if (kept_count) memcpy(kept, reader->stack.span, kept_count * sizeof kept[0]);
  evr_span_clear(&reader->stack);
  for (uint32_t i = 0; i < h->open; i++, entry += 2) {
    unsigned id = word_id(entry[0]);
    evr_span_push(&reader->stack, span_of(meta, id, entry[1]));
    if (!is_open(kept, kept_count, id, entry[1])) queue_begin(reader, id, entry[1], i);
  }
  reader->stack.hidden = h->open_hidden;
  reader->stack.mark = reader->stack.count;
  evr_ring_reader_switch(meta, reader, h->base_ticks);
}

/* Stands before the first event of the block just copied. */
static void stand_at_first(struct evr_ring_reader *reader, uint64_t sequence, bool complete) {
  const struct format_block *h = evr_block_header(reader->block);
  reader->sequence = sequence;
  reader->next = sequence + 1;
  reader->complete = complete;
  reader->at = evr_block_first(reader->block);
  reader->base = reader->now = h->base_ticks;
  evr_ring_reader_survey(reader);
}

/* Goes on in the block just copied; counts what lies between. */
static void take_up_block(struct evr_metadata *meta, struct evr_ring_reader *reader,
                    uint64_t sequence, bool complete, bool before) {
  const struct format_block *h = evr_block_header(reader->block);
  uint64_t gap = h->events_before - reader->position;
  bool jumped = !reader->joined || gap != 0;
  if (h->events_before < reader->position) {
    evr_metadata_damaged(meta, "domain %u: block %llu counts backwards", reader->slot,
                      (unsigned long long)sequence);
    gap = 0;
    jumped = true;
  }
  stand_at_first(reader, sequence, complete);
  if (gap) {
    *(before ? &reader->missed : &reader->lost) += gap;
    queue_pending(reader, (struct evr_pending){.kind = 0, .value = gap,
                                     .incarnation = h->incarnation,
                                     .when = reader->now,
                                     .flags = before ? EVENTRING_LOST_BEFORE : 0});
  }
  if (jumped || h->incarnation != reader->incarnation) adopt_stack(meta, reader);
  reader->position = h->events_before;
  reader->incarnation = h->incarnation;
  reader->joined = true;
}

/* ---- Finding a block -------------------------------------------------------------- */

/* Room for the blocks that this reader reads, from the first on. */
static bool has_room(struct evr_metadata *meta, struct evr_ring_reader *reader) {
  if (reader->blocks) return true;
  reader->room = evr_source_mapped(&meta->source) ? 1 : EVR_AHEAD;
  reader->blocks = malloc(reader->room * sizeof *reader->blocks);
  reader->block = reader->blocks;
  if (!reader->blocks)
    evr_fail(&meta->damage, EVENTRING_E_MEMORY, 0, "no memory for a block");
  return reader->blocks != NULL;
}

static bool is_ahead(const struct evr_ring_reader *reader, uint64_t sequence) {
  return sequence - reader->ahead < reader->ahead_count;
}

/* With pread: reads the blocks from `sequence` on, as many as follow each other in the
   file and leave the producer a quarter of the ring. */
static bool read_ahead(struct evr_metadata *meta, struct evr_ring_reader *reader,
                       uint64_t sequence, uint64_t head) {
  uint64_t place = (sequence - 1) & (meta->blocks - 1);
  uint64_t count = meta->blocks / 4;
  if (count > reader->room) count = reader->room;
  if (count > head - sequence) count = head - sequence;
  if (count > meta->blocks - place) count = meta->blocks - place;
  reader->ahead_count = 0;
  if (count < 2) return false;
  reader->ahead = sequence;
  reader->ahead_count = evr_blocks_copy(
      &meta->source, evr_metadata_block_offset(meta, reader->slot, reader->ring, sequence),
      sequence, evr_metadata_head_offset(reader->slot, reader->ring), meta->blocks,
      reader->blocks, (unsigned)count);
  return reader->ahead_count > 0;
}

/* Copies a block, or takes it from those read ahead. */
static enum evr_read copy_block(struct evr_metadata *meta, struct evr_ring_reader *reader,
                                uint64_t sequence, uint64_t head,
                                struct eventring_error *error) {
  if (is_ahead(reader, sequence) || read_ahead(meta, reader, sequence, head)) {
    reader->block = &reader->blocks[sequence - reader->ahead];
    if (evr_block_valid(reader->block, sequence, reader->slot, reader->ring))
      return EVR_READ_OK;
    reader->ahead_count = 0; /* alone it is looked at more closely */
  }
  reader->block = reader->blocks;
  return evr_block_copy(
      &meta->source, evr_metadata_block_offset(meta, reader->slot, reader->ring, sequence),
      sequence, reader->slot, reader->ring, sequence < head, reader->block, error);
}

/* Has the producer begun to reuse the place of a block, that is no longer there? Before
   W1 of its successor it has done W5 of the block before that one (W1 is a release store,
   and the head is loaded after it was seen). In a snapshot, blocks may be missing. */
static bool may_be_gone(struct evr_metadata *meta, const struct evr_ring_reader *reader,
                        uint64_t sequence) {
  evr_fence_acquire(); /* that load was perhaps a relaxed one */
  return meta->header.layout == FORMAT_SNAPSHOT ||
         evr_metadata_head(meta, reader->slot, reader->ring) - sequence >= meta->blocks - 1;
}

/* A block that the head vouches for could not be read, or not to its end. */
static void note_failure(struct evr_metadata *meta, const struct evr_ring_reader *reader,
                         uint64_t sequence, enum evr_read status,
                         const struct eventring_error *error) {
  if (status == EVR_READ_FAILED)
    meta->damage = *error;
  else if (status == EVR_READ_CORRUPT)
    evr_metadata_damaged(meta, "domain %u, ring %u: block %llu is not valid",
                      reader->slot, reader->ring, (unsigned long long)sequence);
  else if (!may_be_gone(meta, reader, sequence))
    evr_metadata_damaged(meta, "domain %u, ring %u: block %llu is not there",
                      reader->slot, reader->ring, (unsigned long long)sequence);
}

static enum evr_read read_block(struct evr_metadata *meta, struct evr_ring_reader *reader,
                                uint64_t sequence, uint64_t head,
                                unsigned *budget) {
  struct eventring_error error = {0};
  reader->sequence = 0; /* what was held is used up and overwritten */
  enum evr_read status = copy_block(meta, reader, sequence, head, &error);
  if (status == EVR_READ_OK) return status;
  if (*budget) --*budget;
  if (status == EVR_READ_FAILED) *budget = 0;
  note_failure(meta, reader, sequence, status, &error);
  return status;
}

static uint64_t oldest_of(const struct evr_metadata *meta, uint64_t head) {
  return head >= meta->blocks ? head - meta->blocks + 1 : 1;
}

/* Looks for the next block that can be read, from reader->next on. Where the
   producer keeps overwriting, leaves it a quarter of the ring. False: none now;
   what was tried is not tried again. */
static bool find_block(struct evr_metadata *meta, struct evr_ring_reader *reader,
                       bool before, unsigned *budget) {
  uint64_t head = evr_metadata_head(meta, reader->slot, reader->ring);
  if (!has_room(meta, reader)) return false;
  if (reader->next < oldest_of(meta, head) && !is_ahead(reader, reader->next))
    reader->next = oldest_of(meta, head);
  while (*budget && reader->next <= head) {
    uint64_t sequence = reader->next;
    if (read_block(meta, reader, sequence, head, budget) == EVR_READ_OK) {
      take_up_block(meta, reader, sequence, sequence < head, before);
      return true;
    }
    uint64_t seen = head;
    head = evr_metadata_head(meta, reader->slot, reader->ring);
    uint64_t safe = oldest_of(meta, head) + meta->blocks / 4;
    reader->next = sequence + 1;
    if (head != seen && reader->next < safe) reader->next = safe;
  }
  return false;
}

/* ---- Joining and limits ----------------------------------------------------------- */

/* Applies all events of the block to the stack and passes over them. */
static void skip_to_end(const struct evr_metadata *meta, struct evr_ring_reader *reader) {
  const struct evr_block *block = reader->block;
  struct evr_span begin;
  for (; reader->at < block->have; reader->at += 1 + word_length(block->words[reader->at])) {
    uint64_t word = block->words[reader->at];
    unsigned kind = word_kind(word);
    if (kind == FORMAT_WORD_META && word_length(word) >= 1)
      reader->base = block->words[reader->at + 1];
    if (kind == EVENTRING_BEGIN)
      evr_span_push(&reader->stack,
                    span_of(meta, word_id(word), word_ticks(word, reader->base)));
    if (kind == EVENTRING_END) evr_span_pop(&reader->stack, word_id(word), &begin);
    reader->position += kind != FORMAT_WORD_META;
  }
}

/* Makes the present the start: what was is missed, what is open is begun. */
static void start_now(const struct evr_metadata *meta, struct evr_ring_reader *reader) {
  reader->pending_at = reader->pending_count = 0;
  reader->torn = 0;
  skip_to_end(meta, reader);
  reader->missed = reader->position;
  reader->lost = 0;
  for (uint32_t i = 0; i < reader->stack.count; i++)
    queue_begin(reader, reader->stack.span[i].id, reader->stack.span[i].ticks,
                evr_ring_reader_depth(reader, i));
}

static void no_block(struct evr_metadata *meta, const struct evr_ring_reader *reader) {
  evr_metadata_damaged(meta, "domain %u, ring %u: no valid block", reader->slot,
                    reader->ring);
}

void evr_ring_reader_join_now(struct evr_metadata *meta, struct evr_ring_reader *reader,
                       unsigned *budget) {
  uint64_t head = evr_metadata_head(meta, reader->slot, reader->ring);
  if (!head) return;
  reader->next = head;
  if (find_block(meta, reader, true, budget)) start_now(meta, reader);
  else no_block(meta, reader);
}

/* Before the oldest event. What lies before it was overwritten before the cursor was
   opened if the ring had gone round by then. */
static void join_ring(struct evr_metadata *meta, struct evr_ring_reader *reader, unsigned *budget) {
  if (reader->next > reader->limit_sequence) return; /* all of it was found unreadable */
  if (!reader->next) reader->next = 1;
  if (!find_block(meta, reader, reader->opened_head > meta->blocks, budget))
    no_block(meta, reader);
}

/* ---- Limits ----------------------------------------------------------------------- */

static uint64_t offset_of(const struct evr_metadata *meta, const struct evr_ring_reader *reader,
                          uint64_t sequence) {
  return evr_metadata_block_offset(meta, reader->slot, reader->ring, sequence);
}

/* Copies what was added to the block that is held. False: it is gone; what was
   copied before stays. */
static bool read_more(struct evr_metadata *meta, struct evr_ring_reader *reader, uint64_t head) {
  struct eventring_error error = {0};
  enum evr_read status =
      evr_block_copy_more(&meta->source, offset_of(meta, reader, reader->sequence),
                      reader->sequence, reader->sequence < head, reader->block, &error);
  if (status != EVR_READ_OK) {
    note_failure(meta, reader, reader->sequence, status, &error);
    return false;
  }
  reader->complete = reader->sequence < head;
  evr_ring_reader_survey(reader);
  return true;
}

/* Where this poll ends in the block held. */
static void set_end(struct evr_ring_reader *reader) {
  reader->end = reader->at;
  if (!reader->sequence || reader->sequence > reader->limit_sequence) return;
  bool last = reader->sequence == reader->limit_sequence;
  reader->end = last && reader->limit_at < reader->block->have ? reader->limit_at
                                                         : reader->block->have;
}

static bool has_more(const struct evr_metadata *meta, const struct evr_ring_reader *reader) {
  return evr_block_has_more(&meta->source, offset_of(meta, reader, reader->sequence),
                             reader->block->have);
}

bool evr_ring_reader_limit(struct evr_metadata *meta, struct evr_ring_reader *reader,
                    unsigned *budget) {
  uint64_t head = meta->head[reader->slot][reader->ring];
  reader->limit_moved = false;
  reader->limit_sequence = head;
  reader->limit_at = 0;
  if (head && !reader->joined) join_ring(meta, reader, budget);
  if (head && reader->sequence == head) {
    if (has_more(meta, reader)) read_more(meta, reader, head);
    reader->limit_at = reader->block->have;
  } else if (head) {
    reader->limit_at = evr_block_length(&meta->source, offset_of(meta, reader, head), head);
  }
  set_end(reader);
  return reader->pending_at < reader->pending_count || reader->at < reader->end ||
         (reader->sequence < head && reader->next <= head);
}

/* A jump went beyond the limit of this poll: the block it led to may be delivered
   as it is, once, so that a reader much slower than the producer sees something.
   False: the poll ends here. */
static bool move_limit(struct evr_metadata *meta, struct evr_ring_reader *reader) {
  if (reader->sequence <= reader->limit_sequence) return true;
  if (reader->limit_moved) return false;
  reader->limit_moved = true;
  reader->limit_sequence = reader->sequence;
  reader->limit_at = reader->block->have;
  return evr_metadata_catch_up(meta, &meta->damage) == EVENTRING_OK;
}

void evr_ring_reader_check_end(struct evr_metadata *meta, const struct evr_ring_reader *reader) {
  uint64_t sequence = reader->sequence;
  if (!sequence || sequence != meta->head[reader->slot][reader->ring]) return;
  uint32_t now = evr_block_length(&meta->source, offset_of(meta, reader, sequence), sequence);
  if (now != reader->block->have) note_failure(meta, reader, sequence, EVR_READ_GONE, NULL);
}

static bool advance_reader(struct evr_metadata *meta, struct evr_ring_reader *reader,
                    unsigned *budget) {
  if (reader->sequence && !reader->complete) {
    /* it was being filled when it was copied, and is complete by now; if gone,
       the rest of it is lost */
    bool more = read_more(meta, reader, reader->limit_sequence);
    reader->complete = true;
    if (more) return true;
  }
  return find_block(meta, reader, false, budget) && move_limit(meta, reader);
}

bool evr_ring_reader_go_on(struct evr_metadata *meta,
                           struct evr_ring_reader *reader, unsigned *budget) {
  if (reader->sequence >= reader->limit_sequence || reader->next > reader->limit_sequence ||
      !*budget)
    return false;
  bool going = advance_reader(meta, reader, budget);
  set_end(reader);
  return going;
}
