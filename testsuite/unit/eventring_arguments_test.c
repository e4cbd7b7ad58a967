/* SPDX-License-Identifier: MIT */
/* eventring_arguments_test.c: wrong arguments that callers may pass, as <eventring.h>
   documents them. */
#include "eventring/tools.h"
#include "eventring_common.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#define REFUSED(call) \
  do { \
    error = (struct eventring_error){0}; \
    assert_int_equal(call, EVENTRING_E_ARGUMENT); \
    assert_true(error.text[0] != 0); \
  } while (0)
#define BAD(call) assert_int_equal(call, EVENTRING_E_ARGUMENT)

static struct eventring_error error;

/* ---- Definitions ------------------------------------------------------------------ */

static void definitions(void **state) {
  char long_unit[EVENTRING_MAX_UNIT + 2] = {0};
  memset(long_unit, 'u', sizeof long_unit - 1);
  const struct eventring_def right = {.name = "n", .kind = EVENTRING_DEF_INSTANT,
                                      .event_class = EVENTRING_CLASS_USER};
  struct eventring_def def;
  unsigned first;
#define WITH(member, value) (def = right, def.member = value, eventring_register(&def, &error))
  REFUSED(WITH(kind, 0));
  REFUSED(WITH(kind, EVENTRING_DEF_FLOW + 1));
  REFUSED(WITH(event_class, EVENTRING_MAX_CLASSES));
  REFUSED(WITH(ring, EVENTRING_RINGS));
  REFUSED(WITH(payload, EVENTRING_SAMPLE + 1));
  REFUSED(WITH(measure, EVENTRING_RATE + 1));
  REFUSED(WITH(name, NULL));
  assert_int_equal(WITH(unit, long_unit), EVENTRING_E_NAME);
  assert_int_equal(WITH(unit, "\x80"), EVENTRING_E_NAME);
  assert_true(WITH(unit, "m\xc2\xb2") > 0);
  assert_int_equal(WITH(ring, 1), EVENTRING_E_CONFLICT);
#undef WITH
  REFUSED(eventring_register(NULL, &error));
  REFUSED(eventring_register_table(NULL, 1, &first, &error));
  assert_int_equal(eventring_register_table(NULL, 0, &first, &error), 0);
  struct eventring_def nameless = {.kind = EVENTRING_DEF_INSTANT};
  assert_int_equal(eventring_register_table(&nameless, 1, &first, &error), EVENTRING_E_NAME);
  assert_int_equal(eventring_check_name(NULL, 1, &error), EVENTRING_E_NAME);
  assert_int_equal(eventring_check_name("", 0, &error), EVENTRING_E_NAME);
}

static void classes(void **state) {
  BAD(eventring_define_class(EVENTRING_MAX_CLASSES, "x", true));
  assert_int_equal(eventring_define_class(20, NULL, true), EVENTRING_E_NAME);
  assert_int_equal(eventring_define_class(20, "\xff", true), EVENTRING_E_NAME);
  BAD(eventring_class_by_name(NULL));
  assert_int_equal(eventring_class_by_name(""), EVENTRING_E_NOT_FOUND);
  assert_int_equal(eventring_class_by_name("gx"), EVENTRING_E_NOT_FOUND);
  assert_null(eventring_class_name(EVENTRING_MAX_CLASSES));
  assert_null(eventring_class_name(50));
  assert_string_equal(eventring_class_name(EVENTRING_CLASS_GC), "gc");
}

static uint64_t classes_of(const char *text) {
  struct eventring_config config;
  eventring_config_init(&config);
  setenv("ARGS_CLASSES", text, 1);
  int status = eventring_config_from_env(&config, "ARGS", &error);
  unsetenv("ARGS_CLASSES");
  return status < 0 ? UINT64_MAX : config.classes;
}

static void classes_from_the_environment(void **state) {
  const uint64_t gc = EVENTRING_CLASS_BIT(EVENTRING_CLASS_GC),
                 calls = EVENTRING_CLASS_BIT(EVENTRING_CLASS_CALLS);
  assert_true(classes_of("all") & calls);
  assert_int_equal(classes_of("none") & (gc | calls), 0);
  assert_int_equal(classes_of("calls") & (gc | calls), calls);
  assert_int_equal(classes_of("+calls") & (gc | calls), gc | calls);
  assert_int_equal(classes_of("-gc,+calls") & (gc | calls), calls);
  assert_int_equal(classes_of("-all") & (gc | calls), 0);
  assert_int_equal(classes_of("nothing"), UINT64_MAX);
  assert_int_equal(classes_of("alx"), UINT64_MAX);
  assert_int_equal(classes_of("nonx"), UINT64_MAX);
}

