/* SPDX-License-Identifier: MIT */
/* eventring_events_test.c: what is written is what is read: each kind of payload, the
   catalogue, names and classes, introspection, times, merging. */
#include "eventring_common.h"
#include "draw.h"

#include <float.h>
#include <math.h>
#include <time.h>

static eventring_domain *domain;

static int set_up(void **state) {
  start_recording(EVENTRING_MIN_WSIZE);
  domain = start_domain("main");
  return 0;
}
static int tear_down(void **state) {
  eventring_domain_stop(domain);
  eventring_stop();
  return 0;
}

static void emit_each_kind(void) {
  eventring_domain *d = domain;
  eventring_begin_int(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER, INT64_MIN);
  eventring_begin(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_INNER);
  eventring_counter_double(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_RATE, -0.5);
  eventring_end(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_INNER);
  eventring_end(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER);
  eventring_lifecycle(d, EVENTRING_RUNTIME, EVENTRING_CLASS_LIFECYCLE, T_LIFE, -7);
  eventring_user_counter(d, T_COUNT, INT64_MAX);
  eventring_instant(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_POINT);
  eventring_instant_int(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_SIZE, -1);
  eventring_instant_bytes(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_TEXT, "grüße", 7);
  eventring_instant_bytes(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_DATA, "\0\1\0", 3);
  eventring_instant_bytes(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_DATA, "", 0);
}

static void check_event(const struct seen *s, unsigned kind, unsigned id,
                        unsigned payload, unsigned flags) {
  assert_int_equal(s->event.kind, kind);
  assert_int_equal(s->event.id, id);
  assert_int_equal(s->event.payload, payload);
  assert_int_equal(s->event.flags, flags);
  assert_int_equal(s->event.domain, 0);
  assert_true(s->event.incarnation >= 1);
}

static void check_each_kind(eventring_cursor *cursor) {
  struct log log = {0};
  assert_true(poll_log(cursor, &log, 0) > 0);
  drop_builtins(&log);
  struct seen *s = log.seen;
  assert_int_equal(log.count, 12);
  check_event(&s[0], EVENTRING_BEGIN, T_OUTER, EVENTRING_INT, 0);
  assert_true(s[0].event.value.i == INT64_MIN);
  check_event(&s[1], EVENTRING_BEGIN, T_INNER, EVENTRING_NONE, 0);
  assert_int_equal(s[1].event.depth, 1);
  check_event(&s[2], EVENTRING_COUNTER, T_RATE, EVENTRING_DOUBLE, 0);
  assert_true(s[2].event.value.d == -0.5);
  check_event(&s[3], EVENTRING_END, T_INNER, EVENTRING_NONE, EVENTRING_MATCHED);
  assert_true(s[3].event.begin_ns == s[1].event.ns);
  check_event(&s[4], EVENTRING_END, T_OUTER, EVENTRING_NONE, EVENTRING_MATCHED);
  assert_true(s[4].event.begin_ns == s[0].event.ns && s[4].event.depth == 0);
  check_event(&s[5], EVENTRING_LIFECYCLE, T_LIFE, EVENTRING_INT, 0);
  assert_true(s[5].event.value.i == -7);
  check_event(&s[6], EVENTRING_COUNTER, T_COUNT, EVENTRING_INT, 0);
  assert_true(s[6].event.value.i == INT64_MAX);
  check_event(&s[7], EVENTRING_INSTANT, T_POINT, EVENTRING_NONE, 0);
  check_event(&s[8], EVENTRING_INSTANT, T_SIZE, EVENTRING_UINT, 0);
  assert_true(s[8].event.value.u == UINT64_MAX);
  check_event(&s[9], EVENTRING_INSTANT, T_TEXT, EVENTRING_STRING, 0);
  assert_int_equal(s[9].event.size, 7);
  assert_memory_equal(s[9].bytes, "grüße", 7);
  check_event(&s[10], EVENTRING_INSTANT, T_DATA, EVENTRING_BYTES, 0);
  assert_int_equal(s[10].event.size, 3);
  assert_memory_equal(s[10].bytes, "\0\1\0", 3);
  check_event(&s[11], EVENTRING_INSTANT, T_DATA, EVENTRING_BYTES, 0);
  assert_int_equal(s[11].event.size, 0);
  for (int i = 1; i < 6; i++) assert_true(s[i].event.ns >= s[i - 1].event.ns);
  assert_string_equal(s[9].event.name, "text");
  clear_log(&log);
}

