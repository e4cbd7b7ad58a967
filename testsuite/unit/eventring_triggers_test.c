/* SPDX-License-Identifier: MIT */
/* eventring_triggers_test.c: triggers: what fires, how often, what is saved and what is
   not; wrong texts. */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "eventring/conditions.h"
#include "eventring/tools.h"
#include "eventring_common.h"

#define ENOUGH ((uint64_t)60 * 1000000000) /* ns, for a copy on a busy machine */

static eventring_domain *domain;

static int set(const char *text) {
  struct eventring_error error = {0};
  int number = eventring_trigger_set(text, strlen(text), &error);
  if (number <= 0) fail_msg("%s: %s", text, error.text);
  return number;
}

/* Waits until nothing is under way, and returns the trigger of this number. */
static struct eventring_trigger look(int number) {
  struct eventring_trigger t;
  assert_int_equal(eventring_triggers_wait(ENOUGH), EVENTRING_OK);
  for (unsigned i = 0; eventring_trigger_at(i, &t) == EVENTRING_OK; i++)
    if (t.number == number) return t;
  fail_msg("no trigger %d", number);
  return t;
}

/* Counts the copies in a directory whose names have this part; stores the path of
   one in `path`. */
static unsigned copies(const char *directory, const char *part, char path[4096]) {
  unsigned count = 0;
  struct dirent *entry;
  DIR *open = opendir(directory);
  if (!open) return 0;
  while ((entry = readdir(open)) != NULL) {
    if (!strstr(entry->d_name, part)) continue;
    count++;
    if (path) snprintf(path, 4096, "%s/%s", directory, entry->d_name);
  }
  closedir(open);
  return count;
}

static void remove_copies(const char *directory) {
  char path[4096];
  while (copies(directory, "-trigger", path)) assert_int_equal(remove(path), 0);
}

static int set_up(void **state) {
  start_recording(EVENTRING_DEFAULT_WSIZE);
  domain = start_domain("main");
  return 0;
}

static int tear_down(void **state) {
  struct eventring_trigger t;
  while (eventring_trigger_at(0, &t) == EVENTRING_OK)
    assert_int_equal(eventring_trigger_remove(t.number), EVENTRING_OK);
  eventring_domain_stop(domain);
  assert_int_equal(eventring_stop(), EVENTRING_OK);
  remove_copies(".");
  return 0;
}

