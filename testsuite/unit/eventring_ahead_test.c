/* SPDX-License-Identifier: MIT */
/* eventring_ahead_test.c: a cursor with OPEN_AHEAD delivers what a cursor without it
 * delivers: for sound, damaged and truncated files, merged and ring by ring, in batches
 * and one by one, and wherever reading ends. In each order that a cursor can keep, each
 * ring's events are the same. */
#include "eventring/tools.h"
#include "eventring_common.h"

#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* The SPANS of each thread take 1.1 MB in one ring and 2.3 MB in the other. */
enum { THREADS = 3, SPANS = 46000 };

static char file[] = "ahead.eventring", other[] = "other.eventring";

/* ---- Writing ---------------------------------------------------------------------- */

static pthread_barrier_t all_started; /* so that each thread has a slot of its own */

/* Writes nested spans of the user, and now and then something that ends a batch: a span
   that stays open for long, another context, a suspended span. */
static void write_nested(eventring_domain *d, int n) {
  eventring_user_begin(d, T_FLOOD);
  for (int inside = 0; inside < n % 4; inside++) {
    eventring_user_begin(d, T_CALL);
    if (inside == 1) eventring_user_begin(d, T_FLOOD);
    if (inside == 1) eventring_user_end(d, T_FLOOD);
    eventring_user_end(d, T_CALL);
  }
  /* a context gets an end of a span that is open in another context */
  if (n % 37 == 3) eventring_set_context(d, EVENTRING_USER, 7);
  if (n % 37 == 4) eventring_user_counter(d, T_COUNT, n);
  if (n % 37 == 5) eventring_user_end(d, T_CALL);
  if (n % 37 == 5) eventring_user_counter(d, T_COUNT, n);
  if (n % 37 == 7) eventring_set_context(d, EVENTRING_USER, 0);
  if (n % 100 != 50) eventring_user_end(d, T_FLOOD);
  if (n % 1000 == 950)
    for (int open = 0; open < 10; open++) eventring_user_end(d, T_FLOOD);
  if (n % 500 == 499) eventring_suspend(d, EVENTRING_USER, EVENTRING_CLASS_USER, 1);
  if (n % 500 >= 490) eventring_set_context(d, EVENTRING_USER, 1 + (uint64_t)n % 500 / 495);
  if (n % 500 == 5) eventring_resume_context(d, EVENTRING_USER, EVENTRING_CLASS_USER, 1);
}

static void *write_spans(void *argument) {
  eventring_domain *d = start_domain("writer");
  pthread_barrier_wait(&all_started);
  for (int n = 0; n < SPANS; n++) {
    eventring_begin_int(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER, n);
    eventring_end(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER);
    write_nested(d, n);
    if (n % 8 == 0) eventring_user_counter(d, T_COUNT, n);
    if (n % 64 == 0)
      eventring_instant_bytes(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_TEXT, "text",
                              (size_t)n / 64 % 5);
  }
  eventring_domain_stop(d);
  return NULL;
}

static void write_file(void) {
  pthread_t thread[THREADS];
  struct eventring_error error;
  struct eventring_config config = test_config(EVENTRING_DEFAULT_WSIZE);
  config.stream = file;
  if (eventring_start(&config, &error) != EVENTRING_OK) fail_msg("%s", error.text);
  pthread_barrier_init(&all_started, NULL, THREADS);
  for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, write_spans, NULL);
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  pthread_barrier_destroy(&all_started);
  eventring_stop();
}

/* Copies the file, with a byte changed in every `damage`-th block. */
static void copy_file(unsigned damage) {
  struct stat st;
  FILE *from = fopen(file, "rb"), *to = fopen(other, "wb");
  assert_true(from && to);
  assert_int_equal(fstat(fileno(from), &st), 0);
  size_t bytes = (size_t)st.st_size;
  char *all = malloc(bytes);
  assert_non_null(all);
  assert_int_equal(fread(all, 1, bytes, from), bytes);
  for (size_t n = damage; damage && format_block_offset(n + 1) <= bytes; n += damage)
    all[format_block_offset(n) + (n * 37 % FORMAT_BLOCK_BYTES)] ^= 0x55;
  assert_int_equal(fwrite(all, 1, bytes, to), bytes);
  free(all);
  fclose(from);
  fclose(to);
}

/* ---- Reading ---------------------------------------------------------------------- */

struct heard {
  uint64_t events, losses, hash, most;
  uint64_t batched; /* number of `events` that came in batches */
  int status[8]; /* status of the polls that reported something */
  struct eventring_error trouble[8];
  unsigned polls;
};