static void each_kind_through_the_mapping(void **state) {
  eventring_cursor *cursor = open_self(0);
  emit_each_kind();
  check_each_kind(cursor);
  eventring_close(cursor);
}

static void each_kind_through_the_file(void **state) {
  eventring_cursor *cursor = open_file(own_path(), 0);
  emit_each_kind();
  check_each_kind(cursor);
  eventring_close(cursor);
}

static void both_ways_tell_the_same_times(void **state) {
  eventring_cursor *a = open_self(EVENTRING_OPEN_MERGED);
  eventring_cursor *b = open_file(own_path(), EVENTRING_OPEN_MERGED);
  struct log log_a = {0}, log_b = {0};
  for (int i = 0; i < 40; i++) {
    emit_each_kind();
    if (i % 10 == 0) usleep(30000); /* across calibrations of the clock */
    poll_log(a, &log_a, 0);
    if (i % 7 == 0) poll_log(b, &log_b, 0);
  }
  poll_log(b, &log_b, 0);
  assert_int_equal(log_a.events[0], log_b.events[0]);
  assert_int_equal(log_a.events[1], log_b.events[1]);
  uint64_t sum_a = 0, sum_b = 0;
  for (size_t i = 0; i < log_a.count; i++) sum_a += log_a.seen[i].event.ns * 31;
  for (size_t i = 0; i < log_b.count; i++) sum_b += log_b.seen[i].event.ns * 31;
  assert_true(sum_a == sum_b);
  clear_log(&log_a);
  clear_log(&log_b);
  eventring_close(a);
  eventring_close(b);
}

static void times_are_those_of_the_monotonic_clock(void **state) {
  eventring_cursor *cursor = open_self(EVENTRING_OPEN_NOW);
  struct log log = {0};
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  uint64_t before = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
  emit_each_kind();
  clock_gettime(CLOCK_MONOTONIC, &t);
  uint64_t after = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
  poll_log(cursor, &log, 0);
  drop_builtins(&log);
  for (size_t i = 0; i < log.count; i++) {
    assert_true(log.seen[i].event.ns + 1000000 > before); /* within 1 ms */
    assert_true(log.seen[i].event.ns < after + 1000000);
  }
  assert_true(eventring_now() + 1000000 > after);
  clear_log(&log);
  eventring_close(cursor);
}

static void payload_at_and_beyond_its_limit(void **state) {
  uint8_t bytes[EVENTRING_MAX_PAYLOAD + 1];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7);
  eventring_cursor *cursor = open_file(own_path(), EVENTRING_OPEN_NOW);
  struct log log = {0};
  for (size_t size = 0; size <= sizeof bytes; size++) {
    eventring_instant_bytes(domain, EVENTRING_USER, EVENTRING_CLASS_USER, T_DATA, bytes,
                          size);
    assert_int_equal(poll_log(cursor, &log, 0), 1);
    struct seen *s = &log.seen[log.count - 1];
    bool cut = size > EVENTRING_MAX_PAYLOAD;
    assert_int_equal(s->event.size, cut ? EVENTRING_MAX_PAYLOAD : size);
    assert_int_equal(s->event.flags, cut ? EVENTRING_TRUNCATED : 0);
    assert_memory_equal(s->bytes, bytes, s->event.size);
    clear_log(&log);
  }
  eventring_close(cursor);
}

/* Returns how many bytes are kept of a text that is too long. The text is `size` bytes of
   'x', and `tail`. */
static size_t kept_of(eventring_cursor *cursor, size_t size, const char *tail) {
  char text[EVENTRING_MAX_PAYLOAD + 8];
  struct log log = {0};
  memset(text, 'x', size);
  memcpy(text + size, tail, strlen(tail));
  eventring_instant_bytes(domain, EVENTRING_USER, EVENTRING_CLASS_USER, T_TEXT, text,
                          size + strlen(tail));
  assert_int_equal(poll_log(cursor, &log, 0), 1);
  assert_int_equal(log.seen[0].event.flags, EVENTRING_TRUNCATED);
  assert_memory_equal(log.seen[0].bytes, text, log.seen[0].event.size);
  size_t kept = log.seen[0].event.size;
  clear_log(&log);
  return kept;
}

