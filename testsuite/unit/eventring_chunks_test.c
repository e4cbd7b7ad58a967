/* SPDX-License-Identifier: MIT */
/* eventring_chunks_test.c: the writer (lane.c) with a source of blocks that is not a
   ring: chunks, which are new runs of blocks that are never reused, as in a stream. The
   test is linked without rings, files, domains and clock, so the writer needs none of
   them. What the writer wrote is checked by a separate walk against a list of what was
   emitted. */
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "draw.h"
#include "format/checksum.h"
#include "format/clock.h"
#include "producer/lane.h"

enum {
  EVENTS = 1000000, /* number of events emitted into each ring */
  SLOT = 5,
  INCARNATION = 3,
  MAX_WORDS = 40,     /* most words of payload */
  MAX_CHUNK = 16,     /* blocks */
  MAX_BLOCKS = 20000,
  MARGIN = 512,       /* words before and behind a chunk that stay zero */
  STREAMS = 2,        /* rings 0 and 1 */
  DEEPEST = 4096      /* spans open at once */
};

/* ---- The clock -------------------------------------------------------------------- */

static uint64_t now = 1000000;
static unsigned jumps; /* number of steps of the clock beyond what times of 41 bits can
                          express */

uint64_t evr_clock_ticks(enum format_clock clock) {
  return now;
}
/* Returns no time: nobody holds a list of the control page. */
uint64_t evr_monotonic_ns(void) { return 0; }

/* Moves the clock on: usually a little; sometimes so much that the time bits of
   a word repeat. */
static void let_time_pass(void) {
  now += 1 + draw(200);
  if (draw(2000) > 0) return;
  now += FORMAT_TIME_SPAN + draw(3) * (FORMAT_TIME_SPAN / 2);
  jumps++;
}

/* ---- Chunks ----------------------------------------------------------------------- */

struct chunks {
  struct evr_block_source source; /* must be first */
  uint64_t *chunk;   /* the present chunk */
  unsigned left;     /* number of its blocks not given out yet */
  bool fails;        /* there is no memory at present */
  uint64_t *block[MAX_BLOCKS];
  uint64_t *margin[2 * MAX_BLOCKS];
  unsigned margins;
  uint64_t head;
};

static int next_of_chunk(struct evr_block_source *source, struct evr_place *place,
                         struct eventring_error *error) {
  struct chunks *c = (struct chunks *)source;
  if (c->fails) {
    error->code = EVENTRING_E_SPACE;
    return EVENTRING_E_SPACE;
  }
  if (!c->left) {
    c->left = 1 + draw(MAX_CHUNK);
    size_t words = (size_t)c->left * FORMAT_BLOCK_WORDS;
    uint64_t *memory = calloc(words + 2 * MARGIN, sizeof *memory);
    assert_non_null(memory);
    c->margin[c->margins++] = memory;
    c->margin[c->margins++] = memory + MARGIN + words;
    c->chunk = memory + MARGIN;
  }
  assert_true(source->sequence < MAX_BLOCKS);
  c->block[source->sequence] = c->chunk;
  *place = (struct evr_place){.block = (struct format_block *)c->chunk};
  c->chunk += FORMAT_BLOCK_WORDS;
  c->left--;
  return EVENTRING_OK;
}

static void free_chunks(struct chunks *c) {
  for (unsigned i = 0; i < c->margins; i++) {
    for (unsigned at = 0; at < MARGIN; at++) assert_int_equal(c->margin[i][at], 0);
    if (i % 2) free(c->margin[i - 1]);
  }
  free(c);
}

/* ---- Emitting --------------------------------------------------------------------- */

struct emitted {
  uint64_t tail, ticks;
};

/* Returns word i of the payload of an event; some are zero. */
static uint64_t payload_word(const struct emitted *e, unsigned i) {
  return i % 3 == 1 ? 0 : (e->ticks + i) * 0x9e3779b97f4a7c15u;
}

