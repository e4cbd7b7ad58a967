/* SPDX-License-Identifier: MIT */
/* eventring_clock_test.c: a live process in which the 41 bits of time in an event wrap.
 *
 * The test sets the time (test_clock.h). The clock begins shortly before bit 41 of the
 * ticks changes, advances by some ticks at each reading, and is set forward by up to
 * several times 2^41, as in a program that is idle for an hour. Every reader (of this
 * process, of the file, mapped or not, of a copy of it) must deliver the times, begins,
 * durations and suspensions that the test has noted.
 *
 * With TEST_MONOTONIC the kernel does not list the counter as a clock source, so the same
 * happens with CLOCK_MONOTONIC, whose nanoseconds wrap after 37 minutes.
 */
#include "eventring/tools.h"
#include "eventring_common.h"

#include <fcntl.h>
#include <time.h>

#include "format/atomics.h"

enum { TICKS_PER_NS = TEST_MONOTONIC ? 1 : 3, STEP_NS = 7 };
#define ROUND_TICKS ((uint64_t)1 << 41)
#define START_NS (5 * ROUND_TICKS / TICKS_PER_NS - 200000)
#define ROUND_NS (ROUND_TICKS / TICKS_PER_NS)

/* ---- The clock -------------------------------------------------------------------- */

static uint64_t now_ns = START_NS;
static uint64_t passing(void) { return now_ns += STEP_NS; }
uint64_t test_clock_ticks(void) { return passing() * TICKS_PER_NS; }

int test_clock_gettime(clockid_t clock, struct timespec *time) {
  uint64_t ns = passing();
  time->tv_sec = (time_t)(ns / 1000000000);
  time->tv_nsec = (long)(ns % 1000000000);
  return 0;
}

/* Ignores the test points of the library, which are for another test. */
void eventring_testpoint(enum evr_step step) { (void)step; }

/* Replaces the kernel's list of clock sources. */
ssize_t __real_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size) {
  static const char *const sources = TEST_MONOTONIC ? "hpet acpi_pm\n" : "tsc hpet acpi_pm\n";
  char path[64] = {0}, target[256] = {0};
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (readlink(path, target, sizeof target - 1) < 0 || !strstr(target, "available_clocksource"))
    return __real_read(fd, to, size);
  memcpy(to, sources, strlen(sources));
  return (ssize_t)strlen(sources);
}

/* ---- What is written, and when ---------------------------------------------------- */

enum { MOST = 4096 };
static struct noted { unsigned kind, id; uint64_t ns, begin_ns; } noted[MOST];
static size_t notes;
static eventring_domain *d;

static void note(unsigned kind, unsigned id, uint64_t begin_ns) {
  assert_true(notes < MOST);
  noted[notes++] = (struct noted){kind, id, now_ns, begin_ns};
}

static uint64_t begin(unsigned id) {
  eventring_user_begin(d, id);
  note(EVENTRING_BEGIN, id, now_ns);
  return now_ns;
}
static void end(unsigned id, uint64_t begun) {
  eventring_user_end(d, id);
  note(EVENTRING_END, id, begun);
}
static void point(void) {
  eventring_instant(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_POINT);
  note(EVENTRING_INSTANT, T_POINT, 0);
}

/* Tells whether two times are near each other. A converted time may differ a little from
   the clock: an event is written some readings after its time was read, and the rate is
   measured. */
static bool is_near(uint64_t one, uint64_t other) {
  uint64_t distance = one > other ? one - other : other - one;
  return distance < 2000;
}

/* ---- What readers deliver --------------------------------------------------------- */

/* Checks that a log has the last events that were noted. */
static void check_log(struct log *log) {
  size_t count = 0;
  for (size_t i = 0; i < log->count; i++)
    count += log->seen[i].event.ring == EVENTRING_USER &&
             !(log->seen[i].event.flags & EVENTRING_SYNTHETIC);
  assert_true(count > 0 && count <= notes);
  const struct noted *expected = &noted[notes - count];
  for (size_t i = 0; i < log->count; i++) {
    const struct eventring_event *e = &log->seen[i].event;
    if (e->ring != EVENTRING_USER || e->flags & EVENTRING_SYNTHETIC) continue;
    assert_int_equal(e->kind, expected->kind);
    assert_int_equal(e->id, expected->id);
    if (!is_near(e->ns, expected->ns))
      fail_msg("event %zu: %llu ns, written at %llu", i, (unsigned long long)e->ns,
               (unsigned long long)expected->ns);
    if (e->flags & EVENTRING_MATCHED) assert_true(is_near(e->begin_ns, expected->begin_ns));
    else assert_int_not_equal(e->kind, EVENTRING_END);
    expected++;
  }
}