static void text_is_cut_between_characters(void **state) {
  enum { MOST = EVENTRING_MAX_PAYLOAD };
  eventring_cursor *cursor = open_file(own_path(), EVENTRING_OPEN_NOW);
  assert_int_equal(kept_of(cursor, MOST - 1, "\u00e9"), MOST - 1);
  assert_int_equal(kept_of(cursor, MOST - 2, "\u20ac"), MOST - 2);
  assert_int_equal(kept_of(cursor, MOST - 3, "\U0001F600"), MOST - 3);
  assert_int_equal(kept_of(cursor, MOST - 2, "\u00e9z"), MOST);
  assert_int_equal(kept_of(cursor, MOST, "\u00e9"), MOST);
  assert_int_equal(kept_of(cursor, MOST - 1, "\xc3z"), MOST);        /* invalid UTF-8 */
  assert_int_equal(kept_of(cursor, MOST - 5, "\xff---\u00e9"), MOST); /* not a text */
  eventring_close(cursor);
}

static void payload_that_the_catalogue_denies_is_raw(void **state) {
  eventring_cursor *cursor = open_self(EVENTRING_OPEN_NOW);
  struct log log = {0};
  eventring_instant_int(domain, EVENTRING_USER, EVENTRING_CLASS_USER, T_TEXT, 5);
  eventring_instant_int(domain, EVENTRING_USER, EVENTRING_CLASS_USER, 8000, 6);
  poll_log(cursor, &log, 0);
  assert_int_equal(log.count, 2);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(log.seen[i].event.flags, i ? EVENTRING_UNKNOWN : 0);
    assert_int_equal(log.seen[i].event.payload, EVENTRING_RAW);
    assert_int_equal(log.seen[i].event.size, 8);
    assert_string_equal(log.seen[i].event.name, i ? "(other)" : "text");
    assert_true((log.seen[i].event.def == NULL) == i);
    assert_int_equal(log.seen[i].event.value.i, 5 + i);
  }
  clear_log(&log);
  eventring_close(cursor);
}

static void unbalanced_and_interleaved_spans(void **state) {
  eventring_domain *d = domain;
  eventring_cursor *cursor = open_self(EVENTRING_OPEN_NOW);
  struct log log = {0};
  eventring_user_end(d, T_FLOOD); /* no span is open */
  int a = eventring_register_user(EVENTRING_DEF_SPAN, "a", 1, EVENTRING_NONE, NULL);
  int b = eventring_register_user(EVENTRING_DEF_SPAN, "b", 1, EVENTRING_NONE, NULL);
  assert_true(a > 0 && b > 0 && a != b);
  eventring_user_begin(d, (unsigned)a);
  eventring_user_begin(d, (unsigned)b);
  eventring_user_end(d, (unsigned)a); /* crosswise, as coroutines do */
  eventring_user_end(d, (unsigned)b);
  poll_log(cursor, &log, 0);
  assert_int_equal(log.count, 5);
  assert_int_equal(log.seen[0].event.flags, EVENTRING_TORN);
  assert_int_equal(log.seen[3].event.flags, EVENTRING_MATCHED);
  assert_true(log.seen[3].event.begin_ns == log.seen[1].event.ns);
  assert_int_equal(log.seen[4].event.flags, EVENTRING_MATCHED);
  assert_true(log.seen[4].event.begin_ns == log.seen[2].event.ns);
  clear_log(&log);
  eventring_close(cursor);
}

/* ---- Nested spans ----------------------------------------------------------------- */

struct open_span {
  unsigned id;
  uint64_t ns;
};
struct open_spans {
  struct open_span span[64];
  size_t count;
};

static void check_begin(struct open_spans *open, const struct eventring_event *event) {
  assert_int_equal(event->flags, 0);
  assert_int_equal(event->depth, open->count);
  assert_true(event->begin_ns == event->ns);
  open->span[open->count++] = (struct open_span){event->id, event->ns};
}

