/* SPDX-License-Identifier: MIT */
/* eventring_encoder_test.c: what an encoder has written is what a cursor reads.
 *
 * Random events of some rings are encoded, and expected from a model that knows the open spans
 * by search. The file is then read whole, and from random times on: what is open there, and
 * what an end says of its span, must be the same. ENCODER_ROUNDS, ENCODER_SEED. */
#include <fcntl.h>
#include <sys/stat.h>

#include "draw.h"
#include "eventring_common.h"

enum { START = 1000000, EVENTS = 4000, SLOTS = 3, RINGS = 2, CONTEXTS = 4, MOST_OPEN = 40 };
static const char path[] = "encoded.eventring";

/* ---- Output ------------------------------------------------------------------------- */

static int output = -1;
static uint64_t writes, fail_at; /* the write that fails; 0: none */

static int write_piece(void *context, uint64_t offset, const void *bytes, size_t size,
                       struct eventring_error *error) {
  (void)context;
  if (++writes == fail_at) {
    snprintf(error->text, sizeof error->text, "the disk is full");
    return EVENTRING_E_SPACE;
  }
  assert_int_equal(pwrite(output, bytes, size, (off_t)offset), size);
  return EVENTRING_OK;
}

static eventring_encoder *open_encoder(void) {
  struct eventring_info info = {.program = "imported", .pid = 4711, .start_ns = START,
                                .start_wall_ns = 1700000000000000000};
  struct eventring_error error = {0};
  eventring_encoder *encoder = NULL;
  if (output >= 0) close(output);
  unlink(path);
  output = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  assert_true(output >= 0);
  writes = fail_at = 0;
  assert_int_equal(eventring_encoder_open(&encoder, &info, write_piece, NULL, &error), 0);
  return encoder;
}

static void finish(eventring_encoder *encoder, const struct eventring_info *info) {
  struct eventring_error error = {0};
  static const struct eventring_info nothing;
  if (eventring_encoder_finish(encoder, info ? info : &nothing, &error) != 0)
    fail_msg("%s", error.text);
  eventring_encoder_close(encoder);
}

static int define(eventring_encoder *encoder, const char *name, unsigned kind,
                  unsigned payload) {
  struct eventring_def def = {.name = name, .kind = (uint8_t)kind, .payload = (uint8_t)payload,
                              .event_class = EVENTRING_CLASS_USER, .ring = EVENTRING_USER};
  struct eventring_error error = {0};
  int id = eventring_encoder_define(encoder, &def, &error);
  if (id < 0) fail_msg("%s", error.text);
  return id;
}

/* ---- The model ---------------------------------------------------------------------- */

struct model_span {
  uint64_t begin, context, suspended;
  uint16_t id;
};
struct model_ring {
  uint32_t slot, ring, incarnation;
  uint64_t now, context;
  struct model_span open[MOST_OPEN]; /* begun first, first */
  unsigned count;
  uint64_t left_at[CONTEXTS]; /* of a context that is suspended; 0: it is not */
  uint64_t lost, missed, events;
  bool waits; /* something was lost, and no event came since: a span that is found and torn
                 again before one is not heard of */
};
static bool with_losses;
struct expected {
  struct eventring_event event;
  uint64_t words[8]; /* of its payload */
};

static struct model_ring model[SLOTS * RINGS];
static struct expected expected[SLOTS * RINGS][EVENTS];
static uint64_t torn_sum, found_sum; /* of what is synthetic, a sum that depends on all */
static uint16_t span_id[3], count_id, text_id, link_id, none_id, values_id;

static uint64_t digest(const struct eventring_event *e, uint64_t begin) {
  return (begin * 31 + e->id * 7 + e->context * 131 + e->domain * 1009 + e->ring + 1) *
         0x9e3779b97f4a7c15u;
}

static void resume(struct model_ring *r, uint64_t context) {
  if (!r->left_at[context]) return;
  for (unsigned i = 0; i < r->count; i++) {
    struct model_span *s = &r->open[i];
    uint64_t from = s->begin > r->left_at[context] ? s->begin : r->left_at[context];
    if (s->context == context && r->now > from) s->suspended += r->now - from;
  }
  r->left_at[context] = 0;
}

