/* SPDX-License-Identifier: MIT */
/* intervals_test.c: the figures of `eventring stats` on given intervals: the cases of
 * measureme's analysis (E10), with its figures, as one table.
 *
 * An interval is a span, an instant an event, a size a counter. A label has a definition
 * of each of these kinds, a thread is a domain. Each case is recorded, with times that
 * the test sets (set_clock.h), and a tally is made of what a cursor delivers. */
#include "../unit/eventring_common.h"

#include "../unit/set_clock.h"
#include "analysis/tally.h"

enum { MOST = 16, LABELS = 4, THREADS = 2 };

enum what { NOTHING, INTERVAL, INSTANT, SIZE };
struct thing {
  enum what what;
  unsigned label, thread;
  uint64_t from, to; /* ns; an instant has only `from`, a size has its bytes in `to` */
};

struct figures { /* figures of a label; -1 if it has none */
  int64_t own, total, count, instants, size;
};
#define NONE {-1, -1, -1, -1, -1}
#define SPAN(own, total, count) {own, total, count, -1, -1}

static const struct test_case {
  const char *name;
  struct thing things[MOST]; /* an interval comes after the intervals around it */
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
    {"blocked", /* other spans wait during a part of label 1; the wait is not their own
                   time */
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

/* ---- Recording -------------------------------------------------------------------- */

struct moment { /* the begin or the end of a thing, or an instant */
  uint64_t ns;
  size_t number; /* index of the thing */
  bool is_end;
};

/* Compares two moments. At the same time ends come before begins, and ends of inner
   intervals come first. */
static int by_time(const void *left, const void *right) {
  const struct moment *a = left, *b = right;
  if (a->ns != b->ns) return a->ns < b->ns ? -1 : 1;
  if (a->is_end != b->is_end) return a->is_end ? -1 : 1;
  int order = a->number < b->number ? -1 : a->number > b->number;
  return a->is_end ? -order : order;
}

static unsigned id_of[SIZE + 1][LABELS];

static void register_labels(void) {
  static const unsigned kinds[] = {[INTERVAL] = EVENTRING_DEF_SPAN,
                                   [INSTANT] = EVENTRING_DEF_INSTANT,
                                   [SIZE] = EVENTRING_DEF_COUNTER};
  for (unsigned what = INTERVAL; what <= SIZE; what++)
    for (unsigned label = 0; label < LABELS; label++) {
      int id = eventring_register_user(kinds[what], &"ABCD"[label], 1,
                                       what == SIZE ? EVENTRING_INT : EVENTRING_NONE, NULL);
      assert_true(id > 0);
      id_of[what][label] = (unsigned)id;
    }
}

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

static void emit(eventring_domain *d, const struct thing *t, bool is_end) {
  unsigned id = id_of[t->what][t->label];
  if (t->what == SIZE) eventring_user_counter(d, id, (int64_t)t->to);
  else if (t->what == INSTANT) eventring_instant(d, EVENTRING_USER, EVENTRING_CLASS_USER, id);
  else if (is_end) eventring_user_end(d, id);
  else eventring_user_begin(d, id);
}

static void record(const struct test_case *c, eventring_domain **threads) {
  struct moment moments[2 * MOST];
  const uint64_t start = now_ns;
  size_t count = moments_of(c, moments);
  for (size_t i = 0; i < count; i++) {
    const struct thing *t = &c->things[moments[i].number];
    now_ns = start + moments[i].ns;
    emit(threads[t->thread], t, moments[i].is_end);
  }
}

/* ---- What comes out --------------------------------------------------------------- */

static void add(int64_t *sum, uint64_t more) { *sum = (*sum < 0 ? 0 : *sum) + (int64_t)more; }

static const struct eva_tally_entry *entry_of(const struct eva_tally *tally, unsigned thread,
                                             enum what what, unsigned label) {
  struct eva_tally_entry **entries = tally->domains[thread].entries;
  return entries ? entries[id_of[what][label]] : NULL;
}

static struct figures figures_of(const struct eva_tally *tally, unsigned label) {
  struct figures f = NONE;
  for (unsigned thread = 0; thread < THREADS; thread++) {
    const struct eva_tally_entry *interval = entry_of(tally, thread, INTERVAL, label),
                                 *instant = entry_of(tally, thread, INSTANT, label),
                                 *size = entry_of(tally, thread, SIZE, label);
    if (interval) {
      add(&f.own, interval->span->own);
      add(&f.total, interval->span->durations.total);
      add(&f.count, interval->span->durations.count);
      assert_int_equal(interval->span->own_count, interval->span->durations.count);
      assert_int_equal(interval->span->torn, 0);
    }
    if (instant) add(&f.instants, instant->events);
    if (size) add(&f.size, (uint64_t)size->counter->sum);
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
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_domain *threads[THREADS] = {start_domain("first"), start_domain("second")};
  record(c, threads);
  struct eva_tally *tally = eva_tally_new();
  eventring_cursor *cursor = open_self(0);
  assert_non_null(tally);
  assert_true(eventring_poll(cursor, &eva_tally_callbacks, tally, 0) > 0);
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
  eventring_close(cursor);
  for (unsigned i = 0; i < THREADS; i++) eventring_domain_stop(threads[i]);
  eventring_stop();
}

static void the_figures_are_measuremes(void **state) {
  register_labels();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) run_case(&cases[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_figures_are_measuremes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
