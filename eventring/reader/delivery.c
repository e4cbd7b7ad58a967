/* SPDX-License-Identifier: MIT */
/* delivery.c: the events of the block that a ring reader holds, handed to the callbacks.
 *
 * A ring reader finds what comes next (a queued loss or synthetic event, else an event
 * word) and its time. Then it delivers a run: this event and the events that follow it in
 * the block, up to the same bounds. What is constant in a run is computed before it: the
 * clock segment, the time at which the run ends (the next segment, the next entry of the
 * control log), the time before which an event may be older than its definition, and the
 * fields that all events of the ring share. Between two events of a run only the word,
 * its definition and the stack of open spans matter. The stores into the event are kept
 * few: with a callback that does little they are most of the cost.
 *
 * The processor predicts the kind of the next event well where a loop writes leaf spans
 * or counters, and badly where spans are nested. A misprediction takes longer than all
 * other work for an event. So blocks in which begins follow begins are delivered by a
 * loop that does the same, longer work for a begin and an end.
 *
 * The block was copied and found valid (block.c): an event word is never 0, and its
 * payload lies within the block. Callbacks may do anything but poll or close this cursor.
 * Callbacks can make the reader read definitions, clock segments and log entries again;
 * this does not affect events within the limits of the poll.
 */
#include "reader/run.h"

#include <string.h>

/* The kind of definition that each kind of event refers to. */
static const uint8_t def_kind_of[8] = {
    [EVENTRING_BEGIN] = EVENTRING_DEF_SPAN, [EVENTRING_END] = EVENTRING_DEF_SPAN,
    [EVENTRING_COUNTER] = EVENTRING_DEF_COUNTER, [EVENTRING_INSTANT] = EVENTRING_DEF_INSTANT,
    [EVENTRING_LIFECYCLE] = EVENTRING_DEF_LIFECYCLE, [EVENTRING_LINKED] = EVENTRING_DEF_ASYNC};
/* The kind of event for each kind of definition; for spans, a begin. */
static const uint8_t kind_of_def[] = {
    [EVENTRING_DEF_SPAN] = EVENTRING_BEGIN, [EVENTRING_DEF_COUNTER] = EVENTRING_COUNTER,
    [EVENTRING_DEF_INSTANT] = EVENTRING_INSTANT, [EVENTRING_DEF_LIFECYCLE] = EVENTRING_LIFECYCLE,
    [EVENTRING_DEF_ASYNC] = EVENTRING_LINKED, [EVENTRING_DEF_FLOW] = EVENTRING_LINKED};

/* ---- Identity --------------------------------------------------------------------- */

#define TAG_AT(member, at) \
  _Static_assert(offsetof(struct eventring_event, member) == \
                     offsetof(struct eventring_event, id) + (at), "tags")
TAG_AT(ring, 2);
TAG_AT(kind, 3);
TAG_AT(event_class, 4);
TAG_AT(payload, 5);
TAG_AT(flags, 6);

/* The fields from id to flags as one word: the sum of what comes from the word of the
   event, from its definition (struct evr_definition) and from the ring. */
#define EVR_TAGS(kind, payload, flags) \
  ((uint64_t)(kind) << 24 | (uint64_t)(payload) << 40 | (uint64_t)(flags) << 48)

static inline __attribute__((always_inline)) void
set_tags(struct eventring_event *event, uint64_t tags) {
  memcpy((char *)event + offsetof(struct eventring_event, id), &tags, sizeof tags);
}

_Static_assert(offsetof(struct eventring_event, def) ==
                   offsetof(struct eventring_event, name) + sizeof(char *), "face");

static inline __attribute__((always_inline)) void
set_face(struct eventring_event *event, const struct evr_definition *d, uint64_t tags) {
  memcpy((char *)event + offsetof(struct eventring_event, name), &d->face,
         sizeof d->face);
  set_tags(event, d->tags + tags);
}

void evr_definition_prepare(struct evr_definition *d) {
  unsigned kind = kind_of_def[d->def.kind], type = d->def.payload;
  bool number = type - 1u <= EVENTRING_DOUBLE - 1u;
  d->face.name = d->def.name;
  d->face.def = &d->def;
  d->tags = d->def.id | (uint64_t)d->def.event_class << 32;
  d->plain = UINT32_MAX; /* no event word has this kind and length */
  if (kind == EVENTRING_BEGIN) d->plain = kind;
  else if (number) d->plain = (uint32_t)EVENTRING_TAIL(kind, 0, 1);
  d->plain_tags = EVR_TAGS(kind, type, 0);
}

/* The name of an event that has no definition. */
static const char other_name[] = "(other)";

