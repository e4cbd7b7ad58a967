/* SPDX-License-Identifier: MIT */
/* eventring_traces_test.c: trace context: headers by the W3C's recommendation, ids, the
   event, and the effects of a fork, a pause and a conflict. */
#include "eventring_common.h"

#include <sys/wait.h>
#include <unistd.h>

#include "eventring/trace.h"

static eventring_domain *domain;

static int set_up(void **state) {
  start_recording(EVENTRING_MIN_WSIZE);
  domain = start_domain("main");
  return 0;
}

static int tear_down(void **state) {
  eventring_domain_stop(domain);
  eventring_stop();
  return 0;
}

/* ---- Headers ---------------------------------------------------------------------- */

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN "b7ad6b7169203331"
#define HEADER "00-" TRACE "-" SPAN "-01"

static int parse(const char *text, struct eventring_trace *trace) {
  return eventring_traceparent_parse(text, strlen(text), trace);
}

static void test_parses_and_formats(void **state) {
  static const uint8_t trace_id[16] = {0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd,
                                       0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c};
  static const uint8_t span_id[8] = {0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31};
  struct eventring_trace t;
  char text[EVENTRING_TRACEPARENT + 1];
  memset(&t, 0xff, sizeof t);
  assert_int_equal(parse(HEADER, &t), EVENTRING_OK);
  assert_memory_equal(t.trace_id, trace_id, sizeof trace_id);
  assert_memory_equal(t.span_id, span_id, sizeof span_id);
  assert_memory_equal(t.parent_id, "\0\0\0\0\0\0\0", 8);
  assert_int_equal(t.flags, EVENTRING_TRACE_SAMPLED);
  eventring_traceparent_format(&t, text);
  assert_string_equal(text, HEADER);
  assert_int_equal(parse("00-" TRACE "-" SPAN "-fe", &t), EVENTRING_OK);
  assert_int_equal(t.flags, 0);
}

static void test_accepts_later_versions(void **state) {
  static const char *const valid[] = {"01-" TRACE "-" SPAN "-01", "fe-" TRACE "-" SPAN "-01-",
                                      "cc-" TRACE "-" SPAN "-01-what-comes"};
  struct eventring_trace t;
  char text[EVENTRING_TRACEPARENT + 1];
  for (size_t i = 0; i < sizeof valid / sizeof *valid; i++) {
    assert_int_equal(parse(valid[i], &t), EVENTRING_OK);
    eventring_traceparent_format(&t, text);
    assert_string_equal(text, HEADER);
  }
}

static void test_refuses_what_is_not_valid(void **state) {
  static const char *const wrong[] = {
      "", "00", "00-" TRACE "-" SPAN, "00-" TRACE "-" SPAN "-0", HEADER "-", HEADER "1",
      "ff-" TRACE "-" SPAN "-01", "cc-" TRACE "-" SPAN "-011", "0-0" TRACE "-" SPAN "-01",
      "00-00000000000000000000000000000000-" SPAN "-01", "00-" TRACE "-0000000000000000-01",
      "00-0AF7651916CD43DD8448EB211C80319C-" SPAN "-01", "00-" TRACE "-" SPAN "-0A",
      "00-" TRACE "+" SPAN "-01", "g0-" TRACE "-" SPAN "-01"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct eventring_trace t, before;
    memset(&t, 0x5a, sizeof t);
    before = t;
    assert_int_equal(parse(wrong[i], &t), EVENTRING_E_ARGUMENT);
    assert_memory_equal(&t, &before, sizeof t);
  }
  /* each byte is checked, but none after the size */
  for (size_t i = 0; i < EVENTRING_TRACEPARENT; i++) {
    struct eventring_trace t;
    char text[] = HEADER;
    assert_int_equal(eventring_traceparent_parse(text, i, &t), EVENTRING_E_ARGUMENT);
    text[i] = 'x';
    assert_int_equal(parse(text, &t), EVENTRING_E_ARGUMENT);
  }
  assert_int_equal(eventring_traceparent_parse(NULL, 55, NULL), EVENTRING_E_ARGUMENT);
}

/* ---- Ids -------------------------------------------------------------------------- */

enum { MANY = 1000 };

static int by_bytes(const void *a, const void *b) { return memcmp(a, b, 8); }

