/* lane.c: the reader of one ring.
 *
 * Data: a copy of the block it reads, the number of the next event in the ring
 * (`position`, from 0 over the whole life of the ring), the stack of open spans,
 * and a queue of things to deliver before the next event of the block: losses,
 * synthetic begins and ends.
 *
 * Invariants
 *  - missed + delivered + lost (+ one decoded but not yet delivered) = position.
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
#include "reader.h"

#include <stdlib.h>
#include <string.h>

struct evr_lane *evr_lane_new(unsigned slot, unsigned ring) {
  struct evr_lane *lane = calloc(1, sizeof *lane);
  if (!lane) return NULL;
  lane->slot = slot;
  lane->ring = ring;
  return lane;
}

void evr_lane_free(struct evr_lane *lane) {
  if (!lane) return;
  free(lane->stack.span);
  free(lane->pending);
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
  uint32_t incarnation = evr_block_header(&lane->block)->incarnation;
  queue(lane, (struct evr_pending){.kind = EVENTRING_BEGIN,
                                   .incarnation = incarnation, .when = lane->now,
                                   .flags = EVENTRING_SYNTHETIC,
                                   .id = (uint16_t)id, .depth = depth,
                                   .value = ticks});
}

static uint32_t depth_of(const struct evr_span_stack *stack, uint32_t index) {
  return index + (index >= stack->mark ? stack->hidden : 0);
}

static void tear_span(struct evr_lane *lane, uint32_t index) {
  if (lane->now < lane->stack.span[index].ticks)
    lane->now = lane->stack.span[index].ticks;
  queue_end(lane, &lane->stack.span[index], depth_of(&lane->stack, index));
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

/* Applies what was switched up to `ticks`; notes when the next is due. */
static void apply_switches(const struct evr_trace *trace, struct evr_lane *lane,
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
  const struct format_block *h = evr_block_header(&lane->block);
  const uint64_t *entry = lane->block.words + FORMAT_BLOCK_HEADER_WORDS;
  for (uint32_t i = lane->stack.count; i-- > 0;)
    if (!is_listed(&lane->block, &lane->stack.span[i])) tear_span(lane, i);
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
  apply_switches(trace, lane, h->base_ticks);
}

/* Stands before the first event of the block just copied. */
static void stand_at_first(struct evr_lane *lane, uint64_t sequence, bool complete) {
  const struct format_block *h = evr_block_header(&lane->block);
  lane->sequence = sequence;
  lane->next = sequence + 1;
  lane->complete = complete;
  lane->at = evr_block_first(&lane->block);
  lane->base = lane->now = h->base_ticks;
}

/* Goes on in the block just copied; counts what lies between. */
static void take_up(struct evr_trace *trace, struct evr_lane *lane,
                    uint64_t sequence, bool complete, bool before) {
  const struct format_block *h = evr_block_header(&lane->block);
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

static enum evr_read read_block(struct evr_trace *trace, struct evr_lane *lane,
                                uint64_t sequence, uint64_t head,
                                unsigned *budget) {
  struct eventring_error error = {0};
  uint64_t offset = evr_trace_block_offset(trace, lane->slot, lane->ring, sequence);
  enum evr_read status =
      evr_source_block(&trace->source, offset, sequence, lane->slot, lane->ring,
                       sequence < head, &lane->block, &error);
  if (status == EVR_READ_OK) return status;
  lane->sequence = 0; /* what was held is used up and overwritten */
  if (*budget) --*budget;
  if (status == EVR_READ_CORRUPT)
    evr_trace_damaged(trace, "domain %u, ring %u: block %llu is not valid",
                      lane->slot, lane->ring, (unsigned long long)sequence);
  if (status == EVR_READ_FAILED) {
    trace->damage = error;
    *budget = 0;
  }
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
  if (lane->next < oldest_of(trace, head)) lane->next = oldest_of(trace, head);
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
  const struct evr_block *block = &lane->block;
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
                depth_of(&lane->stack, i));
}

void evr_lane_join(struct evr_trace *trace, struct evr_lane *lane, bool now,
                   bool before, unsigned *budget) {
  uint64_t head = evr_trace_head(trace, lane->slot, lane->ring);
  if (!head || lane->next > head) return;
  lane->next = now ? head : 1;
  if (find_block(trace, lane, before, budget)) {
    if (now) start_now(trace, lane);
  } else {
    evr_trace_damaged(trace, "domain %u, ring %u: no valid block", lane->slot,
                      lane->ring);
  }
}