/* Returns the definition that an event refers to, or NULL if there was none at the time
   of the event. */
static const struct evr_definition *definition_at(const struct evr_ring_reader *reader,
                                                  unsigned id, uint64_t ticks) {
  const struct evr_definition *d = reader->definitions->definition[id];
  return d && d->since_ticks <= ticks ? d : NULL;
}

/* Fills in the fields of a synthetic event of span `id` that began at `ticks`. */
static void fill_synthetic(const struct evr_ring_reader *reader, unsigned id, uint64_t ticks,
                           uint64_t context, struct eventring_event *event) {
  const struct evr_definition *d = definition_at(reader, id, ticks);
  const struct eventring_def *def = d ? &d->def : NULL;
  *event = (struct eventring_event){
      .domain = reader->blocks.slot, .incarnation = reader->position.incarnation,
      .id = (uint16_t)id, .ring = (uint8_t)reader->blocks.ring, .kind = EVENTRING_BEGIN,
      .def = def, .name = def ? def->name : other_name, .context = context,
      .event_class = def ? def->event_class : EVENTRING_CLASS_USER,
      .flags = EVENTRING_SYNTHETIC | (def ? 0 : EVENTRING_UNKNOWN)};
}

void evr_ring_reader_open_span(const struct evr_ring_reader *reader,
                               const struct evr_span_stack *stack, uint32_t index,
                               struct eventring_event *event) {
  const struct evr_span *span = &stack->span[index];
  fill_synthetic(reader, span->id, span->ticks, stack->context, event);
  event->ns = event->begin_ns = evr_metadata_ns(reader->blocks.meta, span->ticks);
  event->depth = index;
}

/* Clears the fields that few events have. */
static inline __attribute__((always_inline)) void clear_rare(struct eventring_event *event) {
  enum { FROM = offsetof(struct eventring_event, suspended_ns) };
  memset((char *)event + FROM, 0, sizeof *event - FROM);
}

/* ---- Payloads --------------------------------------------------------------------- */

/* Tells whether a payload of `words` words (1 or more) is a string or bytes, as the
   definition says. If so, sets *size to its bytes. */
static inline __attribute__((always_inline)) bool
holds_bytes(const uint64_t *payload, unsigned words, unsigned type, uint64_t *size) {
  *size = payload[0] & ~FORMAT_BYTES_TRUNCATED;
  return (type == EVENTRING_STRING || type == EVENTRING_BYTES) &&
         *size <= EVENTRING_MAX_PAYLOAD && (*size + 7) / 8 == words - 1;
}

/* Returns how many words the value at `payload` has, or 0 if it would need more than the
   `words` words of the payload. */
static unsigned value_words(const uint64_t *payload, unsigned words, unsigned type) {
  if (!words || type < EVENTRING_INT || type > EVENTRING_BYTES) return 0;
  if (type <= EVENTRING_DOUBLE) return 1;
  uint64_t size = payload[0] & ~FORMAT_BYTES_TRUNCATED;
  uint64_t needed = 1 + (size + 7) / 8;
  return size <= EVENTRING_MAX_PAYLOAD && needed <= words ? (unsigned)needed : 0;
}

static unsigned type_of_value(uint64_t types, unsigned i) { return types >> (4 + 4 * i) & 15; }

/* Tells whether the payload has the values that its first word describes. Sets *cut if
   one of the values was cut. */
static bool holds_values(const uint64_t *payload, unsigned words, bool *cut) {
  unsigned at = 1, count = payload[0] & 15;
  *cut = false;
  for (unsigned i = 0; i < count; i++) {
    unsigned type = type_of_value(payload[0], i);
    unsigned taken = value_words(payload + at, words - at, type);
    if (!taken) return false;
    if (type > EVENTRING_DOUBLE && payload[at] & FORMAT_BYTES_TRUNCATED) *cut = true;
    at += taken;
  }
  return at == words;
}

static void fill_value(struct eventring_value *value, const uint64_t *payload, unsigned type) {
  *value = (struct eventring_value){.payload = (uint8_t)type};
  if (type <= EVENTRING_DOUBLE) {
    value->value.u = payload[0];
  } else {
    value->bytes = payload + 1;
    value->size = payload[0] & ~FORMAT_BYTES_TRUNCATED;
  }
}

