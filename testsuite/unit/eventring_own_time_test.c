/* SPDX-License-Identifier: MIT */
/* eventring_own_time_test.c: how much of a span's time is its own. Compares the own times
   in events and batches with the times computed from the delivered begins and ends. */
#include "eventring/tools.h"
#include "eventring_common.h"

#include "draw.h"

enum { CONTEXTS = 4, MOST_DEPTH = 64 };

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

/* ---- What is expected ------------------------------------------------------------- */

struct open { /* an open span; `within` is the ns of the spans directly within it */
  uint64_t within;
  bool seen;
};

struct model {
  struct open open[CONTEXTS + 1][MOST_DEPTH];
  uint32_t depth[CONTEXTS + 1];
  uint64_t known, unknown; /* number of ends whose span's own time is known, and is not
                              known */
};

/* Checks an end. No span is suspended here, and each end belongs to the innermost span of
   its context. */
static void expect_end(struct model *model, const struct eventring_event *event) {
  struct open *open = model->open[event->context];
  const int64_t took = eventring_event_took(event), own = eventring_event_own(event);
  const uint32_t depth = event->depth;
  const bool known = took >= 0 && depth < model->depth[event->context] && open[depth].seen;
  assert_int_equal(took,
                   event->flags & EVENTRING_TORN ? -1 : (int64_t)(event->ns - event->begin_ns));
  assert_int_equal(own, known ? took - (int64_t)open[depth].within : -1);
  model->known += own >= 0;
  model->unknown += own < 0;
  if (depth > 0 && took >= 0) open[depth - 1].within += (uint64_t)took;
  if (depth > 0 && took < 0) open[depth - 1].seen = false;
  model->depth[event->context] = depth;
}

static int take_event(void *context, const struct eventring_event *event) {
  struct model *model = context;
  if (event->ring != EVENTRING_USER || event->kind > EVENTRING_END) {
    assert_int_equal(event->within_ns, 0);
    return 0;
  }
  assert_in_range(event->context, 0, CONTEXTS);
  assert_in_range(event->depth, 0, MOST_DEPTH - 1);
  if (event->kind == EVENTRING_END) {
    expect_end(model, event);
  } else {
    assert_int_equal(event->within_ns, 0);
    assert_int_equal(eventring_event_own(event), -1);
    model->open[event->context][event->depth] =
        (struct open){.seen = !(event->flags & EVENTRING_SYNTHETIC)};
    model->depth[event->context] = event->depth + 1;
  }
  return 0;
}

static int take_loss(void *context, const struct eventring_loss *loss) {
  struct model *model = context;
  if (loss->ring != EVENTRING_USER) return 0;
  for (int c = 0; c <= CONTEXTS; c++)
    for (int depth = 0; depth < MOST_DEPTH; depth++) model->open[c][depth].seen = false;
  return 0;
}

static int take_batch(void *context, const struct eventring_batch *batch) {
  return eventring_batch_each(batch, take_event, context);
}

static const struct eventring_callbacks taking = {sizeof taking, take_event, take_loss};

/* ---- Recordings ------------------------------------------------------------------- */

struct writer {
  uint16_t open[CONTEXTS + 1][MOST_DEPTH];
  uint32_t depth[CONTEXTS + 1];
};

/* Writes begins and ends at random, many of them leaves, in several contexts, or in the
   first context only, for which readers decode more at once. With `others`, there are
   counters between them. */
static void write_spans(struct writer *w, int steps, bool others, unsigned contexts) {
  static const uint16_t ids[] = {T_OUTER, T_INNER, T_FLOOD};
  uint64_t context = 0;
  if (contexts) eventring_set_context(domain, EVENTRING_USER, context);
  for (int i = 0; i < steps; i++) {
    if (contexts && draw(16) == 0) {
      context = draw(contexts + 1);
      eventring_set_context(domain, EVENTRING_USER, context);
    }
    uint32_t *depth = &w->depth[context];
    if (others && draw(8) == 0) eventring_user_counter(domain, T_COUNT, i);
    if (*depth > 0 && (*depth > 20 || draw(2) == 0)) {
      eventring_user_end(domain, w->open[context][--*depth]);
    } else {
      uint16_t id = ids[draw(3)];
      w->open[context][(*depth)++] = id;
      eventring_user_begin(domain, id);
    }
  }
}

static void end_all(struct writer *w, unsigned contexts) {
  for (uint64_t context = 0; context <= contexts; context++) {
    if (contexts) eventring_set_context(domain, EVENTRING_USER, context);
    while (w->depth[context] > 0)
      eventring_user_end(domain, w->open[context][--w->depth[context]]);
  }
  if (contexts) eventring_set_context(domain, EVENTRING_USER, 0);
}

/* Compares the own times in a random recording with the model's. `room` is the number of
   events between polls; if the ring holds fewer, some are lost. */