static bool has_open(const struct model_ring *r, uint64_t context) {
  for (unsigned i = 0; i < r->count; i++)
    if (r->open[i].context == context) return true;
  return false;
}

static void remove_open(struct model_ring *r, unsigned i) {
  uint64_t context = r->open[i].context;
  memmove(&r->open[i], &r->open[i + 1], (--r->count - i) * sizeof r->open[0]);
  if (!has_open(r, context)) r->left_at[context] = 0;
}

static int innermost(const struct model_ring *r, uint16_t id) {
  for (unsigned i = r->count; i-- > 0;)
    if (r->open[i].id == id && r->open[i].context == r->context) return (int)i;
  return -1;
}

static void model_event(struct model_ring *r, struct eventring_event *e) {
  resume(r, r->context);
  if (e->kind == EVENTRING_BEGIN) {
    e->begin_ns = e->ns;
    r->open[r->count++] = (struct model_span){e->ns, e->context, 0, e->id};
  } else if (e->kind == EVENTRING_END) {
    int i = innermost(r, e->id);
    e->flags = (uint16_t)(i < 0 ? EVENTRING_TORN : EVENTRING_MATCHED);
    if (i < 0) return;
    e->begin_ns = r->open[i].begin;
    e->suspended_ns = r->open[i].suspended;
    remove_open(r, (unsigned)i);
  }
}

/* ---- Random events ------------------------------------------------------------------ */

static uint64_t later(void) {
  switch (draw(40)) {
  case 0:
    return draw(1000000);
  case 1:
    return draw(10) ? 0 : (uint64_t)1 << 42; /* beyond what a word can tell */
  default:
    return draw(50);
  }
}

static void fill_payload(struct eventring_event *e, uint64_t *words) {
  for (int i = 0; i < 8; i++) words[i] = random_bits();
  switch (draw(5)) {
  case 0:
    e->kind = EVENTRING_COUNTER, e->id = count_id, e->payload = EVENTRING_INT;
    e->value.u = words[0];
    break;
  case 1:
    e->kind = EVENTRING_INSTANT, e->id = text_id, e->payload = EVENTRING_STRING;
    e->bytes = words, e->size = draw(8 * sizeof *words);
    e->flags = draw(4) ? 0 : EVENTRING_TRUNCATED;
    break;
  case 2:
    e->kind = EVENTRING_LINKED, e->id = link_id, e->payload = EVENTRING_UINT;
    e->link = words[1], e->role = (uint8_t)(1 + draw(3)), e->value.u = words[0];
    break;
  case 3:
    words[0] = 2 | EVENTRING_INT << 4 | EVENTRING_STRING << 8;
    words[2] = 5, words[3] = 0x6f6c6c6568;
    e->kind = EVENTRING_INSTANT, e->id = values_id, e->payload = EVENTRING_VALUES;
    e->bytes = words, e->size = 32;
    break;
  default:
    e->kind = EVENTRING_INSTANT, e->id = none_id, e->flags = EVENTRING_UNKNOWN;
    if (draw(2)) e->payload = EVENTRING_RAW, e->bytes = words, e->size = 8 * draw(8);
    if (!e->size) e->payload = EVENTRING_NONE, e->bytes = NULL;
  }
}

static struct eventring_event base_event(const struct model_ring *r) {
  return (struct eventring_event){.ns = r->now, .domain = r->slot, .ring = (uint8_t)r->ring,
                                  .incarnation = r->incarnation, .context = r->context};
}

static void put(eventring_encoder *encoder, const struct eventring_event *event) {
  struct eventring_error error = {0};
  if (eventring_encoder_event(encoder, event, &error) != 0) fail_msg("%s", error.text);
}

static void put_random_event(eventring_encoder *encoder, struct model_ring *r) {
  struct expected *x = &expected[r - model][r->events++];
  struct eventring_event e = base_event(r);
  unsigned what = draw(10);
  if (what < 4 && r->count < MOST_OPEN) e.kind = EVENTRING_BEGIN, e.id = span_id[draw(3)];
  else if (what < 8) e.kind = EVENTRING_END, e.id = span_id[draw(3)];
  else fill_payload(&e, x->words);
  struct eventring_event said = e;
  model_event(r, &e);
  r->waits = false;
  /* what the calls of suspend have said need not be said again */
  said.suspended_ns = draw(2) ? e.suspended_ns : 0;
  put(encoder, &said);
  x->event = e;
  if (e.bytes) x->event.bytes = x->words;
}