size_t eventring_event_values(const struct eventring_event *event,
                              struct eventring_value *values, size_t room) {
  if (event->payload == EVENTRING_NONE || event->payload == EVENTRING_RAW ||
      event->payload == EVENTRING_SAMPLE)
    return 0;
  if (event->payload != EVENTRING_VALUES) {
    if (room)
      *values = (struct eventring_value){.payload = event->payload,
                                         .value.u = event->value.u, .bytes = event->bytes,
                                         .size = event->size};
    return 1;
  }
  const uint64_t *payload = event->bytes;
  unsigned words = (unsigned)(event->size / 8), at = 1;
  size_t count = words ? payload[0] & 15 : 0;
  for (unsigned i = 0; i < count; i++) {
    unsigned type = type_of_value(payload[0], i);
    if (i < room) fill_value(&values[i], payload + at, type);
    at += value_words(payload + at, words - at, type);
  }
  return count;
}

/* Takes words that do not match the definition, or whose type is not known. */
static void take_raw(struct eventring_event *event, const uint64_t *payload, unsigned words) {
  event->payload = EVENTRING_RAW;
  event->value.u = payload[0];
  event->bytes = payload;
  event->size = words * sizeof *payload;
}

/* Takes a payload of one word or more. */
static void take_payload(struct eventring_event *event, unsigned type, const uint64_t *payload,
                         unsigned words) {
  uint64_t size;
  bool number = (type >= EVENTRING_INT && type <= EVENTRING_DOUBLE) ||
                type == EVENTRING_STACK_ID;
  event->payload = (uint8_t)type;
  if (number && words == 1) {
    event->value.u = payload[0];
  } else if (holds_bytes(payload, words, type, &size)) {
    if (payload[0] & FORMAT_BYTES_TRUNCATED) event->flags |= EVENTRING_TRUNCATED;
    event->bytes = payload + 1;
    event->size = size;
  } else {
    bool cut;
    take_raw(event, payload, words);
    if (type == EVENTRING_SAMPLE && words == FORMAT_SAMPLE_WORDS)
      event->payload = EVENTRING_SAMPLE;
    if (type == EVENTRING_VALUES && holds_values(payload, words, &cut)) {
      event->payload = EVENTRING_VALUES;
      if (cut) event->flags |= EVENTRING_TRUNCATED;
    }
  }
}

/* ---- One event -------------------------------------------------------------------- */

static inline void open_span(struct evr_ring_reader *reader, struct eventring_event *event,
                             unsigned id, uint64_t ticks, uint64_t ns) {
  struct evr_span_stack *stack = reader->spans.present;
  event->depth = stack->count;
  event->begin_ns = ns;
  evr_spans_push(&reader->spans, (struct evr_span){.ticks = ticks, .ns = ns, .id = id,
                                                   .suspended = stack->suspended});
}

/* Converts a duration in ticks, which ends in the segment in use, to nanoseconds. */
static uint64_t duration_ns(const struct evr_metadata *meta, uint64_t ticks) {
  return (uint64_t)((unsigned __int128)ticks * meta->segment.multiplier >> FORMAT_CLOCK_SHIFT);
}

static inline void close_span(struct evr_ring_reader *reader, struct eventring_event *event,
                              unsigned id, uint64_t ns) {
  struct evr_span_stack *stack = reader->spans.present;
  struct evr_span begin;
  if (evr_spans_pop(&reader->spans, id, &begin)) {
    event->flags |= EVENTRING_MATCHED;
    event->begin_ns = begin.ns < ns ? begin.ns : ns;
    uint64_t suspended = duration_ns(reader->blocks.meta, stack->suspended - begin.suspended);
    /* the span may have begun in a segment with another multiplier */
    uint64_t duration = ns - event->begin_ns;
    event->suspended_ns = suspended < duration ? suspended : duration;
    event->within_ns = begin.within;
    if (stack->count) stack->span[stack->count - 1].within += duration - event->suspended_ns;
  } else {
    event->flags |= EVENTRING_TORN;
    reader->torn++;
    evr_spans_hide(stack, stack->count ? stack->count - 1 : 0);
  }
  event->depth = stack->count;
}

/* Takes the payload of an end: for how long the thread was not on a processor, if the
   definition says so. */
static void take_off_cpu(struct eventring_event *event, const struct evr_definition *d,
                         const uint64_t *payload, unsigned words) {
  bool says_so = d && d->def.kind == EVENTRING_DEF_SPAN && d->def.measure == EVENTRING_OFF_CPU;
  if (!says_so || words != 1) {
    take_raw(event, payload, words);
  } else if (event->flags & EVENTRING_MATCHED) {
    uint64_t duration = event->ns - event->begin_ns;
    event->payload = EVENTRING_UINT;
    event->value.u = payload[0] < duration ? payload[0] : duration;
  }
}

bool evr_definition_explains(const struct evr_definition *d, unsigned kind) {
  return d->def.kind == def_kind_of[kind] ||
         (kind == EVENTRING_LINKED && d->def.kind == EVENTRING_DEF_FLOW);
}