static void compare(uint64_t seed, int room, bool batches, bool others, unsigned contexts) {
  random_state = seed;
  struct writer writer = {0};
  struct model model = {0};
  eventring_cursor *cursor = open_self(0);
  if (batches)
    assert_int_equal(
        eventring_cursor_batches(cursor, seed % 2 ? EVENTRING_BATCH_ALL : 0, take_batch, &model),
        EVENTRING_OK);
  for (int round = 0; round < 40; round++) {
    write_spans(&writer, room, others, contexts);
    assert_true(eventring_poll(cursor, &taking, &model, round % 3 ? 0 : 100) >= 0);
  }
  assert_true(model.known > 100);
  end_all(&writer, contexts);
  eventring_close(cursor);
}

static void what_ran_within_is_not_own(void **state) {
  for (int i = 0; i < 8; i++) compare(1 + (uint64_t)i, 300, i & 1, i & 2, i & 4 ? CONTEXTS : 0);
}

static void losses_hide_it(void **state) {
  for (int i = 0; i < 8; i++) compare(11 + (uint64_t)i, 30000, i & 1, i & 2, i & 4 ? CONTEXTS : 0);
}

/* ---- Depths in a batch ------------------------------------------------------------ */

struct depths {
  const struct eventring_brief *ended;
  /* Spans that began in the batch, and the greatest depth so far. */
  uint32_t open, deepest;
};

static int follow_depth(void *context, const struct eventring_event *event) {
  struct depths *depths = context;
  if (event->kind == EVENTRING_BEGIN) {
    depths->open++;
    return 0;
  }
  const struct eventring_brief *ended = depths->ended++;
  assert_int_equal(ended->began_before, depths->open == 0);
  if (depths->open) depths->open--;
  assert_int_equal(ended->depth, depths->open);
  if (ended->depth > depths->deepest) depths->deepest = ended->depth;
  return 0;
}

static int take_depths(void *context, const struct eventring_batch *batch) {
  struct depths *depths = context;
  depths->ended = batch->ended;
  depths->open = 0;
  const int status = eventring_batch_each(batch, follow_depth, depths);
  assert_int_equal(depths->open, batch->opened_count);
  for (size_t i = 0; i < batch->opened_count; i++) assert_int_equal(batch->opened[i].depth, i);
  return status;
}

static int ignore_event(void *context, const struct eventring_event *event) {
  (void)context, (void)event;
  return 0;
}

/* Checks spans that nest as deep as a batch can express, and deeper. */
static void batches_say_depths(void **state) {
  static const struct eventring_callbacks none = {sizeof none, ignore_event, NULL};
  struct depths depths = {0};
  eventring_cursor *cursor = open_self(0);
  assert_int_equal(eventring_cursor_batches(cursor, 0, take_depths, &depths), EVENTRING_OK);
  for (uint32_t deep = 225; deep <= 300; deep++) {
    for (uint32_t i = 0; i < deep; i++) eventring_user_begin(domain, T_OUTER);
    for (uint32_t i = 0; i < deep; i++) eventring_user_end(domain, T_OUTER);
    assert_true(eventring_poll(cursor, &none, NULL, 0) >= 0);
  }
  assert_int_equal(depths.deepest, UINT8_MAX);
  eventring_close(cursor);
}

/* Checks a span that lies in a span of another name and outlasts it: time is attributed
   by depth, so that no time is the own time of two spans. */
static void times_of_crossing_spans_are_disjoint(void **state) {
  struct log log = {0};
  eventring_user_begin(domain, T_OUTER);
  eventring_user_begin(domain, T_INNER);
  eventring_user_end(domain, T_OUTER);
  eventring_user_end(domain, T_INNER);
  eventring_cursor *cursor = open_self(0);
  poll_log(cursor, &log, 0);
  const struct eventring_event *outer = NULL, *inner = NULL;
  for (size_t i = 0; i < log.count; i++) {
    const struct eventring_event *event = &log.seen[i].event;
    if (event->kind == EVENTRING_END && event->id == T_OUTER) outer = event;
    if (event->kind == EVENTRING_END && event->id == T_INNER) inner = event;
  }
  assert_non_null(outer);
  assert_non_null(inner);
  assert_int_equal(eventring_event_own(outer), eventring_event_took(outer));
  assert_int_equal(inner->within_ns, eventring_event_took(outer));
  clear_log(&log);
  eventring_close(cursor);
}

int main(void) {
  register_test_events();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(what_ran_within_is_not_own, set_up, tear_down),
      cmocka_unit_test_setup_teardown(losses_hide_it, set_up, tear_down),
      cmocka_unit_test_setup_teardown(batches_say_depths, set_up, tear_down),
      cmocka_unit_test_setup_teardown(times_of_crossing_spans_are_disjoint, set_up, tear_down)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