struct stream {
  enum eventring_ring ring;
  struct chunks *chunks;
  struct evr_writer *writer;
  struct emitted *event;
  size_t count, refused;
  unsigned rebases; /* number of rebases that the walk has seen */
  int nested;       /* begins less ends */
};

static struct evr_lanes lanes;

/* Writes an event as a probe does, with the clock of this test. Returns true if
   it was written. */
static bool probe(enum eventring_ring ring, uint64_t tail, const uint64_t *payload,
                  size_t words) {
  struct eventring_lane *lane = &lanes.hot.lane[ring];
  if ((uintptr_t)(lane->next + 1 + words) > (uintptr_t)lane->limit ||
      now > lane->expires) {
    struct eventring_error error;
    uint64_t ticks = now;
    bool outermost = evr_lane_begin_writing(&lanes, ring);
    int status = evr_lane_write(&lanes, ring, tail, &ticks, payload, words, &error);
    evr_lane_end_writing(&lanes, ring, outermost);
    assert_true(status >= 0 || status == EVENTRING_E_SPACE);
    return status >= 0;
  }
  for (size_t i = 0; i < words; i++) lane->next[1 + i] = payload[i];
  *lane->next = now << EVENTRING_WORD_TIME_SHIFT | tail;
  lane->next += 1 + words;
  lane->extra += words;
  return true;
}

static void emit(struct stream *s, unsigned kind, unsigned id, unsigned words) {
  struct emitted *e = &s->event[s->count];
  let_time_pass();
  *e = (struct emitted){.tail = EVENTRING_TAIL(kind, id, words), .ticks = now};
  uint64_t payload[MAX_WORDS];
  for (unsigned i = 0; i < words; i++) payload[i] = payload_word(e, i);
  if (probe(s->ring, e->tail, payload, words)) s->count++;
  else s->refused++;
}

static unsigned some_words(void) { return draw(3) ? 0 : draw(MAX_WORDS + 1); }

/* Emits something: mostly leaf spans, also nested spans (deeper than a header can say),
   crossing spans, ends without a begin, and counters. */
static void emit_something(struct stream *s) {
  static unsigned depth;
  if (draw(5000) == 0) depth = draw(2) ? 90 : 3; /* the depth that is aimed at */
  unsigned id = draw(40);
  switch (draw(8)) {
    case 0:
      emit(s, EVENTRING_COUNTER, id, some_words());
      break;
    case 1:
      /* (more than EVR_MAX_OPEN would need a model, as in eventring_openspans_test) */
      if (draw(100) < depth && s->nested < EVR_MAX_OPEN / 2) {
        emit(s, EVENTRING_BEGIN, id, 0);
        s->nested++;
      } else {
        emit(s, EVENTRING_END, id, 0);
        s->nested -= s->nested > 0;
      }
      break;
    case 2:
      emit(s, EVENTRING_BEGIN, id, some_words());
      emit(s, EVENTRING_END, draw(4) ? id : draw(40), 0);
      break;
    default:
      for (unsigned i = draw(100); i > 0 && s->count + 2 < EVENTS; i--) {
        emit(s, EVENTRING_BEGIN, id, 0);
        emit(s, EVENTRING_END, id, 0);
      }
  }
}

/* ---- The walk --------------------------------------------------------------------- */

/* The open spans by the rules of FORMAT.md, section 9. */
struct open {
  unsigned count;
  uint64_t tail[DEEPEST], ticks[DEEPEST];
};

static unsigned id_of(uint64_t tail) { return (unsigned)(tail >> 10) & 0x1fff; }

static void apply(struct open *open, const struct emitted *e) {
  unsigned kind = e->tail & 7, at = open->count, left = FORMAT_END_SEARCH;
  if (kind == EVENTRING_BEGIN) {
    assert_true(open->count < DEEPEST);
    open->tail[open->count] = EVENTRING_TAIL(EVENTRING_BEGIN, id_of(e->tail), 0);
    open->ticks[open->count++] = e->ticks;
  } else if (kind == EVENTRING_END) {
    for (; at > 0 && left > 0 && id_of(open->tail[at - 1]) != id_of(e->tail); at--) left--;
    if (at == 0 || left == 0) return;
    for (; at < open->count; at++) {
      open->tail[at - 1] = open->tail[at];
      open->ticks[at - 1] = open->ticks[at];
    }
    open->count--;
  }
}