static void test_ids_differ(void **state) {
  static uint8_t ids[2 * MANY][8];
  struct eventring_trace root, child;
  for (int i = 0; i < MANY; i++) {
    eventring_trace_begin(domain, &root);
    assert_int_equal(root.flags, EVENTRING_TRACE_SAMPLED);
    assert_memory_equal(root.parent_id, "\0\0\0\0\0\0\0", 8);
    eventring_trace_child(domain, &root, &child);
    assert_memory_equal(child.trace_id, root.trace_id, 16);
    assert_memory_equal(child.parent_id, root.span_id, 8);
    memcpy(ids[2 * i], root.span_id, 8);
    memcpy(ids[2 * i + 1], child.span_id, 8);
    eventring_trace_child(domain, &root, &root); /* the child may replace its parent */
    assert_memory_equal(root.parent_id, ids[2 * i], 8);
  }
  qsort(ids, 2 * MANY, 8, by_bytes);
  for (int i = 1; i < 2 * MANY; i++) assert_memory_not_equal(ids[i - 1], ids[i], 8);
}

/* Checks that the ids that a child makes differ from the ids that the parent makes
   next. */
static void test_ids_differ_in_children_of_forks(void **state) {
  struct eventring_trace own[4], other[4];
  int ends[2], status;
  eventring_trace_begin(domain, own); /* random bytes are left over */
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 4; i++) eventring_trace_begin(domain, &other[i]);
    _exit(write(ends[1], other, sizeof other) != (ssize_t)sizeof other);
  }
  for (int i = 0; i < 4; i++) eventring_trace_begin(domain, &own[i]);
  assert_int_equal(read(ends[0], other, sizeof other), sizeof other);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 4; k++) assert_memory_not_equal(own[i].trace_id, other[k].trace_id, 16);
  close(ends[0]);
  close(ends[1]);
}

/* ---- The event -------------------------------------------------------------------- */

static void write_as(struct eventring_trace *ids, uint64_t context) {
  eventring_set_context(domain, EVENTRING_USER, context);
  assert_int_equal(eventring_span_trace(domain, ids), EVENTRING_OK);
}

static const struct seen *next_event(const struct log *log, size_t *at, const char *name) {
  while (*at < log->count && strcmp(log->seen[*at].event.name, name) != 0) ++*at;
  assert_true(*at < log->count);
  return &log->seen[(*at)++];
}

static void test_event_has_the_ids(void **state) {
  struct log log = {0};
  struct eventring_trace root, child;
  eventring_cursor *cursor = open_self(0);
  eventring_trace_begin(domain, &root);
  eventring_trace_child(domain, &root, &child);
  eventring_user_begin(domain, T_FLOOD);
  write_as(&root, 0);
  eventring_set_context(domain, EVENTRING_USER, 7);
  eventring_user_begin(domain, T_FLOOD);
  write_as(&child, 7);
  eventring_user_end(domain, T_FLOOD);
  eventring_set_context(domain, EVENTRING_USER, 0);
  eventring_user_end(domain, T_FLOOD);
  poll_log(cursor, &log, 0);
  drop_builtins(&log);
  size_t at = 0;
  next_event(&log, &at, "flood");
  const struct seen *s = next_event(&log, &at, "trace");
  assert_int_equal(at, 2); /* directly after the begin */
  assert_int_equal(s->event.payload, EVENTRING_BYTES);
  assert_int_equal(s->event.kind, EVENTRING_INSTANT);
  assert_int_equal(s->event.event_class, EVENTRING_CLASS_USER);
  assert_int_equal(s->event.ring, EVENTRING_USER);
  assert_int_equal(s->event.size, 33);
  assert_int_equal(s->event.context, 0);
  assert_memory_equal(s->bytes, &root, sizeof root);
  s = next_event(&log, &at, "trace");
  assert_int_equal(s->event.context, 7);
  assert_memory_equal(s->bytes, &child, sizeof child);
  assert_memory_equal(s->bytes, root.trace_id, 16);
  assert_memory_equal(s->bytes + 16, child.span_id, 8);
  assert_memory_equal(s->bytes + 24, root.span_id, 8);
  assert_int_equal(s->bytes[32], EVENTRING_TRACE_SAMPLED);
  clear_log(&log);
  eventring_close(cursor);
}

/* Checks that the event keeps its name when a redaction list matches every name, in a
   recording that begins after the event was defined. */