/* The innermost span of some context is found torn: `ended` is a loss before it. */
static void put_tear(eventring_encoder *encoder, struct model_ring *r) {
  if (!r->count) return;
  unsigned i = draw(r->count);
  struct eventring_event e = base_event(r);
  e.kind = EVENTRING_END;
  e.flags = EVENTRING_SYNTHETIC | EVENTRING_TORN;
  for (unsigned above = i + 1; above < r->count; above++) /* the innermost of its like */
    if (r->open[above].id == r->open[i].id && r->open[above].begin == r->open[i].begin &&
        r->open[above].context == r->open[i].context)
      i = above;
  e.id = r->open[i].id;
  e.context = r->open[i].context;
  e.begin_ns = r->open[i].begin;
  torn_sum += digest(&e, e.begin_ns);
  put(encoder, &e);
  remove_open(r, i);
}

static void put_found(eventring_encoder *encoder, struct model_ring *r) {
  if (r->count == MOST_OPEN) return;
  struct eventring_event e = base_event(r);
  e.kind = EVENTRING_BEGIN;
  e.id = span_id[draw(3)];
  e.context = draw(CONTEXTS);
  e.flags = EVENTRING_SYNTHETIC;
  found_sum += digest(&e, e.ns);
  put(encoder, &e);
  r->open[r->count++] = (struct model_span){e.ns, e.context, 0, e.id};
}

static void put_loss(eventring_encoder *encoder, struct model_ring *r) {
  struct eventring_error error = {0};
  bool missed = !r->events && !r->lost && draw(2);
  struct eventring_loss loss = {.domain = r->slot, .ring = (uint8_t)r->ring, .ns = r->now,
                                .incarnation = r->incarnation, .count = 1 + draw(1000),
                                .flags = missed ? EVENTRING_LOST_BEFORE : 0};
  *(missed ? &r->missed : &r->lost) += loss.count;
  assert_int_equal(eventring_encoder_lost(encoder, &loss, &error), 0);
  for (unsigned n = draw(3); n > 0; n--) put_tear(encoder, r);
  if (!draw(3)) put_found(encoder, r);
  r->waits = true;
}

static void put_suspension(eventring_encoder *encoder, struct model_ring *r) {
  struct eventring_error error = {0};
  uint64_t context = draw(CONTEXTS);
  if (draw(2)) {
    assert_int_equal(eventring_encoder_suspend(encoder, r->slot, (enum eventring_ring)r->ring,
                                               context, r->now, &error), 0);
    if (has_open(r, context) && !r->left_at[context]) r->left_at[context] = r->now;
  } else {
    assert_int_equal(eventring_encoder_resume(encoder, r->slot, (enum eventring_ring)r->ring,
                                              context, r->now, &error), 0);
    resume(r, context);
  }
}

static void next_incarnation(struct model_ring *r) {
  for (unsigned i = 0; i < r->count; i++) {
    struct eventring_event e = base_event(r);
    e.id = r->open[i].id;
    e.context = r->open[i].context;
    torn_sum += digest(&e, r->open[i].begin);
  }
  r->count = 0;
  memset(r->left_at, 0, sizeof r->left_at);
  r->incarnation++;
  r->context = 0;
}

static void put_something(eventring_encoder *encoder, struct model_ring *r) {
  r->now += 1 + later(); /* no two spans are alike: a list could not tell them apart */
  if (!draw(8)) r->context = draw(CONTEXTS);
  unsigned what = draw(400);
  bool goes_on = r->events && !r->waits;
  if (what < 2 && with_losses && !r->waits) put_loss(encoder, r);
  else if (what < 6 && goes_on) put_tear(encoder, r);
  else if (what < 10 && goes_on) put_found(encoder, r);
  else if (what < 40) put_suspension(encoder, r);
  else if (what == 40 && goes_on) next_incarnation(r), put_random_event(encoder, r);
  else put_random_event(encoder, r);
}

