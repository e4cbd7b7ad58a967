/* SPDX-License-Identifier: MIT */
/* eventring_loss_test.c: wrapped rings, lapped and late readers, pauses: losses are
   counted to the unit, and no end is matched with the begin of another span. */
#include "eventring_common.h"

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

/* Spans in which the value of each begin is its number, and a checker that knows
   how they nest. */
static int64_t numbers[64];

static void check_matches(const struct log *log) {
  /* each END with MATCHED must belong to the begin whose time it has. Spans of one id
     never overlap here, so this is the last begin of the id */
  for (size_t i = 0; i < log->count; i++) {
    const struct eventring_event *end = &log->seen[i].event;
    if (end->kind != EVENTRING_END || !(end->flags & EVENTRING_MATCHED)) continue;
    const struct eventring_event *begin = NULL;
    for (size_t k = i; k-- > 0 && !begin;)
      if (log->seen[k].event.kind == EVENTRING_BEGIN && log->seen[k].event.id == end->id)
        begin = &log->seen[k].event;
    assert_non_null(begin);
    assert_true(begin->ns == end->begin_ns);
    assert_true(end->ns >= end->begin_ns);
  }
}

static void flood(int spans) {
  for (int i = 0; i < spans; i++) {
    eventring_user_begin(domain, T_FLOOD);
    eventring_user_counter(domain, T_COUNT, i);
    eventring_user_end(domain, T_FLOOD);
  }
}

static void lapped(unsigned flags, bool file) {
  eventring_cursor *cursor = file ? open_file(own_path(), flags) : open_self(flags);
  struct log log = {0};
  unsigned gc_spans = 0;
  for (int round = 0; round < 60; round++) {
    eventring_begin_int(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER, round);
    flood(round * 40);
    eventring_end(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER);
    gc_spans++;
    if (round % 3 == 0) assert_true(poll_log(cursor, &log, round % 2 ? 100 : 0) >= 0);
  }
  while (poll_log(cursor, &log, 0) > 0) {}
  for (int r = 0; r < EVENTRING_RINGS; r++) {
    struct eventring_ring_info info = {.size = sizeof info};
    int status = eventring_cursor_ring(cursor, 0, (enum eventring_ring)r, &info);
    assert_int_equal(status, r <= EVENTRING_USER ? EVENTRING_OK : EVENTRING_E_NOT_FOUND);
    assert_int_equal(info.emitted, evr_domain_emitted(domain, (enum eventring_ring)r));
    assert_int_equal(info.emitted, info.missed + info.delivered + info.lost);
    assert_int_equal(log.events[r], info.delivered);
    assert_int_equal(log.lost[r], info.lost);
    assert_int_equal(log.before[r], info.missed);
  }
  assert_true(log.lost[EVENTRING_USER] > 1000);
  assert_int_equal(log.lost[EVENTRING_RUNTIME], 0);
  unsigned seen_gc = 0;
  for (size_t i = 0; i < log.count; i++) {
    const struct eventring_event *e = &log.seen[i].event;
    seen_gc += e->id == T_OUTER && e->kind == EVENTRING_END &&
               (e->flags & EVENTRING_MATCHED);
    assert_false(e->flags & EVENTRING_UNKNOWN);
  }
  assert_int_equal(seen_gc, gc_spans); /* the flood took nothing from this ring */
  check_matches(&log);
  clear_log(&log);
  eventring_close(cursor);
}

static void lapped_through_the_mapping(void **state) {
  lapped(0, false);
}
static void lapped_through_the_file(void **state) {
  lapped(EVENTRING_OPEN_MERGED, true);
}

static void wrapped_and_read_late(void **state) {
  struct log log = {0};
  flood(5000);
  eventring_cursor *cursor = open_file(own_path(), 0);
  poll_log(cursor, &log, 0);
  uint64_t user = evr_domain_emitted(domain, EVENTRING_USER);
  assert_int_equal(user, 15000);
  assert_int_equal(log.before[1] + log.events[1], user);
  assert_int_equal(log.lost[1], 0);
  assert_true(log.events[1] > 900 && log.events[1] < 2048);
  for (size_t i = 1; i < log.count; i++) /* the newest, without a gap */
    if (log.seen[i].event.id == T_COUNT)
      assert_true(log.seen[i].event.value.i >= 5000 - 700);
  check_matches(&log);
  clear_log(&log);
  eventring_close(cursor);
}

/* Checks that what is overwritten between opening and the first poll is lost, not
   missed. */