/* Takes link and role, which come before the payload of an event of kind LINKED. Returns
   how many words are left. */
static unsigned take_link(struct eventring_event *event, const uint64_t **payload,
                          unsigned words) {
  if (words < 2) return words;
  event->link = (*payload)[0];
  event->role = (*payload)[1] <= UINT8_MAX ? (uint8_t)(*payload)[1] : 0;
  *payload += 2;
  return words - 2;
}

void evr_event_payload(struct eventring_event *event, const struct evr_definition *d,
                       const uint64_t *word) {
  unsigned kind = word_kind(*word), words = word_length(*word);
  const uint64_t *payload = word + 1;
  if (kind == EVENTRING_LINKED) words = take_link(event, &payload, words);
  if (words && kind == EVENTRING_END)
    take_off_cpu(event, d, payload, words);
  else if (words && d && evr_definition_explains(d, kind))
    take_payload(event, d->def.payload, payload, words);
  else if (words)
    take_raw(event, payload, words);
}

/* Decodes any event. Fills in reader->event, except for the fields that are constant in
   the run. */
static __attribute__((noinline)) void
decode_any(struct evr_ring_reader *reader, uint64_t word,
           const uint64_t *payload, uint64_t ticks, uint64_t ns) {
  struct eventring_event *event = &reader->event;
  unsigned id = word_id(word), kind = word_kind(word);
  const struct evr_definition *d = definition_at(reader, id, ticks);
  event->ns = ns;
  event->begin_ns = 0;
  event->depth = 0;
  clear_rare(event);
  event->value.u = 0;
  event->bytes = NULL;
  event->size = 0;
  if (d) {
    set_face(event, d, reader->tags + EVR_TAGS(kind, EVENTRING_NONE, 0));
  } else {
    event->name = other_name;
    event->def = NULL;
    set_tags(event, reader->tags + EVR_TAGS(kind, EVENTRING_NONE, EVENTRING_UNKNOWN) + id +
                        ((uint64_t)EVENTRING_CLASS_USER << 32));
  }
  if (kind == EVENTRING_BEGIN) open_span(reader, event, id, ticks, ns);
  else if (kind == EVENTRING_END) close_span(reader, event, id, ns);
  evr_event_payload(event, d, payload - 1);
}

/* ---- Runs of events --------------------------------------------------------------- */

/* Fills in an event that is neither a begin nor an end, except for its payload. */
static inline __attribute__((always_inline)) void
set_point(struct evr_ring_reader *reader, struct evr_event_run *run, const struct evr_definition *d,
          uint64_t tags) {
  struct eventring_event *event = &reader->event;
  event->ns = run->ns;
  event->begin_ns = 0;
  event->depth = 0;
  clear_rare(event);
  set_face(event, d, reader->tags + tags);
  run->clean = false;
}

static inline __attribute__((always_inline)) void
set_bytes(struct eventring_event *event, uint64_t value, const void *bytes, size_t size) {
  event->value.u = value;
  event->bytes = bytes;
  event->size = size;
}

/* Decodes an event (no span, no link) whose payload is a string or bytes, as its
   definition says. Returns false for any other event. */
static inline __attribute__((always_inline)) bool
decode_bytes(struct evr_ring_reader *reader, struct evr_event_run *run, uint64_t word,
             const struct evr_definition *d) {
  const uint64_t *payload = run->at;
  unsigned kind = word_kind(word), words = word_length(word), type = d->def.payload;
  uint64_t size;
  if (kind <= EVENTRING_END || kind == EVENTRING_LINKED || d->def.kind != def_kind_of[kind] ||
      !words || !holds_bytes(payload, words, type, &size))
    return false;
  unsigned flags = payload[0] & FORMAT_BYTES_TRUNCATED ? EVENTRING_TRUNCATED : 0;
  set_point(reader, run, d, EVR_TAGS(kind, type, flags));
  set_bytes(&reader->event, 0, payload + 1, size);
  run->at += words;
  return true;
}

/* Decodes an event without payload, also if its definition has one. Returns false for a
   begin or an end, and if the event and its definition are of different kinds. */
static inline __attribute__((always_inline)) bool
decode_bare(struct evr_ring_reader *reader, struct evr_event_run *run, unsigned kind,
            const struct evr_definition *d) {
  if (kind <= EVENTRING_END || d->def.kind != def_kind_of[kind]) return false;
  set_point(reader, run, d, EVR_TAGS(kind, EVENTRING_NONE, 0));
  set_bytes(&reader->event, 0, NULL, 0);
  return true;
}