/* Closes the innermost span of this id. */
static void check_end(struct open_spans *open, const struct eventring_event *event) {
  size_t at = open->count;
  while (at > 0 && open->span[at - 1].id != event->id) at--;
  if (at > 0) {
    assert_int_equal(event->flags, EVENTRING_MATCHED);
    assert_true(event->begin_ns == open->span[at - 1].ns);
    for (open->count--; at <= open->count; at++) open->span[at - 1] = open->span[at];
  } else {
    assert_int_equal(event->flags, EVENTRING_TORN);
  }
  assert_int_equal(event->depth, open->count);
}

/* Emits spans up to 40 deep, sometimes crossing, or an end without a span, or another
   event. */
static void emit_nested(unsigned *stack, size_t *depth) {
  unsigned sort = draw(50), id = draw(2) ? T_FLOOD : T_CALL;
  if (sort == 0) eventring_user_counter(domain, T_COUNT, -1);
  else if (sort == 1) eventring_instant_bytes(domain, EVENTRING_USER, EVENTRING_CLASS_USER,
                                            T_TEXT, "text", 4);
  else if (sort == 2) eventring_user_end(domain, id);
  else if (*depth < 40 && (!*depth || draw(2)))
    eventring_user_begin(domain, stack[(*depth)++] = id);
  else eventring_user_end(domain, stack[--*depth]);
}

static void check_nested(struct open_spans *open, const struct log *log) {
  for (size_t i = 0; i < log->count; i++) {
    const struct eventring_event *event = &log->seen[i].event;
    assert_int_equal(event->ring, EVENTRING_USER);
    if (event->kind == EVENTRING_BEGIN) check_begin(open, event);
    else if (event->kind == EVENTRING_END) check_end(open, event);
    if (event->kind <= EVENTRING_END) assert_true(event->payload == EVENTRING_NONE && !event->size);
    if (event->kind == EVENTRING_COUNTER) assert_true(event->value.i == -1 && !event->begin_ns);
    if (event->kind == EVENTRING_INSTANT) assert_memory_equal(log->seen[i].bytes, "text", 4);
  }
}

static void nested_spans(void **state) {
  for (int way = 0; way < 2; way++) {
    eventring_cursor *cursor = open_self(EVENTRING_OPEN_NOW | (way ? EVENTRING_OPEN_MERGED : 0));
    struct open_spans open = {.count = 0};
    unsigned stack[40];
    size_t depth = 0, emitted = 0, seen = 0;
    for (int round = 0; round < 200; round++) {
      struct log log = {0};
      for (unsigned n = draw(700); n > 0; n--, emitted++) emit_nested(stack, &depth);
      poll_log(cursor, &log, 0);
      seen += log.count;
      check_nested(&open, &log);
      clear_log(&log);
    }
    assert_int_equal(seen, emitted);
    eventring_close(cursor);
    while (open.count > 0) eventring_user_end(domain, open.span[--open.count].id);
  }
}

static int emit_while_polled(void *context, const struct eventring_event *event) {
  eventring_user_counter(domain, T_COUNT, ++*(int64_t *)context);
  return 0;
}

static void poll_ends_though_callbacks_emit(void **state) {
  eventring_cursor *cursor = open_self(EVENTRING_OPEN_NOW);
  struct eventring_callbacks callbacks = {sizeof callbacks, emit_while_polled, NULL};
  int64_t count = 0;
  for (int i = 0; i < 3; i++) eventring_user_counter(domain, T_COUNT, i);
  assert_int_equal(eventring_poll(cursor, &callbacks, &count, 0), 3);
  assert_int_equal(eventring_poll(cursor, &callbacks, &count, 0), 3);
  assert_int_equal(count, 6);
  eventring_close(cursor);
}

static int poll_again(void *context, const struct eventring_event *event) {
  assert_int_equal(eventring_poll(context, NULL, NULL, 0), EVENTRING_E_BUSY);
  assert_int_equal(eventring_close(context), EVENTRING_E_BUSY);
  return 1; /* stop */
}

static void a_callback_may_stop_the_poll_but_not_nest_it(void **state) {
  eventring_cursor *cursor = open_self(EVENTRING_OPEN_NOW);
  struct eventring_callbacks callbacks = {sizeof callbacks, poll_again, NULL};
  for (int i = 0; i < 3; i++) eventring_user_counter(domain, T_COUNT, i);
  assert_int_equal(eventring_poll(cursor, &callbacks, cursor, 0), 1);
  assert_int_equal(eventring_poll(cursor, NULL, NULL, 1), 1);
  assert_int_equal(eventring_poll(cursor, NULL, NULL, 0), 1);
  assert_int_equal(eventring_poll(cursor, NULL, NULL, 0), 0);
  eventring_close(cursor);
}