/* Returns the time nearest to the base that has these low bits. */
static uint64_t full_time(uint64_t word, uint64_t base) {
  const uint64_t round = (uint64_t)1 << 41;
  uint64_t time = (base & ~(round - 1)) | word >> 23;
  if (time > base && time - base > round / 2) time -= round;
  else if (time < base && base - time > round / 2) time += round;
  return time;
}

/* Returns the index of the word at which the events begin. */
static unsigned check_header(const uint64_t *words, const struct stream *s,
                             uint64_t sequence, size_t events, const struct open *open) {
  const struct format_block *h = (const struct format_block *)words;
  assert_int_equal(h->sequence, sequence);
  unsigned listed = open->count < FORMAT_MAX_OPEN ? open->count : FORMAT_MAX_OPEN;
  unsigned hidden = open->count - listed;
  assert_int_equal(h->kind, FORMAT_EVENTS);
  assert_int_equal(h->domain, SLOT);
  assert_int_equal(h->ring, s->ring);
  assert_int_equal(h->incarnation, INCARNATION);
  assert_int_equal(h->before, events);
  assert_int_equal(h->context, 0);
  assert_int_equal(h->open + h->open_brief, listed);
  assert_int_equal(h->open_hidden, hidden);
  assert_int_equal(h->checksum, evr_checksum(words, h->committed));
  if (events) assert_int_equal(h->base_ticks, s->event[events].ticks);
  const uint64_t *entry = words + FORMAT_BLOCK_HEADER_WORDS;
  for (unsigned i = hidden; i < hidden + h->open; i++, entry += FORMAT_OPEN_WORDS) {
    assert_int_equal(entry[0], open->tail[i]);
    assert_int_equal(entry[1], open->ticks[i]);
    assert_int_equal(entry[2] | entry[3], 0); /* no context, not suspended */
  }
  for (unsigned i = hidden + h->open; i < open->count; i++, entry++) { /* brief ones */
    assert_int_equal(*entry & 0x7fffff, open->tail[i]);
    assert_int_equal(full_time(*entry, h->base_ticks), open->ticks[i]);
  }
  return (unsigned)(entry - words);
}

static void check_event(const uint64_t *words, uint64_t base, const struct emitted *e) {
  unsigned length = *words >> 3 & 127;
  assert_int_equal(*words & 0x7fffff, e->tail);
  assert_int_equal(full_time(*words, base), e->ticks);
  for (unsigned i = 0; i < length; i++) assert_int_equal(words[1 + i], payload_word(e, i));
}

/* Returns the number of events walked over so far. */
static size_t check_block(const uint64_t *words, struct stream *s, uint64_t sequence,
                          size_t events, struct open *open) {
  const struct format_block *h = (const struct format_block *)words;
  unsigned at = check_header(words, s, sequence, events, open);
  uint64_t base = h->base_ticks;
  while (at < h->committed) {
    unsigned length = words[at] >> 3 & 127;
    if ((words[at] & 7) == FORMAT_WORD_REMARK) {
      assert_int_equal(words[at] & 0x7fffff, EVENTRING_TAIL(FORMAT_WORD_REMARK, 0, 1));
      base = words[at + 1];
      s->rebases++;
    } else {
      check_event(words + at, base, &s->event[events]);
      apply(open, &s->event[events++]);
    }
    at += 1 + length;
  }
  assert_int_equal(at, h->committed);
  for (; at < FORMAT_BLOCK_WORDS; at++) assert_int_equal(words[at], 0);
  return events;
}

