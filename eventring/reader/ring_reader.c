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
#include "reader/reader.h"

#include <stdlib.h>
#include <string.h>

struct evr_lane *evr_lane_new(unsigned slot, unsigned ring, uint64_t opened_head) {
  struct evr_lane *lane = calloc(1, sizeof *lane);
  if (!lane) return NULL;
  lane->slot = slot;
  lane->ring = ring;
  lane->opened_head = opened_head;
  return lane;
}

void evr_lane_free(struct evr_lane *lane) {
  if (!lane) return;
  free(lane->stack.span);
  free(lane->pending);
  free(lane->blocks);
  free(lane);
}

uint64_t evr_block_events(const struct evr_block *block) {
  uint64_t events = 0;
  for (uint32_t at = evr_block_first(block); at < block->have;
       at += 1 + word_length(block->words[at]))
    events += word_kind(block->words[at]) != FORMAT_WORD_META;
  return events;
}

/* ---- The queue ------------------------------------------------------------------ */

static bool queue(struct evr_lane *lane, struct evr_pending pending) {
  if (lane->pending_at == lane->pending_count)
    lane->pending_at = lane->pending_count = 0;
  if (lane->pending_count == lane->pending_room) {
    uint32_t room = lane->pending_room ? 2 * lane->pending_room : 16;
    struct evr_pending *grown = realloc(lane->pending, room * sizeof *grown);
    if (!grown) return false;
    lane->pending = grown;
    lane->pending_room = room;
  }
  lane->pending[lane->pending_count++] = pending;
  return true;
}

/* (Out of memory: the synthetic event is left out, its span is counted.) */
static void queue_end(struct evr_lane *lane, const struct evr_span *span,
                      uint32_t depth) {
  lane->torn++;
  queue(lane, (struct evr_pending){.kind = EVENTRING_END,
                                   .flags = EVENTRING_SYNTHETIC | EVENTRING_TORN,
                                   .id = (uint16_t)span->id, .depth = depth,
                                   .incarnation = lane->incarnation,
                                   .when = lane->now, .value = span->ticks});
}

static void queue_begin(struct evr_lane *lane, unsigned id, uint64_t ticks,
                        uint32_t depth) {
  uint32_t incarnation = evr_block_header(lane->block)->incarnation;
  queue(lane, (struct evr_pending){.kind = EVENTRING_BEGIN,
                                   .incarnation = incarnation, .when = lane->now,
                                   .flags = EVENTRING_SYNTHETIC,
                                   .id = (uint16_t)id, .depth = depth,
                                   .value = ticks});
}

uint32_t evr_lane_depth(const struct evr_lane *lane, uint32_t index) {
  return index + (index >= lane->stack.mark ? lane->stack.hidden : 0);
}

static void tear_span(struct evr_lane *lane, uint32_t index) {
  if (lane->now < lane->stack.span[index].ticks)
    lane->now = lane->stack.span[index].ticks;
  queue_end(lane, &lane->stack.span[index], evr_lane_depth(lane, index));
  evr_span_remove(&lane->stack, index);
}

/* ---- Classes switched off and on again (control.c) ----------------------------------- */

static void tear_classes(const struct evr_trace *trace, struct evr_lane *lane,
                         uint32_t classes, uint64_t ticks) {
  for (uint32_t i = lane->stack.count; i-- > 0;) {
    const struct evr_span *span = &lane->stack.span[i];
    const struct eventring_def *def = evr_trace_def(trace, span->id);
    if (span->ticks < ticks && (!def || classes >> def->event_class & 1))
      tear_span(lane, i);
  }
}

/* Entry n of the log as last read; false when it is not there. */
static bool logged(const struct evr_trace *trace, uint32_t n,
                   struct format_switch *entry) {
  *entry = trace->control.log[n % FORMAT_LOG_ENTRIES];
  return entry->what >> 32 == (uint32_t)(n + 1);
}

