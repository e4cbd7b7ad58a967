/* SPDX-License-Identifier: MIT */
/* eventring_contexts_test.c: contexts end to end: spans of several flows of control in
 * one ring, for how long they were suspended, and what a reader knows of them if it joins
 * late or has lost a part. */
#include "eventring_common.h"

#include "draw.h"

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

static void enter(uint64_t context) { eventring_set_context(domain, EVENTRING_USER, context); }
static void begin(uint64_t context, unsigned id) {
  enter(context);
  eventring_user_begin(domain, id);
}
static void end(uint64_t context, unsigned id) {
  enter(context);
  eventring_user_end(domain, id);
}
static void leave(uint64_t context) {
  eventring_suspend(domain, EVENTRING_USER, EVENTRING_CLASS_USER, context);
}
static void go_on(uint64_t context) {
  eventring_resume_context(domain, EVENTRING_USER, EVENTRING_CLASS_USER, context);
}
static void count(uint64_t context) {
  enter(context);
  eventring_user_counter(domain, T_COUNT, (int64_t)context);
}

/* ---- What the file says of suspensions -------------------------------------------- */

/* Returns the ticks for which a context was suspended, in the first block of the user
   ring. Events of the context end a suspension, as a resume does. */
static uint64_t suspended_ticks(uint64_t context) {
  uint64_t words[FORMAT_BLOCK_WORDS], since = 0, sum = 0;
  FILE *file = fopen(own_path(), "rb");
  assert_non_null(file);
  fseek(file, (long)ring_block_offset(own_path(), 0, EVENTRING_USER, 1), SEEK_SET);
  assert_int_equal(fread(words, sizeof words, 1, file), 1);
  fclose(file);
  const struct format_block *h = (const struct format_block *)words;
  struct format_position position = {h->base_ticks, h->context, h->incarnation};
  for (unsigned at = FORMAT_BLOCK_HEADER_WORDS; at < FORMAT_BLOCK_WORDS && words[at];
       at += 1 + word_length(words[at])) {
    uint64_t ticks = word_ticks(words[at], position.base), of = position.context;
    bool event = word_is_event(words[at]), suspends = false;
    if (!event) {
      of = format_apply_remark(words + at, words + FORMAT_BLOCK_WORDS, &position);
      suspends = word_id(words[at]) == FORMAT_REMARK_SUSPEND;
      if (!suspends && word_id(words[at]) != FORMAT_REMARK_RESUME) continue;
    }
    if (of != context) continue;
    if (suspends && !since) since = ticks;
    if (suspends || !since) continue;
    sum += ticks - since;
    since = 0;
  }
  return sum;
}

static uint64_t suspended_ns(eventring_cursor *cursor, uint64_t context) {
  struct eventring_info info = {.size = sizeof info};
  assert_int_equal(eventring_cursor_info(cursor, &info), EVENTRING_OK);
  return (uint64_t)((double)suspended_ticks(context) * 1e9 / info.clock_hz);
}

static void assert_about(uint64_t ns, uint64_t expected) {
  uint64_t slack = 2 + expected / 1000; /* the rate may have been refined since */
  assert_in_range(ns, expected > slack ? expected - slack : 0, expected + slack);
}

/* ---- Two contexts ----------------------------------------------------------------- */

static struct eventring_event *nth(struct log *log, unsigned kind, unsigned n) {
  for (size_t i = 0; i < log->count; i++)
    if (log->seen[i].event.kind == kind && log->seen[i].event.ring == EVENTRING_USER && n-- == 0)
      return &log->seen[i].event;
  fail_msg("no such event");
  return NULL;
}

/* Checks spans of one name that overlap without one being inside the other. */
static void overlapping_spans_of_one_name(void **state) {
  struct log log = {0};
  begin(1, T_FLOOD);
  leave(1);
  begin(2, T_FLOOD);
  usleep(2000);
  leave(2);
  go_on(1);
  usleep(1000);
  end(1, T_FLOOD);
  usleep(1000);
  go_on(2);
  end(2, T_FLOOD);
  eventring_cursor *cursor = open_self(0);
  poll_log(cursor, &log, 0);
  for (unsigned n = 0; n < 2; n++) {
    const struct eventring_event *b = nth(&log, EVENTRING_BEGIN, n),
                                 *e = nth(&log, EVENTRING_END, n);
    assert_int_equal(b->context, n + 1);
    assert_int_equal(e->context, n + 1);
    assert_int_equal(e->flags, EVENTRING_MATCHED);
    assert_int_equal(e->begin_ns, b->ns);
    assert_int_equal(b->depth, 0);
    assert_int_equal(e->depth, 0);
    assert_int_equal(b->suspended_ns, 0);
    assert_true(e->suspended_ns >= 2000000 && e->suspended_ns < e->ns - e->begin_ns);
    assert_about(e->suspended_ns, suspended_ns(cursor, n + 1));
  }
  clear_log(&log);
  eventring_close(cursor);
}