/* Copies anew the block that is held, now that more may be in it. False: gone;
   what was copied before stays. */
static bool reread(struct evr_trace *trace, struct evr_lane *lane, uint64_t head) {
  struct evr_block fresh;
  uint64_t offset =
      evr_trace_block_offset(trace, lane->slot, lane->ring, lane->sequence);
  if (evr_source_block(&trace->source, offset, lane->sequence, lane->slot,
                       lane->ring, lane->sequence < head, &fresh,
                       NULL) != EVR_READ_OK || fresh.have < lane->block.have)
    return false;
  memcpy(lane->block.words, fresh.words, fresh.have * sizeof fresh.words[0]);
  lane->block.have = fresh.have;
  lane->complete = lane->sequence < head;
  return true;
}

/* How many words of the newest block are committed. */
static uint32_t committed_words(struct evr_trace *trace, struct evr_lane *lane,
                                uint64_t head) {
  struct evr_block block;
  uint64_t offset = evr_trace_block_offset(trace, lane->slot, lane->ring, head);
  enum evr_read status = evr_source_block(&trace->source, offset, head, lane->slot,
                                          lane->ring, false, &block, NULL);
  return status == EVR_READ_OK ? block.have : 0;
}

void evr_lane_limit(struct evr_trace *trace, struct evr_lane *lane,
                    unsigned *budget) {
  uint64_t head = trace->domain[lane->slot].head[lane->ring];
  lane->limit_moved = false;
  lane->limit_sequence = head;
  lane->limit_at = 0;
  if (!head) return;
  if (!lane->joined) evr_lane_join(trace, lane, false, false, budget);
  if (lane->sequence == head) {
    uint64_t offset = evr_trace_block_offset(trace, lane->slot, lane->ring, head);
    if (evr_source_has_more(&trace->source, offset, head, lane->block.have))
      reread(trace, lane, head);
    lane->limit_at = lane->block.have;
  } else {
    lane->limit_at = committed_words(trace, lane, head);
  }
}

/* ---- Items ------------------------------------------------------------------------------------ */

/* The kind of definition that each kind of event refers to. */
static const uint8_t def_kind_of[8] = {
    [EVENTRING_BEGIN] = EVENTRING_DEF_SPAN, [EVENTRING_END] = EVENTRING_DEF_SPAN,
    [EVENTRING_COUNTER] = EVENTRING_DEF_COUNTER, [EVENTRING_EVENT] = EVENTRING_DEF_EVENT,
    [EVENTRING_LIFECYCLE] = EVENTRING_DEF_LIFECYCLE};

static bool take_bytes(struct eventring_event *event, const uint64_t *payload,
                       unsigned words) {
  uint64_t size = payload[0] & ~FORMAT_BYTES_TRUNCATED;
  if (size > EVENTRING_MAX_PAYLOAD || (size + 7) / 8 != words - 1) return false;
  if (payload[0] & FORMAT_BYTES_TRUNCATED) event->flags |= EVENTRING_TRUNCATED;
  event->bytes = payload + 1;
  event->size = size;
  return true;
}

/* A payload of one word or more, as its definition wants it. */
static bool take_payload(struct eventring_event *event, const uint64_t *payload,
                         unsigned words) {
  unsigned expected = event->def->payload;
  event->payload = (uint8_t)expected;
  switch (expected) {
  case EVENTRING_INT:
  case EVENTRING_UINT:
  case EVENTRING_DOUBLE:
    event->value.u = payload[0];
    return words == 1;
  case EVENTRING_STRING:
  case EVENTRING_BYTES:
    return take_bytes(event, payload, words);
  default:
    return false;
  }
}

static inline void fill_identity(const struct evr_trace *trace,
                                 const struct evr_lane *lane, unsigned id,
                                 struct eventring_event *event) {
  const struct eventring_def *def = evr_trace_def(trace, id);
  event->begin_ns = 0;
  event->domain = lane->slot;
  event->incarnation = lane->incarnation;
  event->id = (uint16_t)id;
  event->ring = (uint8_t)lane->ring;
  event->payload = EVENTRING_NONE;
  event->flags = 0;
  event->depth = 0;
  event->value.u = 0;
  event->bytes = NULL;
  event->size = 0;
  event->def = def;
  event->name = def ? def->name : "?";
  event->event_class = def ? def->event_class : EVENTRING_CLASS_USER;
}