/* Notes too when the next is due. */
void evr_lane_switch(const struct evr_trace *trace, struct evr_lane *lane,
                     uint64_t ticks) {
  struct format_switch entry;
  uint32_t now = trace->switches;
  lane->switch_due = 0;
  if (now - lane->switches > FORMAT_LOG_ENTRIES) {
    /* some entries are gone: any class may have been off before the oldest */
    uint32_t first = now - FORMAT_LOG_ENTRIES;
    uint64_t until = logged(trace, first, &entry) ? entry.ticks : ticks;
    lane->switch_due = until;
    if (until > ticks) return;
    lane->now = until;
    tear_classes(trace, lane, UINT32_MAX, until);
    lane->switches = first;
  }
  for (; lane->switches != now; lane->switches++) {
    if (!logged(trace, lane->switches, &entry)) continue;
    lane->switch_due = entry.ticks;
    if (entry.ticks > ticks) return;
    lane->now = entry.ticks;
    tear_classes(trace, lane, (uint32_t)entry.what, entry.ticks);
  }
}

/* ---- Taking up a block ------------------------------------------------------------------ */

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

static struct evr_span span_of(const struct evr_trace *trace, unsigned id,
                               uint64_t ticks) {
  return (struct evr_span){.ticks = ticks, .ns = evr_trace_ns(trace, ticks), .id = id};
}

/* Makes the stack that of the block's header; queues the difference. */
static void adopt_stack(const struct evr_trace *trace, struct evr_lane *lane) {
  const struct format_block *h = evr_block_header(lane->block);
  const uint64_t *entry = lane->block->words + FORMAT_BLOCK_HEADER_WORDS;
  for (uint32_t i = lane->stack.count; i-- > 0;)
    if (!is_listed(lane->block, &lane->stack.span[i])) tear_span(lane, i);
  struct evr_span kept[FORMAT_MAX_OPEN];
  uint32_t kept_count = lane->stack.count < FORMAT_MAX_OPEN ? lane->stack.count
                                                            : FORMAT_MAX_OPEN;
  if (kept_count) memcpy(kept, lane->stack.span, kept_count * sizeof kept[0]);
  evr_span_clear(&lane->stack);
  for (uint32_t i = 0; i < h->open; i++, entry += 2) {
    unsigned id = word_id(entry[0]);
    evr_span_push(&lane->stack, span_of(trace, id, entry[1]));
    if (!is_open(kept, kept_count, id, entry[1])) queue_begin(lane, id, entry[1], i);
  }
  lane->stack.hidden = h->open_hidden;
  lane->stack.mark = lane->stack.count;
  evr_lane_switch(trace, lane, h->base_ticks);
}

/* Stands before the first event of the block just copied. */
static void stand_at_first(struct evr_lane *lane, uint64_t sequence, bool complete) {
  const struct format_block *h = evr_block_header(lane->block);
  lane->sequence = sequence;
  lane->next = sequence + 1;
  lane->complete = complete;
  lane->at = evr_block_first(lane->block);
  lane->base = lane->now = h->base_ticks;
  evr_lane_survey(lane);
}

/* Goes on in the block just copied; counts what lies between. */
static void take_up(struct evr_trace *trace, struct evr_lane *lane,
                    uint64_t sequence, bool complete, bool before) {
  const struct format_block *h = evr_block_header(lane->block);
  uint64_t gap = h->events_before - lane->position;
  bool jumped = !lane->joined || gap != 0;
  if (h->events_before < lane->position) {
    evr_trace_damaged(trace, "domain %u: block %llu counts backwards", lane->slot,
                      (unsigned long long)sequence);
    gap = 0;
    jumped = true;
  }
  stand_at_first(lane, sequence, complete);
  if (gap) {
    *(before ? &lane->missed : &lane->lost) += gap;
    queue(lane, (struct evr_pending){.kind = 0, .value = gap,
                                     .incarnation = h->incarnation,
                                     .when = lane->now,
                                     .flags = before ? EVENTRING_LOST_BEFORE : 0});
  }
  if (jumped || h->incarnation != lane->incarnation) adopt_stack(trace, lane);
  lane->position = h->events_before;
  lane->incarnation = h->incarnation;
  lane->joined = true;
}