/* Checks that an event of a context that was left ends its suspension. */
static void an_event_ends_a_suspension(void **state) {
  struct log log = {0};
  begin(5, T_FLOOD);
  leave(5);
  count(6);
  usleep(1000);
  count(5);
  usleep(3000);
  count(6);
  end(5, T_FLOOD);
  eventring_cursor *cursor = open_file(own_path(), 0);
  poll_log(cursor, &log, 0);
  const struct eventring_event *e = nth(&log, EVENTRING_END, 0);
  assert_int_equal(e->flags, EVENTRING_MATCHED);
  assert_true(e->suspended_ns >= 1000000 && e->ns - e->begin_ns - e->suspended_ns >= 3000000);
  assert_about(e->suspended_ns, suspended_ns(cursor, 5));
  clear_log(&log);
  eventring_close(cursor);
}

/* Checks that a span inside another counts a suspension only from its own begin on, and
   that without open spans nothing is noted. */
static void inner_spans_stand_still_for_their_part(void **state) {
  struct log log = {0};
  leave(7); /* nothing is open */
  usleep(1000);
  begin(7, T_FLOOD);
  leave(7);
  usleep(1000);
  go_on(7);
  begin(7, T_POINT);
  leave(7);
  usleep(2000);
  go_on(7);
  end(7, T_POINT);
  begin(7, T_POINT);
  end(7, T_POINT);
  end(7, T_FLOOD);
  eventring_cursor *cursor = open_self(0);
  poll_log(cursor, &log, 0);
  const struct eventring_event *inner = nth(&log, EVENTRING_END, 0),
                               *leaf = nth(&log, EVENTRING_END, 1),
                               *outer = nth(&log, EVENTRING_END, 2);
  assert_true(inner->suspended_ns >= 2000000);
  assert_int_equal(leaf->suspended_ns, 0);
  assert_true(outer->suspended_ns >= inner->suspended_ns + 1000000);
  assert_int_equal(inner->depth, 1);
  clear_log(&log);
  eventring_close(cursor);
}

/* ---- Anything, and readers that come late or lose --------------------------------- */

enum { CONTEXTS = 12, DEPTH = 4 };

static struct flow {
  unsigned depth;
  unsigned id[DEPTH];
  bool left;
} flows[CONTEXTS];

/* Takes a random step: spans nest and overlap, contexts come and go; sometimes a context
   is left and goes on without a resume. */
static void do_something(void) {
  static const unsigned ids[] = {T_FLOOD, T_CALL, T_OUTER};
  uint64_t context = draw(CONTEXTS);
  struct flow *f = &flows[context];
  if (draw(3) == 0) {
    if (f->left) go_on(context);
    else leave(context);
    f->left = !f->left;
  } else if (f->depth < DEPTH && draw(2)) {
    f->left = false;
    begin(context, f->id[f->depth++] = ids[draw(3)]);
  } else if (f->depth && draw(4)) {
    f->left = false;
    unsigned at = draw(f->depth), id = f->id[at];
    end(context, id);
    for (at = f->depth; f->id[at - 1] != id;) at--; /* the innermost of that id */
    for (f->depth--, at--; at < f->depth; at++) f->id[at] = f->id[at + 1];
  } else {
    f->left = false;
    count(context);
  }
}

