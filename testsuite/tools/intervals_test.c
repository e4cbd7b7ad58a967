/* SPDX-License-Identifier: MIT */
/* The figures of `eventring stats` on intervals that are written down: the cases of measureme's
 * analysis (E10), with its figures, one table.
 *
 * An interval is a span; an instant, an event; a size, a counter. A label is the id of a
 * definition, a thread a domain. Each case is fed to a tally as a cursor would deliver it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/tally.h"

enum { MOST = 16, LABELS = 4, THREADS = 2 };

enum what { NOTHING, INTERVAL, INSTANT, SIZE };
struct thing {
  enum what what;
  unsigned label, thread;
  uint64_t from, to; /* of an instant: `from`; of a size: the bytes in `to` */
};

struct figures { /* of a label; -1: there are none */
  int64_t own, total, count, instants, size;
};
#define NONE {-1, -1, -1, -1, -1}
#define SPAN(own, total, count) {own, total, count, -1, -1}

static const struct test_case {
  const char *name;
  struct thing things[MOST]; /* an interval after those that it is within */
  struct figures expected[LABELS];
} cases[] = {
    {"nested",
     {{INTERVAL, 0, 0, 100, 200}, {INTERVAL, 1, 0, 110, 190}, {INTERVAL, 2, 0, 120, 180}},
     {SPAN(20, 100, 1), SPAN(20, 80, 1), SPAN(60, 60, 1), NONE}},
    {"the same start",
     {{INTERVAL, 0, 0, 100, 300}, {INTERVAL, 1, 0, 100, 200}, {INTERVAL, 2, 0, 100, 150},
      {INTERVAL, 3, 0, 100, 120}},
     {SPAN(100, 200, 1), SPAN(50, 100, 1), SPAN(30, 50, 1), SPAN(20, 20, 1)}},
    {"the same end",
     {{INTERVAL, 0, 0, 100, 300}, {INTERVAL, 1, 0, 200, 300}, {INTERVAL, 2, 0, 250, 300},
      {INTERVAL, 3, 0, 280, 300}},
     {SPAN(100, 200, 1), SPAN(50, 100, 1), SPAN(30, 50, 1), SPAN(20, 20, 1)}},
    {"repeated",
     {{INTERVAL, 0, 0, 100, 200}, {INTERVAL, 1, 0, 120, 180}, {INTERVAL, 2, 0, 140, 160},
      {INTERVAL, 0, 0, 200, 300}, {INTERVAL, 1, 0, 220, 280}, {INTERVAL, 2, 0, 240, 260}},
     {SPAN(80, 200, 2), SPAN(80, 120, 2), SPAN(40, 40, 2), NONE}},
    {"two threads, 10 ns apart",
     {{INTERVAL, 0, 0, 100, 200}, {INTERVAL, 1, 0, 120, 180}, {INTERVAL, 2, 0, 140, 160},
      {INTERVAL, 0, 1, 110, 210}, {INTERVAL, 1, 1, 130, 190}, {INTERVAL, 2, 1, 150, 170},
      {INTERVAL, 0, 0, 200, 300}, {INTERVAL, 1, 0, 220, 280}, {INTERVAL, 2, 0, 240, 260},
      {INTERVAL, 0, 1, 210, 310}, {INTERVAL, 1, 1, 230, 290}, {INTERVAL, 2, 1, 250, 270}},
     {SPAN(160, 400, 4), SPAN(160, 240, 4), SPAN(80, 80, 4), NONE}},
    {"instants take no time",
     {{INTERVAL, 0, 0, 200, 300}, {INTERVAL, 1, 0, 220, 280}, {INTERVAL, 2, 0, 240, 260},
      {INSTANT, 0, 0, 210, 0}, {INSTANT, 0, 0, 225, 0}, {INSTANT, 0, 0, 241, 0},
      {INSTANT, 0, 0, 241, 0}, {INSTANT, 0, 0, 300, 0}, {INSTANT, 1, 0, 199, 0},
      {INSTANT, 1, 0, 242, 0}, {INSTANT, 1, 0, 270, 0}},
     {{40, 100, 1, 5, -1}, {40, 60, 1, 3, -1}, SPAN(20, 20, 1), NONE}},
    {"a label within itself",
     {{INTERVAL, 0, 0, 100, 200}, {INTERVAL, 0, 0, 120, 180}, {INTERVAL, 0, 0, 140, 160}},
     {SPAN(100, 180, 3), NONE, NONE, NONE}},
    {"blocked", /* label 1: what others wait for; it is not theirs */
     {{INTERVAL, 0, 0, 100, 300}, {INTERVAL, 1, 0, 150, 240}, {INTERVAL, 0, 1, 200, 360},
      {INTERVAL, 1, 1, 300, 340}},
     {SPAN(230, 360, 2), SPAN(130, 130, 2), NONE, NONE}},
    {"loads",
     {{INTERVAL, 0, 0, 100, 400}, {INTERVAL, 1, 0, 100, 200}, {INTERVAL, 1, 0, 230, 360}},
     {SPAN(70, 300, 1), SPAN(230, 230, 2), NONE, NONE}},
    {"sizes",
     {{INTERVAL, 0, 0, 100, 200}, {SIZE, 1, 0, 110, 100}, {INSTANT, 1, 0, 115, 0},
      {SIZE, 2, 0, 120, 50}, {SIZE, 1, 0, 130, 50}},
     {SPAN(100, 100, 1), {-1, -1, -1, 1, 150}, {-1, -1, -1, -1, 50}, NONE}},
};