/* ---- Finding a block ----------------------------------------------------------------------- */

/* Room for the blocks that this lane reads, from the first on. */
static bool has_room(struct evr_trace *trace, struct evr_lane *lane) {
  if (lane->blocks) return true;
  lane->room = evr_source_mapped(&trace->source) ? 1 : EVR_AHEAD;
  lane->blocks = malloc(lane->room * sizeof *lane->blocks);
  lane->block = lane->blocks;
  if (!lane->blocks)
    evr_fail(&trace->damage, EVENTRING_E_MEMORY, 0, "no memory for a block");
  return lane->blocks != NULL;
}

static bool is_ahead(const struct evr_lane *lane, uint64_t sequence) {
  return sequence - lane->ahead < lane->ahead_count;
}

/* With pread: reads the blocks from `sequence` on, as many as follow each other in the
   file and leave the producer a quarter of the ring. */
static bool read_ahead(struct evr_trace *trace, struct evr_lane *lane,
                       uint64_t sequence, uint64_t head) {
  uint64_t place = (sequence - 1) & (trace->blocks - 1);
  uint64_t count = trace->blocks / 4;
  if (count > lane->room) count = lane->room;
  if (count > head - sequence) count = head - sequence;
  if (count > trace->blocks - place) count = trace->blocks - place;
  lane->ahead_count = 0;
  if (count < 2) return false;
  lane->ahead = sequence;
  lane->ahead_count = evr_source_blocks(
      &trace->source, evr_trace_block_offset(trace, lane->slot, lane->ring, sequence),
      sequence, evr_trace_head_offset(lane->slot, lane->ring), trace->blocks,
      lane->blocks, (unsigned)count);
  return lane->ahead_count > 0;
}

/* Copies a block, or takes it from those read ahead. */
static enum evr_read copy_block(struct evr_trace *trace, struct evr_lane *lane,
                                uint64_t sequence, uint64_t head,
                                struct eventring_error *error) {
  if (is_ahead(lane, sequence) || read_ahead(trace, lane, sequence, head)) {
    lane->block = &lane->blocks[sequence - lane->ahead];
    if (evr_source_valid(lane->block, sequence, lane->slot, lane->ring))
      return EVR_READ_OK;
    lane->ahead_count = 0; /* alone it is looked at more closely */
  }
  lane->block = lane->blocks;
  return evr_source_block(
      &trace->source, evr_trace_block_offset(trace, lane->slot, lane->ring, sequence),
      sequence, lane->slot, lane->ring, sequence < head, lane->block, error);
}

/* Has the producer begun to reuse the place of a block, that is no longer there? Before
   W1 of its successor it has done W5 of the block before that one (W1 is a release store,
   and the head is loaded after it was seen). In a snapshot, blocks may be missing. */
static bool may_be_gone(struct evr_trace *trace, const struct evr_lane *lane,
                        uint64_t sequence) {
  evr_fence_acquire(); /* that load was perhaps a relaxed one */
  return trace->header.layout == FORMAT_SNAPSHOT ||
         evr_trace_head(trace, lane->slot, lane->ring) - sequence >= trace->blocks - 1;
}

/* A block that the head vouches for could not be read, or not to its end. */
static void note_failure(struct evr_trace *trace, const struct evr_lane *lane,
                         uint64_t sequence, enum evr_read status,
                         const struct eventring_error *error) {
  if (status == EVR_READ_FAILED)
    trace->damage = *error;
  else if (status == EVR_READ_CORRUPT)
    evr_trace_damaged(trace, "domain %u, ring %u: block %llu is not valid",
                      lane->slot, lane->ring, (unsigned long long)sequence);
  else if (!may_be_gone(trace, lane, sequence))
    evr_trace_damaged(trace, "domain %u, ring %u: block %llu is not there",
                      lane->slot, lane->ring, (unsigned long long)sequence);
}