static inline __attribute__((always_inline)) uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

/* Hears an event, of which there are a million: the hash is in a register meanwhile,
   where ThreadSanitizer does not watch it. */
static int hear_event(void *context, const struct eventring_event *e) {
  struct heard *heard = context;
  uint64_t hash = mix(heard->hash, e->ns);
  hash = mix(hash, (uint64_t)e->id << 32 | (uint64_t)e->domain << 16 | (uint64_t)e->kind << 8 |
                     e->ring);
  hash = mix(hash, e->begin_ns ^ e->value.u);
  hash = mix(hash, (uint64_t)e->flags << 32 | e->depth);
  if (e->size) hash = mix(hash, e->size << 8 | *(const uint8_t *)e->bytes);
  heard->hash = hash;
  return ++heard->events == heard->most;
}

static int hear_loss(void *context, const struct eventring_loss *loss) {
  struct heard *heard = context;
  heard->losses++;
  heard->hash = mix(mix(heard->hash, loss->count),
                    (uint64_t)loss->domain << 16 | (uint64_t)loss->ring << 8 | loss->flags);
  return 0;
}

/* A batch, and what was delivered of it: first and last time, and number of points. */
struct hearing_batch {
  struct heard *heard;
  const struct eventring_batch *batch;
  uint64_t first_ns, last_ns;
  size_t points;
};

static int hear_on(void *context, const struct eventring_event *event) {
  struct hearing_batch *of = context;
  hear_event(of->heard, event);
  if (!of->first_ns) of->first_ns = event->ns;
  of->last_ns = event->ns;
  if (event->kind > EVENTRING_END) {
    assert_true(of->points < of->batch->point_count);
    assert_int_equal(of->batch->earliest_ns + of->batch->points[of->points++].after, event->ns);
  }
  return 0;
}

/* Takes a batch. (A poll ends only after a batch, so all of the batch is heard.) */
static int hear_batch(void *context, const struct eventring_batch *batch) {
  struct heard *heard = context;
  struct hearing_batch of = {heard, batch, 0, 0, 0};
  heard->batched += batch->count;
  eventring_batch_each(batch, hear_on, &of);
  assert_int_equal(of.points, batch->point_count);
  assert_int_equal(of.first_ns, batch->earliest_ns);
  assert_int_equal(of.last_ns, batch->latest_ns);
  return heard->most && heard->events >= heard->most;
}

static const struct eventring_callbacks hearing = {sizeof hearing, hear_event, hear_loss};

static void hear(eventring_cursor *cursor, struct heard *heard) {
  int64_t status;
  while ((status = eventring_poll(cursor, &hearing, heard, 0)) != 0) {
    if (heard->most && heard->events >= heard->most) break;
    if (status > 0) continue;
    if (heard->polls == 8) break;
    heard->status[heard->polls] = (int)status;
    heard->trouble[heard->polls++] = *eventring_cursor_error(cursor);
  }
}

static eventring_cursor *open_to_hear(const char *path, unsigned flags, bool batches,
                                      struct heard *heard) {
  eventring_cursor *cursor = open_file(path, flags);
  if (batches)
    assert_int_equal(eventring_cursor_batches(cursor, EVENTRING_BATCH_ALL, hear_batch, heard),
                     EVENTRING_OK);
  return cursor;
}

static void hear_file(const char *path, unsigned flags, bool batches, uint64_t most,
                      uint64_t seek_ns, struct heard *heard) {
  *heard = (struct heard){.most = most};
  eventring_cursor *cursor = open_to_hear(path, flags, batches, heard);
  if (seek_ns) assert_int_equal(eventring_cursor_seek(cursor, seek_ns), EVENTRING_OK);
  hear(cursor, heard);
  assert_int_equal(eventring_close(cursor), EVENTRING_OK);
}

/* Checks that the same events are heard. How many of them came in batches may differ. */
static void assert_same(const struct heard *a, const struct heard *b) {
  struct heard of_b = *b;
  of_b.batched = a->batched;
  assert_memory_equal(a, &of_b, sizeof of_b);
}

/* Compares both ways of reading, merged and ring by ring, and in batches (which do not
   end after the same event), merged. Returns the number of events. */