static void test_event_keeps_its_name(void **state) {
  struct log log = {0};
  struct eventring_trace ids;
  eventring_trace_begin(domain, &ids);
  write_as(&ids, 0);
  eventring_stop();
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  struct eventring_error error = {0};
  config.redact = "\"*\"";
  if (eventring_start(&config, &error) != EVENTRING_OK) fail_msg("%s", error.text);
  eventring_cursor *cursor = open_self(0);
  write_as(&ids, 0);
  eventring_user_begin(domain, T_FLOOD);
  eventring_user_end(domain, T_FLOOD);
  poll_log(cursor, &log, 0);
  drop_builtins(&log);
  size_t at = 0;
  assert_memory_equal(next_event(&log, &at, "trace")->bytes, &ids, sizeof ids);
  for (; at < log.count; at++) assert_string_not_equal(log.seen[at].event.name, "flood");
  clear_log(&log);
  eventring_close(cursor);
}

/* Runs a function in a child, so that it leaves nothing in this process. */
static void in_child(void (*run)(void)) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    run();
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

#define CHECK_IN_CHILD(condition) ((condition) ? (void)0 : _exit(__LINE__ % 200 + 1))

static void conflict(void) {
  struct eventring_trace ids;
  start_recording(EVENTRING_MIN_WSIZE);
  CHECK_IN_CHILD(eventring_register_user(EVENTRING_DEF_INSTANT, "trace", 5, EVENTRING_VALUES,
                                         NULL) > 0);
  eventring_trace_begin(domain, &ids);
  CHECK_IN_CHILD(eventring_span_trace(domain, &ids) == EVENTRING_E_CONFLICT);
  eventring_stop();
}

static void test_another_event_has_the_name(void **state) {
  in_child(conflict);
}

/* ---- Where a domain writes -------------------------------------------------------- */

static struct eventring_trace_place place(void) {
  struct eventring_trace_place p = {.size = sizeof p};
  assert_int_equal(eventring_trace_place(domain, &p), EVENTRING_OK);
  assert_int_equal(p.size, sizeof p);
  return p;
}

static void flood(unsigned pairs) {
  for (unsigned i = 0; i < pairs; i++) {
    eventring_user_begin(domain, T_FLOOD);
    eventring_user_end(domain, T_FLOOD);
  }
}

static void test_place_says_when_spans_are_torn(void **state) {
  struct eventring_trace ids;
  eventring_trace_begin(domain, &ids);
  flood(1);
  struct eventring_trace_place first = place(), now = place();
  assert_int_equal(now.life, first.life);
  assert_int_equal(now.block, first.block);
  flood(1000);
  now = place();
  assert_int_equal(now.life, first.life);
  assert_true(now.block > first.block);
  /* other classes */
  const uint64_t gc = EVENTRING_CLASS_BIT(EVENTRING_CLASS_GC);
  eventring_switch_classes(gc, false);
  eventring_switch_classes(gc, true);
  assert_int_equal(place().life, first.life);
  const uint64_t user = EVENTRING_CLASS_BIT(EVENTRING_CLASS_USER);
  eventring_switch_classes(user, false);
  assert_int_equal(eventring_span_trace(domain, &ids), EVENTRING_E_STATE);
  eventring_switch_classes(user, true);
  now = place();
  assert_int_not_equal(now.life, first.life);
  assert_int_equal(eventring_span_trace(domain, &ids), EVENTRING_OK);
  first = now;
  eventring_pause();
  assert_int_equal(eventring_span_trace(domain, &ids), EVENTRING_E_STATE);
  eventring_resume();
  now = place();
  assert_int_not_equal(now.life, first.life);
  assert_int_equal(place().life, now.life);
  /* more switches than the log has entries */
  for (int i = 0; i < 2 * FORMAT_LOG_ENTRIES; i++) {
    eventring_switch_classes(gc, false);
    eventring_switch_classes(gc, true);
  }
  assert_int_not_equal(place().life, now.life);
  /* another recording */
  first = place();
  eventring_stop();
  struct eventring_trace_place none = {.size = sizeof none};
  assert_int_equal(eventring_trace_place(domain, &none), EVENTRING_E_STATE);
  start_recording(EVENTRING_MIN_WSIZE);
  now = place();
  assert_int_not_equal(now.life, first.life);
  none.size = 0;
  assert_int_equal(eventring_trace_place(domain, &none), EVENTRING_E_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_another_event_has_the_name, set_up, tear_down),
      cmocka_unit_test(test_parses_and_formats),
      cmocka_unit_test(test_accepts_later_versions),
      cmocka_unit_test(test_refuses_what_is_not_valid),
      cmocka_unit_test_setup_teardown(test_ids_differ, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_ids_differ_in_children_of_forks, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_event_has_the_ids, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_event_keeps_its_name, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_place_says_when_spans_are_torn, set_up, tear_down)};
  register_test_events();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