static inline __attribute__((always_inline)) void
set_span(struct evr_ring_reader *reader, struct evr_event_run *run, const struct evr_definition *d,
         uint64_t begin_ns, uint64_t within_ns, uint64_t tags) {
  struct eventring_event *event = &reader->event;
  if (__builtin_expect(!run->clean, 0)) {
    set_bytes(event, 0, NULL, 0);
    clear_rare(event);
    run->clean = true;
  }
  event->ns = run->ns;
  event->begin_ns = begin_ns;
  event->within_ns = within_ns;
  event->depth = run->depth;
  set_face(event, d, reader->tags + tags);
}

/* Decodes the begin or the end of a plain span, without a branch on the kind: both kinds
   push onto the stack (what an end pushes is never read) and read the begin. Returns
   false for any other event. */
static inline __attribute__((always_inline)) bool
decode_nested(struct evr_ring_reader *reader, struct evr_event_run *run,
              uint64_t word) {
  uint64_t id = word_id(word), is_end = (word & FORMAT_WHAT_MASK) - EVENTRING_BEGIN;
  const struct evr_definition *d = run->definition[id];
  if (!d || d->plain != EVENTRING_BEGIN || is_end > EVENTRING_END - EVENTRING_BEGIN ||
      run->depth >= run->full)
    return false;
  struct evr_span *begin = run->top - is_end;
  *run->top = (struct evr_span){.ticks = run->from_ticks + run->since,
                                .ns = run->ns, .id = id};
  if (__builtin_expect(begin->id != id || begin->ns > run->ns, 0)) return false;
  run->depth -= (uint32_t)is_end;
  begin[-1].within += run->ns - begin->ns;
  set_span(reader, run, d, begin->ns, begin->within,
           EVR_TAGS(EVENTRING_BEGIN, EVENTRING_NONE, 0) +
               (-is_end & EVR_TAGS(EVENTRING_END - EVENTRING_BEGIN, 0, EVENTRING_MATCHED)));
  run->depth += 1 - (uint32_t)is_end;
  run->top = begin + 1 - is_end;
  return true;
}

/* Decodes the begin of a span with a value that is one number, a string or bytes, as its
   definition says. Returns false for any other event. */
static inline __attribute__((always_inline)) bool
decode_begin(struct evr_ring_reader *reader, struct evr_event_run *run, uint64_t word,
             const struct evr_definition *d) {
  const uint64_t *payload = run->at;
  const unsigned words = word_length(word), type = d->def.payload;
  const bool is_number = type - EVENTRING_INT <= EVENTRING_DOUBLE - EVENTRING_INT && words == 1;
  uint64_t size = 0;
  if (d->plain != EVENTRING_BEGIN || run->depth >= run->full ||
      (!is_number && !holds_bytes(payload, words, type, &size)))
    return false;
  *run->top++ = (struct evr_span){.ticks = run->from_ticks + run->since, .ns = run->ns,
                                  .id = word_id(word)};
  const bool is_cut = !is_number && payload[0] & FORMAT_BYTES_TRUNCATED;
  set_span(reader, run, d, run->ns, 0,
           EVR_TAGS(EVENTRING_BEGIN, type, is_cut ? EVENTRING_TRUNCATED : 0));
  if (is_number) set_bytes(&reader->event, payload[0], NULL, 0);
  else set_bytes(&reader->event, 0, payload + 1, size);
  run->clean = false;
  run->depth++;
  run->at += words;
  return true;
}

/* Decodes an event of a flow or of an async span that has no payload of its own. Returns
   false for any other event. */
static inline __attribute__((always_inline)) bool
decode_link(struct evr_ring_reader *reader, struct evr_event_run *run, uint64_t word,
            const struct evr_definition *d) {
  if (word_length(word) != 2 || !evr_definition_explains(d, EVENTRING_LINKED)) return false;
  set_point(reader, run, d, EVR_TAGS(EVENTRING_LINKED, EVENTRING_NONE, 0));
  set_bytes(&reader->event, 0, NULL, 0);
  reader->event.link = run->at[0];
  reader->event.role = run->at[1] <= UINT8_MAX ? (uint8_t)run->at[1] : 0;
  run->at += 2;
  return true;
}

/* Decodes an event whose payload does not have the usual form of its definition. Returns
   false if decode_any must do it. */
static inline __attribute__((always_inline)) bool
decode_valued(struct evr_ring_reader *reader, struct evr_event_run *run, uint64_t word,
              const struct evr_definition *d) {
  switch (word_kind(word)) {
    case EVENTRING_BEGIN: return decode_begin(reader, run, word, d);
    case EVENTRING_LINKED: return decode_link(reader, run, word, d);
    default: return decode_bytes(reader, run, word, d);
  }
}