static uint64_t compare(const char *path, uint64_t most, uint64_t seek_ns) {
  struct heard alone, ahead;
  for (unsigned flags = 0; flags <= EVENTRING_OPEN_MERGED; flags += EVENTRING_OPEN_MERGED) {
    hear_file(path, flags, false, most, seek_ns, &alone);
    hear_file(path, flags | EVENTRING_OPEN_AHEAD, false, most, seek_ns, &ahead);
    assert_same(&alone, &ahead);
    if (most || !flags) continue;
    hear_file(path, flags | EVENTRING_OPEN_AHEAD, true, most, seek_ns, &ahead);
    assert_same(&alone, &ahead);
  }
  return alone.events;
}

/* ---- The tests -------------------------------------------------------------------- */

static void sound_file(void **state) {
  struct heard heard;
  assert_true(compare(file, 0, 0) > 4 * SPANS * THREADS);
  hear_file(file, EVENTRING_OPEN_AHEAD, true, 0, 0, &heard);
  assert_true(heard.batched > 2 * SPANS * THREADS);
}

/* Checks batches that are switched on after some events were read, and off again. */
static void batches_for_a_while(void **state) {
  struct heard alone, heard = {.most = 30000};
  hear_file(file, 0, false, 0, 0, &alone);
  eventring_cursor *cursor = open_file(file, EVENTRING_OPEN_AHEAD);
  hear(cursor, &heard);
  assert_int_equal(eventring_cursor_batches(cursor, 0, hear_batch, &heard), EVENTRING_OK);
  heard.most = alone.events / 2;
  hear(cursor, &heard);
  assert_int_equal(eventring_cursor_batches(cursor, 0, NULL, NULL), EVENTRING_OK);
  heard.most = 0;
  hear(cursor, &heard);
  assert_true(heard.batched > 0);
  assert_true(heard.events == alone.events && heard.hash == alone.hash);
  eventring_close(cursor);
}

static void ends_early(void **state) {
  const uint64_t most[] = {1, 1000, 50000, SPANS * THREADS};
  for (size_t i = 0; i < sizeof most / sizeof most[0]; i++)
    assert_int_equal(compare(file, most[i], 0), most[i]);
}

static void begins_late(void **state) {
  eventring_cursor *cursor = open_file(file, 0);
  struct eventring_info info = {.size = sizeof info};
  assert_true(eventring_cursor_info(cursor, &info) >= 0);
  eventring_close(cursor);
  assert_true(info.end_ns > info.start_ns);
  compare(file, 0, info.start_ns + (info.end_ns - info.start_ns) / 4);
}

static void damaged_files(void **state) {
  const unsigned damage[] = {1, 7, 100, 2, 16};
  const size_t count = slowness() > 1 ? 3 : sizeof damage / sizeof damage[0];
  for (size_t i = 0; i < count; i++) {
    copy_file(damage[i]);
    compare(other, 0, 0);
  }
}

static void hear_truncated(unsigned flags, bool batches, struct heard *heard) {
  *heard = (struct heard){0};
  copy_file(0);
  eventring_cursor *cursor = open_to_hear(other, flags, batches, heard);
  assert_int_equal(truncate(other, (off_t)format_block_offset(900) + 1000), 0);
  hear(cursor, heard);
  eventring_close(cursor);
}

static void truncated_file(void **state) {
  struct heard alone, ahead;
  hear_truncated(0, false, &alone);
  assert_true(alone.polls > 0);
  for (int batches = 0; batches < 2; batches++) {
    hear_truncated(EVENTRING_OPEN_AHEAD, batches, &ahead);
    assert_same(&alone, &ahead);
  }
}

/* Checks that a cursor goes on without its threads in a child, where they do not
   exist. */