static void lapped_before_the_first_poll(bool file) {
  struct log log = {0};
  flood(10);
  eventring_cursor *cursor = file ? open_file(own_path(), 0) : open_self(0);
  flood(5000);
  poll_log(cursor, &log, 0);
  assert_int_equal(log.before[EVENTRING_USER], 0);
  assert_true(log.lost[EVENTRING_USER] > 10000);
  assert_int_equal(log.lost[EVENTRING_USER] + log.events[EVENTRING_USER],
                   evr_domain_emitted(domain, EVENTRING_USER));
  check_matches(&log);
  clear_log(&log);
  eventring_close(cursor);
}
static void lapped_first_through_the_mapping(void **state) {
  lapped_before_the_first_poll(false);
}
static void lapped_first_through_the_file(void **state) {
  lapped_before_the_first_poll(true);
}

/* Checks which spans are open for a reader that joins late, after spans of several ids
   were opened and the ring was flooded. */
static void late_join_sees_open_spans(void **state) {
  int ids[5];
  char name[16];
  for (int i = 0; i < 5; i++) {
    int size = snprintf(name, sizeof name, "level %d", i);
    ids[i] = eventring_register_user(EVENTRING_DEF_SPAN, name, (size_t)size,
                                     EVENTRING_NONE, NULL);
    assert_true(ids[i] > 0);
    eventring_user_begin(domain, (unsigned)ids[i]);
    flood(700); /* more than the ring holds */
  }
  eventring_cursor *cursor = open_file(own_path(), 0);
  struct log log = {0};
  poll_log(cursor, &log, 0);
  drop_builtins(&log);
  for (int i = 0; i < 5; i++) {
    const struct eventring_event *e = &log.seen[i].event;
    assert_int_equal(e->id, ids[i]);
    assert_int_equal(e->kind, EVENTRING_BEGIN);
    assert_int_equal(e->flags, EVENTRING_SYNTHETIC);
    assert_int_equal(e->depth, i);
    numbers[i] = (int64_t)e->ns;
    if (i) assert_true(numbers[i] > numbers[i - 1]);
  }
  clear_log(&log);
  for (int i = 4; i >= 0; i--) eventring_user_end(domain, (unsigned)ids[i]);
  poll_log(cursor, &log, 0);
  assert_int_equal(log.count, 5);
  for (int i = 0; i < 5; i++) {
    const struct eventring_event *e = &log.seen[i].event;
    assert_int_equal(e->flags, EVENTRING_MATCHED);
    assert_true((int64_t)e->begin_ns == numbers[4 - i]);
  }
  clear_log(&log);
  eventring_close(cursor);
}

static void joining_now_skips_the_past(void **state) {
  eventring_begin(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER);
  flood(1000);
  eventring_cursor *cursor = open_self(EVENTRING_OPEN_NOW);
  struct log log = {0};
  assert_int_equal(poll_log(cursor, &log, 0), 0);
  assert_int_equal(log.count, 1);
  assert_int_equal(log.seen[0].event.id, T_OUTER);
  assert_int_equal(log.seen[0].event.flags, EVENTRING_SYNTHETIC);
  eventring_end(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER);
  assert_int_equal(poll_log(cursor, &log, 0), 1);
  assert_int_equal(log.seen[1].event.flags, EVENTRING_MATCHED);
  struct eventring_ring_info info = {.size = sizeof info};
  eventring_cursor_ring(cursor, 0, EVENTRING_USER, &info);
  assert_int_equal(info.missed, 3000);
  assert_int_equal(info.lost, 0);
  clear_log(&log);
  eventring_close(cursor);
}

/* Checks spans across a loss. A span that outlasts the loss goes on, a span that ended in
   the loss gets a torn end, and a span that began in the loss gets a synthetic begin. */
static void spans_across_a_loss(void **state) {
  int lasting = eventring_register_user(EVENTRING_DEF_SPAN, "lasting", 7, EVENTRING_NONE, NULL);
  int ending = eventring_register_user(EVENTRING_DEF_SPAN, "ending", 6, EVENTRING_NONE, NULL);
  int coming = eventring_register_user(EVENTRING_DEF_SPAN, "coming", 6, EVENTRING_NONE, NULL);
  eventring_cursor *cursor = open_self(EVENTRING_OPEN_NOW);
  struct log log = {0};
  eventring_user_begin(domain, (unsigned)lasting);
  eventring_user_begin(domain, (unsigned)ending);
  poll_log(cursor, &log, 0);
  eventring_user_end(domain, (unsigned)ending);
  eventring_user_begin(domain, (unsigned)ending); /* another span, begun ... */
  eventring_user_end(domain, (unsigned)ending);   /* ... and ended unseen */
  eventring_user_begin(domain, (unsigned)coming);
  flood(2000);
  eventring_user_end(domain, (unsigned)coming);
  eventring_user_end(domain, (unsigned)ending); /* no such span is open */
  eventring_user_end(domain, (unsigned)lasting);
  while (poll_log(cursor, &log, 0) > 0) {}
  unsigned matched_lasting = 0, torn_ending = 0, begun_coming = 0, matched_coming = 0;
  for (size_t i = 0; i < log.count; i++) {
    const struct eventring_event *e = &log.seen[i].event;
    if (e->kind == EVENTRING_END && e->id == lasting)
      matched_lasting += e->flags == EVENTRING_MATCHED && e->begin_ns == log.seen[0].event.ns;
    if (e->kind == EVENTRING_END && e->id == ending) {
      assert_true(e->flags & EVENTRING_TORN);
      torn_ending++;
    }
    if (e->id == coming && e->kind == EVENTRING_BEGIN)
      begun_coming += e->flags == EVENTRING_SYNTHETIC;
    if (e->id == coming && e->kind == EVENTRING_END)
      matched_coming += e->flags == EVENTRING_MATCHED;
  }
  assert_int_equal(matched_lasting, 1);
  assert_int_equal(torn_ending, 2); /* a synthetic end, and an end without a span */
  assert_int_equal(begun_coming, 1);
  assert_int_equal(matched_coming, 1);
  check_matches(&log);
  clear_log(&log);
  eventring_close(cursor);
}