/* ---- As a cursor delivers it -------------------------------------------------------------- */

struct moment { /* the begin or the end of a thing, or all of it */
  uint64_t ns;
  size_t number; /* of the thing */
  bool is_end;
};

/* At one moment ends come before begins, those of inner intervals first. */
static int by_time(const void *left, const void *right) {
  const struct moment *a = left, *b = right;
  if (a->ns != b->ns) return a->ns < b->ns ? -1 : 1;
  if (a->is_end != b->is_end) return a->is_end ? -1 : 1;
  int order = a->number < b->number ? -1 : a->number > b->number;
  return a->is_end ? -order : order;
}

static const struct eventring_def definitions[LABELS] = {{.name = "A"}, {.name = "B"},
                                                         {.name = "C"}, {.name = "D"}};

static size_t moments_of(const struct test_case *c, struct moment *moments) {
  size_t count = 0;
  for (size_t i = 0; i < MOST && c->things[i].what != NOTHING; i++) {
    const struct thing *t = &c->things[i];
    moments[count++] = (struct moment){t->from, i, false};
    if (t->what == INTERVAL) moments[count++] = (struct moment){t->to, i, true};
  }
  qsort(moments, count, sizeof *moments, by_time);
  return count;
}

/* What a reader says of a span: how long those directly within it took. */
static uint64_t within[THREADS][MOST];

static void feed(struct eva_tally *tally, const struct thing *t, const struct moment *moment,
                 uint32_t *depth) {
  struct eventring_event event = {.ns = moment->ns, .domain = t->thread, .incarnation = 1,
                                  .id = (uint16_t)t->label, .ring = EVENTRING_USER,
                                  .event_class = EVENTRING_CLASS_USER,
                                  .name = definitions[t->label].name,
                                  .def = &definitions[t->label]};
  if (t->what == INTERVAL && !moment->is_end) {
    event.kind = EVENTRING_BEGIN, event.begin_ns = t->from, event.depth = depth[t->thread]++;
    within[t->thread][event.depth] = 0;
  } else if (t->what == INTERVAL) {
    event.kind = EVENTRING_END, event.flags = EVENTRING_MATCHED, event.begin_ns = t->from;
    event.depth = --depth[t->thread];
    event.within_ns = within[t->thread][event.depth];
    if (event.depth > 0) within[t->thread][event.depth - 1] += event.ns - event.begin_ns;
  } else if (t->what == INSTANT) {
    event.kind = EVENTRING_INSTANT;
  } else {
    event.kind = EVENTRING_COUNTER, event.payload = EVENTRING_UINT, event.value.u = t->to;
  }
  assert_int_equal(eva_tally_callbacks.event(tally, &event), 0);
}

/* ---- What comes out ------------------------------------------------------------------------- */

static void add(int64_t *sum, uint64_t more) { *sum = (*sum < 0 ? 0 : *sum) + (int64_t)more; }

static struct figures figures_of(const struct eva_tally *tally, unsigned label) {
  struct figures f = NONE;
  for (unsigned thread = 0; thread < THREADS; thread++) {
    struct eva_tally_entry **entries = tally->domains[thread].entries;
    const struct eva_tally_entry *entry = entries ? entries[label] : NULL;
    if (!entry) continue;
    if (entry->span) {
      add(&f.own, entry->span->own);
      add(&f.total, entry->span->durations.total);
      add(&f.count, entry->span->durations.count);
      assert_int_equal(entry->span->own_count, entry->span->durations.count);
      assert_int_equal(entry->span->torn, 0);
    }
    if (entry->events) add(&f.instants, entry->events);
    if (entry->counter) add(&f.size, (uint64_t)entry->counter->sum);
  }
  return f;
}

static void check(const char *name, unsigned label, const char *what, int64_t expected,
                  int64_t got) {
  if (expected != got)
    fail_msg("%s: label %u, %s: expected %lld, got %lld", name, label, what, (long long)expected,
             (long long)got);
}

static void run_case(const struct test_case *c) {
  struct moment moments[2 * MOST];
  uint32_t depth[THREADS] = {0};
  size_t count = moments_of(c, moments);
  struct eva_tally *tally = eva_tally_new();
  assert_non_null(tally);
  for (size_t i = 0; i < count; i++) feed(tally, &c->things[moments[i].number], &moments[i], depth);
  for (unsigned label = 0; label < LABELS; label++) {
    struct figures f = figures_of(tally, label);
    const struct figures *e = &c->expected[label];
    check(c->name, label, "own time", e->own, f.own);
    check(c->name, label, "total", e->total, f.total);
    check(c->name, label, "count", e->count, f.count);
    check(c->name, label, "instants", e->instants, f.instants);
    check(c->name, label, "size", e->size, f.size);
  }
  eva_tally_free(tally);
}

static void the_figures_are_measuremes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) run_case(&cases[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_figures_are_measuremes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