/* Checks that what a callback learns from its cursor agrees with the events delivered so
   far. */
struct counting {
  eventring_cursor *cursor;
  uint64_t events;
};

static int compare_totals(void *context, const struct eventring_event *event) {
  struct counting *counting = context;
  struct eventring_totals totals = {.size = sizeof totals};
  struct eventring_ring_info info = {.size = sizeof info};
  counting->events += !(event->flags & EVENTRING_SYNTHETIC);
  eventring_cursor_totals(counting->cursor, &totals);
  assert_int_equal(totals.delivered, counting->events);
  assert_int_equal(eventring_cursor_ring(counting->cursor, event->domain,
                                         (enum eventring_ring)event->ring, &info), 0);
  assert_true(info.delivered > 0 && info.delivered <= info.emitted);
  return 0;
}

static void totals_within_a_callback(void **state) {
  struct counting counting = {.cursor = open_self(0)};
  struct eventring_callbacks callbacks = {sizeof callbacks, compare_totals, NULL};
  for (int i = 0; i < 20; i++) {
    eventring_user_begin(domain, T_FLOOD);
    eventring_user_counter(domain, T_COUNT, i);
    eventring_user_end(domain, T_FLOOD);
  }
  assert_true(eventring_poll(counting.cursor, &callbacks, &counting, 0) >= 60);
  assert_int_equal(eventring_poll(counting.cursor, &callbacks, &counting, 0), 0);
  eventring_close(counting.cursor);
}

/* Checks that times rise; with many lanes this tests the heap of a merged poll. */
static int times_rise(void *context, const struct eventring_event *event) {
  uint64_t *last = context;
  assert_true(event->ns >= *last);
  *last = event->ns;
  return 0;
}

static void many_domains_merged_by_time(void **state) {
  enum { DOMAINS = 12, ROUNDS = 200 };
  eventring_domain *d[DOMAINS];
  struct eventring_callbacks callbacks = {sizeof callbacks, times_rise, NULL};
  eventring_cursor *cursor = open_self(EVENTRING_OPEN_MERGED);
  uint64_t last = 0, events = 0;
  for (int i = 0; i < DOMAINS; i++) d[i] = start_domain("many");
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < DOMAINS; i++) {
      eventring_user_counter(d[i * 5 % DOMAINS], T_COUNT, round);
      if ((round + i) % 3 == 0)
        eventring_counter_double(d[i], EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_RATE, 1);
    }
  int n;
  while ((n = eventring_poll(cursor, &callbacks, &last, 77)) > 0) events += (uint64_t)n;
  assert_int_equal(n, 0);
  assert_true(events >= DOMAINS * ROUNDS * 4 / 3);
  for (int i = 0; i < DOMAINS; i++) eventring_domain_stop(d[i]);
  eventring_close(cursor);
}

static void merged_by_time(void **state) {
  eventring_cursor *cursor = open_self(EVENTRING_OPEN_NOW | EVENTRING_OPEN_MERGED);
  struct log log = {0};
  for (int i = 0; i < 50; i++) {
    eventring_user_counter(domain, T_COUNT, i);
    eventring_counter_double(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_RATE, i);
  }
  assert_int_equal(poll_log(cursor, &log, 0), 100);
  /* if the clocks of two processors differ a little, some turns are missing */
  int turns = 0;
  for (size_t i = 1; i < log.count; i++) {
    assert_true(log.seen[i].event.ns >= log.seen[i - 1].event.ns);
    turns += log.seen[i].event.ring != log.seen[i - 1].event.ring;
  }
  assert_true(turns > 80);
  clear_log(&log);
  eventring_close(cursor);
}