/* Decodes one of the frequent events, if the stack has nothing unusual. Returns false for
   any other event. */
static inline __attribute__((always_inline)) bool
decode_plain(struct evr_ring_reader *reader, struct evr_event_run *run,
             uint64_t word) {
  unsigned id = word_id(word), what = word & FORMAT_WHAT_MASK;
  const struct evr_definition *d = run->definition[id];
  if (!d) return false;
  if (what == d->plain && what != EVENTRING_BEGIN) {
    set_point(reader, run, d, d->plain_tags);
    set_bytes(&reader->event, *run->at++, NULL, 0);
    return true;
  }
  if (what == d->plain && run->depth < run->full) {
    *run->top++ = (struct evr_span){.ticks = run->from_ticks + run->since,
                                    .ns = run->ns, .id = id};
    set_span(reader, run, d, run->ns, 0, EVR_TAGS(EVENTRING_BEGIN, EVENTRING_NONE, 0));
    run->depth++;
    return true;
  }
  if (what == EVENTRING_END && d->plain == EVENTRING_BEGIN &&
      __builtin_expect(run->top[-1].id == id && run->top[-1].ns <= run->ns, 1)) {
    const struct evr_span *begin = --run->top;
    run->depth--;
    run->top[-1].within += run->ns - begin->ns;
    set_span(reader, run, d, begin->ns, begin->within,
             EVR_TAGS(EVENTRING_END, EVENTRING_NONE, EVENTRING_MATCHED));
    return true;
  }
  return what >= 8 ? decode_valued(reader, run, word, d) : decode_bare(reader, run, what, d);
}

static inline __attribute__((always_inline)) void
decode_unusual(struct evr_ring_reader *reader, struct evr_event_run *run,
               uint64_t word) {
  set_depth(reader, run->depth);
  decode_any(reader, word, run->at, run->from_ticks + run->since, run->ns);
  run->at += word_length(word);
  run->clean = false;
  if (word_kind(word) <= EVENTRING_END) take_stack(reader, run);
}

/* Calls back for the event that the reader holds, which counts from then on. */
static inline __attribute__((always_inline)) int
call_back(struct evr_ring_reader *reader, const struct evr_sink *sink) {
  reader->in_run++;
  EVR_IN_DEBUG(evr_ring_reader_balance(reader, &reader->event);)
  return sink->callbacks.event(sink->context, &reader->event);
}

/* Returns the definition of the plain span that `word` begins and the next word ends, or
   NULL if they are anything else. */
static inline __attribute__((always_inline)) const struct evr_definition *
leaf_of(const struct evr_event_run *run, uint64_t word) {
  if ((word & FORMAT_WHAT_MASK) != EVENTRING_BEGIN || run->at >= run->end ||
      ((word ^ *run->at) & FORMAT_TAIL_MASK) != (EVENTRING_BEGIN ^ EVENTRING_END))
    return NULL;
  const struct evr_definition *d = run->definition[word_id(word)];
  return d && d->plain == EVENTRING_BEGIN && run->depth < run->full ? d : NULL;
}

/* Delivers a leaf span, with its end if that belongs to the run. Then the stack need not
   have it, and of the event only the time and the kind change. Returns what the last
   callback did. */
static inline __attribute__((always_inline)) int
deliver_leaf(struct evr_ring_reader *reader, struct evr_event_run *run,
             const struct evr_definition *d, uint64_t word, uint64_t until,
             const struct evr_sink *sink) {
  const uint64_t ns = run->ns, ticks = run->from_ticks + run->since;
  set_span(reader, run, d, ns, 0, EVR_TAGS(EVENTRING_BEGIN, EVENTRING_NONE, 0));
  int stop = call_back(reader, sink);
  if (__builtin_expect(!stop && goes_on(run, until) && ns <= run->ns, 1)) {
    run->at++;
    run->top[-1].within += run->ns - ns;
    reader->event.ns = run->ns;
    set_tags(&reader->event, d->tags + reader->tags +
                                 EVR_TAGS(EVENTRING_END, EVENTRING_NONE, EVENTRING_MATCHED));
    return call_back(reader, sink);
  }
  *run->top++ = (struct evr_span){.ticks = ticks, .ns = ns, .id = word_id(word)};
  run->depth++;
  return stop;
}

/* How the events of a run are decoded: */
enum manner {
  LEAF,   /* for leaf spans and points */
  NESTED, /* for spans that have others inside */
  CHECKED /* one by one: an event may be older than the definition of its id */
};

