/* SPDX-License-Identifier: MIT */
/* eventring_backwards_test.c: a cursor that reads backwards delivers in reverse what a
 * cursor that reads forwards delivers. */
#include "eventring/tools.h"
#include "eventring_common.h"
#include "mirror.h"

#include <pthread.h>
#include <sys/stat.h>

static char file[] = "backwards.eventring";

static void start(const struct eventring_config *config) {
  struct eventring_error error;
  if (eventring_start(config, &error) != EVENTRING_OK) fail_msg("%s", error.text);
}

static struct eventring_config config_of(unsigned wsize, bool stream) {
  struct eventring_config config = test_config(wsize);
  config.preserve = true;
  if (stream) config.stream = file;
  return config;
}

/* Checks that both ways agree: merged or not, mapped or not, all at once or in parts. */
static void check_mirror(const char *path, bool brief) {
  static const uint64_t parts[] = {0, 1, 77};
  char what[512];
  for (unsigned flags = 0; flags < 2; flags++)
    for (int i = 0; i < 3; i++) {
      unsigned all =
          (flags & 1 ? EVENTRING_OPEN_MERGED : 0) | (i == 1 ? EVENTRING_OPEN_UNMAPPED : 0);
      if (mirror_compare(path, all, parts[i], brief, NULL, what))
        fail_msg("%s, flags %u, max %u: %s", path, all, (unsigned)parts[i], what);
    }
}

/* ---- E8 of measureme, literally ---------------------------------------------------
 *
 * Each thread writes 10,000 call stacks of depth 4, at each level a span, a counter and
 * an event: 120,000 altogether. */

enum { STACKS = 10000, DEPTH = 4, MOST_THREADS = 8 };

static int stacks;
static pthread_barrier_t all_are_done; /* so each thread has a slot of its own */

static void write_level(eventring_domain *d, int stack, int level) {
  const enum eventring_class class = EVENTRING_CLASS_USER;
  if (level == DEPTH) return;
  int number = stack * DEPTH + level;
  eventring_begin(d, EVENTRING_USER, class, T_FLOOD);
  eventring_counter(d, EVENTRING_USER, class, T_COUNT, number);
  write_level(d, stack, level + 1);
  eventring_instant_int(d, EVENTRING_USER, class, T_SIZE, number);
  eventring_end(d, EVENTRING_USER, class, T_FLOOD);
}

static void *write_stacks(void *argument) {
  char name[16];
  snprintf(name, sizeof name, "thread %d", *(int *)argument);
  eventring_domain *d = start_domain(name);
  for (int i = 0; i < stacks; i++) write_level(d, i, 0);
  pthread_barrier_wait(&all_are_done);
  eventring_domain_stop(d);
  return NULL;
}

struct expected { /* events of a thread, in the order of writing */
  struct step { uint8_t kind; uint32_t depth; int64_t value; } *step;
  size_t count;
};

static void expect_level(struct expected *e, int stack, int level) {
  if (level == DEPTH) return;
  int64_t number = stack * DEPTH + level;
  uint32_t depth = (uint32_t)level;
  e->step[e->count++] = (struct step){EVENTRING_BEGIN, depth, 0};
  e->step[e->count++] = (struct step){EVENTRING_COUNTER, 0, number};
  expect_level(e, stack, level + 1);
  e->step[e->count++] = (struct step){EVENTRING_INSTANT, 0, number};
  e->step[e->count++] = (struct step){EVENTRING_END, depth, 0};
}

struct reading {
  const struct expected *expected;
  bool backwards;
  size_t at[EVENTRING_MAX_DOMAINS]; /* number of steps seen, by slot */
  uint64_t ns[EVENTRING_MAX_DOMAINS];
  uint64_t spans, counters, points;
};

static int check_step(void *context, const struct eventring_event *e) {
  struct reading *r = context;
  const struct expected *all = r->expected;
  if (e->id < EVENTRING_ID_HOST) return 0; /* events of the library itself */
  assert_false(e->flags & (EVENTRING_SYNTHETIC | EVENTRING_TORN));
  size_t at = r->at[e->domain]++;
  assert_true(at < all->count);
  const struct step *step = &all->step[r->backwards ? all->count - 1 - at : at];
  assert_int_equal(e->kind, step->kind);
  assert_int_equal(e->depth, step->depth);
  assert_int_equal(e->value.i, step->value);
  if (at) assert_true(r->backwards ? e->ns <= r->ns[e->domain] : e->ns >= r->ns[e->domain]);
  r->ns[e->domain] = e->ns;
  if (e->kind == EVENTRING_END) assert_true(e->flags & EVENTRING_MATCHED && e->begin_ns < e->ns);
  r->spans += e->kind == EVENTRING_END;
  r->counters += e->kind == EVENTRING_COUNTER;
  r->points += e->kind == EVENTRING_INSTANT;
  return 0;
}

