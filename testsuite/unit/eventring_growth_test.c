/* SPDX-License-Identifier: MIT */
/* eventring_growth_test.c: rings that grow (producer/growth.c): in their first round and
   later, under readers of every kind, in snapshots, and when there is no room. */
#include <sys/resource.h>

#include "eventring/tools.h"
#include "eventring_common.h"

enum { HOUR_S = 3600, FIRST = 4 /* blocks of the smallest ring */ };
#define HOUR_NS (HOUR_S * (uint64_t)1000000000)

static eventring_domain *domain;
static int64_t written; /* number of the next counter event */

/* Starts a recording whose rings grow from the smallest size. */
static void start_growing(uint64_t hold_ns, uint64_t grow_bytes) {
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  struct eventring_error error = {0};
  config.hold_ns = hold_ns;
  config.grow_bytes = grow_bytes;
  if (eventring_start(&config, &error) != EVENTRING_OK) fail_msg("%s", error.text);
  domain = start_domain("main");
  written = 0;
}

static void stop(void) {
  eventring_domain_stop(domain);
  eventring_stop();
}

static void flood(int events) {
  for (int i = 0; i < events; i++) eventring_user_counter(domain, T_COUNT, written++);
}

static struct eventring_ring_info user_ring(eventring_cursor *cursor) {
  struct eventring_ring_info info = {.size = sizeof info};
  assert_int_equal(eventring_cursor_ring(cursor, 0, EVENTRING_USER, &info), EVENTRING_OK);
  return info;
}

static uint32_t places(void) {
  eventring_cursor *cursor = open_file(own_path(), EVENTRING_OPEN_NOW);
  uint32_t blocks = user_ring(cursor).blocks;
  eventring_close(cursor);
  return blocks;
}

/* Checks that counters come in order, and that no more are missing between them than were
   lost. */
static void check_order(const struct log *log) {
  int64_t next = -1, missing = 0;
  for (size_t i = 0; i < log->count; i++) {
    const struct eventring_event *e = &log->seen[i].event;
    if (e->id != T_COUNT) continue;
    assert_true(e->value.i >= next);
    missing += next < 0 ? 0 : e->value.i - next;
    next = e->value.i + 1;
  }
  assert_true(next == written);
  assert_true((uint64_t)missing <= log->lost[EVENTRING_USER]);
}

static void check_account(eventring_cursor *cursor, struct log *log) {
  while (poll_log(cursor, log, 0) > 0) {}
  struct eventring_ring_info info = user_ring(cursor);
  assert_int_equal(info.emitted, evr_domain_emitted(domain, EVENTRING_USER));
  assert_int_equal(info.emitted, info.missed + info.delivered + info.lost);
  assert_int_equal(eventring_cursor_error(cursor)->code, 0);
  check_order(log);
}

/* ---- In the first round ----------------------------------------------------------- */

static void grows_until_its_share(void **state) {
  start_growing(HOUR_NS, (uint64_t)1024 * FORMAT_BLOCK_BYTES);
  eventring_cursor *live = open_self(0);
  struct log log = {0};
  for (int i = 0; i < 240; i++) {
    flood(250);
    assert_true(poll_log(live, &log, 0) > 0);
  }
  /* sizes up to a quarter of the 1024 blocks: 4, 16, 64, 256 */
  assert_int_equal(places(), 256);
  check_account(live, &log);
  assert_int_equal(log.lost[EVENTRING_USER], 0);
  clear_log(&log);
  eventring_cursor *late = open_file(own_path(), 0);
  check_account(late, &log);
  assert_int_equal(log.before[EVENTRING_USER], 0);
  assert_int_equal(log.lost[EVENTRING_USER], 0);
  flood(200 * 256); /* now the ring wraps */
  assert_int_equal(places(), 256);
  check_account(late, &log);
  clear_log(&log);
  eventring_close(late);
  late = open_file(own_path(), 0);
  check_account(late, &log);
  assert_true(log.before[EVENTRING_USER] > 0);
  assert_true(log.events[EVENTRING_USER] >= 255 * 250);
  clear_log(&log);
  eventring_close(late);
  eventring_close(live);
  stop();
}

static void stays_without_wish(void **state) {
  start_growing(0, 0);
  flood(20000);
  assert_int_equal(places(), FIRST);
  stop();
}