/* Checks more open spans than a block's header lists. */
static void very_deep_spans(void **state) {
  enum { DEPTH = 200 };
  for (int i = 0; i < DEPTH; i++)
    eventring_begin(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_INNER);
  for (int i = 0; i < 2000; i++)
    eventring_counter_double(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_RATE, i);
  eventring_cursor *cursor = open_file(own_path(), 0);
  struct log log = {0};
  poll_log(cursor, &log, 0);
  unsigned synthetic = 0;
  for (size_t i = 0; i < log.count; i++)
    synthetic += (log.seen[i].event.flags & EVENTRING_SYNTHETIC) != 0;
  assert_int_equal(synthetic, FORMAT_MAX_OPEN);
  clear_log(&log);
  for (int i = 0; i < DEPTH; i++)
    eventring_end(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_INNER);
  poll_log(cursor, &log, 0);
  assert_int_equal(log.count, DEPTH);
  for (int i = 0; i < DEPTH; i++) { /* the number is known only for the last spans */
    bool known = i < FORMAT_MAX_OPEN;
    assert_int_equal(log.seen[i].event.flags, known ? EVENTRING_MATCHED : EVENTRING_TORN);
    /* where a hidden span lies is not known */
    assert_int_equal(log.seen[i].event.depth, known ? FORMAT_MAX_OPEN - 1 - i : 0);
  }
  clear_log(&log);
  eventring_close(cursor);
}

static void largest_payload_in_smallest_ring(void **state) {
  uint8_t bytes[EVENTRING_MAX_PAYLOAD];
  memset(bytes, 7, sizeof bytes);
  eventring_cursor *cursor = open_self(EVENTRING_OPEN_NOW);
  struct log log = {0};
  for (int i = 0; i < 64; i++) eventring_user_begin(domain, T_FLOOD); /* a full stack */
  for (int i = 0; i < 100; i++)
    eventring_instant_bytes(domain, EVENTRING_USER, EVENTRING_CLASS_USER, T_DATA, bytes,
                          sizeof bytes);
  while (poll_log(cursor, &log, 0) > 0) {}
  struct eventring_ring_info info = {.size = sizeof info};
  eventring_cursor_ring(cursor, 0, EVENTRING_USER, &info);
  assert_int_equal(info.emitted, info.missed + info.delivered + info.lost);
  assert_int_equal(info.emitted, 164);
  assert_true(info.delivered >= 4);
  clear_log(&log);
  eventring_close(cursor);
}

static void pause_and_resume(void **state) {
  eventring_cursor *a = open_self(EVENTRING_OPEN_NOW);
  eventring_cursor *b = open_file(own_path(), EVENTRING_OPEN_NOW);
  struct log logs[2] = {{0}, {0}};
  eventring_user_begin(domain, T_FLOOD); /* the end of this span falls into the pause */
  assert_int_equal(eventring_pause(), EVENTRING_OK);
  assert_int_equal(eventring_state(), EVENTRING_PAUSED);
  eventring_user_end(domain, T_FLOOD);
  eventring_user_begin(domain, T_FLOOD); /* the begin of this span falls into the pause */
  assert_int_equal(eventring_pause(), EVENTRING_OK);
  assert_int_equal(eventring_resume(), EVENTRING_OK);
  assert_int_equal(eventring_state(), EVENTRING_RUNNING);
  eventring_user_end(domain, T_FLOOD);
  flood(1);
  poll_log(a, &logs[0], 0);
  poll_log(b, &logs[1], 0);
  for (int i = 0; i < 2; i++) {
    struct seen *s = logs[i].seen;
    drop_builtins(&logs[i]);
    assert_int_equal(logs[i].count, 6);
    assert_int_equal(s[0].event.kind, EVENTRING_BEGIN);
    assert_int_equal(s[1].event.flags, EVENTRING_SYNTHETIC | EVENTRING_TORN);
    assert_int_equal(s[2].event.kind, EVENTRING_END);
    assert_int_equal(s[2].event.flags, EVENTRING_TORN);
    assert_int_equal(s[5].event.flags, EVENTRING_MATCHED);
    clear_log(&logs[i]);
  }
  eventring_close(a);
  eventring_close(b);
}