static void encode_random(void) {
  eventring_encoder *encoder = open_encoder();
  static const char *const names[] = {"outer", "inner", "other"};
  memset(model, 0, sizeof model);
  torn_sum = found_sum = 0;
  with_losses = draw(2);
  for (int i = 0; i < 3; i++)
    span_id[i] = (uint16_t)define(encoder, names[i], EVENTRING_DEF_SPAN, EVENTRING_NONE);
  count_id = (uint16_t)define(encoder, "count", EVENTRING_DEF_COUNTER, EVENTRING_INT);
  text_id = (uint16_t)define(encoder, "text", EVENTRING_DEF_INSTANT, EVENTRING_STRING);
  link_id = (uint16_t)define(encoder, "link", EVENTRING_DEF_ASYNC, EVENTRING_UINT);
  values_id = (uint16_t)define(encoder, "values", EVENTRING_DEF_INSTANT, EVENTRING_VALUES);
  none_id = (uint16_t)eventring_encoder_reserve(encoder, NULL);
  for (unsigned i = 0; i < SLOTS * RINGS; i++)
    model[i] = (struct model_ring){.slot = i / RINGS, .ring = i % RINGS, .incarnation = 1,
                                   .now = START + draw(100)};
  for (unsigned n = 0; n < SLOTS * RINGS * EVENTS / 2; n++) {
    struct model_ring *r = &model[draw(SLOTS * RINGS)];
    if (r->events + 2 < EVENTS) put_something(encoder, r);
  }
  finish(encoder, NULL);
}

/* ---- Reading ------------------------------------------------------------------------ */

struct check {
  uint64_t at[SLOTS * RINGS]; /* the event that is expected next */
  uint64_t lost, missed, torn_sum, found_sum;
  eventring_cursor *cursor;
};

static bool is_payload(const struct eventring_event *e, const struct expected *x) {
  return e->payload == x->event.payload && e->size == x->event.size &&
         (e->size ? memcmp(e->bytes, x->words, e->size) == 0
                  : e->payload == EVENTRING_NONE || e->value.u == x->event.value.u);
}

static void compare(const struct eventring_event *e, const struct expected *x) {
  assert_int_equal(e->ns, x->event.ns);
  assert_int_equal(e->kind, x->event.kind);
  assert_int_equal(e->id, x->event.id);
  assert_int_equal(e->context, x->event.context);
  assert_int_equal(e->incarnation, x->event.incarnation);
  assert_int_equal(e->flags, x->event.flags);
  assert_int_equal(e->begin_ns, x->event.begin_ns);
  assert_int_equal(e->suspended_ns, x->event.suspended_ns);
  assert_int_equal(e->link, x->event.link);
  assert_int_equal(e->role, x->event.role);
  assert_true(is_payload(e, x));
}

static int check_event(void *context, const struct eventring_event *e) {
  struct check *check = context;
  unsigned ring = e->domain * RINGS + e->ring;
  if (e->flags & EVENTRING_SYNTHETIC) {
    uint64_t *sum = e->kind == EVENTRING_BEGIN ? &check->found_sum : &check->torn_sum;
    *sum += digest(e, e->begin_ns);
    return 0;
  }
  assert_true(check->at[ring] < model[ring].events);
  compare(e, &expected[ring][check->at[ring]++]);
  return 0;
}

static int check_loss(void *context, const struct eventring_loss *loss) {
  struct check *check = context;
  bool before = loss->flags & EVENTRING_LOST_BEFORE;
  *(before ? &check->missed : &check->lost) += loss->count;
  return 0;
}

static const struct eventring_callbacks checks = {check_event, check_loss};

static void read_whole(unsigned flags) {
  eventring_cursor *cursor = open_file(path, flags);
  struct check check = {0};
  uint64_t lost = 0, missed = 0;
  if (eventring_poll(cursor, &checks, &check, 0) < 0)
    fail_msg("%s", eventring_cursor_error(cursor)->text);
  assert_true(eventring_finished(cursor));
  for (unsigned i = 0; i < SLOTS * RINGS; i++) {
    assert_int_equal(check.at[i], model[i].events);
    lost += model[i].lost;
    missed += model[i].missed;
  }
  assert_int_equal(check.lost, lost);
  assert_int_equal(check.missed, missed);
  assert_int_equal(check.torn_sum, torn_sum);
  assert_int_equal(check.found_sum, found_sum);
  eventring_close(cursor);
}