static void check_stream(struct stream *s) {
  struct open *open = calloc(1, sizeof *open);
  uint64_t blocks = s->chunks->source.sequence;
  size_t events = 0;
  for (uint64_t i = 0; i < blocks; i++)
    events = check_block(s->chunks->block[i], s, i + 1, events, open);
  assert_int_equal(events, s->count);
  assert_int_equal(s->chunks->source.events, s->count);
  assert_int_equal(s->chunks->head, s->ring == EVENTRING_USER ? blocks : 0);
  assert_true(blocks > 1000);
  assert_true(s->rebases > 10 && s->rebases <= jumps);
  assert_true(s->refused > 10);
  free(open);
}

/* ---- The tests -------------------------------------------------------------------- */

static void open_stream(struct stream *s, enum eventring_ring ring) {
  *s = (struct stream){.ring = ring, .chunks = calloc(1, sizeof *s->chunks),
                       .writer = calloc(1, sizeof *s->writer),
                       .event = calloc(EVENTS, sizeof *s->event)};
  assert_true(s->chunks && s->writer && s->event);
  s->chunks->source.next_place = next_of_chunk;
  s->writer->source = &s->chunks->source;
  if (ring == EVENTRING_USER) s->chunks->source.head = &s->chunks->head;
  struct eventring_error error;
  assert_int_equal(evr_lane_open(&lanes, ring, s->writer, &error), EVENTRING_OK);
}

/* Leaves the lane, after which the last block is complete. */
static void close_stream(struct stream *s) {
  evr_lane_close(&lanes, s->ring);
  evr_writer_finish(s->writer);
}

static void free_stream(struct stream *s) {
  free_chunks(s->chunks);
  free(s->writer);
  free(s->event);
}

/* Closes the lane and opens it again, as the next domain of the slot does. */
static void reopen(struct stream *s) {
  struct eventring_error error;
  evr_lane_close(&lanes, s->ring);
  assert_int_equal(evr_lane_emitted(&lanes, s->ring), 0);
  lanes.incarnation++;
  assert_int_equal(evr_lane_open(&lanes, s->ring, s->writer, &error), EVENTRING_OK);
}

static const struct format_control control; /* no class is ever switched */

static void open_lanes(void) {
  static const uint64_t never = UINT64_MAX;
  lanes = (struct evr_lanes){.control = &control, .recalibrate_at = &never,
                             .clock = FORMAT_CLOCK_TSC, .slot = SLOT,
                             .incarnation = INCARNATION};
}

static void blocks_of_chunks(void **state) {
  static struct stream stream[STREAMS];
  open_lanes();
  for (int r = 0; r < STREAMS; r++) open_stream(&stream[r], r);
  while (stream[0].count + 4 < EVENTS && stream[1].count + 4 < EVENTS) {
    struct stream *s = &stream[draw(STREAMS)];
    if (draw(500) == 0) s->chunks->fails = draw(8) == 0;
    emit_something(s);
    assert_int_equal(evr_lane_emitted(&lanes, s->ring), s->count);
  }
  for (int r = 0; r < STREAMS; r++) {
    close_stream(&stream[r]);
    check_stream(&stream[r]);
    free_stream(&stream[r]);
  }
}

/* ---- Domains that share blocks ---------------------------------------------------- */

struct shared { /* what the walk over shared blocks finds */
  size_t events;
  unsigned remarks;
  struct format_position position;
};

/* Event n belongs to incarnation INCARNATION + n / EACH. */
enum { EACH = 3, DOMAINS = 500 };

static void check_shared_block(const uint64_t *words, uint64_t sequence, struct shared *shared) {
  const struct format_block *h = (const struct format_block *)words;
  unsigned at = FORMAT_BLOCK_HEADER_WORDS + h->open * FORMAT_OPEN_WORDS + h->open_brief;
  assert_int_equal(h->sequence, sequence);
  assert_int_equal(h->before, shared->events);
  assert_int_equal(h->checksum, evr_checksum(words, h->committed));
  /* only spans of the block's own domain may be open */
  assert_int_equal(h->open + h->open_brief + h->open_hidden,
                   h->incarnation == shared->position.incarnation ? shared->events % EACH : 0);
  shared->position = (struct format_position){h->base_ticks, h->context, h->incarnation};
  for (; at < h->committed; at += 1 + word_length(words[at])) {
    if (!word_is_event(words[at])) {
      bool rebase = word_id(words[at]) == FORMAT_REMARK_REBASE; /* the clock may jump */
      if (!rebase) assert_int_equal(word_id(words[at]), FORMAT_REMARK_INCARNATION);
      format_apply_remark(words + at, words + h->committed, &shared->position);
      shared->remarks += !rebase;
      continue;
    }
    assert_int_equal(shared->position.incarnation, INCARNATION + shared->events / EACH);
    assert_int_equal(word_id(words[at]), shared->events % 8000);
    shared->events++;
  }
}