static void configurations(void **state) {
  char prefix[200];
  struct eventring_config config;
  memset(prefix, 'P', sizeof prefix - 1);
  prefix[sizeof prefix - 1] = 0;
  eventring_config_init(&config);
  REFUSED(eventring_config_from_env(&config, NULL, &error));
  REFUSED(eventring_config_from_env(&config, prefix, &error));
  REFUSED(eventring_config_from_env(NULL, "ARGS", &error));
  REFUSED(eventring_start(NULL, &error));
  config.start = EVENTRING_START_ON;
  config.size = 1;
  REFUSED(eventring_start(&config, &error));
  static const char *const numbers[] = {"x", "/", ":", "12x", "10", "25", "-12"};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    eventring_config_init(&config);
    setenv("ARGS_WSIZE", numbers[i], 1);
    assert_int_equal(eventring_config_from_env(&config, "ARGS", &error), EVENTRING_E_CONFIG);
    unsetenv("ARGS_WSIZE");
  }
}

/* Returns the status of reading one variable; the result is in *config. */
static int variable(const char *name, const char *value, struct eventring_config *config) {
  eventring_config_init(config);
  setenv(name, value, 1);
  int status = eventring_config_from_env(config, "ARGS", &error);
  unsetenv(name);
  return status;
}

static void seconds_and_sizes(void **state) {
  static const char *const bad_seconds[] = {"x", "-1", "1x", "1.x", "/", "86401", "1e3"};
  static const char *const bad_sizes[] = {"x", "-1", "1T", "/", ":", "1KK",
                                          "99999999999999999999", "99999999999G"};
  struct eventring_config config;
  for (size_t i = 0; i < sizeof bad_seconds / sizeof *bad_seconds; i++)
    assert_int_equal(variable("ARGS_SECONDS", bad_seconds[i], &config), EVENTRING_E_CONFIG);
  for (size_t i = 0; i < sizeof bad_sizes / sizeof *bad_sizes; i++)
    assert_int_equal(variable("ARGS_GROW", bad_sizes[i], &config), EVENTRING_E_CONFIG);
  assert_int_equal(variable("ARGS_SECONDS", "", &config), 0);
  assert_int_equal(variable("ARGS_SECONDS", "2.5", &config), 0);
  assert_int_equal(config.hold_ns, 2500000000);
  assert_int_equal(variable("ARGS_SECONDS", "0.000000001", &config), 0);
  assert_int_equal(config.hold_ns, 1);
  assert_int_equal(variable("ARGS_SECONDS", "86400", &config), 0);
  assert_int_equal(variable("ARGS_GROW", "", &config), 0);
  assert_int_equal(variable("ARGS_GROW", "64M", &config), 0);
  assert_int_equal(config.grow_bytes, 64 << 20);
  assert_int_equal(variable("ARGS_GROW", "4096", &config), 0);
  assert_int_equal(config.grow_bytes, 4096);
  assert_int_equal(variable("ARGS_GROW", "0", &config), 0);
  assert_int_equal(config.hold_ns, 0); /* rings keep their size */
}

static void streams(void **state) {
  static const char *const bad[] = {",", ",max=1M", "x,", "x,max", "x,max=", "x,max=1048575",
                                    "x,max=2T", "x,max=1M,", "x,rings=", "x,rings=nobody",
                                    "x,rings=user+nobody", "x,rungs=user", "x,,max=1M"};
  struct eventring_config config, unmade = {0};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(variable("ARGS_STREAM", bad[i], &config), EVENTRING_E_CONFIG);
  assert_int_equal(variable("ARGS_STREAM", "", &config), 0);
  assert_true(!config.stream && config.start == EVENTRING_START_OFF);
  assert_int_equal(variable("ARGS_STREAM", "/a/b,max=1M,rings=user+runtime", &config), 0);
  assert_int_equal(config.start, EVENTRING_START_ON);
  assert_int_equal(config.stream_max, 1 << 20);
  assert_int_equal(config.stream_rings, 1 << EVENTRING_USER | 1 << EVENTRING_RUNTIME);
  setenv("ARGS_START", "0", 1); /* an explicit START counts */
  assert_int_equal(variable("ARGS_STREAM", "x", &config), 0);
  assert_int_equal(config.start, EVENTRING_START_OFF);
  unsetenv("ARGS_START");
  eventring_config_init(&config);
  assert_int_equal(eventring_config_stream(&config, NULL, &error), EVENTRING_E_CONFIG);
  assert_int_equal(eventring_config_stream(&config, "", &error), EVENTRING_E_CONFIG);
  assert_int_equal(eventring_config_stream(&unmade, "x", &error), EVENTRING_E_ARGUMENT);
  config.start = EVENTRING_START_STANDBY;
  assert_int_equal(eventring_config_stream(&config, "x", &error), 0);
  assert_int_equal(config.start, EVENTRING_START_STANDBY);
  eventring_config_init(&config);
  config.start = EVENTRING_START_ON;
  config.stream = "a/";
  assert_int_equal(eventring_start(&config, &error), EVENTRING_E_CONFIG);
  config.stream = "/x"; /* in the root directory, which may not be writable */
  config.stream_rings = 1u << EVENTRING_RINGS;
  assert_int_equal(eventring_start(&config, &error), EVENTRING_E_CONFIG);
  assert_int_equal(variable("ARGS_FORK", "", &config), 0);
  assert_int_equal(variable("ARGS_FORK", "2", &config), EVENTRING_E_CONFIG);
  assert_int_equal(variable("ARGS_CPU_TIME", "", &config), 0);
  assert_true(!config.no_cpu_time);
}