/* The first event of a ring that is read is one of those that are expected. */
static int find_place(void *context, const struct eventring_event *e) {
  struct check *check = context;
  unsigned ring = e->domain * RINGS + e->ring;
  if (e->flags & EVENTRING_SYNTHETIC) return 0;
  struct eventring_ring_info info;
  if (!check->at[ring]) {
    assert_int_equal(eventring_cursor_ring(check->cursor, e->domain,
                                           (enum eventring_ring)e->ring, &info), 0);
    uint64_t behind = info.emitted - info.missed - info.lost;
    assert_true(behind <= model[ring].events);
    check->at[ring] = model[ring].events - behind + 1;
  } else {
    check->at[ring]++;
  }
  compare(e, &expected[ring][check->at[ring] - 1]);
  return 0;
}

static int no_loss(void *context, const struct eventring_loss *loss) {
  (void)context, (void)loss;
  return 0;
}

/* From a time on, of rings that lose nothing: so it is known which event is the first. */
static void read_from(uint64_t ns) {
  struct check check = {0};
  const struct eventring_callbacks callbacks = {find_place, no_loss};
  eventring_cursor *cursor = open_file(path, 0);
  check.cursor = cursor;
  assert_int_equal(eventring_cursor_seek(cursor, ns), 0);
  if (eventring_poll(cursor, &callbacks, &check, 0) < 0)
    fail_msg("%s", eventring_cursor_error(cursor)->text);
  eventring_close(cursor);
}

static unsigned long number_of(const char *name, unsigned long otherwise) {
  const char *text = getenv(name);
  return text ? strtoul(text, NULL, 0) : otherwise;
}

static void test_random(void **state) {
  (void)state;
  unsigned long rounds = number_of("ENCODER_ROUNDS", 20);
  random_state ^= number_of("ENCODER_SEED", 0) << 8;
  for (unsigned long round = 0; round < rounds; round++) {
    encode_random();
    read_whole(0);
    read_whole(EVENTRING_OPEN_MERGED);
    for (int n = 0; n < 20 && !with_losses; n++) {
      const struct model_ring *r = &model[draw(SLOTS * RINGS)];
      read_from(expected[r - model][random_bits() % r->events].event.ns);
    }
  }
}

/* ---- Cases -------------------------------------------------------------------------- */

static struct eventring_event instant(uint32_t slot, unsigned id, uint64_t ns) {
  return (struct eventring_event){.ns = ns, .domain = slot, .incarnation = 1,
                                  .id = (uint16_t)id, .ring = EVENTRING_USER,
                                  .kind = EVENTRING_INSTANT};
}

static void lose(eventring_encoder *encoder, uint32_t slot, uint64_t count, unsigned flags) {
  struct eventring_loss loss = {.domain = slot, .incarnation = 1, .ring = EVENTRING_USER,
                                .flags = (uint8_t)flags, .count = count, .ns = START + 5};
  assert_int_equal(eventring_encoder_lost(encoder, &loss, NULL), 0);
}

/* What one ring has missed and another one has lost remains so, also at the end. */
static void test_missed_and_lost(void **state) {
  (void)state;
  struct eventring_ring_info info;
  struct log log = {0};
  eventring_encoder *encoder = open_encoder();
  int id = define(encoder, "point", EVENTRING_DEF_INSTANT, EVENTRING_NONE);
  lose(encoder, 0, 7, EVENTRING_LOST_BEFORE);
  lose(encoder, 1, 9, 0);
  for (uint32_t slot = 0; slot < 2; slot++) {
    struct eventring_event event = instant(slot, (unsigned)id, START + 10);
    put(encoder, &event);
    lose(encoder, slot, 100 + slot, 0);
  }
  finish(encoder, NULL);
  eventring_cursor *cursor = open_file(path, 0);
  assert_int_equal(poll_log(cursor, &log, 0), 2);
  assert_int_equal(log.before[EVENTRING_USER], 7);
  assert_int_equal(log.lost[EVENTRING_USER], 9 + 100 + 101);
  assert_int_equal(eventring_cursor_ring(cursor, 0, EVENTRING_USER, &info), 0);
  assert_int_equal(info.missed, 7);
  assert_int_equal(info.lost, 100);
  assert_int_equal(info.emitted, 108);
  assert_int_equal(eventring_cursor_ring(cursor, 1, EVENTRING_USER, &info), 0);
  assert_int_equal(info.missed, 0);
  assert_int_equal(info.lost, 110);
  eventring_close(cursor);
  clear_log(&log);
}