/* Checks that each domain goes on in the present block, after a remark that says so. The
   counts of the source go on; spans of the former domain are forgotten. */
static void lanes_one_after_the_other(void **state) {
  static struct stream stream;
  struct shared shared = {.position.incarnation = INCARNATION};
  open_lanes();
  open_stream(&stream, EVENTRING_USER);
  struct chunks *c = stream.chunks;
  for (unsigned n = 0; n < EACH * DOMAINS; n++) {
    if (n && n % EACH == 0) reopen(&stream);
    emit(&stream, EVENTRING_BEGIN, n % 8000, 0);
    assert_int_equal(evr_lane_emitted(&lanes, EVENTRING_USER), n + 1);
  }
  evr_lane_close(&lanes, EVENTRING_USER); /* a second close changes nothing */
  close_stream(&stream);
  assert_int_equal(c->source.events, EACH * DOMAINS);
  for (uint64_t i = 0; i < c->source.sequence; i++)
    check_shared_block(c->block[i], i + 1, &shared);
  assert_int_equal(shared.events, EACH * DOMAINS);
  assert_true(shared.remarks > DOMAINS - 1 - c->source.sequence && shared.remarks < DOMAINS);
  assert_true(c->source.sequence <= 2 + (EACH + 1) * DOMAINS / 440);
  free_stream(&stream);
}

/* Checks that incarnations that wrote nothing into this lane leave a gap in the
   numbers. */
static void an_incarnation_that_is_not_the_next(void **state) {
  static struct stream stream;
  open_lanes();
  open_stream(&stream, EVENTRING_USER);
  emit(&stream, EVENTRING_INSTANT, 1, 0);
  lanes.incarnation += 41;
  reopen(&stream);
  emit(&stream, EVENTRING_INSTANT, 2, 0);
  close_stream(&stream);
  const uint64_t *words = stream.chunks->block[0] + FORMAT_BLOCK_HEADER_WORDS;
  assert_int_equal(word_id(words[0]), 1);
  assert_int_equal(words[1] & FORMAT_TAIL_MASK,
                   EVENTRING_TAIL(FORMAT_WORD_REMARK, FORMAT_REMARK_INCARNATION, 1));
  assert_int_equal(words[2], INCARNATION + 42);
  assert_int_equal(word_id(words[3]), 2);
  free_stream(&stream);
}

/* ---- Nothing to begin with -------------------------------------------------------- */

/* Checks that a lane that gets no first block stays closed, and can be opened later. */
static void no_first_block(void **state) {
  static struct chunks none = {.source.next_place = next_of_chunk, .fails = true};
  static struct evr_writer writer = {.source = &none.source};
  struct eventring_error error;
  open_lanes();
  assert_int_equal(evr_lane_open(&lanes, EVENTRING_USER, &writer, &error), EVENTRING_E_SPACE);
  assert_null(lanes.hot.lane[EVENTRING_USER].limit);
  assert_int_equal(none.source.sequence, 0);
  evr_lane_close(&lanes, EVENTRING_USER);
  static struct stream stream;
  open_stream(&stream, EVENTRING_USER);
  emit(&stream, EVENTRING_INSTANT, 7, 0);
  close_stream(&stream);
  assert_int_equal(stream.chunks->source.events, 1);
  free_stream(&stream);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_of_chunks),
      cmocka_unit_test(lanes_one_after_the_other),
      cmocka_unit_test(an_incarnation_that_is_not_the_next),
      cmocka_unit_test(no_first_block),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