static enum evr_read read_block(struct evr_trace *trace, struct evr_lane *lane,
                                uint64_t sequence, uint64_t head,
                                unsigned *budget) {
  struct eventring_error error = {0};
  lane->sequence = 0; /* what was held is used up and overwritten */
  enum evr_read status = copy_block(trace, lane, sequence, head, &error);
  if (status == EVR_READ_OK) return status;
  if (*budget) --*budget;
  if (status == EVR_READ_FAILED) *budget = 0;
  note_failure(trace, lane, sequence, status, &error);
  return status;
}

static uint64_t oldest_of(const struct evr_trace *trace, uint64_t head) {
  return head >= trace->blocks ? head - trace->blocks + 1 : 1;
}

/* Looks for the next block that can be read, from lane->next on. Where the
   producer keeps overwriting, leaves it a quarter of the ring. False: none now;
   what was tried is not tried again. */
static bool find_block(struct evr_trace *trace, struct evr_lane *lane,
                       bool before, unsigned *budget) {
  uint64_t head = evr_trace_head(trace, lane->slot, lane->ring);
  if (!has_room(trace, lane)) return false;
  if (lane->next < oldest_of(trace, head) && !is_ahead(lane, lane->next))
    lane->next = oldest_of(trace, head);
  while (*budget && lane->next <= head) {
    uint64_t sequence = lane->next;
    if (read_block(trace, lane, sequence, head, budget) == EVR_READ_OK) {
      take_up(trace, lane, sequence, sequence < head, before);
      return true;
    }
    uint64_t seen = head;
    head = evr_trace_head(trace, lane->slot, lane->ring);
    uint64_t safe = oldest_of(trace, head) + trace->blocks / 4;
    lane->next = sequence + 1;
    if (head != seen && lane->next < safe) lane->next = safe;
  }
  return false;
}

/* ---- Joining and limits --------------------------------------------------------------------- */

/* Applies all events of the block to the stack and passes over them. */
static void skip_to_end(const struct evr_trace *trace, struct evr_lane *lane) {
  const struct evr_block *block = lane->block;
  struct evr_span begin;
  for (; lane->at < block->have; lane->at += 1 + word_length(block->words[lane->at])) {
    uint64_t word = block->words[lane->at];
    unsigned kind = word_kind(word);
    if (kind == FORMAT_WORD_META && word_length(word) >= 1)
      lane->base = block->words[lane->at + 1];
    if (kind == EVENTRING_BEGIN)
      evr_span_push(&lane->stack,
                    span_of(trace, word_id(word), word_ticks(word, lane->base)));
    if (kind == EVENTRING_END) evr_span_pop(&lane->stack, word_id(word), &begin);
    lane->position += kind != FORMAT_WORD_META;
  }
}

/* Makes the present the start: what was is missed, what is open is begun. */
static void start_now(const struct evr_trace *trace, struct evr_lane *lane) {
  lane->pending_at = lane->pending_count = 0;
  lane->torn = 0;
  skip_to_end(trace, lane);
  lane->missed = lane->position;
  lane->lost = 0;
  for (uint32_t i = 0; i < lane->stack.count; i++)
    queue_begin(lane, lane->stack.span[i].id, lane->stack.span[i].ticks,
                evr_lane_depth(lane, i));
}

static void no_block(struct evr_trace *trace, const struct evr_lane *lane) {
  evr_trace_damaged(trace, "domain %u, ring %u: no valid block", lane->slot,
                    lane->ring);
}

void evr_lane_join_now(struct evr_trace *trace, struct evr_lane *lane,
                       unsigned *budget) {
  uint64_t head = evr_trace_head(trace, lane->slot, lane->ring);
  if (!head) return;
  lane->next = head;
  if (find_block(trace, lane, true, budget)) start_now(trace, lane);
  else no_block(trace, lane);
}

/* Before the oldest event. What lies before it was overwritten before the cursor was
   opened if the ring had gone round by then. */
static void join(struct evr_trace *trace, struct evr_lane *lane, unsigned *budget) {
  if (lane->next > lane->limit_sequence) return; /* all of it was found unreadable */
  if (!lane->next) lane->next = 1;
  if (!find_block(trace, lane, lane->opened_head > trace->blocks, budget))
    no_block(trace, lane);
}