/* More spans are open than a header lists; those that are listed are the innermost. */
static void test_deep(void **state) {
  (void)state;
  enum { DEPTH = 300, FILL = 3000 };
  struct log log = {0};
  eventring_encoder *encoder = open_encoder();
  int span = define(encoder, "deep", EVENTRING_DEF_SPAN, EVENTRING_NONE);
  int point = define(encoder, "point", EVENTRING_DEF_INSTANT, EVENTRING_NONE);
  struct eventring_event event = instant(0, (unsigned)point, START);
  for (int i = 0; i < 2 * DEPTH + FILL; i++) {
    bool begins = i < DEPTH, ends = i >= DEPTH + FILL;
    event.kind = begins ? EVENTRING_BEGIN : ends ? EVENTRING_END : EVENTRING_INSTANT;
    event.id = (uint16_t)(begins || ends ? span : point);
    event.ns = START + (uint64_t)i;
    put(encoder, &event);
  }
  finish(encoder, NULL);
  eventring_cursor *cursor = open_file(path, 0);
  assert_int_equal(eventring_cursor_seek(cursor, START + DEPTH + FILL - 1), 0);
  assert_true(poll_log(cursor, &log, 0) > DEPTH);
  unsigned matched = 0, torn = 0;
  for (size_t i = 0; i < log.count; i++) {
    matched += log.seen[i].event.flags & EVENTRING_MATCHED ? 1 : 0;
    torn += log.seen[i].event.flags & EVENTRING_TORN ? 1 : 0;
  }
  assert_int_equal(matched, FORMAT_MAX_OPEN);
  assert_int_equal(torn, DEPTH - FORMAT_MAX_OPEN);
  eventring_close(cursor);
  clear_log(&log);
}

static void test_catalogue(void **state) {
  (void)state;
  eventring_encoder *encoder = open_encoder();
  struct eventring_error error = {0};
  struct eventring_def def = {.name = "point", .kind = EVENTRING_DEF_INSTANT, .unit = "ns",
                              .event_class = EVENTRING_CLASS_USER, .payload = EVENTRING_INT};
  int id = eventring_encoder_define(encoder, &def, &error);
  assert_int_equal(id, EVENTRING_ID_HOST);
  assert_int_equal(eventring_encoder_define(encoder, &def, &error), id);
  def.unit = "ms";
  assert_int_equal(eventring_encoder_define(encoder, &def, &error), EVENTRING_E_CONFLICT);
  def.event_class = 20;
  assert_int_equal(eventring_encoder_define(encoder, &def, &error), EVENTRING_E_ARGUMENT);
  assert_int_equal(eventring_encoder_class(encoder, 20, "host", &error), 0);
  assert_int_equal(eventring_encoder_class(encoder, 20, "host", &error), 0);
  assert_int_equal(eventring_encoder_class(encoder, 20, "other", &error), EVENTRING_E_CONFLICT);
  assert_int_equal(eventring_encoder_class(encoder, 21, "host", &error), EVENTRING_E_CONFLICT);
  assert_int_equal(eventring_encoder_class(encoder, 64, "x", &error), EVENTRING_E_ARGUMENT);
  assert_int_equal(eventring_encoder_class(encoder, 22, "\x1b[", &error), EVENTRING_E_NAME);
  assert_int_equal(eventring_encoder_ring(encoder, 5, "net", &error), 0);
  assert_int_equal(eventring_encoder_define(encoder, &def, &error), id + 1);
  def.name = "pause", def.kind = EVENTRING_DEF_LIFECYCLE, def.unit = "classes";
  def.event_class = EVENTRING_CLASS_LIFECYCLE;
  assert_int_equal(eventring_encoder_define(encoder, &def, &error), EVENTRING_ID_PAUSE);
  def.name = "bad\n";
  assert_int_equal(eventring_encoder_define(encoder, &def, &error), EVENTRING_E_NAME);
  while ((id = eventring_encoder_reserve(encoder, &error)) != EVENTRING_ID_OTHER)
    assert_true(id < EVENTRING_MAX_EVENTS);
  def.name = "late";
  assert_int_equal(eventring_encoder_define(encoder, &def, &error), EVENTRING_ID_OTHER);
  finish(encoder, NULL);
  eventring_cursor *cursor = open_file(path, 0);
  struct eventring_info info;
  assert_int_equal(eventring_cursor_info(cursor, &info), 0);
  assert_int_equal(info.names_dropped, 2);
  assert_string_equal(eventring_cursor_class(cursor, 20), "host");
  assert_string_equal(eventring_cursor_ring_name(cursor, 5), "net");
  assert_string_equal(eventring_cursor_def(cursor, EVENTRING_ID_HOST + 1)->unit, "ms");
  assert_null(eventring_cursor_def(cursor, EVENTRING_ID_HOST + 2));
  eventring_close(cursor);
}

