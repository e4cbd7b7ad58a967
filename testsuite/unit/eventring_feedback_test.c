/* SPDX-License-Identifier: MIT */
/* eventring_feedback_test.c: a reader, and a recorder, whose own work is recorded in what
 * they read (perf's R7). Each round reads only what was there when the round began. So
 * each round ends, and the last round leaves nothing behind.
 *
 * For each event that is read, and for each block that is saved, more is written than was
 * read. */
#include "eventring/saver.h"
#include "eventring_common.h"

static const struct eventring_saver_options no_options;

static char file[] = "feedback.eventring";
static eventring_domain *d;

enum { FIRST = 1000, ROUNDS = 6, MOST = 200000 };

static void start(unsigned wsize, bool stream) {
  struct eventring_config config = test_config(wsize);
  struct eventring_error error;
  if (stream) config.stream = file;
  if (eventring_start(&config, &error) != EVENTRING_OK) fail_msg("%s", error.text);
  d = start_domain("feedback");
}

static void stop(void) {
  eventring_domain_stop(d);
  eventring_stop();
  unlink(file);
}

static int64_t written;

static void write_one(void) {
  eventring_counter(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_COUNT, written++);
}

/* ---- A reader --------------------------------------------------------------------- */

struct reading { int64_t next; uint64_t lost, delivered; bool quiet; };

static int answer(void *context, const struct eventring_event *e) {
  struct reading *r = context;
  if (e->id != T_COUNT) return 0;
  assert_int_equal(e->value.i, r->next);
  r->next++;
  r->delivered++;
  if (!r->quiet && written < MOST) write_one(), write_one();
  return 0;
}

static int note_loss(void *context, const struct eventring_loss *loss) {
  struct reading *r = context;
  if (loss->ring != EVENTRING_USER) return 0;
  r->lost += loss->count;
  r->next += (int64_t)loss->count;
  return 0;
}

static void read_what_it_causes(unsigned wsize, bool stream, unsigned flags) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, answer, note_loss};
  struct reading r = {0};
  written = 0;
  start(wsize, stream);
  for (int i = 0; i < FIRST; i++) write_one();
  eventring_cursor *cursor = open_self(flags);
  for (int round = 0; round < ROUNDS; round++) {
    int64_t there = written;
    assert_true(eventring_poll(cursor, &callbacks, &r, 0) > 0);
    if (stream) assert_int_equal(r.next, there); /* the events that were there, and no
                                                    more */
    else assert_true(r.next >= there);
  }
  r.quiet = true;
  eventring_poll(cursor, &callbacks, &r, 0);
  assert_int_equal(r.next, written);
  assert_int_equal(r.delivered + r.lost, (uint64_t)written);
  if (stream) assert_int_equal(r.lost, 0);
  eventring_close(cursor);
  stop();
}

static void a_reader_ends_each_round(void **state) {
  read_what_it_causes(EVENTRING_MIN_WSIZE, false, 0);
  read_what_it_causes(EVENTRING_MIN_WSIZE, false, EVENTRING_OPEN_MERGED);
  read_what_it_causes(EVENTRING_DEFAULT_WSIZE, true, 0);
  read_what_it_causes(EVENTRING_DEFAULT_WSIZE, true, EVENTRING_OPEN_MERGED);
}

/* ---- A recorder ------------------------------------------------------------------- */

enum { PIECES = 64, BUFFER = 64 << 10 };

/* Saves the recording of this process. What is saved is only counted, and thrown away. */
static void save_what_it_causes(unsigned wsize) {
  static uint8_t buffer[BUFFER] __attribute__((aligned(8)));
  struct eventring_piece pieces[PIECES];
  struct eventring_saver_info info;
  struct eventring_error error;
  eventring_saver *saver;
  size_t used;
  written = 0;
  start(wsize, false);
  for (int i = 0; i < FIRST; i++) write_one();
  eventring_cursor *cursor = open_self(0);
  assert_int_equal(eventring_saver_open(&saver, cursor, &no_options, &error), 0);
  for (int round = 0; round < 50; round++) {
    int count = eventring_saver_fill(saver, buffer, BUFFER, pieces, PIECES, &used, &error);
    assert_true(count >= 0);
    for (int i = 0; i < count; i++)
      eventring_saver_written(saver, buffer, &pieces[i], pieces[i].size);
    for (size_t i = 0; i < used / 8 + 100; i++) write_one(); /* more than was saved */
  }
  assert_int_equal(eventring_saver_end(saver, false, &error), 0);
  int fills = 0, count;
  do {
    count = eventring_saver_fill(saver, buffer, BUFFER, pieces, PIECES, &used, &error);
    assert_true(count >= 0);
    for (int i = 0; i < count; i++)
      eventring_saver_written(saver, buffer, &pieces[i], pieces[i].size);
    for (size_t i = 0; i < used / 8; i++) write_one(); /* events after
                                                          eventring_saver_end */
    assert_true(++fills < 1000);
    eventring_saver_info(saver, &info);
  } while (count > 0 || info.backlog);
  for (bool more = true; more;) {
    count = eventring_saver_update(saver, buffer, BUFFER, pieces, PIECES, &used, &more, &error);
    assert_true(count >= 0);
    for (int i = 0; i < count; i++)
      eventring_saver_written(saver, buffer, &pieces[i], pieces[i].size);
    write_one();
  }
  eventring_saver_info(saver, &info);
  assert_int_equal(info.known, info.missed + info.saved + info.lost);
  assert_true(info.known <= (uint64_t)written + 10); /* events of the library itself */
  eventring_saver_close(saver);
  eventring_close(cursor);
  stop();
}

static void a_recorder_ends(void **state) {
  save_what_it_causes(EVENTRING_MIN_WSIZE);
  save_what_it_causes(20);
}

int main(void) {
  register_test_events();
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_reader_ends_each_round),
                                     cmocka_unit_test(a_recorder_ends)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