static void make_unknown(struct eventring_event *event, const uint64_t *payload,
                         unsigned words) {
  event->flags |= EVENTRING_UNKNOWN;
  event->name = "?";
  event->def = NULL;
  event->payload = words ? EVENTRING_RAW : EVENTRING_NONE;
  event->value.u = words ? payload[0] : 0;
  event->bytes = words ? payload : NULL;
  event->size = words * sizeof *payload;
}

static inline void decode_span(struct evr_lane *lane, uint64_t ticks,
                               struct eventring_event *event) {
  struct evr_span begin;
  uint32_t depth = lane->stack.count + lane->stack.hidden;
  if (event->kind == EVENTRING_BEGIN) {
    event->depth = depth;
    event->begin_ns = event->ns;
    evr_span_push(&lane->stack,
                  (struct evr_span){.ticks = ticks, .ns = event->ns, .id = event->id});
    return;
  }
  if (evr_span_pop(&lane->stack, event->id, &begin)) {
    event->flags |= EVENTRING_MATCHED;
    event->begin_ns = begin.ns < event->ns ? begin.ns : event->ns;
  } else {
    event->flags |= EVENTRING_TORN;
    lane->torn++;
  }
  event->depth = lane->stack.count + lane->stack.hidden;
}

/* The event whose word is words[lane->at]. */
static inline __attribute__((always_inline)) void decode(struct evr_trace *trace, struct evr_lane *lane,
                          uint64_t word, uint64_t ticks) {
  const uint64_t *payload = &lane->block.words[lane->at + 1];
  unsigned words = word_length(word), kind = word_kind(word);
  struct eventring_event *event = &lane->item.event;
  fill_identity(trace, lane, word_id(word), event);
  event->kind = (uint8_t)kind;
  event->ns = evr_trace_next_ns(trace, ticks);
  if (!event->def || event->def->kind != def_kind_of[kind] ||
      (words && !take_payload(event, payload, words)))
    make_unknown(event, payload, words);
  if (kind <= EVENTRING_END) decode_span(lane, ticks, event);
  lane->item.kind = EVR_ITEM_EVENT;
  lane->item.order_ns = event->ns;
  lane->at += 1 + words;
  lane->position++;
}

static void make_pending_item(const struct evr_trace *trace, struct evr_lane *lane) {
  const struct evr_pending *p = &lane->pending[lane->pending_at++];
  uint64_t now = evr_trace_ns(trace, p->when);
  lane->item.order_ns = now;
  if (p->kind == 0) {
    lane->item.kind = EVR_ITEM_LOSS;
    lane->item.loss = (struct eventring_loss){
        .domain = lane->slot, .incarnation = p->incarnation,
        .ring = (uint8_t)lane->ring, .flags = p->flags, .count = p->value, .ns = now};
    return;
  }
  struct eventring_event *event = &lane->item.event;
  lane->item.kind = EVR_ITEM_EVENT;
  fill_identity(trace, lane, p->id, event);
  event->kind = p->kind;
  event->incarnation = p->incarnation;
  event->flags = p->flags | (event->def ? 0 : EVENTRING_UNKNOWN);
  event->depth = p->depth;
  event->begin_ns = evr_trace_ns(trace, p->value);
  event->ns = p->kind == EVENTRING_BEGIN ? event->begin_ns : now;
}

/* Interprets the next word: true when that made something to deliver. */
static inline bool step(struct evr_trace *trace, struct evr_lane *lane) {
  uint64_t word = lane->block.words[lane->at];
  if (word_kind(word) == FORMAT_WORD_META) {
    if (word_id(word) == FORMAT_META_REBASE && word_length(word) >= 1)
      lane->base = lane->block.words[lane->at + 1];
    lane->at += 1 + word_length(word);
    return false;
  }
  uint64_t ticks = word_ticks(word, lane->base);
  if (lane->switches != trace->switches && ticks >= lane->switch_due) {
    apply_switches(trace, lane, ticks);
    if (lane->pending_at < lane->pending_count) return false;
  }
  decode(trace, lane, word, ticks);
  return true;
}

/* ---- Going on ------------------------------------------------------------------------------------ */