static inline __attribute__((always_inline)) void
deliver_until(struct evr_ring_reader *reader, uint64_t until, enum manner manner,
              struct evr_sink *sink) {
  struct evr_event_run run;
  int stop = 0;
  begin_run(reader, sink, manner == CHECKED, &run);
  do {
    uint64_t word = *run.at++;
    const struct evr_definition *leaf = manner == LEAF ? leaf_of(&run, word) : NULL;
    if (leaf) {
      stop = deliver_leaf(reader, &run, leaf, word, until, sink);
      continue;
    }
    if (manner == CHECKED || (!(manner == NESTED && decode_nested(reader, &run, word)) &&
                              !decode_plain(reader, &run, word))) {
      if (!word_is_event(word)) {
        run.at--;
        break;
      }
      decode_unusual(reader, &run, word);
    }
    stop = call_back(reader, sink);
  } while (__builtin_expect(!stop, 1) && goes_on(&run, until));
  end_run(reader, sink, &run);
  reader->known_ns = reader->event.ns;
  if (stop || !sink->left) sink->stopped = true;
}

/* deliver_until is compiled four times: without a bound on time (one ring, or ring by
   ring), with a bound, for nested spans, and for events that may be older than their
   definitions. The function is aligned because the alignment of its loop changes the cost
   of an event by 0.3 ns. */
#define DELIVERY static __attribute__((noinline, aligned(64))) void

DELIVERY deliver_all(struct evr_ring_reader *reader,
                     struct evr_sink *sink) {
  deliver_until(reader, UINT64_MAX, LEAF, sink);
}

DELIVERY deliver_some(struct evr_ring_reader *reader,
                      uint64_t until, struct evr_sink *sink) {
  deliver_until(reader, until, LEAF, sink);
}

DELIVERY deliver_nested(struct evr_ring_reader *reader,
                        uint64_t until, struct evr_sink *sink) {
  deliver_until(reader, until, NESTED, sink);
}

DELIVERY deliver_checked(struct evr_ring_reader *reader,
                         uint64_t until, struct evr_sink *sink) {
  deliver_until(reader, until, CHECKED, sink);
}

enum { SURVEYED = 16 };

/* Estimates from the first words of the block whether its spans are nested. In leaf spans
   no begin follows a begin and no end follows an end. A payload word that looks like a
   begin or an end does no harm. */
void evr_ring_reader_survey(struct evr_ring_reader *reader) {
  const struct evr_block *block = reader->blocks.held;
  uint32_t at = evr_block_first(block), end = at + SURVEYED, alike = 0;
  reader->nested = false;
  if (end >= block->have) return;
  for (; at < end; at++) {
    uint64_t what = block->words[at] & FORMAT_WHAT_MASK;
    alike += what - EVENTRING_BEGIN <= EVENTRING_END - EVENTRING_BEGIN &&
             what == (block->words[at + 1] & FORMAT_WHAT_MASK);
  }
  reader->nested = alike >= SURVEYED / 8;
}

enum { MANY = 8, /* events of a batch after which the next try comes after one word */
       SOME = 16 /* after a smaller batch, or none, the next try comes after this many
                    words */ };

/* Delivers a batch. Returns false if no batch begins with the next event; then sink->most
   says how many words to deliver one by one. */
static bool deliver_batch(struct evr_ring_reader *reader, uint64_t until, struct evr_sink *sink) {
  uint64_t delivered = reader->delivered;
  bool was_many = reader->batched >= MANY;
  enum evr_ready ready = evr_ring_reader_ready(reader, until, sink);
  if (ready == EVR_DELIVERED) return true;
  if (ready == EVR_READY_LATER) return false;
  if (evr_ring_reader_batch(reader, until, sink)) {
    reader->batched = reader->delivered - delivered;
    return true;
  }
  reader->batched = 0;
  sink->most = was_many ? 1 : SOME;
  return false;
}

/* Delivers the event that evr_ring_reader_look has found, and the events after it. */
static void deliver_run(struct evr_ring_reader *reader,
                        uint64_t until, struct evr_sink *sink) {
  uint64_t word = reader->blocks.held->words[reader->at];
  uint64_t ticks = word_ticks(word, reader->position.base);
  bool may_be_older = ticks < reader->definitions->newest_since_ticks;
  sink->most = UINT32_MAX;
  if (sink->batch && !may_be_older && deliver_batch(reader, until, sink)) return;
  reader->tags = (uint64_t)reader->blocks.ring << 16;
  if (may_be_older) deliver_checked(reader, until, sink);
  else if (reader->nested) deliver_nested(reader, until, sink);
  else if (until == UINT64_MAX) deliver_all(reader, sink);
  else deliver_some(reader, until, sink);
}

/* ---- What is queued --------------------------------------------------------------- */