/* ---- Domains ---------------------------------------------------------------------- */

static void domains(void **state) {
  eventring_domain_stop(NULL);
  eventring_domain_unbind(NULL);
  eventring_domain_check(NULL);
  BAD(eventring_domain_rename(NULL, "x"));
  assert_int_equal(eventring_domain_slot(NULL), -1);
  assert_int_equal(eventring_domain_bytes(NULL), 0);
  assert_int_equal(evr_domain_emitted(NULL, EVENTRING_USER), 0);
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_domain *d = start_domain("d");
  BAD(eventring_domain_rename(d, NULL));
  assert_int_equal(eventring_domain_rename(d, "\xff"), EVENTRING_E_NAME);
  assert_int_equal(evr_domain_emitted(d, EVENTRING_RINGS), 0);
  assert_int_equal(evr_domain_emitted(d, EVENTRING_CALLS), 0); /* its ring was not made */
  assert_true(eventring_domain_bytes(d) > 0);
  BAD(eventring_get_classes(NULL));
  assert_true(eventring_path(NULL, 0) > 0);
  /* excess payload words are cut, not written past the block */
  uint64_t words[200] = {0};
  eventring_emit_words(d, EVENTRING_USER, EVENTRING_TAIL(EVENTRING_INSTANT, T_POINT, 0), words,
                       200);
  eventring_domain_stop(d);
  eventring_stop();
  d = start_domain("not recorded");
  assert_int_equal(eventring_domain_rename(d, "x"), EVENTRING_OK);
  assert_int_equal(eventring_domain_bytes(d), 0);
  eventring_domain_stop(d);
}

/* Makes the calls that a handler of a fatal signal makes, while another thread may hold
   the library's mutex. */
static void *pause_and_resume(void *until) {
  while (!__atomic_load_n((bool *)until, __ATOMIC_RELAXED)) {
    eventring_register_user(EVENTRING_DEF_SPAN, "again", 5, EVENTRING_NONE, NULL);
    eventring_pause();
    eventring_resume();
  }
  return NULL;
}

static void ends_in_a_handler(void **state) {
  for (int with_others = 0; with_others < 2; with_others++)
    for (int round = 0; round < 10; round++) {
      bool done = false;
      pthread_t thread;
      start_recording(EVENTRING_MIN_WSIZE);
      eventring_domain *d = start_domain("d");
      eventring_user_begin(d, T_FLOOD);
      if (with_others) pthread_create(&thread, NULL, pause_and_resume, &done);
      eventring_end_in_handler();
      __atomic_store_n(&done, true, __ATOMIC_RELAXED);
      if (with_others) pthread_join(thread, NULL);
      eventring_user_end(d, T_FLOOD);
      eventring_domain_stop(d);
      eventring_stop();
      assert_int_equal(eventring_state(), EVENTRING_STOPPED);
    }
}

/* ---- Readers ---------------------------------------------------------------------- */

static const char kept[] = "./arguments.eventring";

static void keep_one(void) {
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  config.preserve = true;
  config.name = "arguments";
  assert_int_equal(eventring_start(&config, NULL), 0);
  eventring_domain *d = start_domain("d");
  for (int i = 0; i < 1000; i++) {
    eventring_user_begin(d, T_FLOOD);
    eventring_instant_bytes(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_TEXT, "text", 4);
  }
  eventring_domain_stop(d);
  eventring_stop();
}