static int no_loss(void *context, const struct eventring_loss *loss) {
  fail_msg("%llu events of domain %u are lost", (unsigned long long)loss->count, loss->domain);
  return 0;
}

static void read_stacks(const char *path, int threads, const struct expected *expected,
                        unsigned flags) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, check_step, no_loss};
  struct reading r = {.expected = expected, .backwards = flags & EVENTRING_OPEN_BACKWARDS};
  eventring_cursor *cursor = open_file(path, flags);
  uint64_t written = 0, lifecycle = 0, each = (uint64_t)stacks * DEPTH * (uint64_t)threads;
  int delivered = eventring_poll(cursor, &callbacks, &r, 0);
  assert_true(eventring_finished(cursor));
  for (int i = 0; i < threads; i++) {
    assert_int_equal(r.at[i], expected->count);
    written += emitted(cursor, (unsigned)i, EVENTRING_USER);
    lifecycle += emitted(cursor, (unsigned)i, EVENTRING_RUNTIME);
  }
  assert_int_equal(delivered, written + lifecycle);
  assert_int_equal(written, 4 * each);
  assert_int_equal(r.spans, each);
  assert_int_equal(r.counters, each);
  assert_int_equal(r.points, each);
  eventring_close(cursor);
}

static void check_stacks(int threads, bool stream) {
  struct expected expected = {0};
  struct eventring_config config = config_of(20, stream); /* rings that hold all events */
  pthread_t thread[MOST_THREADS];
  int number[MOST_THREADS];
  char path[4096];
  stacks = STACKS / slowness();
  expected.step = calloc((size_t)stacks * DEPTH * 4, sizeof *expected.step);
  for (int i = 0; i < stacks; i++) expect_level(&expected, i, 0);
  start(&config);
  snprintf(path, sizeof path, "%s", own_path());
  pthread_barrier_init(&all_are_done, NULL, (unsigned)threads);
  for (int i = 0; i < threads; i++) {
    number[i] = i;
    assert_int_equal(pthread_create(&thread[i], NULL, write_stacks, &number[i]), 0);
  }
  for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
  pthread_barrier_destroy(&all_are_done);
  eventring_stop();
  for (unsigned merged = 0; merged < 2; merged++) {
    read_stacks(path, threads, &expected, merged);
    read_stacks(path, threads, &expected, merged | EVENTRING_OPEN_BACKWARDS);
  }
  unlink(path);
  free(expected.step);
}

static void test_stacks(void **state) {
  check_stacks(1, true);
  check_stacks(MOST_THREADS, true);
  check_stacks(1, false);
  check_stacks(MOST_THREADS, false);
}

/* ---- Both ways are the same ------------------------------------------------------- */

static uint64_t seed = 7;
static unsigned below(unsigned n) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(seed >> 33) % n;
}

/* Writes at random: spans in several contexts, with at most `deep` open in each; numbers
   and texts; contexts that are suspended; classes switched off and on. */
static void write_mixture(eventring_domain *d, int events, unsigned deep, bool switches) {
  const enum eventring_class class = EVENTRING_CLASS_USER;
  unsigned open[4] = {0}, context = 0;
  for (int i = 0; i < events; i++) {
    unsigned what = below(switches ? 102 : 100);
    if (what < 30 && open[context] < deep) {
      eventring_begin(d, EVENTRING_USER, class, T_FLOOD);
      open[context]++;
    } else if (what < 60 && open[context]) {
      eventring_end(d, EVENTRING_USER, class, T_FLOOD);
      open[context]--;
    } else if (what < 80) {
      eventring_counter(d, EVENTRING_USER, class, T_COUNT, i);
    } else if (what < 85) {
      eventring_instant_bytes(d, EVENTRING_USER, class, T_TEXT, "some text, and more",
                              1 + below(18));
    } else if (what < 90) {
      eventring_suspend(d, EVENTRING_USER, class, 1 + below(3));
    } else if (what < 100) {
      eventring_set_context(d, EVENTRING_USER, context = below(4));
    } else {
      eventring_switch_classes(EVENTRING_CLASS_BIT(class), false);
      eventring_counter(d, EVENTRING_USER, class, T_COUNT, -1);
      eventring_switch_classes(EVENTRING_CLASS_BIT(class), true);
    }
  }
}

static void check_mixture(bool stream, unsigned deep, bool switches, int events) {
  struct eventring_config config = config_of(EVENTRING_MIN_WSIZE, stream);
  char path[4096];
  start(&config);
  snprintf(path, sizeof path, "%s", own_path());
  for (int i = 0; i < 4; i++) { /* four domains, one after the other in the same slot */
    eventring_domain *d = start_domain("mixture");
    write_mixture(d, events / 4, deep, switches);
    eventring_domain_stop(d);
  }
  eventring_stop();
  check_mirror(path, 4 * deep > FORMAT_MAX_OPEN);
  unlink(path);
}

