/* SPDX-License-Identifier: MIT */
/* encoder_blocks.c: blocks of events (encoder.h has the design). */
#include "encoder/encoder.h"

#include <stdlib.h>
#include <string.h>

#include "format/checksum.h"

struct encoder_ring *encoder_ring(eventring_encoder *e, unsigned slot, unsigned ring,
                                  struct eventring_error *error) {
  struct encoder_ring **at = &e->ring[slot * EVENTRING_RINGS + ring];
  if (__builtin_expect(!*at, 0)) {
    struct encoder_ring *made = calloc(1, sizeof *made);
    if (!made) {
      encoder_fail(e, error, EVENTRING_E_MEMORY, "no memory for a ring");
      return NULL;
    }
    made->slot = (uint16_t)slot;
    made->ring = (uint8_t)ring;
    made->used = FORMAT_UNIT;
    made->latest = e->header.start_ns;
    evr_spans_init(&made->spans);
    *at = made;
    if (slot >= e->slots) e->slots = slot + 1;
  }
  return *at;
}

void encoder_ring_free(struct encoder_ring *ring) {
  if (!ring) return;
  evr_spans_free(&ring->spans);
  free(ring);
}

/* ---- The list of open spans --------------------------------------------------------- */

struct list {
  struct format_open entry[FORMAT_MAX_OPEN];
  uint64_t age[FORMAT_MAX_OPEN]; /* of those of other contexts: when they began, or one that
                                    they are within */
  unsigned own;                  /* entries of the present context come first, */
  unsigned brief;                /* of which the last ones are brief */
  unsigned count;
};

static struct format_open entry_of(const struct evr_span_stack *stack,
                                   const struct evr_span *span, uint64_t ns) {
  uint64_t suspended = stack->suspended - span->suspended;
  if (stack->since && ns > stack->since) suspended += ns - stack->since;
  suspended &= ~FORMAT_OPEN_SUSPENDED;
  return (struct format_open){.tail = EVENTRING_TAIL(EVENTRING_BEGIN, span->id, 0),
                              .ticks = span->ticks, .context = stack->context,
                              .suspended = suspended |
                                           (stack->since ? FORMAT_OPEN_SUSPENDED : 0)};
}

static bool is_near(uint64_t ns, uint64_t base) {
  return ns - base + FORMAT_TIME_SPAN <= 2 * FORMAT_TIME_SPAN;
}

static void list_own(struct list *list, const struct evr_span_stack *stack, uint64_t ns) {
  uint32_t from = stack->count > FORMAT_MAX_OPEN ? stack->count - FORMAT_MAX_OPEN : 0;
  for (uint32_t i = from; i < stack->count; i++)
    list->entry[list->count++] = entry_of(stack, &stack->span[i], ns);
  list->own = list->count;
  while (list->brief < list->own) {
    const struct format_open *inner = &list->entry[list->own - 1 - list->brief];
    if (inner->suspended || !is_near(inner->ticks, ns)) break;
    list->brief++;
  }
}

/* Puts a span of another context into the list, which has those that began last. */
static void list_other(struct list *list, struct format_open entry, uint64_t age) {
  unsigned at = list->count;
  if (at == FORMAT_MAX_OPEN) {
    if (at == list->own || age < list->age[list->own]) return;
    memmove(&list->entry[list->own], &list->entry[list->own + 1],
            (at - list->own - 1) * sizeof list->entry[0]);
    memmove(&list->age[list->own], &list->age[list->own + 1],
            (at - list->own - 1) * sizeof list->age[0]);
    list->count = --at;
  }
  for (; at > list->own && list->age[at - 1] > age; at--) {
    list->entry[at] = list->entry[at - 1];
    list->age[at] = list->age[at - 1];
  }
  list->entry[at] = entry;
  list->age[at] = age;
  list->count++;
}

static void list_others(struct list *list, const struct evr_span_stacks *spans, uint64_t ns) {
  const struct evr_span_stack *stack = NULL;
  if (spans->spans == spans->present->count) return;
  while ((stack = evr_spans_next(spans, stack)) != NULL) {
    uint64_t age = 0;
    for (uint32_t i = 0; stack != spans->present && i < stack->count; i++) {
      if (stack->span[i].ticks > age) age = stack->span[i].ticks;
      list_other(list, entry_of(stack, &stack->span[i], ns), age);
    }
  }
}

/* The entries of other contexts come before the brief ones. Returns the word after them. */
static uint32_t put_list(struct encoder_ring *ring, const struct list *list) {
  uint64_t *to = ring->words + FORMAT_BLOCK_HEADER_WORDS;
  unsigned whole = list->own - list->brief, others = list->count - list->own;
  memcpy(to, list->entry, whole * sizeof list->entry[0]);
  to += whole * FORMAT_OPEN_WORDS;
  memcpy(to, list->entry + list->own, others * sizeof list->entry[0]);
  to += others * FORMAT_OPEN_WORDS;
  for (unsigned i = whole; i < list->own; i++)
    *to++ = list->entry[i].tail | list->entry[i].ticks << EVENTRING_WORD_TIME_SHIFT;
  return (uint32_t)(to - ring->words);
}

/* ---- Blocks ------------------------------------------------------------------------- */