static void opening(void **state) {
  eventring_cursor *cursor;
  REFUSED(eventring_open_path(NULL, kept, 0, &error));
  REFUSED(eventring_open_path(&cursor, NULL, 0, &error));
  REFUSED(eventring_open_pid(NULL, 1, 0, &error));
  REFUSED(eventring_open_pid(&cursor, 0, 0, &error));
  REFUSED(eventring_open_any(NULL, "1", 0, &error));
  REFUSED(eventring_open_any(&cursor, NULL, 0, &error));
  static const char *const nowhere[] = {"0", "99999999999", "99999999999999999999999", "1x",
                                        "not there", "2147483647"};
  for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
    assert_int_equal(eventring_open_any(&cursor, nowhere[i], 0, &error), EVENTRING_E_NOT_FOUND);
  assert_int_equal(eventring_open_path(&cursor, "/", 0, &error), EVENTRING_E_NOT_EVENTRING);
  assert_int_equal(eventring_close(NULL), 0);
}

static eventring_cursor *polled;
static int ask_while_polled(void *context, const struct eventring_event *event) {
  assert_int_equal(eventring_open_spans(polled, ask_while_polled, NULL), EVENTRING_E_BUSY);
  assert_int_equal(eventring_wait(polled, 0), EVENTRING_E_BUSY);
  assert_int_equal(eventring_close(polled), EVENTRING_E_BUSY);
  return 1;
}

static void asking(void **state) {
  struct eventring_domain_info domain = {.size = sizeof domain};
  struct eventring_ring_info ring = {.size = sizeof ring};
  struct eventring_callbacks callbacks = {sizeof callbacks, ask_while_polled, NULL};
  polled = open_file(kept, 0);
  BAD(eventring_cursor_domain(polled, EVENTRING_MAX_DOMAINS, &domain));
  assert_int_equal(eventring_cursor_domain(polled, 5, &domain), EVENTRING_E_NOT_FOUND);
  assert_int_equal(eventring_cursor_life(polled, 0, 9, &domain), EVENTRING_E_NOT_FOUND);
  BAD(eventring_cursor_ring(polled, EVENTRING_MAX_DOMAINS, EVENTRING_USER, &ring));
  BAD(eventring_cursor_ring(polled, 0, EVENTRING_RINGS, &ring));
  assert_int_equal(eventring_cursor_ring(polled, 0, EVENTRING_CALLS, &ring),
                   EVENTRING_E_NOT_FOUND);
  assert_null(eventring_cursor_name(polled, EVENTRING_NAME_CLASS, EVENTRING_MAX_CLASSES));
  assert_null(eventring_cursor_name(polled, EVENTRING_NAME_RING, EVENTRING_RINGS));
  assert_null(eventring_cursor_def(polled, EVENTRING_MAX_EVENTS));
  assert_int_equal(eventring_poll(polled, &callbacks, NULL, 0), 1);
  assert_int_equal(eventring_cursor_control(polled, EVENTRING_CHANGE(PAUSE), &error),
                   EVENTRING_E_STATE);
  REFUSED(eventring_cursor_control(NULL, EVENTRING_CHANGE(PAUSE), &error));
  REFUSED(eventring_cursor_control(polled,
                                   &(struct eventring_change){.what = (enum eventring_control)0},
                                   &error));
  REFUSED(eventring_control(NULL, EVENTRING_CHANGE(PAUSE), &error));
  REFUSED(eventring_snapshot(polled, NULL, &error));
  REFUSED(eventring_snapshot(NULL, "copy.eventring", &error));
  assert_int_equal(eventring_snapshot(polled, kept, &error), EVENTRING_E_EXISTS);
  assert_int_equal(eventring_snapshot(polled, "no/where.eventring", &error),
                   EVENTRING_E_NOT_FOUND);
  eventring_close(polled);
}

static void removing(void **state) {
  eventring_cursor *cursor = open_file(kept, 0);
  assert_int_equal(eventring_snapshot(cursor, "arguments-copy.eventring", &error), 0);
  eventring_close(cursor);
  REFUSED(eventring_remove(NULL, EVENTRING_REMOVE_SAVED, &error));
  REFUSED(eventring_remove(kept, 1u << 20, &error));
  assert_int_equal(eventring_remove("gone.eventring", 0, &error), EVENTRING_E_NOT_FOUND);
  assert_int_equal(eventring_remove("no/gone.eventring", 0, &error), EVENTRING_E_NOT_FOUND);
  assert_int_equal(eventring_remove(kept, 0, &error), EVENTRING_E_STATE);
  assert_int_equal(eventring_remove("arguments-copy.eventring", 0, &error), EVENTRING_E_STATE);
  assert_int_equal(eventring_remove("arguments-copy.eventring", EVENTRING_REMOVE_ENDED, &error), 0);
  FILE *file = fopen("arguments-text.eventring", "w");
  fputs("text", file);
  fclose(file);
  assert_int_equal(eventring_remove("arguments-text.eventring", EVENTRING_REMOVE_SAVED, &error),
                   EVENTRING_E_NOT_EVENTRING);
  assert_int_equal(rename("arguments-text.eventring", "arguments-text"), 0);
  assert_int_equal(eventring_remove("arguments-text", 0, &error), EVENTRING_E_NAME);
  unlink("arguments-text");
}