static void check_cursor(eventring_cursor *cursor) {
  struct log log = {0};
  poll_log(cursor, &log, 0);
  check_log(&log);
  clear_log(&log);
  eventring_close(cursor);
}

static void check_backwards(eventring_cursor *cursor) {
  struct log log = {0};
  poll_log(cursor, &log, 0);
  for (size_t i = 0; i < log.count / 2; i++) {
    struct seen first = log.seen[i];
    log.seen[i] = log.seen[log.count - 1 - i];
    log.seen[log.count - 1 - i] = first;
  }
  check_log(&log);
  clear_log(&log);
  eventring_close(cursor);
}

static void check_readers(void) {
  struct eventring_error error;
  check_backwards(open_self(EVENTRING_OPEN_BACKWARDS));
  check_backwards(open_file(own_path(), EVENTRING_OPEN_BACKWARDS | EVENTRING_OPEN_UNMAPPED));
  check_cursor(open_self(0));
  check_cursor(open_file(own_path(), 0));
  check_cursor(open_file(own_path(), EVENTRING_OPEN_UNMAPPED));
  check_cursor(open_file(own_path(), EVENTRING_OPEN_MERGED));
  eventring_cursor *cursor = open_self(0);
  unlink("clock-copy.eventring");
  if (eventring_snapshot(cursor, "clock-copy.eventring", &error) < 0) fail_msg("%s", error.text);
  eventring_close(cursor);
  check_cursor(open_file("clock-copy.eventring", 0));
  unlink("clock-copy.eventring");
}

/* Counts the rebase remarks in the ring of user events. */
static unsigned rebases(void) {
  unsigned count = 0;
  struct eventring_ring_info info = {.size = sizeof info};
  eventring_cursor *cursor = open_self(0);
  assert_int_equal(eventring_cursor_ring(cursor, 0, EVENTRING_USER, &info), 0);
  eventring_close(cursor);
  FILE *file = fopen(own_path(), "rb");
  for (uint64_t s = info.blocks_written < info.blocks ? 1 : info.blocks_written - info.blocks + 1;
       s <= info.blocks_written; s++) {
    uint64_t words[FORMAT_BLOCK_WORDS];
    fseek(file, (long)ring_block_offset(own_path(), 0, EVENTRING_USER, s), SEEK_SET);
    assert_int_equal(fread(words, sizeof words, 1, file), 1);
    const struct format_block *block = (const struct format_block *)words;
    for (size_t at = 8 + 4 * (size_t)block->open + block->open_brief;
         at < FORMAT_BLOCK_WORDS && words[at];
         at += 1 + (words[at] >> 3 & 127))
      count += (words[at] & 7) == 7 && (words[at] >> 10 & 0x1fff) == 0;
  }
  fclose(file);
  return count;
}

/* ---- Tests ------------------------------------------------------------------------ */

static int set_up(void **state) {
  notes = 0;
  now_ns = START_NS;
  start_recording(EVENTRING_MIN_WSIZE);
  d = start_domain("clock");
  return 0;
}
static int tear_down(void **state) {
  eventring_domain_stop(d);
  eventring_stop();
  return 0;
}

static void the_clock_is_the_tests(void **state) {
  struct eventring_info info = {.size = sizeof info};
  eventring_cursor *cursor = open_self(0);
  eventring_cursor_info(cursor, &info);
  assert_string_equal(info.clock, TEST_MONOTONIC ? "monotonic" : "tsc");
  assert_true(info.clock_hz > 0.999e9 * TICKS_PER_NS && info.clock_hz < 1.001e9 * TICKS_PER_NS);
  eventring_close(cursor);
}

/* Checks bits that wrap while the program is busy: no remark is needed,
   and blocks change. */
static void wraps_while_busy(void **state) {
  uint64_t first = now_ns;
  while (now_ns < 5 * ROUND_NS + 200000 && notes < MOST - 2) {
    uint64_t begun = begin(T_FLOOD);
    now_ns += 100;
    end(T_FLOOD, begun);
  }
  assert_true(first < 5 * ROUND_NS && now_ns > 5 * ROUND_NS);
  if (!TEST_MONOTONIC) assert_int_equal(rebases(), 0);
  check_readers();
}

/* Checks idle times longer than 41 bits can express. */
static void wraps_while_idle(void **state) {
  static const uint64_t idle[] = {ROUND_NS / 2 - 1000, ROUND_NS / 2, ROUND_NS / 2 + 1000,
                                  ROUND_NS - 1000, ROUND_NS, ROUND_NS + 1, 3 * ROUND_NS,
                                  7 * ROUND_NS + ROUND_NS / 2, ROUND_NS / 3};
  uint64_t outer = begin(T_FLOOD);
  for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
    point();
    uint64_t inner = begin(T_FLOOD);
    now_ns += idle[i];
    point();
    now_ns += idle[i];
    end(T_FLOOD, inner);
    check_readers();
  }
  end(T_FLOOD, outer);
  assert_true(rebases() > 0);
  check_readers();
}