static void count(int64_t value) {
  eventring_counter(domain, EVENTRING_USER, EVENTRING_CLASS_USER, T_COUNT, value);
}
static void flood(void) {
  eventring_begin(domain, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
  eventring_end(domain, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
}
static void collect(void) {
  eventring_begin_int(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER, 1);
  eventring_begin(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_INNER);
  eventring_end(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_INNER);
  eventring_end(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER);
}

/* ---- What fires ------------------------------------------------------------------- */

/* Checks that a trigger on a level fires when the level begins to fulfil the
   condition. */
static void test_counter(void **state) {
  int number = set("counter(\"count\") > 10, cooldown=0s");
  count(5);
  count(10);
  assert_int_equal(look(number).fired, 0);
  count(11);
  assert_int_equal(look(number).saved, 1);
  count(12);
  count(13);
  struct eventring_trigger t = look(number);
  assert_int_equal(t.fired, 1);
  count(3);
  count(99);
  t = look(number);
  assert_int_equal(t.fired, 2);
  assert_int_equal(t.saved, 2);
  assert_int_equal(t.skipped + t.failed, 0);
  assert_true(t.bytes > 0);
  assert_int_equal(copies(".", "-counter.eventring", NULL), 2);
  assert_int_equal(copies(".", ".part", NULL), 0);
}

/* Checks that the begin of a span and the end of another one, between which nothing was
   recorded, fire no trigger, as readers take them for no span. */
static void test_gaps(void **state) {
  enum { GAP_US = 40000 };
  int span = set("span(\"flood\") > 30ms, cooldown=0s");
  int pause = set("pause > 30ms, cooldown=0s");
  for (int i = 0; i < 2; i++) {
    eventring_begin_int(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER, 1);
    eventring_begin(domain, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
    if (i == 0) eventring_pause();
    usleep(GAP_US);
    if (i == 0) eventring_resume();
    eventring_end(domain, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
    eventring_end(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER);
    assert_int_equal(look(span).fired, i);
    assert_int_equal(look(pause).fired, i);
  }
}

/* Checks that spans have the same times for triggers as in the recording, also where the
   begin of a span is the first event of a block. */
static void test_times(void **state) {
  const struct evr_domain *d = (struct evr_domain *)domain;
  const struct eventring_lane *lane = &d->lanes.hot.lane[EVENTRING_USER];
  set("span(\"flood\") > 3600s");
  for (int i = 0; i < 2000; i++) {
    eventring_begin(domain, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
    assert_int_equal(d->watching.open_count, 1);
    assert_true(lane->next[-1] >> EVENTRING_WORD_TIME_SHIFT ==
                d->watching.open[0].since << EVENTRING_WORD_TIME_SHIFT >>
                    EVENTRING_WORD_TIME_SHIFT);
    eventring_end(domain, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
  }
}

static int find_event(void *context, const struct eventring_event *event) {
  int64_t *value = context;
  if (strncmp(event->name, "trigger ", 8) == 0) *value = event->value.i;
  return 0;
}

/* Checks that the copy has the events before the value, and the value, and reads like any
   recording. */
static void test_copy(void **state) {
  char path[4096];
  int64_t value = 0;
  struct eventring_info info = {.size = sizeof info};
  int number = set("counter(\"count\") >= 42");
  for (int i = 0; i <= 42; i++) count(i);
  assert_int_equal(look(number).saved, 1);
  assert_int_equal(copies(".", "-counter.eventring", path), 1);
  eventring_cursor *cursor = open_file(path, 0);
  assert_int_equal(eventring_cursor_info(cursor, &info), EVENTRING_OK);
  assert_int_equal(info.liveness, EVENTRING_SAVED);
  const struct eventring_callbacks callbacks = {sizeof callbacks, find_event, NULL};
  assert_true(eventring_poll(cursor, &callbacks, &value, 0) >= 43);
  assert_int_equal(value, 42);
  eventring_close(cursor);
}

static void test_spans_and_pauses(void **state) {
  int every = set("span(\"flood\") >= 0ns, max=1, cooldown=0ns");
  int never = set("span(\"flood\") > 3600s");
  int inner = set("span(\"inner\") >= 0ns, max=1");
  int pause = set("pause >= 0ns, max=1");
  flood();
  flood();
  collect();
  collect();
  assert_int_equal(look(every).fired, 2);
  assert_int_equal(look(every).saved, 1);
  assert_int_equal(look(every).skipped, 1);
  assert_int_equal(look(never).fired, 0);
  assert_int_equal(look(inner).fired, 2);
  assert_int_equal(look(pause).fired, 2); /* only the outer pauses count */
}

/* Checks begins without ends, and ends without begins. */
static void test_spans_that_never_end(void **state) {
  int number = set("span(\"flood\") >= 0ns");
  eventring_end(domain, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
  assert_int_equal(look(number).fired, 0);
  for (int i = 0; i < 10000; i++)
    eventring_begin(domain, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
  assert_int_equal(look(number).fired, 0);
  for (int i = 0; i < 10000; i++)
    eventring_end(domain, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
  uint64_t fired = look(number).fired;
  assert_true(fired > 0 && fired <= 32); /* only 32 begins are remembered */
}

static void test_contexts(void **state) {
  int number = set("span(\"flood\") >= 0ns");
  eventring_set_context(domain, EVENTRING_USER, 7);
  eventring_begin(domain, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
  eventring_set_context(domain, EVENTRING_USER, 8);
  eventring_end(domain, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
  assert_int_equal(look(number).fired, 0);
  eventring_set_context(domain, EVENTRING_USER, 7);
  eventring_end(domain, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
  assert_int_equal(look(number).fired, 1);
  eventring_set_context(domain, EVENTRING_USER, 0);
}

static void test_names_that_come_later(void **state) {
  struct eventring_error error;
  int number = set("counter(\"later\") > 1.5");
  int id = eventring_register_user(EVENTRING_DEF_COUNTER, "later", 5, EVENTRING_DOUBLE, &error);
  assert_true(id > 0);
  eventring_counter_double(domain, EVENTRING_USER, EVENTRING_CLASS_USER, (unsigned)id, 1.5);
  assert_int_equal(look(number).fired, 0);
  eventring_counter_double(domain, EVENTRING_USER, EVENTRING_CLASS_USER, (unsigned)id, 1.75);
  assert_int_equal(look(number).fired, 1);
}

static void test_error_and_signal(void **state) {
  int error = set("error"), signal = set("signal == 15"), other = set("signal == 11");
  assert_int_equal(eventring_note_error("it broke", 8), EVENTRING_OK);
  eventring_note_signal(15);
  assert_int_equal(look(error).saved, 1);
  assert_int_equal(look(signal).saved, 1);
  assert_int_equal(look(other).fired, 0);
  remove(own_path()); /* an error was noted, so the file would be kept */
}

/* ---- Bounds ----------------------------------------------------------------------- */

static void test_cooldown_and_limits(void **state) {
  int cooled = set("counter(\"count\") == 1, cooldown=1000s");
  int bounded = set("counter(\"count\") == 2, cooldown=0s, max=3");
  int small = set("counter(\"count\") == 3, cooldown=0s, size=1K");
  for (int i = 0; i < 20; i++) {
    count(1);
    count(2);
    count(3);
    assert_int_equal(eventring_triggers_wait(ENOUGH), EVENTRING_OK);
  }
  assert_int_equal(look(cooled).saved, 1);
  assert_int_equal(look(cooled).skipped, 19);
  assert_int_equal(look(bounded).saved, 3);
  assert_int_equal(look(bounded).skipped, 17);
  assert_int_equal(look(small).saved, 0);
  assert_int_equal(look(small).failed, 20);
  assert_int_equal(copies(".", "-counter.eventring", NULL), 4);
}

/* Checks more triggers than there is room for, and that places are reused. */
static void test_many(void **state) {
  struct eventring_error error = {0};
  char text[64];
  int numbers[EVENTRING_MAX_TRIGGERS];
  for (int round = 0; round < 5; round++) {
    for (int i = 0; i < EVENTRING_MAX_TRIGGERS; i++) {
      snprintf(text, sizeof text, "counter(\"n%d\") > %d", i, i);
      numbers[i] = set(text);
    }
    assert_int_equal(eventring_trigger_set("error", 5, &error), EVENTRING_E_FULL);
    count(1);
    flood();
    for (int i = 0; i < EVENTRING_MAX_TRIGGERS; i++)
      assert_int_equal(eventring_trigger_remove(numbers[i]), EVENTRING_OK);
    assert_int_equal(eventring_trigger_remove(numbers[0]), EVENTRING_E_NOT_FOUND);
  }
  assert_int_equal(eventring_trigger_remove(0), EVENTRING_E_NOT_FOUND);
  assert_int_equal(eventring_trigger_remove(-1), EVENTRING_E_NOT_FOUND);
}

/* ---- Directories ------------------------------------------------------------------ */

static void test_directory(void **state) {
  int number = set("counter(\"count\") == 1, dir=\"there, and; \\\"so\\\"\", cooldown=0s");
  assert_string_equal(look(number).directory, "there, and; \"so\"");
  count(1);
  assert_int_equal(look(number).saved, 1);
  remove_copies("there, and; \"so\"");
  assert_int_equal(rmdir("there, and; \"so\""), 0);
  count(0);
  count(1); /* the directory is made again */
  assert_int_equal(look(number).saved, 2);
  remove_copies("there, and; \"so\"");
  assert_int_equal(rmdir("there, and; \"so\""), 0);
}

static unsigned warnings;
static void warn(void *context, const struct eventring_error *error) {
  if (error->code == EVENTRING_UNSAVED) __atomic_fetch_add(&warnings, 1, __ATOMIC_RELAXED);
}

static void test_no_directory(void **state) {
  struct eventring_config config = test_config(EVENTRING_DEFAULT_WSIZE);
  eventring_stop();
  config.warn = warn;
  assert_int_equal(eventring_start(&config, NULL), EVENTRING_OK);
  int number = set("counter(\"count\") == 1, dir=no/such/directory, cooldown=0s");
  for (int i = 0; i < 3; i++) {
    count(0);
    count(1);
    assert_int_equal(eventring_triggers_wait(ENOUGH), EVENTRING_OK);
  }
  assert_int_equal(look(number).failed, 3);
  assert_int_equal(look(number).saved, 0);
  assert_int_equal(warnings, 1);
}

/* Checks that the next copy removes what killed processes have left, and nothing else. */
static void test_parts(void **state) {
  static const char *const names[] = {"1-trigger1-heap.eventring.part", "x.part",
                                      ".eventring.part.not"};
  for (int i = 0; i < 3; i++) {
    FILE *file = fopen(names[i], "w");
    assert_non_null(file);
    fclose(file);
  }
  assert_int_equal(eventring_remove_parts(".", true, NULL, NULL), 1);
  int number = set("counter(\"count\") == 1");
  count(1);
  assert_int_equal(look(number).saved, 1);
  assert_int_equal(eventring_remove_parts(".", false, NULL, NULL), 0);
  assert_int_equal(access(names[0], F_OK), -1);
  assert_int_equal(remove(names[1]), 0);
  assert_int_equal(remove(names[2]), 0);
  assert_int_equal(eventring_remove_parts("nowhere", false, NULL, NULL), EVENTRING_E_NOT_FOUND);
  assert_int_equal(eventring_remove_parts(NULL, false, NULL, NULL), EVENTRING_E_ARGUMENT);
}

/* ---- Recordings and processes ----------------------------------------------------- */

static void test_of_the_configuration(void **state) {
  struct eventring_config config = test_config(EVENTRING_DEFAULT_WSIZE);
  struct eventring_trigger t;
  int own = set("counter(\"count\") == 1");
  for (int i = 0; i < 2; i++) {
    eventring_stop();
    config.triggers = i == 0 ? "error; signal" : "heap > 1G; pause > 1s; error";
    assert_int_equal(eventring_start(&config, NULL), EVENTRING_OK);
    assert_int_equal(eventring_trigger_at(2 + (unsigned)i, &t), EVENTRING_OK);
    assert_int_equal(eventring_trigger_at(3 + (unsigned)i, &t), EVENTRING_E_NOT_FOUND);
  }
  count(1);
  assert_int_equal(look(own).saved, 1);
  eventring_stop();
  config.triggers = "heap > 1x";
  assert_int_equal(eventring_start(&config, NULL), EVENTRING_E_CONFIG);
  config.triggers = NULL;
  assert_int_equal(eventring_start(&config, NULL), EVENTRING_OK);
}

/* Checks that a copy that is due at the end is made before it. */
static void test_at_the_end(void **state) {
  set("counter(\"count\") == 1");
  count(1);
  assert_int_equal(eventring_stop(), EVENTRING_OK);
  assert_int_equal(copies(".", "-counter.eventring", NULL), 1);
  start_recording(EVENTRING_DEFAULT_WSIZE);
  count(0);
  count(1);
  assert_int_equal(eventring_stop(), EVENTRING_OK);
  start_recording(EVENTRING_DEFAULT_WSIZE);
}

/* Sets triggers as other processes do, through the file, though of this process. */
static int set_outside(eventring_cursor *cursor, const char *list, struct eventring_error *error) {
  return eventring_cursor_control(cursor, EVENTRING_CHANGE(TRIGGERS, .triggers = list), error);
}

static void test_from_outside(void **state) {
  struct eventring_error error = {0};
  struct eventring_trigger t;
  static const char list[] = "counter(\"count\") == 7, cooldown=0s; error";
  eventring_cursor *cursor = open_file(own_path(), 0);
  assert_int_equal(set_outside(cursor, "heap > x", &error), EVENTRING_E_CONFIG);
  assert_int_equal(set_outside(cursor, list, &error), EVENTRING_OK);
  for (int i = 0; i < 2000 && eventring_trigger_at(1, &t) != EVENTRING_OK; i++) {
    usleep(10000);
    eventring_domain_check(domain);
  }
  assert_int_equal(eventring_trigger_at(0, &t), EVENTRING_OK);
  assert_int_equal(t.owner, EVENTRING_BY_CONTROL);
  count(7);
  assert_int_equal(look(t.number).saved, 1);
  assert_int_equal(set_outside(cursor, NULL, &error), EVENTRING_OK);
  for (int i = 0; i < 2000 && eventring_trigger_at(0, &t) == EVENTRING_OK; i++) {
    usleep(10000);
    eventring_domain_check(domain);
  }
  assert_int_equal(eventring_trigger_at(0, &t), EVENTRING_E_NOT_FOUND);
  eventring_close(cursor);
}

/* Checks that a child has its parent's triggers, and counts anew. */
static void test_in_a_child(void **state) {
  int status = 0;
  int number = set("counter(\"count\") == 1, dir=forks, cooldown=0s");
  count(1);
  assert_int_equal(look(number).saved, 1);
  pid_t child = fork();
  if (child == 0) {
    struct eventring_config config = test_config(EVENTRING_DEFAULT_WSIZE);
    struct eventring_trigger t;
    config.preserve = EVENTRING_PRESERVE_NEVER;
    if (eventring_start(&config, NULL) != EVENTRING_OK) _exit(2);
    count(1);
    if (eventring_triggers_wait(ENOUGH) != EVENTRING_OK) _exit(3);
    if (eventring_trigger_at(0, &t) != EVENTRING_OK || t.saved != 1) _exit(4);
    eventring_stop();
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(copies("forks", "-trigger", NULL), 2);
  remove_copies("forks");
  assert_int_equal(rmdir("forks"), 0);
}

/* ---- After the end ----------------------------------------------------------------- */

static void record_late(void) {
  start_recording(EVENTRING_DEFAULT_WSIZE);
  set("error");
  eventring_note_error("late", 4);
  const int waited = eventring_triggers_wait(ENOUGH);
  eventring_stop();
  _exit(waited == EVENTRING_OK && copies(".", "-trigger", NULL) == 1 ? 0 : 1);
}

/* Records and returns, so that the library ends the recording at the exit. A handler that
   was registered before records once more after that. */
static int record_and_exit(void) {
  register_test_events();
  atexit(record_late);
  start_recording(EVENTRING_DEFAULT_WSIZE);
  return 1;
}

/* Checks that a recording which begins after the library's exit handler has a helper. */
static void test_after_the_exit(void **state) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "late", "late", NULL);
    _exit(2);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

/* ---- Texts ------------------------------------------------------------------------ */

static void test_texts(void **state) {
  static const struct {
    const char *text;
    int result; /* the number of triggers, or the column of the error */
    const char *part;
  } list[] = {
      {"", 0, NULL}, {" ; ;; ", 0, NULL}, {"error", 1, NULL}, {"error;signal;", 2, NULL},
      {"pause > 5ms, cooldown = 1s , max=3, size=10M, dir=/tmp/x y ; heap > 1", 2, NULL},
      {"error, dir=\"a;b,c\"; signal", 2, NULL},
      {"error; pause > 5", -17, "needs its unit"}, {"lost == 0", -1, "a trigger is about"},
      {"count(major) > 3", -1, "a trigger is about"}, {"p99(pause) > 1ms", -1, "a trigger"},
      {"pause > 1ms within span \"x\"", -1, "a trigger is about"},
      {"error cooldown=1s", -7, "`,' or `;'"}, {"error, colddown=1s", -8, "an option"},
      {"error, cooldown=1", -18, "a unit of time"}, {"error, cooldown 1s", -17, "`='"},
      {"error, max=0", -12, "whole number"}, {"error, max=1.5", -12, "whole number"},
      {"error, size=1x", -14, "K, M or G"}, {"error, dir=", -12, "a directory"},
      {"error, dir=\"x", -12, "not closed"}, {"error,", -7, "an option"}};
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    struct eventring_error error = {0};
    char column[32];
    int count = eventring_triggers_check(list[i].text, strlen(list[i].text), &error);
    snprintf(column, sizeof column, "column %d: ", -list[i].result);
    if (list[i].result >= 0) {
      if (count != list[i].result) fail_msg("%s: %d: %s", list[i].text, count, error.text);
    } else if (count != EVENTRING_E_CONFIG || !strstr(error.text, column) ||
               !strstr(error.text, list[i].part)) {
      fail_msg("%s: %s", list[i].text, error.text);
    }
  }
  char longest[EVENTRING_MAX_TRIGGER_TEXT + 2];
  memset(longest, ' ', sizeof longest);
  assert_int_equal(eventring_triggers_check(longest, EVENTRING_MAX_TRIGGER_TEXT, NULL), 0);
  assert_int_equal(eventring_triggers_check(longest, sizeof longest, NULL), EVENTRING_E_CONFIG);
}

int main(int count, char **words) {
  if (count > 1) return record_and_exit();
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_texts), TEST(test_counter), TEST(test_copy),
      TEST(test_spans_and_pauses), TEST(test_spans_that_never_end), TEST(test_contexts),
      TEST(test_names_that_come_later), TEST(test_gaps), TEST(test_times),
      TEST(test_error_and_signal), TEST(test_cooldown_and_limits), TEST(test_many),
      TEST(test_directory), TEST(test_no_directory), TEST(test_parts),
      TEST(test_of_the_configuration), TEST(test_at_the_end), TEST(test_from_outside),
      TEST(test_in_a_child), TEST(test_after_the_exit)};
  register_test_events();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
