/* SPDX-License-Identifier: MIT */
/* tally_batch_test.c: statistics of events in batches equal the statistics of the same
   events one by one: time under spans of the collector and of finalizers, which nest and
   cross the ends of batches. */
#include <string.h>

#include "../unit/cases.h"
#include "../unit/draw.h"
#include "analysis/read_all.h"
#include "analysis/tally.h"
#include "eventring/probe.h"

enum { COLLECTION, PHASE, MEASURED, FINALIZERS, OTHER, SPANS, MOST_DEPTH = 6 };

static const struct {
  const char *name;
  enum eventring_class event_class;
  enum eventring_measure measure;
} kinds[SPANS] = {{"collection", EVENTRING_CLASS_GC, EVENTRING_OFF_CPU},
                  {"phase", EVENTRING_CLASS_GC, EVENTRING_MEASURE_NONE},
                  {"measured", EVENTRING_CLASS_GC, EVENTRING_OFF_CPU},
                  {"finalizers", EVENTRING_CLASS_FINALIZERS, EVENTRING_MEASURE_NONE},
                  {"other", EVENTRING_CLASS_USER, EVENTRING_MEASURE_NONE}};
static unsigned span_id[SPANS], heap_id, words_id;

static unsigned define(enum eventring_def_kind kind, const char *name, enum eventring_class of,
                       enum eventring_payload payload, enum eventring_measure measure) {
  const struct eventring_def def = {.kind = kind, .ring = EVENTRING_RUNTIME, .name = name,
                                    .event_class = of, .payload = payload, .measure = measure,
                                    .quantity = measure == EVENTRING_DIFFERENCE
                                                    ? EVENTRING_QUANTITY_ALLOCATED
                                                    : EVENTRING_QUANTITY_NONE};
  int id = eventring_register(&def, NULL);
  assert_true(id >= 0);
  return (unsigned)id;
}

static void define_all(void) {
  for (int i = 0; i < SPANS; i++)
    span_id[i] = define(EVENTRING_DEF_SPAN, kinds[i].name, kinds[i].event_class, EVENTRING_NONE,
                        kinds[i].measure);
  heap_id = define(EVENTRING_DEF_COUNTER, "heap", EVENTRING_CLASS_GC, EVENTRING_INT,
                   EVENTRING_LEVEL);
  words_id = define(EVENTRING_DEF_COUNTER, "words", EVENTRING_CLASS_GC, EVENTRING_INT,
                    EVENTRING_DIFFERENCE);
}

static void end_span(eventring_domain *d, unsigned kind) {
  if (kinds[kind].measure == EVENTRING_OFF_CPU)
    eventring_end_off_cpu(d, EVENTRING_RUNTIME, kinds[kind].event_class, span_id[kind],
                          draw(2) ? draw(400) : 0);
  else
    eventring_end(d, EVENTRING_RUNTIME, kinds[kind].event_class, span_id[kind]);
}

/* Writes random spans, with counters between them, some of which end a batch. */
static void write_events(eventring_domain *d, int steps) {
  unsigned open[MOST_DEPTH], depth = 0;
  for (int i = 0; i < steps; i++) {
    const unsigned what = draw(24);
    if (what == 0) {
      eventring_counter(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, words_id, draw(1000));
    } else if (what < 4) {
      eventring_counter(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, heap_id, draw(1000));
    } else if (depth && (depth == MOST_DEPTH || draw(5) < 3)) {
      end_span(d, open[--depth]);
    } else {
      open[depth] = draw(SPANS);
      eventring_begin(d, EVENTRING_RUNTIME, kinds[open[depth]].event_class, span_id[open[depth]]);
      depth++;
    }
  }
  while (depth) end_span(d, open[--depth]);
}

static eventring_cursor *read_all(struct eva_tally *tally, uint64_t since, bool batches) {
  eventring_cursor *cursor;
  assert_int_equal(eventring_open_self(&cursor, 0, NULL), EVENTRING_OK);
  tally->since = since;
  if (batches)
    assert_int_equal(eventring_cursor_batches(cursor, EVENTRING_BATCH_ALL, eva_tally_batch, tally),
                     EVENTRING_OK);
  assert_true(eventring_poll(cursor, &eva_tally_callbacks, tally, 0) > 0);
  assert_int_equal(eva_tally_finish(tally, cursor), EVENTRING_OK);
  return cursor;
}

static void expect_alike(uint64_t since) {
  struct eva_tally *one = eva_tally_new(), *many = eva_tally_new();
  eventring_cursor *first = read_all(one, since, false), *second = read_all(many, since, true);
  const struct eva_tally_domain *a = &one->all, *b = &many->all;
  assert_true(a->times.in_gc > 0 && a->times.gc_off_cpu > 0 && a->times.gc_unmeasured > 0 &&
              a->times.in_finalizers > 0);
  assert_memory_equal(&a->times, &b->times, sizeof a->times);
  assert_int_equal(a->allocated, b->allocated);
  for (int i = 0; i < SPANS; i++) {
    const struct eva_tally_span *x = a->entries[span_id[i]]->span,
                                *y = b->entries[span_id[i]]->span;
    assert_int_equal(x->durations.count, y->durations.count);
    assert_int_equal(x->durations.total, y->durations.total);
    assert_int_equal(x->off_cpu, y->off_cpu);
    assert_int_equal(x->own, y->own);
  }
  eventring_close(first);
  eventring_close(second);
  eva_tally_free(one);
  eva_tally_free(many);
}

static void batches_say_what_events_say(void **state) {
  struct eventring_config config;
  define_all();
  for (uint64_t seed = 1; seed <= 12; seed++) {
    random_state = seed;
    eventring_config_init(&config);
    config.start = EVENTRING_START_ON;
    config.wsize = 16;
    config.program = "unit";
    assert_int_equal(eventring_start(&config, NULL), EVENTRING_OK);
    eventring_domain *domain = eventring_domain_start("main", NULL);
    write_events(domain, 3000);
    const uint64_t middle = eventring_now();
    write_events(domain, 3000);
    expect_alike(0);
    expect_alike(middle);
    eventring_domain_stop(domain);
    eventring_stop();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(batches_say_what_events_say)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