/* Checks spans that are open across several rounds: blocks list these spans with the
   times of their begins, which were overwritten long ago. */
static void lists_of_open_spans(void **state) {
  struct log log = {0};
  uint64_t begun[3];
  for (int i = 0; i < 3; i++) {
    begun[i] = begin(T_FLOOD);
    now_ns += ROUND_NS + 12345;
  }
  for (int i = 0; i < 3000; i++) point(); /* the ring wraps */
  eventring_cursor *cursor = open_file(own_path(), 0);
  poll_log(cursor, &log, 0);
  check_log(&log);
  size_t found = 0;
  for (size_t i = 0; i < log.count; i++) {
    const struct eventring_event *e = &log.seen[i].event;
    if (e->kind != EVENTRING_BEGIN || !(e->flags & EVENTRING_SYNTHETIC)) continue;
    assert_true(found < 3 && is_near(e->ns, begun[found]));
    found++;
  }
  assert_int_equal(found, 3);
  clear_log(&log);
  now_ns += 4 * ROUND_NS;
  for (int i = 2; i >= 0; i--) end(T_FLOOD, begun[i]);
  poll_log(cursor, &log, 0);
  check_log(&log);
  clear_log(&log);
  eventring_close(cursor);
  check_readers();
}

static void suspended_across_a_round(void **state) {
  struct log log = {0};
  eventring_set_context(d, EVENTRING_USER, 1);
  uint64_t begun = begin(T_FLOOD);
  eventring_suspend(d, EVENTRING_USER, EVENTRING_CLASS_USER, 1);
  eventring_set_context(d, EVENTRING_USER, 0);
  uint64_t asleep = 2 * ROUND_NS + 777777;
  now_ns += asleep;
  eventring_resume_context(d, EVENTRING_USER, EVENTRING_CLASS_USER, 1);
  end(T_FLOOD, begun);
  eventring_cursor *cursor = open_self(0);
  poll_log(cursor, &log, 0);
  check_log(&log);
  const struct eventring_event *e = &log.seen[log.count - 1].event;
  assert_int_equal(e->kind, EVENTRING_END);
  assert_true(is_near(e->suspended_ns, asleep));
  assert_true(is_near(e->ns - e->begin_ns, asleep));
  clear_log(&log);
  eventring_close(cursor);
}

/* Checks a reader that is attached all the time, while classes are switched
   in each round. */
static void followed_and_switched(void **state) {
  const uint64_t user = EVENTRING_CLASS_BIT(EVENTRING_CLASS_USER);
  eventring_cursor *cursor = open_file(own_path(), 0);
  struct log log = {0};
  for (int round = 0; round < 5; round++) {
    eventring_user_begin(d, T_FLOOD);
    now_ns += ROUND_NS / 2;
    eventring_switch_classes(user, false);
    now_ns += ROUND_NS;
    eventring_switch_classes(user, true);
    now_ns += ROUND_NS / 3;
    eventring_user_end(d, T_FLOOD); /* the span of this end is torn by then */
    uint64_t at = now_ns;
    poll_log(cursor, &log, 0);
    const struct eventring_event *e = &log.seen[log.count - 1].event;
    assert_int_equal(e->kind, EVENTRING_END);
    assert_true(e->flags & EVENTRING_TORN && !(e->flags & EVENTRING_MATCHED));
    assert_true(is_near(e->ns, at));
    clear_log(&log);
  }
  eventring_close(cursor);
}

/* Checks a clock that is set back, within spans, within a block and over several blocks:
   events stay in the order in which they were written, and a span that ends before it
   began lasts 0. */
static void the_clock_goes_back(void **state) {
  static const uint64_t by[] = {100, 40000, 3000000, 5000000000};
  now_ns += 20000000000; /* so that the clock is not set back to before the start */
  for (unsigned n = 0; n < 4; n++) {
    uint64_t outer = begin(T_FLOOD);
    point();
    now_ns -= by[n];
    uint64_t inner = begin(T_CALL);
    point();
    end(T_CALL, inner);
    eventring_user_end(d, T_FLOOD);
    note(EVENTRING_END, T_FLOOD, outer < now_ns ? outer : now_ns);
    for (int i = 0; i < 150; i++) point();
    check_readers();
  }
}

int main(void) {
#if !TEST_MONOTONIC && !defined(__x86_64__)
  printf("the counter of this processor cannot be replaced\n");
  return 77;
#endif
  register_test_events();
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(the_clock_is_the_tests), TEST(wraps_while_busy), TEST(wraps_while_idle),
      TEST(lists_of_open_spans), TEST(suspended_across_a_round), TEST(followed_and_switched),
      TEST(the_clock_goes_back)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