static void stays_where_it_holds_enough(void **state) {
  start_growing(1, 0); /* hold time: a nanosecond */
  flood(20000);
  assert_int_equal(places(), FIRST);
  stop();
}

static void stays_without_budget(void **state) {
  start_growing(HOUR_NS, (uint64_t)4 * FORMAT_BLOCK_BYTES);
  flood(20000); /* a quarter of 4 blocks is less than any run */
  assert_int_equal(places(), FIRST);
  stop();
}

/* Checks that all rings together keep to the budget. */
static void shares_the_budget(void **state) {
  enum { DOMAINS = 12 };
  eventring_domain *other[DOMAINS];
  start_growing(HOUR_NS, (uint64_t)256 * FORMAT_BLOCK_BYTES);
  for (int i = 0; i < DOMAINS; i++) other[i] = start_domain("other");
  for (int i = 0; i < DOMAINS; i++)
    for (int n = 0; n < 30000; n++) eventring_user_counter(other[i], T_COUNT, n);
  eventring_cursor *cursor = open_file(own_path(), 0);
  uint64_t grown = 0;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    struct eventring_ring_info info = {.size = sizeof info};
    if (eventring_cursor_ring(cursor, slot, EVENTRING_USER, &info) < 0) continue;
    assert_true(info.blocks - FIRST <= 64);
    grown += info.blocks - FIRST;
  }
  assert_true(grown > 128 && grown <= 256);
  eventring_close(cursor);
  for (int i = 0; i < DOMAINS; i++) eventring_domain_stop(other[i]);
  stop();
}

/* ---- Later ------------------------------------------------------------------------ */

static void set_hold(uint64_t ns) {
  struct eventring_error error = {0};
  if (eventring_control(own_path(), EVENTRING_CHANGE(HOLD, .hold_ns = ns), &error) != EVENTRING_OK)
    fail_msg("%s", error.text);
}

/* Checks growth with readers that were opened before, and with new readers after each
   step. */
static void grows_later(uint64_t start) {
  enum { READERS = 3 };
  static const unsigned how[READERS] = {0, EVENTRING_OPEN_UNMAPPED, EVENTRING_OPEN_MERGED};
  eventring_cursor *old[READERS + 1];
  struct log old_log[READERS + 1] = {{0}};
  start_growing(0, 0);
  flood((int)start);
  for (int i = 0; i < READERS; i++) old[i] = open_file(own_path(), how[i]);
  old[READERS] = open_self(0);
  set_hold(HOUR_NS);
  for (int step = 0; step < 60; step++) {
    flood(37 * (step % 17));
    for (int i = 0; i <= READERS; i++)
      if (step % (i + 2) == 0) assert_true(poll_log(old[i], &old_log[i], 0) >= 0);
    struct log log = {0};
    eventring_cursor *now = open_file(own_path(), how[step % READERS]);
    check_account(now, &log);
    assert_int_equal(log.lost[EVENTRING_USER], 0);
    clear_log(&log);
    eventring_close(now);
  }
  assert_true(places() > FIRST);
  for (int i = 0; i <= READERS; i++) {
    check_account(old[i], &old_log[i]);
    clear_log(&old_log[i]);
    eventring_close(old[i]);
  }
  stop();
}

static void grows_in_every_round(void **state) {
  for (uint64_t start = 50; start < 20000; start += 1291 * slowness()) grows_later(start);
}

static void goes_back_to_its_wish(void **state) {
  start_growing(HOUR_NS, 0);
  flood(2000);
  uint32_t before = places();
  set_hold(0);
  flood(200000);
  assert_true(before > FIRST);
  assert_int_equal(places(), before);
  stop();
}

/* ---- Copies ----------------------------------------------------------------------- */