static void the_file_describes_itself(void **state) {
  eventring_cursor *cursor = open_file(own_path(), 0);
  struct eventring_info info = {.size = sizeof info};
  assert_int_equal(eventring_cursor_info(cursor, &info), EVENTRING_OK);
  assert_int_equal(info.pid, getpid());
  assert_string_equal(info.program, "unit");
  assert_int_equal(info.liveness, EVENTRING_LIVE);
  assert_int_equal(info.state, EVENTRING_RUNNING);
  assert_int_equal(info.version, 3);
  assert_int_equal(info.wsize, EVENTRING_MIN_WSIZE);
  assert_int_equal(info.blocks, 4);
  assert_int_equal(info.domains_laid_out, 1);
  assert_true(info.clock_hz > 1e6 && info.process_start > 0);
  assert_true(info.start_wall_ns / 1000000000 > 1600000000);
  assert_true(info.disk_size < 1 << 20);
  assert_true(info.events > EVENTRING_ID_OTHER + T_NAMES - EVENTRING_ID_HOST);
  assert_string_equal(eventring_cursor_def(cursor, T_OUTER)->name, "outer");
  assert_int_equal(eventring_cursor_def(cursor, T_RATE)->payload, EVENTRING_DOUBLE);
  assert_null(eventring_cursor_def(cursor, 10)); /* reserved */
  assert_null(eventring_cursor_def(cursor, 100000));
  assert_string_equal(eventring_cursor_name(cursor, EVENTRING_NAME_CLASS, EVENTRING_CLASS_GC),
                      "gc");
  assert_null(eventring_cursor_name(cursor, EVENTRING_NAME_CLASS, 31));
  assert_null(eventring_cursor_name(cursor, EVENTRING_NAME_CLASS, 64));
  assert_string_equal(eventring_cursor_name(cursor, EVENTRING_NAME_RING, EVENTRING_RUNTIME),
                      "runtime");
  assert_string_equal(eventring_cursor_name(cursor, EVENTRING_NAME_RING, EVENTRING_USER), "user");
  assert_null(eventring_cursor_name(cursor, EVENTRING_NAME_RING, EVENTRING_RING_HOST));
  assert_null(eventring_cursor_name(cursor, EVENTRING_NAME_RING, EVENTRING_RINGS));
  assert_int_equal(info.names_dropped, 0);
  assert_int_equal(info.unknown_blocks + info.unknown_records, 0);
  struct eventring_domain_info d = {.size = sizeof d};
  assert_int_equal(eventring_cursor_domain(cursor, 0, &d), EVENTRING_OK);
  assert_string_equal(d.name, "main");
  assert_true(d.alive && d.tid > 0 && d.stop_ns == 0);
  assert_int_equal(eventring_cursor_domain(cursor, 1, &d), EVENTRING_E_NOT_FOUND);
  struct eventring_ring_info ring = {.size = sizeof ring};
  assert_int_equal(eventring_cursor_ring(cursor, 0, EVENTRING_RUNTIME, &ring), EVENTRING_OK);
  assert_int_equal(ring.emitted, evr_domain_emitted(domain, EVENTRING_RUNTIME));
  assert_int_equal(ring.available, ring.emitted);
  eventring_close(cursor);
}

static void registering(void **state) {
  struct eventring_error error = {0};
  struct eventring_def def = {.name = "dynamic", .kind = EVENTRING_DEF_COUNTER,
                              .event_class = EVENTRING_CLASS_USER,
                              .ring = EVENTRING_USER, .payload = EVENTRING_INT};
  eventring_cursor *cursor = open_file(own_path(), EVENTRING_OPEN_NOW);
  int id = eventring_register(&def, &error);
  assert_true(id >= T_NAMES);
  assert_int_equal(eventring_register(&def, &error), id); /* the same definition has the
                                                             same id */
  def.payload = EVENTRING_DOUBLE;
  assert_int_equal(eventring_register(&def, &error), EVENTRING_E_CONFLICT);
  def.event_class = EVENTRING_CLASS_IO; /* each class has names of its own, ... */
  assert_int_equal(eventring_register(&def, &error), id + 1);
  assert_int_equal(eventring_register(&def, &error), id + 1);
  def.event_class = EVENTRING_CLASS_USER;
  def.payload = EVENTRING_INT;
  def.kind = EVENTRING_DEF_SPAN; /* ... and so has each kind */
  assert_true(eventring_register(&def, &error) > id);
  def.name = "";
  assert_int_equal(eventring_register(&def, &error), EVENTRING_E_NAME);
  def.name = "a\nb";
  assert_int_equal(eventring_register(&def, &error), EVENTRING_E_NAME);
  char name[EVENTRING_MAX_NAME + 1];
  memset(name, 'x', sizeof name);
  assert_int_equal(eventring_register_user(EVENTRING_DEF_INSTANT, name, sizeof name,
                                           EVENTRING_NONE, &error), EVENTRING_E_NAME);
  assert_true(eventring_register_user(EVENTRING_DEF_INSTANT, name, sizeof name - 1,
                                      EVENTRING_NONE, &error) > 0);
  assert_int_equal(eventring_register_user(EVENTRING_DEF_INSTANT, "a\0b", 3,
                                           EVENTRING_NONE, &error), EVENTRING_E_NAME);
  assert_int_equal(eventring_register(NULL, &error), EVENTRING_E_ARGUMENT);
  struct log log = {0};
  eventring_user_counter(domain, (unsigned)id, 3);
  poll_log(cursor, &log, 0);
  assert_int_equal(log.count, 1);
  assert_string_equal(log.seen[0].event.name, "dynamic");
  clear_log(&log);
  eventring_close(cursor);
}