/* Checks that all ends that are in both logs are equal in all fields. */
static void compare_ends(const struct log *all, const struct log *part) {
  size_t at = 0, compared = 0;
  for (size_t i = 0; i < part->count; i++) {
    const struct eventring_event *e = &part->seen[i].event;
    if (e->kind != EVENTRING_END || e->flags & EVENTRING_SYNTHETIC || e->ring != EVENTRING_USER)
      continue;
    const struct eventring_event *a;
    do {
      assert_true(at < all->count);
      a = &all->seen[at++].event;
    } while (a->kind != EVENTRING_END || a->ns != e->ns || a->context != e->context ||
             a->id != e->id);
    assert_int_equal(e->flags, EVENTRING_MATCHED);
    assert_int_equal(a->flags, EVENTRING_MATCHED);
    assert_int_equal(e->begin_ns, a->begin_ns);
    assert_int_equal(e->depth, a->depth);
    /* the sums of ticks are equal, but are converted at the rate of the moment */
    uint64_t apart = e->suspended_ns > a->suspended_ns ? e->suspended_ns - a->suspended_ns
                                                       : a->suspended_ns - e->suspended_ns;
    assert_true(apart <= 1);
    compared++;
  }
  assert_true(compared > 20);
}

static void late_and_lossy_readers_agree(unsigned flags) {
  struct log all = {0};
  memset(flows, 0, sizeof flows);
  eventring_cursor *first = open_file(own_path(), flags), *lossy = open_self(flags);
  struct log part = {0};
  for (int round = 0; round < 60; round++) {
    for (int i = 0; i < 4000; i++) {
      do_something();
      if (i % 100 == 0) poll_log(first, &all, 0);
    }
    poll_log(first, &all, 0);
    poll_log(lossy, &part, 0); /* this cursor has lost most events */
    assert_true(round == 0 || part.lost[EVENTRING_USER] > 0 || part.before[EVENTRING_USER] > 0);
    struct log late = {0};
    eventring_cursor *cursor =
        open_file(own_path(), flags | (round % 2 ? EVENTRING_OPEN_UNMAPPED : 0));
    poll_log(cursor, &late, 0);
    for (int i = 0; i < 50; i++) do_something();
    poll_log(cursor, &late, 0);
    poll_log(first, &all, 0);
    compare_ends(&all, &late);
    clear_log(&late);
    eventring_close(cursor);
    cursor = open_self(flags | EVENTRING_OPEN_NOW);
    for (int i = 0; i < 200; i++) do_something();
    poll_log(cursor, &late, 0);
    poll_log(first, &all, 0);
    compare_ends(&all, &late);
    clear_log(&late);
    eventring_close(cursor);
  }
  compare_ends(&all, &part);
  for (int i = 0; i < EVENTRING_RINGS; i++) assert_int_equal(all.lost[i], 0);
  struct eventring_totals totals = {.size = sizeof totals};
  eventring_cursor_totals(first, &totals);
  assert_int_equal(totals.torn, 0);
  clear_log(&all);
  clear_log(&part);
  eventring_close(first);
  eventring_close(lossy);
}

static void late_and_lossy_readers(void **state) {
  late_and_lossy_readers_agree(0);
}
static void late_and_lossy_readers_merged(void **state) {
  late_and_lossy_readers_agree(EVENTRING_OPEN_MERGED);
}

/* Checks that a cursor that joins now gets the open spans of all contexts. */
static void open_spans_of_all_contexts(void **state) {
  struct log log = {0};
  for (uint64_t context = 1; context <= 50; context++) begin(context * 1000003, T_FLOOD);
  eventring_cursor *cursor = open_self(EVENTRING_OPEN_NOW);
  poll_log(cursor, &log, 0);
  uint64_t seen = 0;
  for (size_t i = 0; i < log.count; i++) {
    const struct eventring_event *e = &log.seen[i].event;
    assert_int_equal(e->flags, EVENTRING_SYNTHETIC);
    assert_int_equal(e->context % 1000003, 0);
    assert_int_equal(e->depth, 0);
    seen |= (uint64_t)1 << (e->context / 1000003);
  }
  assert_int_equal(log.count, 50);
  assert_int_equal(seen, ((uint64_t)1 << 51) - 2);
  clear_log(&log);
  assert_int_equal(eventring_open_spans(cursor, log_event, &log), EVENTRING_OK);
  assert_int_equal(log.count, 50);
  clear_log(&log);
  eventring_close(cursor);
}

struct switches {
  struct eventring_switch seen[8];
  unsigned count;
  uint64_t newest_ns; /* time of the newest event */
};

static int on_switch(void *context, const struct eventring_switch *change) {
  struct switches *switches = context;
  assert_true(change->ns >= switches->newest_ns);
  if (switches->count < 8) switches->seen[switches->count++] = *change;
  return 0;
}