static int deliver_loss(struct evr_ring_reader *reader, const struct evr_pending *p,
                        struct evr_sink *sink) {
  struct eventring_loss loss = {
      .domain = reader->blocks.slot, .incarnation = p->incarnation,
      .ring = (uint8_t)reader->blocks.ring,
      .flags = p->flags, .count = p->value, .ns = reader->order_ns};
  return sink->callbacks.lost(sink->context, &loss);
}

static int deliver_synthetic(struct evr_ring_reader *reader,
                             const struct evr_pending *p, struct evr_sink *sink) {
  struct eventring_event *event = &reader->event;
  fill_synthetic(reader, p->id, p->value, p->context, event);
  event->kind = p->kind;
  event->incarnation = p->incarnation;
  event->flags |= p->flags;
  event->depth = p->depth;
  event->begin_ns = evr_metadata_ns(reader->blocks.meta, p->value);
  event->ns = p->kind == EVENTRING_BEGIN ? event->begin_ns : reader->order_ns;
  EVR_IN_DEBUG(evr_ring_reader_balance(reader, event);)
  return sink->callbacks.event(sink->context, event);
}

static int deliver_switch(const struct evr_ring_reader *reader, const struct evr_pending *p,
                          struct evr_sink *sink) {
  const struct eventring_switch change = {
      .ns = reader->order_ns, .context = p->context, .domain = reader->blocks.slot,
      .incarnation = p->incarnation, .ring = (uint8_t)reader->blocks.ring,
      .resumed = p->kind == EVR_CONTEXT_RESUMED};
  return sink->switched ? sink->switched(sink->switched_context, &change) : 0;
}

static int deliver_queued(struct evr_ring_reader *reader, const struct evr_pending *p,
                          struct evr_sink *sink) {
  switch (p->kind) {
    case 0: return deliver_loss(reader, p, sink);
    case EVR_CONTEXT_LEFT:
    case EVR_CONTEXT_RESUMED: return deliver_switch(reader, p, sink);
    default: return deliver_synthetic(reader, p, sink);
  }
}

static void deliver_pending(struct evr_ring_reader *reader,
                            struct evr_sink *sink) {
  const struct evr_pending pending = reader->pending[reader->pending_at++];
  if (deliver_queued(reader, &pending, sink)) sink->stopped = true;
}

/* ---- Looking ahead ---------------------------------------------------------------- */

static bool is_pending(const struct evr_ring_reader *reader) {
  return reader->pending_at < reader->pending_count;
}

/* Tells whether the next word is an event that must be delivered now. If the word is a
   remark, applies it. Applies switches of classes that lie before the event. */
static bool stands_before_event(struct evr_ring_reader *reader) {
  const uint64_t *words = &reader->blocks.held->words[reader->at];
  struct evr_span_stacks *spans = &reader->spans;
  uint64_t word = *words;
  if (!word_is_event(word)) {
    reader->at += 1 + word_length(word);
    evr_ring_reader_remark(reader, words);
    return false;
  }
  uint64_t ticks = word_ticks(word, reader->position.base);
  if (spans->present->since) evr_spans_resume(spans, spans->present->context, ticks);
  if (ticks >= evr_ring_reader_switch_due(reader)) {
    evr_ring_reader_switch(reader, ticks);
    if (is_pending(reader)) return false;
  }
  reader->order_ns = evr_metadata_next_ns(reader->blocks.meta, ticks);
  return true;
}

static uint64_t order_of(const struct evr_ring_reader *reader, const struct evr_pending *p) {
  return p->kind == EVENTRING_END ? p->when : evr_metadata_ns(reader->blocks.meta, p->when);
}

bool evr_ring_reader_look(struct evr_ring_reader *reader, unsigned *budget) {
  for (;;) {
    if (is_pending(reader)) {
      reader->order_ns = order_of(reader, &reader->pending[reader->pending_at]);
      return true;
    }
    if (reader->at < reader->end) {
      if (stands_before_event(reader)) return true;
    } else if (!evr_ring_reader_go_on(reader, budget)) {
      return false;
    }
  }
}

bool evr_ring_reader_drain(struct evr_ring_reader *reader, uint64_t until,
                           struct evr_sink *sink) {
  const uint64_t first = reader->blocks.sequence;
  for (;;) {
    if (!evr_ring_reader_look(reader, &sink->budget)) return false;
    if (sink->stopped || reader->order_ns > until ||
        (sink->by_block && reader->blocks.sequence != first))
      return true;
    if (is_pending(reader)) deliver_pending(reader, sink);
    else deliver_run(reader, until, sink);
    EVR_IN_DEBUG(EVR_LAW(is_pending(reader) || evr_ring_reader_is_balanced(reader));)
  }
}