static uint32_t end_of_block(const struct evr_lane *lane) {
  bool last = lane->sequence == lane->limit_sequence;
  return last && lane->limit_at < lane->block.have ? lane->limit_at
                                                   : lane->block.have;
}

/* A jump went beyond the limit of this poll: the block it led to may be delivered
   as it is, once, so that a reader much slower than the producer sees something.
   False: the poll ends here. */
static bool move_limit(struct evr_trace *trace, struct evr_lane *lane) {
  if (lane->sequence <= lane->limit_sequence) return true;
  if (lane->limit_moved) return false;
  lane->limit_moved = true;
  lane->limit_sequence = lane->sequence;
  lane->limit_at = lane->block.have;
  return evr_trace_catch_up(trace, &trace->damage) == EVENTRING_OK;
}

/* The block held is used up and others follow. False: nothing more now. */
static bool advance(struct evr_trace *trace, struct evr_lane *lane,
                    unsigned *budget) {
  if (lane->sequence && !lane->complete) {
    /* it was being filled when it was copied, and is complete by now; if gone,
       the rest of it is lost */
    bool more = reread(trace, lane, lane->limit_sequence);
    lane->complete = true;
    if (more) return true;
  }
  return find_block(trace, lane, false, budget) && move_limit(trace, lane);
}

/* One thing after the other until there is an item. False: none up to the limit. */
static bool look_further(struct evr_trace *trace, struct evr_lane *lane,
                         unsigned *budget) {
  while (!lane->has_item) {
    if (lane->pending_at < lane->pending_count) {
      make_pending_item(trace, lane);
      lane->has_item = true;
    } else if (lane->sequence && lane->sequence <= lane->limit_sequence &&
               lane->at < end_of_block(lane)) {
      lane->has_item = step(trace, lane);
    } else if (lane->sequence < lane->limit_sequence &&
               lane->next <= lane->limit_sequence && *budget) {
      if (!advance(trace, lane, budget)) return false;
    } else {
      return false;
    }
  }
  return true;
}

bool evr_lane_peek(struct evr_trace *trace, struct evr_lane *lane, unsigned *budget) {
  return lane->has_item || look_further(trace, lane, budget);
}

/* ---- Delivery ------------------------------------------------------------------------------------- */

/* Hands the item over. */
static inline void deliver(struct evr_lane *lane, struct evr_sink *sink) {
  const struct evr_item *item = &lane->item;
  int stop = 0;
  lane->has_item = false;
  if (__builtin_expect(item->kind == EVR_ITEM_LOSS, 0)) {
    if (sink->callbacks.lost) stop = sink->callbacks.lost(sink->context, &item->loss);
  } else {
    bool real = !(item->event.flags & EVENTRING_SYNTHETIC);
    lane->delivered += real;
    sink->delivered += real;
    sink->left -= real;
    if (sink->callbacks.event)
      stop = sink->callbacks.event(sink->context, &item->event);
  }
  if (__builtin_expect(stop || !sink->left, 0)) sink->stopped = true;
}

/* Is there surely another event in the block held? */
static inline bool goes_on(const struct evr_lane *lane) {
  return lane->at < lane->block.have && lane->sequence < lane->limit_sequence &&
         lane->pending_at == lane->pending_count && lane->sequence;
}

bool evr_lane_drain(struct evr_trace *trace, struct evr_lane *lane, uint64_t until,
                    struct evr_sink *sink) {
  for (;;) {
    if (!lane->has_item && __builtin_expect(goes_on(lane), 1))
      lane->has_item = step(trace, lane);
    if (!lane->has_item && !look_further(trace, lane, &sink->budget)) return false;
    if (sink->stopped || lane->item.order_ns > until) return true;
    deliver(lane, sink);
  }
}

void evr_lane_open_span(const struct evr_trace *trace, const struct evr_lane *lane,
                        uint32_t index, struct eventring_event *event) {
  const struct evr_span *span = &lane->stack.span[index];
  fill_identity(trace, lane, span->id, event);
  event->kind = EVENTRING_BEGIN;
  event->flags = EVENTRING_SYNTHETIC | (event->def ? 0 : EVENTRING_UNKNOWN);
  event->ns = event->begin_ns = evr_trace_ns(trace, span->ticks);
  event->depth = depth_of(&lane->stack, index);
}