static void forked(void **state) {
  struct heard alone, rest = {.most = 50000};
  hear_file(file, 0, false, 0, 0, &alone);
  eventring_cursor *cursor = open_to_hear(file, EVENTRING_OPEN_AHEAD, *(bool *)*state, &rest);
  hear(cursor, &rest);
  rest.most = 0;
  pid_t child = fork();
  if (!child) {
    hear(cursor, &rest);
    eventring_close(cursor);
    _exit(rest.events == alone.events && rest.hash == alone.hash ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  hear(cursor, &rest);
  assert_true(rest.events == alone.events && rest.hash == alone.hash);
  eventring_close(cursor);
}

/* ---- Orders ----------------------------------------------------------------------- */

struct orders {
  eventring_cursor *cursor;
  enum eventring_order order;
  uint64_t hash[THREADS + 1][EVENTRING_RINGS]; /* hash of the events of each ring */
  uint64_t events, latest; /* number of events; ns of the newest event of the present
                              domain */
  /* no ring but `ring` of `domain` has events left before this time */
  uint64_t settled;
  uint32_t domain, ring;
  unsigned changes;                            /* changes from domain to domain */
};

static int hear_in_order(void *context, const struct eventring_event *e) {
  struct orders *o = context;
  assert_true(e->domain <= THREADS);
  uint64_t *hash = &o->hash[e->domain][e->ring];
  *hash = (*hash ^ e->ns ^ e->begin_ns ^ (uint64_t)e->id << 8 ^ e->kind) * 0x9e3779b97f4a7c15;
  const bool same_domain = o->events && e->domain == o->domain;
  const bool same_ring = same_domain && e->ring == o->ring;
  o->changes += !same_domain;
  if (o->order == EVENTRING_ORDER_DOMAINS && same_domain) assert_true(e->ns >= o->latest);
  if (o->order == EVENTRING_ORDER_BLOCKS) {
    if (o->events && !same_ring) assert_true(e->ns >= o->settled);
    o->settled = eventring_cursor_settled(o->cursor);
  }
  o->domain = e->domain;
  o->ring = e->ring;
  o->latest = e->ns;
  o->events++;
  return 0;
}

static int hear_batch_in_order(void *context, const struct eventring_batch *batch) {
  return eventring_batch_each(batch, hear_in_order, context);
}

static void hear_order(struct orders *o, bool batches) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, hear_in_order, NULL};
  eventring_cursor *cursor = open_file(file, EVENTRING_OPEN_MERGED | EVENTRING_OPEN_AHEAD);
  o->cursor = cursor;
  assert_int_equal(eventring_cursor_order(cursor, o->order), EVENTRING_OK);
  if (batches)
    assert_int_equal(eventring_cursor_batches(cursor, EVENTRING_BATCH_ALL, hear_batch_in_order, o),
                     EVENTRING_OK);
  while (eventring_poll(cursor, &callbacks, o, 0) > 0) {
  }
  assert_true(eventring_finished(cursor));
  eventring_close(cursor);
}

static void orders_keep_rings(void **state) {
  struct orders merged = {0};
  hear_order(&merged, false);
  for (int order = EVENTRING_ORDER_OPENED; order <= EVENTRING_ORDER_BLOCKS; order++)
    for (int batches = 0; batches < 2; batches++) {
      struct orders o = {.order = (enum eventring_order)order};
      hear_order(&o, batches);
      assert_int_equal(o.events, merged.events);
      assert_memory_equal(o.hash, merged.hash, sizeof o.hash);
      if (order == EVENTRING_ORDER_DOMAINS) assert_true(o.changes <= THREADS + 1);
      if (order == EVENTRING_ORDER_BLOCKS) assert_true(o.changes < o.events / 50);
    }
  eventring_cursor *cursor = open_file(file, 0);
  assert_int_equal(eventring_cursor_order(cursor, (enum eventring_order)9), EVENTRING_E_ARGUMENT);
  eventring_close(cursor);
}

/* Checks that a cursor reads from the same time again, from the middle and after the
   end. */
static void reads_again(void **state) {
  struct eventring_info info = {.size = sizeof info};
  struct heard part, heard = {.most = 1000};
  eventring_cursor *cursor = open_file(file, EVENTRING_OPEN_MERGED);
  assert_true(eventring_cursor_info(cursor, &info) >= 0);
  const uint64_t middle = info.start_ns + (info.end_ns - info.start_ns) / 2;
  hear_file(file, EVENTRING_OPEN_MERGED, false, 0, middle, &part);
  hear(cursor, &heard);
  for (int i = 0; i < 3; i++) {
    heard = (struct heard){0};
    assert_int_equal(eventring_cursor_again(cursor, middle), EVENTRING_OK);
    hear(cursor, &heard);
    assert_same(&part, &heard);
    assert_true(eventring_finished(cursor));
  }
  eventring_close(cursor);
}

int main(void) {
  static bool with = true, without;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sound_file),     cmocka_unit_test(ends_early),
      cmocka_unit_test(begins_late),    cmocka_unit_test(damaged_files),
      cmocka_unit_test(truncated_file), cmocka_unit_test(batches_for_a_while),
      cmocka_unit_test(orders_keep_rings), cmocka_unit_test(reads_again),
      cmocka_unit_test_prestate(forked, &with), cmocka_unit_test_prestate(forked, &without)};
  register_test_events();
  write_file();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(file);
  unlink(other);
  return failed;
}