static void test_domains_and_processes(void **state) {
  (void)state;
  enum { LIVES = 2000 };
  eventring_encoder *encoder = open_encoder();
  struct eventring_error error = {0};
  struct eventring_domain_info d = {.slot = 3, .tid = 99, .start_ns = START, .process = 1};
  for (uint32_t n = 1; n <= LIVES; n++) {
    d.incarnation = n;
    d.alive = true;
    snprintf(d.name, sizeof d.name, "life %u", n);
    assert_int_equal(eventring_encoder_domain(encoder, &d, &error), 0);
    snprintf(d.name, sizeof d.name, "renamed %u", n);
    d.alive = n == LIVES;
    d.stop_ns = d.alive ? 0 : START + n;
    assert_int_equal(eventring_encoder_domain(encoder, &d, &error), 0);
  }
  d.incarnation = 1;
  assert_int_equal(eventring_encoder_domain(encoder, &d, &error), EVENTRING_E_ARGUMENT);
  struct eventring_process p = {.program = "one", .source = "a.eventring", .pid = 12,
                                .liveness = EVENTRING_DEAD, .start_ns = START + 3,
                                .shift_ns = -5, .events = 1, .missed = 2, .lost = 3,
                                .error_ns = START + 7, .error_text = "it broke\n\twhere"};
  assert_int_equal(eventring_encoder_process(encoder, &p, &error), 1);
  p.error_text[0] = 0;
  p.error_ns = 0;
  assert_int_equal(eventring_encoder_process(encoder, &p, &error), 2);
  p.start_ns = START - 1;
  assert_int_equal(eventring_encoder_process(encoder, &p, &error), EVENTRING_E_ARGUMENT);
  struct eventring_info end = {.end_ns = START + 5000, .end_reason = EVENTRING_END_EXIT,
                               .end_detail = 3, .error_ns = START + 4000,
                               .error_text = "broken"};
  finish(encoder, &end);
  eventring_cursor *cursor = open_file(path, 0);
  struct eventring_info info;
  assert_int_equal(eventring_cursor_info(cursor, &info), 0);
  assert_int_equal(info.liveness, EVENTRING_ENDED);
  assert_int_equal(info.end_ns, START + 5000);
  assert_int_equal(info.end_detail, 3);
  assert_string_equal(info.error_text, "broken");
  assert_int_equal(eventring_cursor_life(cursor, 3, 5, &d), 0);
  assert_string_equal(d.name, "renamed 5");
  assert_int_equal(d.stop_ns, START + 5);
  assert_int_equal(d.process, 1);
  assert_int_equal(eventring_cursor_domain(cursor, 3, &d), 0);
  assert_int_equal(d.incarnation, LIVES);
  assert_true(d.alive);
  assert_int_equal(d.process, 1);
  assert_int_equal(eventring_cursor_process(cursor, 1, &p), 0);
  assert_string_equal(p.program, "one");
  assert_string_equal(p.error_text, "it broke\n\twhere");
  assert_int_equal(p.shift_ns, -5);
  assert_int_equal(p.lost, 3);
  assert_int_equal(eventring_cursor_process(cursor, 2, &p), 0);
  assert_string_equal(p.error_text, "");
  assert_int_equal(eventring_cursor_process(cursor, 3, &p), EVENTRING_E_NOT_FOUND);
  struct log log = {0};
  assert_int_equal(poll_log(cursor, &log, 0), 0);
  eventring_close(cursor);
}