/* Registers a definition alone and in a table, after one that is right. */
static int registered(enum eventring_def_kind kind, enum eventring_payload payload,
                      unsigned event_class) {
  static unsigned number;
  char name[2][32];
  struct eventring_def defs[2] = {
      {.name = name[0], .kind = EVENTRING_DEF_INSTANT, .event_class = EVENTRING_CLASS_USER},
      {.name = name[1], .kind = (uint8_t)kind, .event_class = (uint8_t)event_class,
       .payload = (uint8_t)payload}};
  struct eventring_error error = {0};
  unsigned first;
  snprintf(name[0], sizeof name[0], "right %u", number);
  snprintf(name[1], sizeof name[1], "tried %u", number++);
  int status = eventring_register_table(defs, 2, &first, &error);
  if (status < 0) {
    assert_non_null(strstr(error.text, name[1]));
    assert_int_equal(eventring_register(&defs[1], &error), status);
    /* either all definitions of a table are registered, or none */
    assert_int_equal(eventring_register_table(defs, 1, &first, &error), 0);
  }
  return status;
}

/* Checks definitions that no probe writes, or that could never be switched on. */
static void refused_definitions(void **state) {
  enum { KINDS = EVENTRING_DEF_FLOW, PAYLOADS = EVENTRING_STACK_ID };
  /* bit n: payload kind n */
  static const unsigned allowed[KINDS + 1] = {
      [EVENTRING_DEF_SPAN] = 0x77, [EVENTRING_DEF_COUNTER] = 0x0e,
      [EVENTRING_DEF_INSTANT] = 0x1ff, [EVENTRING_DEF_LIFECYCLE] = 0x02,
      [EVENTRING_DEF_ASYNC] = 0x1ff, [EVENTRING_DEF_FLOW] = 0x1ff};
  for (unsigned kind = EVENTRING_DEF_SPAN; kind <= KINDS; kind++)
    for (unsigned payload = EVENTRING_NONE; payload <= PAYLOADS; payload++)
      assert_int_equal(registered(kind, payload, EVENTRING_CLASS_USER),
                       allowed[kind] >> payload & 1 ? 0 : EVENTRING_E_ARGUMENT);
  assert_int_equal(registered(EVENTRING_DEF_SPAN, EVENTRING_NONE, EVENTRING_CLASS_IO), 0);
  assert_int_equal(registered(EVENTRING_DEF_SPAN, EVENTRING_NONE, EVENTRING_CLASS_FINALIZERS + 1),
                   EVENTRING_E_ARGUMENT);
  assert_int_equal(registered(EVENTRING_DEF_SPAN, EVENTRING_NONE, 40), EVENTRING_E_ARGUMENT);
  /* defining a class is allowed while recording */
  assert_int_equal(eventring_define_class(40, "forty", true), EVENTRING_OK);
  assert_int_equal(registered(EVENTRING_DEF_SPAN, EVENTRING_NONE, 40), 0);
}