static void test_mixtures(void **state) {
  for (int n = 0; n < 4; n++) {
    check_mixture(n & 1, 4, false, 20000 / slowness());
    check_mixture(n & 1, 4, true, 1500); /* fewer switches than entries in the log */
    check_mixture(n & 1, 100, true, 20000 / slowness()); /* some spans are hidden */
    check_mixture(n & 1, 4, true, 300);            /* fewer events than in a block */
  }
}

/* Checks a stream that was full for a while: a loss in the middle. */
static void test_full(void **state) {
  struct eventring_config config = config_of(EVENTRING_MIN_WSIZE, true);
  config.stream_max = EVENTRING_LEAST_STREAM;
  config.warn = NULL;
  start(&config);
  eventring_domain *d = start_domain("full");
  write_mixture(d, 200000, 4, false);
  eventring_domain_stop(d);
  eventring_stop();
  check_mirror(file, false);
  unlink(file);
}

static void fill_block(const char *path, uint64_t offset, int byte) {
  uint8_t bytes[FORMAT_BLOCK_BYTES];
  FILE *f = fopen(path, "r+b");
  memset(bytes, byte, sizeof bytes);
  assert_non_null(f);
  fseek(f, (long)offset, SEEK_SET);
  assert_int_equal(fwrite(bytes, sizeof bytes, 1, f), 1);
  fclose(f);
}

/* Checks damaged blocks, at both ends and in the middle, and holes in a snapshot. */
static void test_damage(void **state) {
  static const int damaged[][2] = {{9, 0xff}, {1, 0xff}, {20, 0xff}, {12, 0}, {13, 0}};
  struct eventring_config config = config_of(14, false);
  char path[4096];
  start(&config);
  snprintf(path, sizeof path, "%s", own_path());
  eventring_domain *d = start_domain("damaged");
  eventring_cursor *cursor = open_self(0);
  write_mixture(d, 12000, 4, false);
  unlink("copy.eventring");
  assert_int_equal(eventring_snapshot(cursor, "copy.eventring", NULL), EVENTRING_OK);
  eventring_close(cursor);
  eventring_domain_stop(d);
  eventring_stop();
  for (int i = 0; i < 5; i++) {
    uint64_t block = (uint64_t)damaged[i][0];
    fill_block(path, ring_block_offset(path, 0, EVENTRING_USER, block), damaged[i][1]);
    fill_block("copy.eventring", ring_block_offset("copy.eventring", 0, EVENTRING_USER, block),
               damaged[i][1]);
    check_mirror(path, false);
    check_mirror("copy.eventring", false);
  }
  unlink(path);
  unlink("copy.eventring");
}

/* ---- A process that lives --------------------------------------------------------- */

struct own { eventring_domain *d; uint64_t events, lost, before; int64_t last; };

/* Writes an event for each event that is delivered. */
static int feed_itself(void *context, const struct eventring_event *e) {
  struct own *own = context;
  if (e->id != T_COUNT) return 0;
  assert_true(own->last < 0 || e->value.i < own->last);
  own->last = e->value.i;
  own->events++;
  eventring_counter(own->d, EVENTRING_USER, EVENTRING_CLASS_USER, T_COUNT, 1000000);
  return 0;
}

static int count_loss(void *context, const struct eventring_loss *loss) {
  struct own *own = context;
  *(loss->flags & EVENTRING_LOST_BEFORE ? &own->before : &own->lost) += loss->count;
  return 0;
}

static const struct eventring_callbacks feeding = {sizeof feeding, feed_itself, count_loss};

static void write_numbers(eventring_domain *d, int from, int to) {
  for (int i = from; i < to; i++)
    eventring_counter(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_COUNT, i);
}

/* Checks that what is written while a cursor reads backwards is not delivered, and that
   reading ends. What is overwritten meanwhile is lost; what was gone before is missed. */