/* Checks that the list in a block's header has no spans that a pause has torn. */
static void pause_before_a_late_join(void **state) {
  for (int i = 0; i < 100; i++) {
    eventring_user_begin(domain, T_FLOOD);
    eventring_pause();
    eventring_user_end(domain, T_FLOOD);
    eventring_resume();
    flood(10);
  }
  uint64_t last_pause = eventring_now();
  flood(1000);
  eventring_cursor *cursor = open_self(0);
  struct log log = {0};
  poll_log(cursor, &log, 0);
  for (size_t i = 0; i < log.count; i++)
    /* the span is open where a block begins */
    if (log.seen[i].event.flags & EVENTRING_SYNTHETIC)
      assert_true(log.seen[i].event.begin_ns >= last_pause);
  check_matches(&log);
  clear_log(&log);
  eventring_close(cursor);
}

/* Checks a span that a switch tears. 64 further entries push the switch out of the log
   before the producer reads it; a reader that has seen the switch does not take the span
   for open again. */
static void more_switches_than_the_log_holds(void **state) {
  const uint64_t user = EVENTRING_CLASS_BIT(EVENTRING_CLASS_USER);
  const uint64_t gc = EVENTRING_CLASS_BIT(EVENTRING_CLASS_GC);
  eventring_cursor *cursor = open_self(EVENTRING_OPEN_NOW);
  struct log log = {0};
  eventring_user_begin(domain, T_FLOOD);
  assert_int_equal(eventring_switch_classes(user, false), EVENTRING_OK);
  eventring_user_end(domain, T_FLOOD);
  assert_int_equal(eventring_switch_classes(user, true), EVENTRING_OK);
  eventring_user_counter(domain, T_COUNT, 1);
  assert_int_equal(poll_log(cursor, &log, 0), 2);
  assert_int_equal(log.seen[1].event.flags, EVENTRING_SYNTHETIC | EVENTRING_TORN);
  clear_log(&log);
  for (int i = 0; i < 100; i++) {
    assert_int_equal(eventring_switch_classes(gc, false), EVENTRING_OK);
    assert_int_equal(eventring_switch_classes(gc, true), EVENTRING_OK);
  }
  for (int i = 0; i < 10000; i++) eventring_user_counter(domain, T_COUNT, i);
  assert_true(poll_log(cursor, &log, 0) > 0);
  assert_true(log.lost[EVENTRING_USER] > 0);
  for (size_t i = 0; i < log.count; i++)
    assert_int_equal(log.seen[i].event.kind, EVENTRING_COUNTER);
  clear_log(&log);
  eventring_close(cursor);
}

static void classes(void **state) {
  uint64_t mask;
  eventring_cursor *cursor = open_self(EVENTRING_OPEN_NOW);
  struct log log = {0};
  assert_int_equal(eventring_get_classes(&mask), EVENTRING_OK);
  assert_false(mask & EVENTRING_CLASS_BIT(EVENTRING_CLASS_CALLS));
  eventring_begin(domain, EVENTRING_USER, EVENTRING_CLASS_CALLS, T_CALL);
  assert_int_equal(poll_log(cursor, &log, 0), 0);
  eventring_switch_classes(EVENTRING_CLASS_BIT(EVENTRING_CLASS_CALLS), true);
  eventring_begin(domain, EVENTRING_USER, EVENTRING_CLASS_CALLS, T_CALL);
  assert_int_equal(poll_log(cursor, &log, 0), 1);
  assert_int_equal(log.seen[0].event.event_class, EVENTRING_CLASS_CALLS);
  clear_log(&log);
  eventring_close(cursor);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
      TEST(lapped_through_the_mapping),
      TEST(lapped_through_the_file),
      TEST(lapped_first_through_the_mapping),
      TEST(lapped_first_through_the_file),
      TEST(wrapped_and_read_late),
      TEST(late_join_sees_open_spans),
      TEST(joining_now_skips_the_past),
      TEST(spans_across_a_loss),
      TEST(very_deep_spans),
      TEST(largest_payload_in_smallest_ring),
      TEST(pause_and_resume),
      TEST(pause_before_a_late_join),
      TEST(more_switches_than_the_log_holds),
      TEST(classes),
#undef TEST
  };
  register_test_events();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