static void full_catalogue(void **state) {
  struct eventring_error error = {0};
  char name[32];
  int id = 0, last = 0;
  for (int i = 0; i <= EVENTRING_MAX_EVENTS; i++) {
    int size = snprintf(name, sizeof name, "event %d", i);
    id = eventring_register_user(EVENTRING_DEF_INSTANT, name, (size_t)size,
                                 EVENTRING_NONE, &error);
    if (id == EVENTRING_ID_OTHER) break;
    last = id;
  }
  assert_int_equal(id, EVENTRING_ID_OTHER); /* the program goes on */
  assert_int_equal(last, EVENTRING_MAX_EVENTS - 1);
  unsigned first;
  static const struct eventring_def late = {.name = "a late one", .kind = EVENTRING_DEF_INSTANT};
  assert_int_equal(eventring_register_table(&late, 1, &first, &error), EVENTRING_E_FULL);
  assert_true(eventring_register_user(EVENTRING_DEF_INSTANT, "event 0", 7, EVENTRING_NONE,
                                      &error) > 0); /* existing definitions are found */
  eventring_cursor *cursor = open_file(own_path(), EVENTRING_OPEN_NOW);
  struct log log = {0};
  eventring_instant(domain, EVENTRING_USER, EVENTRING_CLASS_USER, (unsigned)last);
  poll_log(cursor, &log, 0);
  snprintf(name, sizeof name, "event %d", last);
  struct eventring_info info = {.size = sizeof info};
  assert_int_equal(eventring_cursor_info(cursor, &info), EVENTRING_OK);
  assert_int_equal(info.names_dropped, 1);
  assert_non_null(eventring_cursor_def(cursor, EVENTRING_MAX_EVENTS - 1));
  assert_string_equal(log.seen[0].event.name,
                      eventring_cursor_def(cursor, EVENTRING_MAX_EVENTS - 1)->name);
  eventring_instant(domain, EVENTRING_USER, EVENTRING_CLASS_USER, EVENTRING_ID_OTHER);
  poll_log(cursor, &log, 0);
  assert_int_equal(log.count, 2);
  assert_string_equal(log.seen[1].event.name, "(other)");
  clear_log(&log);
  eventring_close(cursor);
}

static void many_domains_one_after_the_other(void **state) {
  eventring_cursor *cursor = open_file(own_path(), 0);
  struct log log = {0};
  for (int i = 0; i < 20; i++) {
    eventring_domain *other = start_domain("other");
    assert_int_equal(eventring_domain_slot(other), 1); /* the slot is reused */
    eventring_user_begin(other, T_FLOOD); /* left open */
    eventring_domain_stop(other);
  }
  poll_log(cursor, &log, 0);
  unsigned begins = 0, torn = 0, incarnation = 0;
  for (size_t i = 0; i < log.count; i++) {
    const struct eventring_event *e = &log.seen[i].event;
    if (e->domain != 1 || e->id != T_FLOOD) continue;
    if (e->kind == EVENTRING_BEGIN) {
      begins++;
      if (incarnation) assert_int_equal(e->incarnation, incarnation + 1);
      incarnation = e->incarnation;
    } else {
      assert_int_equal(e->flags, EVENTRING_SYNTHETIC | EVENTRING_TORN);
      torn++;
    }
  }
  /* the domains share blocks; the last domain is still open */
  assert_int_equal(begins, 20);
  assert_int_equal(torn, 19);
  assert_int_equal(incarnation, 20);
  clear_log(&log);
  eventring_close(cursor);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
      TEST(each_kind_through_the_mapping),
      TEST(each_kind_through_the_file),
      TEST(both_ways_tell_the_same_times),
      TEST(times_are_those_of_the_monotonic_clock),
      TEST(payload_at_and_beyond_its_limit), TEST(text_is_cut_between_characters),
      TEST(payload_that_the_catalogue_denies_is_raw),
      TEST(unbalanced_and_interleaved_spans),
      TEST(nested_spans),
      TEST(poll_ends_though_callbacks_emit),
      TEST(a_callback_may_stop_the_poll_but_not_nest_it),
      TEST(totals_within_a_callback),
      TEST(merged_by_time),
      TEST(many_domains_merged_by_time),
      TEST(the_file_describes_itself),
      TEST(registering),
      TEST(refused_definitions),
      TEST(many_domains_one_after_the_other),
      TEST(full_catalogue),
#undef TEST
  };
  register_test_events();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