int encoder_block_begin(eventring_encoder *e, struct encoder_ring *ring, uint64_t ns,
                        struct eventring_error *error) {
  struct format_block *h = (struct format_block *)ring->words;
  struct list list;
  list.own = list.brief = list.count = 0;
  int status = encoder_claim(e, &ring->unit, &ring->used, &ring->place, error);
  if (status != EVENTRING_OK) return status;
  list_own(&list, ring->spans.present, ns);
  list_others(&list, &ring->spans, ns);
  ring->position.base = ns;
  ring->pending = false;
  ring->gap_ns = 0;
  *h = (struct format_block){
      .sequence = ++ring->sequence, .kind = FORMAT_EVENTS, .domain = ring->slot,
      .ring = ring->ring, .open_brief = (uint8_t)list.brief,
      .open = (uint16_t)(list.count - list.brief), .before = ring->events, .base_ticks = ns,
      .context = ring->position.context, .incarnation = ring->position.incarnation,
      .open_hidden = ring->spans.spans - list.count + ring->spans.hidden};
  ring->at = put_list(ring, &list);
  return EVENTRING_OK;
}

int encoder_block_end(eventring_encoder *e, struct encoder_ring *ring,
                      struct eventring_error *error) {
  uint32_t end = ring->at;
  if (!end) return EVENTRING_OK;
  ring->at = 0;
  memset(ring->words + end, 0, (FORMAT_BLOCK_WORDS - end) * sizeof ring->words[0]);
  ring->words[FORMAT_SEAL_WORD] = evr_seal(end, evr_checksum(ring->words, end));
  return encoder_put(e, format_block_offset(ring->place), ring->words, FORMAT_BLOCK_BYTES,
                     error);
}

int encoder_ring_end(eventring_encoder *e, struct encoder_ring *ring,
                     struct eventring_error *error) {
  int status = EVENTRING_OK;
  if (ring->latest > e->latest) e->latest = ring->latest;
  if (ring->pending)
    status = encoder_block_begin(e, ring, ring->gap_ns ? ring->gap_ns : ring->latest, error);
  return status == EVENTRING_OK ? encoder_block_end(e, ring, error) : status;
}

/* ---- Words -------------------------------------------------------------------------- */

void encoder_set_incarnation(struct encoder_ring *ring, uint32_t incarnation) {
  if (ring->position.incarnation == incarnation) return;
  evr_spans_clear(&ring->spans);
  ring->position.incarnation = incarnation;
  ring->position.context = 0;
}

static void set_context(struct encoder_ring *ring, uint64_t context) {
  ring->position.context = context;
  evr_spans_enter(&ring->spans, context);
}

static void put_word(struct encoder_ring *ring, uint64_t tail, uint64_t ns) {
  ring->words[ring->at++] = tail | ns << EVENTRING_WORD_TIME_SHIFT;
}

static void put_remark(struct encoder_ring *ring, enum format_remark remark, uint64_t ns,
                       uint64_t value) {
  put_word(ring, EVENTRING_TAIL(FORMAT_WORD_REMARK, remark, 1), ns);
  ring->words[ring->at++] = value;
}

/* What the next word belongs to, where that is not what the words before it do: in remarks,
   if there is room for them and for `words` words more, else in the header of a block. */
static __attribute__((noinline)) int
change_position(eventring_encoder *e, struct encoder_ring *ring, unsigned words, uint64_t ns,
                uint32_t incarnation, uint64_t context, struct eventring_error *error) {
  struct format_position *p = &ring->position;
  bool turns = p->incarnation != incarnation, is_far = !is_near(ns, p->base);
  unsigned remarks = 2u * (turns + is_far + ((turns ? 0 : p->context) != context));
  if (!ring->at || ring->at + remarks + words > FORMAT_BLOCK_WORDS) {
    int status = encoder_block_end(e, ring, error);
    if (status != EVENTRING_OK) return status;
    encoder_set_incarnation(ring, incarnation);
    set_context(ring, context);
    bool has_gap = ring->gap_ns && is_near(ns, ring->gap_ns);
    return encoder_block_begin(e, ring, has_gap ? ring->gap_ns : ns, error);
  }
  if (is_far) {
    p->base = ns;
    put_remark(ring, FORMAT_REMARK_REBASE, ns, ns);
  }
  if (turns) {
    put_remark(ring, FORMAT_REMARK_INCARNATION, ns, incarnation);
    encoder_set_incarnation(ring, incarnation);
  }
  if (p->context != context) put_remark(ring, FORMAT_REMARK_CONTEXT, ns, context);
  set_context(ring, context);
  return EVENTRING_OK;
}

int encoder_append(eventring_encoder *e, struct encoder_ring *ring, uint64_t tail,
                   uint64_t ns, uint32_t incarnation, uint64_t context,
                   const uint64_t *payload, struct eventring_error *error) {
  const struct format_position *p = &ring->position;
  unsigned count = word_length(tail);
  if (__builtin_expect(!ring->at || ring->at + 1 + count > FORMAT_BLOCK_WORDS ||
                           p->incarnation != incarnation || p->context != context ||
                           !is_near(ns, p->base), 0)) {
    int status = change_position(e, ring, 1 + count, ns, incarnation, context, error);
    if (status != EVENTRING_OK) return status;
  }
  put_word(ring, tail, ns);
  for (unsigned i = 0; i < count; i++) ring->words[ring->at++] = payload[i];
  ring->latest = ns;
  return EVENTRING_OK;
}