static void test_arguments(void **state) {
  (void)state;
  eventring_encoder *encoder = open_encoder();
  struct eventring_error error = {0};
  int id = define(encoder, "point", EVENTRING_DEF_INSTANT, EVENTRING_STRING);
  struct eventring_event good = instant(0, (unsigned)id, START), bad;
#define BAD(member, wrong) \
  bad = good; \
  bad.member = wrong; \
  assert_int_equal(eventring_encoder_event(encoder, &bad, &error), EVENTRING_E_ARGUMENT)
  BAD(domain, 128);
  BAD(ring, 8);
  BAD(kind, 0);
  BAD(kind, 7);
  BAD(id, 8192);
  BAD(incarnation, 0);
  BAD(ns, START - 1);
  BAD(ns, UINT64_MAX);
  BAD(context, UINT64_MAX);
  BAD(flags, EVENTRING_SYNTHETIC);
  BAD(payload, 9);
  good.payload = EVENTRING_STRING;
  BAD(size, 5);
#undef BAD
  char text[2000];
  memset(text, 'x', sizeof text);
  memcpy(text + EVENTRING_MAX_PAYLOAD - 1, "\xc3\xa4", 2);
  good.bytes = text;
  good.size = sizeof text;
  put(encoder, &good);
  finish(encoder, NULL);
  eventring_cursor *cursor = open_file(path, 0);
  struct log log = {0};
  assert_int_equal(poll_log(cursor, &log, 0), 1);
  assert_int_equal(log.seen[0].event.size, EVENTRING_MAX_PAYLOAD - 1);
  assert_int_equal(log.seen[0].event.flags, EVENTRING_TRUNCATED);
  eventring_close(cursor);
  clear_log(&log);
  struct eventring_info info = {.start_ns = 0};
  assert_int_equal(eventring_encoder_open(&encoder, &info, write_piece, NULL, &error),
                   EVENTRING_E_ARGUMENT);
  assert_int_equal(eventring_encoder_finish(NULL, &info, &error), EVENTRING_E_ARGUMENT);
  eventring_encoder_close(NULL);
}

/* An error of the output is told by all that follows, and what is there is no recording. */
static void test_failing_writes(void **state) {
  (void)state;
  for (uint64_t n = 1; n <= 4; n++) {
    eventring_encoder *encoder = open_encoder();
    struct eventring_error error = {0};
    struct eventring_info info = {0};
    int id = define(encoder, "point", EVENTRING_DEF_INSTANT, EVENTRING_NONE), status = 0;
    fail_at = n;
    for (unsigned i = 0; !status && i < 100000; i++) {
      struct eventring_event event = instant(i % 3, (unsigned)id, START + i);
      status = eventring_encoder_event(encoder, &event, &error);
    }
    if (!status) status = eventring_encoder_finish(encoder, &info, &error);
    assert_int_equal(status, EVENTRING_E_SPACE);
    assert_string_equal(error.text, "the disk is full");
    error.text[0] = 0;
    assert_int_equal(eventring_encoder_finish(encoder, &info, &error), EVENTRING_E_SPACE);
    assert_string_equal(error.text, "the disk is full");
    eventring_encoder_close(encoder);
    eventring_cursor *cursor;
    assert_int_equal(eventring_open_path(&cursor, path, 0, &error), EVENTRING_E_NOT_EVENTRING);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),    cmocka_unit_test(test_missed_and_lost),
      cmocka_unit_test(test_deep),      cmocka_unit_test(test_catalogue),
      cmocka_unit_test(test_arguments), cmocka_unit_test(test_domains_and_processes),
      cmocka_unit_test(test_failing_writes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