static int stop_at_once(void *context, const struct eventring_found *found) {
  *(int *)context += found->path != NULL;
  return 7;
}
static int go_on(void *context, const struct eventring_found *found) {
  *(int *)context += found->path != NULL;
  return 0;
}

static void discovering(void **state) {
  const char *const directories[] = {".", "not there", "."};
  int found = 0;
  BAD(eventring_discover(NULL, 0, NULL, NULL));
  assert_int_equal(eventring_discover(directories, 3, stop_at_once, &found), 7);
  assert_int_equal(found, 1);
  found = 0;
  int result = eventring_discover(directories, 3, go_on, &found);
  assert_int_equal(result, found);
  assert_true(found >= 1);
}

/* Returns the number of events. A file that cannot be mapped or guarded is read with
   system calls, with the same result. */
static uint64_t events_of(unsigned flags) {
  eventring_cursor *cursor = open_file(kept, flags);
  struct log log = {0};
  assert_true(poll_log(cursor, &log, 0) > 0);
  uint64_t events = log.events[EVENTRING_USER];
  clear_log(&log);
  eventring_close(cursor);
  return events;
}

static void without_a_mapping(void **state) {
  uint64_t events = events_of(0);
  struct rlimit before, limit;
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGBUS);
  pthread_sigmask(SIG_BLOCK, &set, &old);
  assert_int_equal(events_of(0), events);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  getrlimit(RLIMIT_AS, &before);
  limit = before;
  limit.rlim_cur = (rlim_t)1 << 34;
  assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
  assert_int_equal(events_of(0), events);
  setrlimit(RLIMIT_AS, &before);
#else
  (void)before, (void)limit;
#endif
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  config.leave_sigbus = true;
  assert_int_equal(eventring_start(&config, NULL), 0);
  assert_int_equal(events_of(0), events);
  eventring_stop();
  config.leave_sigbus = false; /* the value of the latest start counts */
  assert_int_equal(eventring_start(&config, NULL), 0);
  eventring_stop();
  assert_int_equal(events_of(0), events);
  assert_int_equal(events_of(EVENTRING_OPEN_UNMAPPED | EVENTRING_OPEN_MERGED), events);
}

/* ---- Values of a payload ---------------------------------------------------------- */

static size_t values_of(unsigned payload, const void *bytes, size_t size) {
  struct eventring_value values[2];
  struct eventring_event event = {.payload = (uint8_t)payload, .bytes = bytes, .size = size};
  size_t alone = eventring_event_values(&event, NULL, 0);
  assert_int_equal(eventring_event_values(&event, values, 2), alone);
  return alone;
}

static void values(void **state) {
  const uint64_t two[] = {2 | EVENTRING_INT << 4 | EVENTRING_STRING << 8, 7, 3, 'a'};
  assert_int_equal(values_of(EVENTRING_NONE, NULL, 0), 0);
  assert_int_equal(values_of(EVENTRING_RAW, two, sizeof two), 0);
  assert_int_equal(values_of(EVENTRING_INT, NULL, 0), 1);
  assert_int_equal(values_of(EVENTRING_STRING, "abc", 3), 1);
  assert_int_equal(values_of(EVENTRING_VALUES, two, sizeof two), 2);
}

static int set_up_all(void **state) {
  register_test_events();
  keep_one();
  return 0;
}
static int remove_all(void **state) {
  return unlink(kept);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(definitions), cmocka_unit_test(classes),
      cmocka_unit_test(classes_from_the_environment), cmocka_unit_test(configurations),
      cmocka_unit_test(seconds_and_sizes), cmocka_unit_test(streams),
      cmocka_unit_test(domains), cmocka_unit_test(ends_in_a_handler), cmocka_unit_test(opening),
      cmocka_unit_test(asking), cmocka_unit_test(removing), cmocka_unit_test(discovering),
      cmocka_unit_test(without_a_mapping), cmocka_unit_test(values)};
  return cmocka_run_group_tests(tests, set_up_all, remove_all);
}
