/* SPDX-License-Identifier: MIT */
/* tally_test.c: the statistics of the `eventring` command on made-up events: quantiles,
 * the clock of time in the collector across losses, pauses and torn spans, begins and
 * ends of async spans, and the domains that used a slot in turn. */
#include <stdlib.h>

#include "../unit/cases.h"
#include "analysis/figures.h"
#include "analysis/gc_clock.h"
#include "analysis/histogram.h"
#include "analysis/links.h"
#include "analysis/shares.h"
#include "analysis/tally_lives.h"

/* ---- Histogram ----------------------------------------------------------- */

static uint64_t random_state = 88172645463325252;

static uint64_t random_word(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}

static int ascending(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static uint64_t true_quantile(const uint64_t *sorted, size_t count, uint32_t q) {
  size_t rank = (count * (size_t)q + 99999) / 100000;
  return sorted[rank == 0 ? 0 : rank - 1];
}

/* Checks durations of every size, from 0 to the whole of 64 bits. */
static void quantiles_are_within_their_bound(void **state) {
  enum { COUNT = 5000 };
  static uint64_t values[COUNT];
  for (unsigned bits = 1; bits <= 64; bits++) {
    struct eva_histogram histogram = {0};
    for (size_t i = 0; i < COUNT; i++) {
      values[i] = random_word() >> (64 - bits) >> random_word() % 8;
      eva_histogram_add(&histogram, values[i]);
    }
    qsort(values, COUNT, sizeof *values, ascending);
    assert_int_equal(histogram.min, values[0]);
    assert_int_equal(histogram.max, values[COUNT - 1]);
    for (uint32_t q = 0; q <= 100000; q += 100) {
      uint64_t truth = true_quantile(values, COUNT, q);
      uint64_t shown = eva_histogram_quantile(&histogram, q);
      uint64_t error = shown > truth ? shown - truth : truth - shown;
      assert_true(error <= truth / 256);
    }
    eva_histogram_free(&histogram);
  }
}

static void merged_is_added(void **state) {
  struct eva_histogram all = {0}, part[2] = {{0}, {0}};
  for (int i = 0; i < 1000; i++) {
    uint64_t value = random_word() >> 20;
    eva_histogram_add(&all, value);
    eva_histogram_add(&part[i % 2], value);
  }
  eva_histogram_merge(&part[0], &part[1]);
  assert_int_equal(part[0].count, all.count);
  assert_int_equal(part[0].total, all.total);
  assert_int_equal(part[0].min, all.min);
  assert_int_equal(part[0].max, all.max);
  for (uint32_t q = 0; q <= 100000; q += 1000)
    assert_int_equal(eva_histogram_quantile(&part[0], q), eva_histogram_quantile(&all, q));
  eva_histogram_free(&all);
  eva_histogram_free(&part[0]);
  eva_histogram_free(&part[1]);
}

static void is_equal(const struct eva_histogram *a, const struct eva_histogram *b) {
  assert_true(a->count == b->count && a->total == b->total && a->min == b->min && a->max == b->max);
  for (uint32_t q = 0; q <= 100000; q += 1000)
    assert_int_equal(eva_histogram_quantile(a, q), eva_histogram_quantile(b, q));
}

/* Checks that a histogram that borrows from two others has their sum, and that these two
   stay as they were. */
static void borrowed_is_added(void **state) {
  struct eva_histogram all = {0}, part[2] = {{0}, {0}}, like[2] = {{0}, {0}}, sum = {0};
  for (int i = 0; i < 1000; i++) {
    const uint64_t value = random_word() >> (i % 2 ? 20 : 22);
    eva_histogram_add(&all, value);
    eva_histogram_add(&part[i % 2], value);
    eva_histogram_add(&like[i % 2], value);
  }
  for (int i = 0; i < 2; i++) assert_int_equal(eva_histogram_borrow(&sum, &part[i]), 0);
  assert_true(sum.borrowed != 0);
  is_equal(&sum, &all);
  assert_int_equal(eva_histogram_merge(&sum, &part[0]), 0);
  assert_int_equal(sum.count, all.count + part[0].count);
  eva_histogram_free(&sum);
  for (int i = 0; i < 2; i++) is_equal(&part[i], &like[i]);
  for (int i = 0; i < 2; i++) eva_histogram_free(&part[i]), eva_histogram_free(&like[i]);
  eva_histogram_free(&all);
}

/* Checks a bucket that gets more values than its word can count. */
static void a_bucket_counts_beyond_its_word(void **state) {
  struct eva_histogram one = {0}, sum = {0};
  assert_int_equal(eva_histogram_add(&one, 5), 0);
  one.octaves[0][5] = UINT32_MAX;
  one.count = UINT32_MAX;
  for (int i = 0; i < 3; i++) assert_int_equal(eva_histogram_add(&one, 5), 0);
  assert_int_equal(eva_histogram_at(&one, 0, 5), (uint64_t)UINT32_MAX + 3);
  assert_int_equal(eva_histogram_add(&one, 9), 0);
  assert_int_equal(eva_histogram_quantile(&one, 99999), 5);
  for (int i = 0; i < 2; i++) assert_int_equal(eva_histogram_borrow(&sum, &one), 0);
  assert_int_equal(eva_histogram_at(&sum, 0, 5), 2 * ((uint64_t)UINT32_MAX + 3));
  assert_int_equal(eva_histogram_at(&sum, 0, 9), 2);
  eva_histogram_free(&sum);
  one.carried[5] = 0; /* as before the first carry */
  one.octaves[0][5] = UINT32_MAX;
  one.count = UINT32_MAX;
  for (int i = 0; i < 2; i++) assert_int_equal(eva_histogram_merge(&sum, &one), 0);
  assert_int_equal(eva_histogram_at(&sum, 0, 5), 2 * (uint64_t)UINT32_MAX);
  eva_histogram_free(&sum);
  eva_histogram_free(&one);
}

static void an_empty_one_is_zero(void **state) {
  struct eva_histogram histogram = {0};
  assert_int_equal(eva_histogram_quantile(&histogram, 50000), 0);
  assert_int_equal(eva_histogram_mean(&histogram), 0);
}

/* ---- Clock --------------------------------------------------------------- */

static struct eva_gc_clock clock_;
static uint64_t begun[8];
static uint32_t depth;

static void feed(uint8_t kind, uint8_t event_class, uint64_t ns, uint16_t flags) {
  struct eventring_event event = {.ns = ns, .kind = kind, .flags = flags,
                                  .event_class = event_class, .incarnation = 1};
  if (kind == EVENTRING_BEGIN) begun[depth] = ns, event.depth = depth++;
  if (kind == EVENTRING_END) event.depth = --depth, event.begin_ns = begun[depth];
  eva_gc_clock_event(&clock_, &event);
}

static void begin(uint8_t event_class, uint64_t ns) {
  feed(EVENTRING_BEGIN, event_class, ns, 0);
}

static void end(uint8_t event_class, uint64_t ns) {
  feed(EVENTRING_END, event_class, ns, EVENTRING_MATCHED);
}

static void lose(uint64_t ns) {
  struct eventring_loss loss = {.ns = ns, .incarnation = 1, .count = 1};
  eva_gc_clock_lost(&clock_, &loss);
}

static void expect(uint64_t watched, uint64_t in_gc) {
  assert_int_equal(clock_.watched, watched);
  assert_int_equal(clock_.times.in_gc, in_gc);
}

static int fresh(void **state) {
  clock_ = (struct eva_gc_clock){0};
  depth = 0;
  return 0;
}

enum {
  GC = EVENTRING_CLASS_GC,
  LOAD = EVENTRING_CLASS_LOAD,
  FINALIZERS = EVENTRING_CLASS_FINALIZERS
};

static void nested_spans_count_once(void **state) {
  begin(GC, 100);
  begin(GC, 110);
  end(GC, 120);
  end(GC, 150);
  begin(LOAD, 200);
  begin(GC, 210); /* top level, since the enclosing span is not gc */
  end(GC, 220);
  end(LOAD, 300);
  eva_gc_clock_stop(&clock_, 400);
  expect(300, 60);
}

/* Checks a host that collects in a finalizer, and runs finalizers in a collection. */
static void finalizers_count_apart(void **state) {
  begin(FINALIZERS, 100);
  begin(GC, 110);
  end(GC, 120);
  begin(FINALIZERS, 130);
  end(FINALIZERS, 140);
  end(FINALIZERS, 200);
  begin(GC, 300);
  begin(FINALIZERS, 310);
  end(FINALIZERS, 350);
  end(GC, 400);
  begin(FINALIZERS, 400);
  eva_gc_clock_stop(&clock_, 500); /* the span is open at the end */
  expect(400, 10 + 100);
  assert_int_equal(clock_.times.in_finalizers, 100 + 40 + 100);
}

/* Checks spans whose ends say for how long the thread was not on a processor. */
static void cpu_time_is_what_was_not_off(void **state) {
  const struct eventring_def measured = {.measure = EVENTRING_OFF_CPU, .name = "step"};
  struct eventring_event event = {.kind = EVENTRING_BEGIN, .event_class = GC, .ns = 100,
                                  .incarnation = 1, .def = &measured, .name = "step"};
  uint64_t cpu;
  eva_gc_clock_event(&clock_, &event);
  event.depth = 1; /* a nested span, whose time counts in the outer one */
  eva_gc_clock_event(&clock_, &event);
  event.kind = EVENTRING_END, event.flags = EVENTRING_MATCHED, event.begin_ns = 100;
  event.ns = 150, event.payload = EVENTRING_UINT, event.value.u = 20;
  eva_gc_clock_event(&clock_, &event);
  event.depth = 0, event.ns = 200, event.value.u = 30;
  eva_gc_clock_event(&clock_, &event);
  const struct eventring_def def = {.name = "away", .quantity = EVENTRING_QUANTITY_OFF_CPU};
  struct eventring_event counter = {.kind = EVENTRING_COUNTER, .event_class = GC, .ns = 400,
                                    .incarnation = 1, .payload = EVENTRING_INT,
                                    .value.i = 120, .def = &def};
  eva_gc_clock_event(&clock_, &counter);
  counter.ns = 500, counter.value.i = 1000; /* more than has been watched */
  eva_gc_clock_event(&clock_, &counter);
  eva_gc_clock_stop(&clock_, 1000);
  expect(900, 100);
  assert_true(eva_gc_times_cpu(&clock_.times, &cpu));
  assert_int_equal(cpu, 70);
  assert_int_equal(eva_gc_times_on_cpu(&clock_.times, 900), 900 - 30 - 120 - 400);
}

static void one_that_does_not_say_hides_it(void **state) {
  uint64_t cpu;
  begin(GC, 100);
  end(GC, 150);
  eva_gc_clock_stop(&clock_, 200);
  assert_false(eva_gc_times_cpu(&clock_.times, &cpu));
}

static void a_gap_belongs_to_neither(void **state) {
  begin(LOAD, 100);
  end(LOAD, 200);
  lose(1000);
  begin(GC, 1100);
  end(GC, 1150);
  eva_gc_clock_stop(&clock_, 1200);
  expect(100 + 200, 50);
}

static void a_collection_across_a_gap_counts_where_it_was_seen(void **state) {
  begin(GC, 100);
  begin(GC, 150);
  lose(1000); /* the outer span goes on, as the reader knows from the block */
  end(GC, 1010);
  end(GC, 1030);
  eva_gc_clock_stop(&clock_, 1100);
  expect(50 + 100, 50 + 30);
}

static void a_torn_collection_counts_up_to_the_gap(void **state) {
  begin(GC, 100);
  begin(GC, 150);
  lose(1000);
  feed(EVENTRING_END, GC, 1000, EVENTRING_TORN | EVENTRING_SYNTHETIC);
  feed(EVENTRING_END, GC, 1000, EVENTRING_TORN | EVENTRING_SYNTHETIC);
  begin(LOAD, 1050);
  eva_gc_clock_stop(&clock_, 1100);
  expect(50 + 100, 50);
}

static void open_before_and_open_after(void **state) {
  feed(EVENTRING_BEGIN, GC, 10, EVENTRING_SYNTHETIC); /* long before reading began */
  begin(GC, 1000);
  end(GC, 1010);
  end(GC, 1100);
  begin(GC, 1200);
  eva_gc_clock_stop(&clock_, 1500);
  expect(500, 100 + 300);
}

static void a_pause_is_not_watched(void **state) {
  begin(LOAD, 100);
  struct eventring_event pause = {.ns = 200, .kind = EVENTRING_LIFECYCLE,
                                  .id = EVENTRING_ID_PAUSE, .incarnation = 1};
  eva_gc_clock_event(&clock_, &pause);
  begin(GC, 1000);
  end(GC, 1010);
  eva_gc_clock_stop(&clock_, 1100);
  expect(200, 10);
}

/* ---- Async spans ----------------------------------------------------------- */

static struct eva_links links;

static int no_links(void **state) {
  eva_links_free(&links);
  return 0;
}

static struct eva_link_outcome take(uint8_t role, uint16_t id, uint64_t link, uint64_t ns) {
  struct eva_link_outcome outcome;
  struct eva_link_event event = {.role = role, .id = id, .link = link, .at_ns = ns,
                                 .domain = (uint32_t)ns % 7};
  assert_int_equal(eva_links_take(&links, &event, &outcome), 0);
  return outcome;
}

enum { B = EVENTRING_ROLE_BEGIN, E = EVENTRING_ROLE_END };

static void expect_pair(struct eva_link_outcome outcome, uint64_t begin, uint64_t end) {
  assert_true(outcome.paired && !outcome.torn.there);
  assert_true(outcome.begin.ns == begin && outcome.begin.domain == begin % 7);
  assert_true(outcome.end.ns == end && outcome.end.domain == end % 7);
}

static void expect_waits(struct eva_link_outcome outcome) {
  assert_false(outcome.paired || outcome.torn.there);
}

static void either_end_may_come_first(void **state) {
  expect_waits(take(B, 20, 1, 100));
  expect_waits(take(B, 20, 2, 110));
  expect_waits(take(B, 21, 1, 120)); /* the same link with another definition */
  expect_pair(take(E, 20, 1, 130), 100, 130);
  expect_pair(take(E, 21, 1, 140), 120, 140);
  expect_waits(take(E, 20, 1, 250)); /* the same link again, and out of order */
  expect_pair(take(B, 20, 1, 200), 200, 250);
  expect_pair(take(E, 20, 2, 300), 110, 300);
  assert_int_equal(links.used, 0);
}

static void what_is_taken_twice_is_torn(void **state) {
  expect_waits(take(B, 20, 1, 100));
  struct eva_link_outcome second = take(B, 20, 1, 200);
  assert_true(!second.paired && second.torn.there && second.torn.ns == 100);
  expect_waits(take(E, 20, 1, 150)); /* an end before the begin, which belongs to the torn
                                        span */
  struct eva_link_outcome third = take(E, 20, 1, 160);
  assert_true(!third.paired && third.torn.there && third.torn.ns == 150);
  expect_pair(take(E, 20, 1, 300), 200, 300);
}

static void counts_waiting(void *context, const struct eva_link *link) {
  assert_true(link->begin.there != link->end.there);
  ++*(size_t *)context;
}

static void many_wait(void **state) {
  enum { COUNT = 10000 };
  size_t waiting = 0;
  for (uint64_t i = 0; i < COUNT; i++) expect_waits(take(i % 2 ? B : E, 20, i << 32, 1000 + i));
  eva_links_each(&links, counts_waiting, &waiting);
  assert_int_equal(waiting, COUNT);
  for (uint64_t i = 1; i < COUNT; i += 2)
    expect_pair(take(E, 20, i << 32, 20000 + i), 1000 + i, 20000 + i);
  assert_int_equal(links.used, COUNT / 2);
}

/* ---- Async spans of rings that come in no order -------------------------------- */

enum { RINGS = 4, EVENTS = 4000 };

/* What was found: pairs and torn ends. The sum depends on each pair and torn end, but not
   on their order. */
struct found {
  uint64_t pairs, torn, sum;
};

static int add_found(void *context, uint16_t id, const struct eva_link_outcome *outcome) {
  struct found *found = context;
  const uint64_t begin = outcome->begin.ns * 31 + outcome->begin.domain;
  const uint64_t end = outcome->end.ns * 17 + outcome->end.domain;
  found->pairs += outcome->paired;
  found->torn += outcome->torn.there;
  if (outcome->paired) found->sum += (id + begin * 1000003) * (end | 1);
  if (outcome->torn.there)
    found->sum += (id + 7) * (outcome->torn.ns * 13 + outcome->torn.domain) * 2654435761;
  return 0;
}

static void add_waiting(void *context, const struct eva_link *link) {
  struct found *found = context;
  if (link->begin.there) found->sum += link->link * 3 + link->begin.ns * 101 + link->id;
  if (link->end.there) found->sum += link->link * 5 + link->end.ns * 103 + link->id;
}

static struct eva_link_event drawn[RINGS][EVENTS];
static size_t drawn_count[RINGS];

/* Draws the events of all rings. Times rarely go back in a ring; links are used again. */
static void draw_events(unsigned links_used, unsigned step) {
  uint64_t ns = 1000, latest[RINGS] = {0};
  memset(drawn_count, 0, sizeof drawn_count);
  for (uint64_t i = 0; i < EVENTS; i++) {
    const unsigned ring = (unsigned)(random_word() % RINGS);
    struct eva_link_event *event = &drawn[ring][drawn_count[ring]++];
    ns += random_word() % step;
    event->at_ns = random_word() % 50 ? ns : ns - random_word() % 30;
    if (event->at_ns > latest[ring]) latest[ring] = event->at_ns;
    *event = (struct eva_link_event){
        .link = links_used > 1000 ? i / 2 - random_word() % 3 : random_word() % links_used,
        .at_ns = event->at_ns, .domain = ring, .id = (uint16_t)(20 + random_word() % 2),
        .role = random_word() % 2 ? B : E, .ns = latest[ring]};
  }
}

/* Returns the ring with the earliest of the remaining events, leaving out the ring `but`;
   RINGS if there are none. */
static unsigned earliest_ring(const size_t *at, unsigned but) {
  unsigned best = RINGS;
  for (unsigned ring = 0; ring < RINGS; ring++) {
    if (ring == but || at[ring] == drawn_count[ring]) continue;
    if (best == RINGS || drawn[ring][at[ring]].ns < drawn[best][at[best]].ns) best = ring;
  }
  return best;
}

static struct found take_in_order(void) {
  struct found found = {0};
  size_t at[RINGS] = {0};
  for (unsigned ring; (ring = earliest_ring(at, RINGS)) < RINGS;) {
    struct eva_link_outcome outcome;
    const struct eva_link_event *event = &drawn[ring][at[ring]++];
    assert_int_equal(eva_links_take(&links, event, &outcome), 0);
    add_found(&found, event->id, &outcome);
  }
  eva_links_each(&links, add_waiting, &found);
  eva_links_free(&links);
  return found;
}

/* Takes up to `block` events of a ring at a time, as a cursor does that reads blocks. */
static struct found take_apart(size_t block) {
  struct found found = {0};
  struct eva_link_order order = {.found = add_found, .context = &found};
  size_t at[RINGS] = {0};
  for (unsigned ring; (ring = earliest_ring(at, RINGS)) < RINGS;) {
    const unsigned second = earliest_ring(at, ring);
    const uint64_t settled = second < RINGS ? drawn[second][at[second]].ns : UINT64_MAX;
    for (size_t i = 0; i < block && at[ring] < drawn_count[ring]; i++) {
      struct eva_link_outcome outcome = {0};
      struct eva_link_event *event = &drawn[ring][at[ring]++];
      assert_int_equal(eva_link_order_take(&order, event, ring, settled, &outcome), 0);
      add_found(&found, event->id, &outcome);
    }
  }
  assert_int_equal(eva_link_order_finish(&order), 0);
  eva_links_each(&order.links, add_waiting, &found);
  eva_link_order_free(&order);
  return found;
}

static void the_order_of_rings_says_nothing(void **state) {
  static const unsigned links_used[] = {2, 40, 100000};
  for (int i = 0; i < 60; i++) {
    draw_events(links_used[i % 3], i % 2 ? 20 : 2);
    const struct found ordered = take_in_order(), apart = take_apart(1 + random_word() % 300);
    assert_true(ordered.pairs > 0);
    assert_int_equal(apart.pairs, ordered.pairs);
    assert_int_equal(apart.torn, ordered.torn);
    assert_true(apart.sum == ordered.sum);
  }
}

/* ---- Shares -------------------------------------------------------------------- */

static void nobody_knows_what_runs_in_a_gap(void **state) {
  struct eva_shares *shares = eva_shares_new();
  struct eventring_event event = {.kind = EVENTRING_BEGIN, .ns = 10, .id = 5, .incarnation = 1,
                                  .ring = EVENTRING_CALLS};
  const struct eventring_loss loss = {.ring = EVENTRING_CALLS, .incarnation = 1, .count = 1};
  struct eva_span_time time;
  bool ended;
  assert_int_equal(eva_shares_event(shares, &event, &time, &ended), 0);
  assert_int_equal(eva_shares_running(shares, 0, EVENTRING_CALLS), 5);
  event.depth = 1, event.ns = 12, event.id = 7;
  assert_int_equal(eva_shares_event(shares, &event, &time, &ended), 0);
  /* this event is in the gap */
  event.kind = EVENTRING_END, event.flags = EVENTRING_SYNTHETIC | EVENTRING_TORN;
  assert_int_equal(eva_shares_event(shares, &event, &time, &ended), 0);
  assert_int_equal(eva_shares_running(shares, 0, EVENTRING_CALLS), -1);
  eva_shares_lost(shares, &loss);
  assert_int_equal(eva_shares_running(shares, 0, EVENTRING_CALLS), -1);
  event = (struct eventring_event){.kind = EVENTRING_BEGIN, .ns = 20, .id = 6, .depth = 1,
                                   .incarnation = 1, .ring = EVENTRING_CALLS};
  assert_int_equal(eva_shares_event(shares, &event, &time, &ended), 0);
  assert_int_equal(eva_shares_running(shares, 0, EVENTRING_CALLS), 6);
  eva_shares_free(shares);
}

/* ---- Domains in turn --------------------------------------------------------- */

static void lives_are_joined_by_incarnation(void **state) {
  struct eva_lives lives = {0};
  struct eventring_domain_info info = {.size = sizeof info, .incarnation = 7, .name = "seventh"};
  for (unsigned turn = 0; turn < 3; turn++)
    for (uint32_t n = 1; n <= 100; n++) {
      struct eva_life *life = eva_lives_at(&lives, n);
      life->times.in_gc += n;
      if (turn < 2) life->watched += 5 * n;
      if (turn == 1 && n % 2) eva_add_words(&life->allocated, n);
    }
  assert_int_equal(eva_lives_describe(&lives, &info), 0);
  eva_lives_join(&lives);
  assert_int_equal(lives.count, 100);
  for (uint32_t n = 1; n <= 100; n++) {
    const struct eva_life *life = &lives.life[n - 1];
    assert_true(life->incarnation == n && life->times.in_gc == 3 * n);
    assert_int_equal(life->watched, 10 * n);
    assert_int_equal(life->allocated, n % 2 ? (int)n : -1);
    assert_string_equal(eva_life_name(life), n == 7 ? "seventh" : "");
  }
  eva_lives_free(&lives);
}

/* ---- Figures ------------------------------------------------------------- */

static void figures_read_well(void **state) {
  char figure[EVA_FIGURE];
  assert_string_equal(eva_duration_text(figure, 999), "999 ns");
  assert_string_equal(eva_duration_text(figure, 1234567), "1.235 ms");
  assert_string_equal(eva_duration_text(figure, 12345678), "12.35 ms");
  assert_string_equal(eva_duration_text(figure, 999949999), "999.9 ms");
  assert_string_equal(eva_duration_text(figure, 999999999), "1.000 s");
  assert_string_equal(eva_duration_text(figure, 12345000000000), "12345 s");
  assert_string_equal(eva_count_text(figure, 0), "0");
  assert_string_equal(eva_count_text(figure, 1234567), "1,234,567");
  assert_string_equal(eva_count_text(figure, UINT64_MAX), "18,446,744,073,709,551,615");
  assert_string_equal(eva_signed_text(figure, INT64_MIN), "-9,223,372,036,854,775,808");
  assert_string_equal(eva_bytes_text(figure, 1024 * 1024 * 5 / 4), "1.25 MiB");
  assert_string_equal(eva_seconds_text(figure, -1), "-0.000000001");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quantiles_are_within_their_bound),
      cmocka_unit_test(merged_is_added),
      cmocka_unit_test(borrowed_is_added),
      cmocka_unit_test(a_bucket_counts_beyond_its_word),
      cmocka_unit_test(an_empty_one_is_zero),
      cmocka_unit_test_setup(nested_spans_count_once, fresh),
      cmocka_unit_test_setup(finalizers_count_apart, fresh),
      cmocka_unit_test_setup(cpu_time_is_what_was_not_off, fresh),
      cmocka_unit_test_setup(one_that_does_not_say_hides_it, fresh),
      cmocka_unit_test_setup(a_gap_belongs_to_neither, fresh),
      cmocka_unit_test_setup(a_collection_across_a_gap_counts_where_it_was_seen, fresh),
      cmocka_unit_test_setup(a_torn_collection_counts_up_to_the_gap, fresh),
      cmocka_unit_test_setup(open_before_and_open_after, fresh),
      cmocka_unit_test_setup(a_pause_is_not_watched, fresh),
      cmocka_unit_test_teardown(either_end_may_come_first, no_links),
      cmocka_unit_test_teardown(what_is_taken_twice_is_torn, no_links),
      cmocka_unit_test_teardown(many_wait, no_links),
      cmocka_unit_test_teardown(the_order_of_rings_says_nothing, no_links),
      cmocka_unit_test(nobody_knows_what_runs_in_a_gap),
      cmocka_unit_test(lives_are_joined_by_incarnation),
      cmocka_unit_test(figures_read_well)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