/* ---- Limits ------------------------------------------------------------------------------------ */

static uint64_t offset_of(const struct evr_trace *trace, const struct evr_lane *lane,
                          uint64_t sequence) {
  return evr_trace_block_offset(trace, lane->slot, lane->ring, sequence);
}

/* Copies what was added to the block that is held. False: it is gone; what was
   copied before stays. */
static bool read_more(struct evr_trace *trace, struct evr_lane *lane, uint64_t head) {
  struct eventring_error error = {0};
  enum evr_read status =
      evr_source_more(&trace->source, offset_of(trace, lane, lane->sequence),
                      lane->sequence, lane->sequence < head, lane->block, &error);
  if (status != EVR_READ_OK) {
    note_failure(trace, lane, lane->sequence, status, &error);
    return false;
  }
  lane->complete = lane->sequence < head;
  evr_lane_survey(lane);
  return true;
}

/* Where this poll ends in the block held. */
static void set_end(struct evr_lane *lane) {
  lane->end = lane->at;
  if (!lane->sequence || lane->sequence > lane->limit_sequence) return;
  bool last = lane->sequence == lane->limit_sequence;
  lane->end = last && lane->limit_at < lane->block->have ? lane->limit_at
                                                         : lane->block->have;
}

static bool has_more(const struct evr_trace *trace, const struct evr_lane *lane) {
  return evr_source_has_more(&trace->source, offset_of(trace, lane, lane->sequence),
                             lane->block->have);
}

bool evr_lane_limit(struct evr_trace *trace, struct evr_lane *lane,
                    unsigned *budget) {
  uint64_t head = trace->head[lane->slot][lane->ring];
  lane->limit_moved = false;
  lane->limit_sequence = head;
  lane->limit_at = 0;
  if (head && !lane->joined) join(trace, lane, budget);
  if (head && lane->sequence == head) {
    if (has_more(trace, lane)) read_more(trace, lane, head);
    lane->limit_at = lane->block->have;
  } else if (head) {
    lane->limit_at = evr_source_length(&trace->source, offset_of(trace, lane, head), head);
  }
  set_end(lane);
  return lane->pending_at < lane->pending_count || lane->at < lane->end ||
         (lane->sequence < head && lane->next <= head);
}

/* A jump went beyond the limit of this poll: the block it led to may be delivered
   as it is, once, so that a reader much slower than the producer sees something.
   False: the poll ends here. */
static bool move_limit(struct evr_trace *trace, struct evr_lane *lane) {
  if (lane->sequence <= lane->limit_sequence) return true;
  if (lane->limit_moved) return false;
  lane->limit_moved = true;
  lane->limit_sequence = lane->sequence;
  lane->limit_at = lane->block->have;
  return evr_trace_catch_up(trace, &trace->damage) == EVENTRING_OK;
}

void evr_lane_check_end(struct evr_trace *trace, const struct evr_lane *lane) {
  uint64_t sequence = lane->sequence;
  if (!sequence || sequence != trace->head[lane->slot][lane->ring]) return;
  uint32_t now = evr_source_length(&trace->source, offset_of(trace, lane, sequence), sequence);
  if (now != lane->block->have) note_failure(trace, lane, sequence, EVR_READ_GONE, NULL);
}

static bool advance(struct evr_trace *trace, struct evr_lane *lane,
                    unsigned *budget) {
  if (lane->sequence && !lane->complete) {
    /* it was being filled when it was copied, and is complete by now; if gone,
       the rest of it is lost */
    bool more = read_more(trace, lane, lane->limit_sequence);
    lane->complete = true;
    if (more) return true;
  }
  return find_block(trace, lane, false, budget) && move_limit(trace, lane);
}

bool evr_lane_go_on(struct evr_trace *trace, struct evr_lane *lane, unsigned *budget) {
  if (lane->sequence >= lane->limit_sequence || lane->next > lane->limit_sequence ||
      !*budget)
    return false;
  bool going = advance(trace, lane, budget);
  set_end(lane);
  return going;
}