static void check_live(bool stream, int events) {
  struct eventring_config config = config_of(EVENTRING_MIN_WSIZE, stream);
  config.preserve = false;
  start(&config);
  struct own own = {.d = start_domain("live"), .last = -1};
  write_numbers(own.d, 0, events);
  eventring_cursor *cursor = open_self(EVENTRING_OPEN_BACKWARDS);
  int polls = 0;
  for (; !eventring_finished(cursor); polls++) {
    assert_true(polls < 100000);
    assert_int_equal(eventring_wait(cursor, 0), 1);
    assert_true(eventring_poll(cursor, &feeding, &own, 10) >= 0);
  }
  assert_int_equal(own.events + own.lost + own.before, events);
  if (stream || events < 500) assert_int_equal(own.events, events);
  else assert_true(own.lost > 0 && own.before > 0);
  struct eventring_ring_info info = {.size = sizeof info};
  int status = eventring_cursor_ring(cursor, 0, EVENTRING_USER, &info);
  assert_int_equal(status, events ? EVENTRING_OK : EVENTRING_E_NOT_FOUND);
  assert_int_equal(info.delivered, own.events);
  assert_int_equal(info.lost, own.lost);
  assert_int_equal(info.missed, own.before);
  assert_int_equal(eventring_poll(cursor, &feeding, &own, 0), 0);
  eventring_close(cursor);
  eventring_domain_stop(own.d);
  eventring_stop();
  unlink(file);
}

static void test_live(void **state) {
  check_live(false, 300);
  check_live(false, 5000);
  check_live(true, 5000);
  check_live(true, 0);
}

/* ---- Others ----------------------------------------------------------------------- */

static int note_open(void *context, const struct eventring_event *e) {
  *(uint64_t *)context = *(uint64_t *)context * 100 + e->depth + 1;
  return 0;
}

static void test_flags(void **state) {
  struct eventring_error error;
  eventring_cursor *cursor;
  uint64_t open = 0;
  struct eventring_config config = config_of(EVENTRING_MIN_WSIZE, true);
  start(&config);
  eventring_domain *d = start_domain("flags");
  for (int i = 0; i < 3; i++) eventring_begin(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
  assert_int_equal(eventring_open_self(&cursor, EVENTRING_OPEN_NOW | EVENTRING_OPEN_BACKWARDS,
                                       &error), EVENTRING_E_ARGUMENT);
  assert_int_equal(eventring_open_path(&cursor, own_path(),
                                       EVENTRING_OPEN_NOW | EVENTRING_OPEN_BACKWARDS, &error),
                   EVENTRING_E_ARGUMENT);
  cursor = open_self(EVENTRING_OPEN_BACKWARDS);
  write_numbers(d, 0, 1000);
  assert_int_equal(eventring_open_spans(cursor, note_open, &open), 0);
  assert_int_equal(open, 10203);
  struct log log = {0};
  poll_log(cursor, &log, 0);
  assert_int_equal(log.events[EVENTRING_USER], 1003);
  open = 0;
  assert_int_equal(eventring_open_spans(cursor, note_open, &open), 0); /* unchanged */
  assert_int_equal(open, 10203);
  assert_int_equal(eventring_cursor_seek(cursor, 1), EVENTRING_E_STATE);
  clear_log(&log);
  eventring_close(cursor);
  eventring_domain_stop(d);
  eventring_stop();
  unlink(file);
}

/* Checks that a seek delivers all events up to a time, and few after it. */
static void test_seek(void **state) {
  for (int stream = 0; stream < 2; stream++) {
    struct eventring_config config = config_of(15, stream);
    char path[4096];
    start(&config);
    snprintf(path, sizeof path, "%s", own_path());
    eventring_domain *d = start_domain("seek");
    write_numbers(d, 0, 4000);
    uint64_t middle = eventring_now();
    write_numbers(d, 4000, 9000);
    eventring_domain_stop(d);
    eventring_stop();
    eventring_cursor *cursor = open_file(path, EVENTRING_OPEN_BACKWARDS);
    struct log log = {0};
    struct eventring_ring_info info = {.size = sizeof info};
    assert_int_equal(eventring_cursor_seek(cursor, middle), EVENTRING_OK);
    poll_log(cursor, &log, 0);
    assert_int_equal(eventring_cursor_ring(cursor, 0, EVENTRING_USER, &info), EVENTRING_OK);
    assert_int_equal(info.missed + info.delivered, 9000);
    assert_true(info.delivered >= 4000 && info.delivered < 4000 + 3 * FORMAT_BLOCK_WORDS);
    for (size_t i = 0; i + 1 < log.count; i++)
      assert_true(log.seen[i].event.ring != EVENTRING_USER ||
                  log.seen[i].event.ns >= log.seen[i + 1].event.ns ||
                  log.seen[i + 1].event.ring != EVENTRING_USER);
    assert_int_equal(log.seen[log.count - 1].event.value.i, 0);
    clear_log(&log);
    eventring_close(cursor);
    unlink(path);
  }
}

int main(void) {
  register_test_events();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stacks), cmocka_unit_test(test_mixtures), cmocka_unit_test(test_full),
      cmocka_unit_test(test_damage), cmocka_unit_test(test_live), cmocka_unit_test(test_flags),
      cmocka_unit_test(test_seek)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