static void snapshots_have_all_runs(void **state) {
  char name[64];
  snprintf(name, sizeof name, "growth-%ld.copy", (long)getpid());
  start_growing(0, 0);
  flood(5000);
  set_hold(HOUR_NS);
  for (int step = 0; step < 40; step++) {
    struct eventring_error error = {0};
    struct log log = {0}, copied = {0};
    flood(401);
    eventring_cursor *cursor = open_file(own_path(), 0);
    if (eventring_snapshot(cursor, name, &error) != EVENTRING_OK) fail_msg("%s", error.text);
    eventring_cursor *copy = open_file(name, 0);
    poll_log(cursor, &log, 0);
    poll_log(copy, &copied, 0);
    assert_int_equal(eventring_cursor_error(copy)->code, 0);
    assert_int_equal(copied.count, log.count);
    assert_int_equal(copied.events[EVENTRING_USER], log.events[EVENTRING_USER]);
    assert_int_equal(copied.before[EVENTRING_USER], log.before[EVENTRING_USER]);
    check_order(&copied);
    clear_log(&log);
    clear_log(&copied);
    eventring_close(copy);
    eventring_close(cursor);
    remove(name);
  }
  assert_true(places() > 16);
  stop();
}

/* ---- Without room ----------------------------------------------------------------- */

static void goes_on_without_room(void **state) {
  struct rlimit limit, tight;
  start_growing(HOUR_NS, 0);
  flood(10);
  eventring_cursor *cursor = open_file(own_path(), 0);
  struct eventring_info info = {.size = sizeof info};
  assert_int_equal(eventring_cursor_info(cursor, &info), EVENTRING_OK);
  getrlimit(RLIMIT_FSIZE, &limit);
  tight = limit;
  tight.rlim_cur = info.file_size;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
  flood(20000);
  assert_int_equal(places(), FIRST);
  assert_true(eventring_domain_slot(domain) >= 0); /* the domain is recorded as before */
  assert_int_equal(evr_domain_emitted(domain, EVENTRING_USER), written);
  setrlimit(RLIMIT_FSIZE, &limit);
  flood(20000); /* the ring grows when there is room again */
  assert_true(places() > FIRST);
  struct log log = {0};
  check_account(cursor, &log);
  clear_log(&log);
  eventring_close(cursor);
  stop();
}

/* ---- Damage ----------------------------------------------------------------------- */

/* Checks that a wrong run table is damage, and that the reader ends. */
static void wrong_runs_are_damage(void **state) {
  start_growing(0, 0);
  flood(9000);
  /* a place in the ring, not among the records, which are needed to open the file */
  uint64_t offset = ring_block_offset(own_path(), 0, EVENTRING_USER, 1);
  uint32_t own = (uint32_t)((offset - FORMAT_BLOCKS_OFFSET) / FORMAT_BLOCK_BYTES) / 16 * 16;
  const struct format_growth wrong[] = {
      {.run = {1}, .rounds = 1},                              /* not marked */
      {.run = {format_run(own, FIRST)}, .rounds = 1},         /* not more places */
      {.run = {format_run(own, 1 << 20)}, .rounds = 1},       /* too many */
      {.run = {format_run(1 << 29, 2 * FIRST)}, .rounds = 1}, /* beyond the file */
      {.run = {format_run(own, 2 * FIRST)}, .rounds = 0},
      {.run = {format_run(own, 2 * FIRST)}, .rounds = UINT32_MAX},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    FILE *file = fopen(own_path(), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, FORMAT_RUNS_OFFSET + sizeof wrong[0] * EVENTRING_USER, SEEK_SET),
                     0);
    assert_int_equal(fwrite(&wrong[i], sizeof wrong[i], 1, file), 1);
    fclose(file);
    for (unsigned flags = 0; flags <= EVENTRING_OPEN_UNMAPPED; flags += EVENTRING_OPEN_UNMAPPED) {
      struct log log = {0};
      eventring_cursor *cursor = open_file(own_path(), flags);
      int status = poll_log(cursor, &log, 0);
      assert_int_equal(status < 0 ? status : poll_log(cursor, &log, 0), EVENTRING_E_CORRUPT);
      clear_log(&log);
      eventring_close(cursor);
    }
  }
  stop();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(grows_until_its_share),
      cmocka_unit_test(stays_without_wish),
      cmocka_unit_test(stays_where_it_holds_enough),
      cmocka_unit_test(stays_without_budget),
      cmocka_unit_test(shares_the_budget),
      cmocka_unit_test(grows_in_every_round),
      cmocka_unit_test(goes_back_to_its_wish),
      cmocka_unit_test(snapshots_have_all_runs),
      cmocka_unit_test(goes_on_without_room),
      cmocka_unit_test(wrong_runs_are_damage),
  };
  register_test_events();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