static int on_event_between(void *context, const struct eventring_event *event) {
  struct switches *switches = context;
  if (switches->count) assert_true(event->ns >= switches->seen[switches->count - 1].ns);
  switches->newest_ns = event->ns;
  return 0;
}

/* Checks that switches are delivered in their place among the events, only for contexts
   with open spans, and only on request. */
static void switches_are_delivered(void **state) {
  const struct eventring_callbacks callbacks = {sizeof callbacks, on_event_between, NULL};
  struct switches switches = {0};
  begin(5, T_FLOOD);
  leave(5);
  leave(6); /* context 6 has no spans */
  count(6);
  go_on(5);
  end(5, T_FLOOD);
  leave(5);
  eventring_cursor *cursor = open_self(EVENTRING_OPEN_MERGED);
  assert_int_equal(eventring_cursor_switches(cursor, on_switch, &switches), EVENTRING_OK);
  assert_int_equal(eventring_poll(cursor, &callbacks, &switches, 0) > 0, 1);
  assert_int_equal(switches.count, 2);
  for (unsigned i = 0; i < 2; i++) {
    assert_int_equal(switches.seen[i].context, 5);
    assert_int_equal(switches.seen[i].resumed, i);
    assert_int_equal(switches.seen[i].ring, EVENTRING_USER);
    assert_int_equal(switches.seen[i].incarnation, 1);
  }
  assert_int_equal(eventring_cursor_switches(cursor, NULL, NULL), EVENTRING_E_STATE);
  assert_int_equal(eventring_cursor_select(cursor, 0), EVENTRING_E_STATE);
  eventring_close(cursor);
}

/* Checks that only the rings that were chosen are read. */
static void some_rings_only(void **state) {
  struct log log = {0};
  begin(0, T_FLOOD);
  end(0, T_FLOOD);
  eventring_cursor *cursor = open_self(0);
  assert_int_equal(eventring_cursor_select(cursor, 1u << EVENTRING_RINGS), EVENTRING_E_ARGUMENT);
  assert_int_equal(eventring_cursor_select(cursor, 1u << EVENTRING_USER), EVENTRING_OK);
  poll_log(cursor, &log, 0);
  assert_int_equal(log.count, 2);
  count(0);
  clear_log(&log);
  poll_log(cursor, &log, 0);
  assert_int_equal(log.count, 1);
  clear_log(&log);
  eventring_close(cursor);
  cursor = open_self(0);
  assert_int_equal(eventring_cursor_select(cursor, 1u << EVENTRING_RUNTIME), EVENTRING_OK);
  poll_log(cursor, &log, 0);
  for (size_t i = 0; i < log.count; i++)
    assert_int_equal(log.seen[i].event.ring, EVENTRING_RUNTIME);
  clear_log(&log);
  eventring_close(cursor);
}

/* Checks that the next domain of the slot begins in context 0. */
static void contexts_end_with_their_domain(void **state) {
  struct log log = {0};
  begin(9, T_FLOOD);
  eventring_domain_stop(domain);
  domain = start_domain("next");
  eventring_user_counter(domain, T_COUNT, 1);
  eventring_cursor *cursor = open_self(0);
  poll_log(cursor, &log, 0);
  assert_int_equal(nth(&log, EVENTRING_COUNTER, 0)->context, 0);
  assert_int_equal(nth(&log, EVENTRING_COUNTER, 0)->incarnation, 2);
  const struct eventring_event *torn = nth(&log, EVENTRING_END, 0);
  assert_int_equal(torn->flags, EVENTRING_SYNTHETIC | EVENTRING_TORN);
  assert_int_equal(torn->context, 9);
  assert_int_equal(torn->incarnation, 1);
  clear_log(&log);
  eventring_close(cursor);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
      TEST(overlapping_spans_of_one_name),
      TEST(an_event_ends_a_suspension),
      TEST(inner_spans_stand_still_for_their_part),
      TEST(late_and_lossy_readers),
      TEST(late_and_lossy_readers_merged),
      TEST(open_spans_of_all_contexts),
      TEST(contexts_end_with_their_domain),
      TEST(switches_are_delivered),
      TEST(some_rings_only),
#undef TEST
  };
  register_test_events();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
