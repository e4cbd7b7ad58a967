/* SPDX-License-Identifier: MIT */
/* eventring_ending_test.c: how a host's process ends, whether its file is kept, and what
   the file then says (producer/ending.c). */
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>

#include "eventring_common.h"

enum { NOTHING = -1 /* no file is left */ };

static char name[64]; /* name of the file of the last child */

/* Runs `body` in a child that records with this configuration, and stores what the file
   says in *info. Returns the liveness of the recording, or NOTHING. */
static int run(void (*body)(void), unsigned preserve, struct eventring_info *info) {
  pid_t child = fork();
  int status;
  if (child == 0) {
    struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
    if (preserve != UINT32_MAX) config.preserve = (uint8_t)preserve;
    if (eventring_start(&config, NULL) != EVENTRING_OK) _exit(100);
    eventring_user_counter(start_domain("main"), T_COUNT, 1);
    body();
    _exit(101);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_false(WIFEXITED(status) && WEXITSTATUS(status) >= 100);
  snprintf(name, sizeof name, "%d" EVENTRING_SUFFIX, (int)child);
  eventring_cursor *cursor;
  struct eventring_error error;
  if (eventring_open_path(&cursor, name, 0, &error) < 0) {
    assert_int_equal(error.code, EVENTRING_E_NOT_FOUND);
    return NOTHING;
  }
  assert_int_equal(eventring_cursor_info(cursor, info), EVENTRING_OK);
  eventring_close(cursor);
  assert_int_equal(unlink(name), 0);
  return info->liveness;
}

static void note(const char *text) {
  if (eventring_note_error(text, strlen(text)) != EVENTRING_OK) _exit(102);
}

static void exit_0(void) { exit(0); }
static void exit_3(void) { exit(3); }
static void exit_256(void) { exit(256); }
static void stop_then_exit_3(void) {
  if (eventring_stop() != EVENTRING_OK) _exit(103);
  exit(3);
}
static void stop(void) { eventring_stop(); exit(0); }
static void note_then_stop(void) {
  note("an error");
  eventring_stop();
  if (eventring_note_error("x", 1) != EVENTRING_E_STATE) _exit(104);
  exit(0);
}
static void note_often(void) {
  char text[2000];
  memset(text, '.', sizeof text);
  for (int i = 0; i < 100; i++) eventring_note_error(text, sizeof text);
  note("the last one");
  exit(0);
}
static void note_then_killed(void) { note("an error"); raise(SIGKILL); }
static void note_nothing(void) {
  if (eventring_note_error(NULL, 1) != EVENTRING_E_ARGUMENT) _exit(105);
  if (eventring_note_error(NULL, 0) != EVENTRING_OK) _exit(106);
  exit(0);
}
static void on_signal(int number) {
  eventring_note_signal(number);
  if (number == SIGTERM || number == SIGUSR1) eventring_end_in_handler();
  signal(number, SIG_DFL);
  raise(number);
}
static void die_of(int number) { signal(number, on_signal); raise(number); _exit(107); }
static void by_term(void) { die_of(SIGTERM); }
static void by_segv(void) { die_of(SIGSEGV); }
static void by_usr1(void) { die_of(SIGUSR1); }
static void hup_then_exit_1(void) { eventring_note_signal(SIGHUP); exit(1); }
static void unsaid_signal(void) { eventring_end_in_handler(); raise(SIGKILL); }
static void int_then_exit_1(void) { eventring_note_signal(SIGINT); exit(1); }

static const unsigned by_default = UINT32_MAX, never = EVENTRING_PRESERVE_NEVER,
                      always = EVENTRING_PRESERVE_ALWAYS;

/* C libraries other than glibc pass no exit status to a handler of atexit; the library
   then takes it for 0. */
#ifdef __GLIBC__
enum { KEPT_AFTER_3 = EVENTRING_ENDED, STATUS_3 = 3 };
#else
enum { KEPT_AFTER_3 = NOTHING, STATUS_3 = 0 };
#endif

static void kept_or_not(void **state) {
  static const struct {
    void (*body)(void);
    unsigned preserve;
    int left;
    enum eventring_end_reason reason;
    uint32_t detail;
    const char *error;
    bool preserved;
  } cases[] = {
      {exit_0, by_default, NOTHING, 0, 0, NULL, false},
      {exit_256, by_default, NOTHING, 0, 0, NULL, false},
      {exit_3, by_default, KEPT_AFTER_3, EVENTRING_END_EXIT, STATUS_3, "", false},
      {exit_3, never, NOTHING, 0, 0, NULL, false},
      {exit_3, always, EVENTRING_ENDED, EVENTRING_END_EXIT, STATUS_3, "", true},
      {exit_0, true, EVENTRING_ENDED, EVENTRING_END_EXIT, 0, "", true},
      {exit_0, false, NOTHING, 0, 0, NULL, false},
      {stop_then_exit_3, by_default, NOTHING, 0, 0, NULL, false},
      {stop, always, EVENTRING_ENDED, EVENTRING_END_STOPPED, 0, "", true},
      {note_then_stop, by_default, EVENTRING_ENDED, EVENTRING_END_STOPPED, 0, "an error", false},
      {note_then_stop, never, NOTHING, 0, 0, NULL, false},
      {note_often, by_default, EVENTRING_ENDED, EVENTRING_END_EXIT, 0, "the last one", false},
      {note_nothing, by_default, EVENTRING_ENDED, EVENTRING_END_EXIT, 0, "", false},
      {note_then_killed, never, EVENTRING_DEAD, EVENTRING_END_UNKNOWN, 0, "an error", false},
      {by_term, by_default, EVENTRING_ENDED, EVENTRING_END_SIGNAL, SIGTERM, "", false},
      {by_term, never, NOTHING, 0, 0, NULL, false},
      {by_term, always, EVENTRING_ENDED, EVENTRING_END_SIGNAL, SIGTERM, "", true},
      {by_usr1, by_default, EVENTRING_ENDED, EVENTRING_END_SIGNAL, SIGUSR1, "", false},
      {by_segv, never, EVENTRING_DEAD, EVENTRING_END_SIGNAL, SIGSEGV, "", false},
      {unsaid_signal, by_default, NOTHING, 0, 0, NULL, false},
      {unsaid_signal, always, EVENTRING_ENDED, EVENTRING_END_SIGNAL, 0, "", true},
      {int_then_exit_1, by_default, EVENTRING_ENDED, EVENTRING_END_SIGNAL, SIGINT, "", false},
      {hup_then_exit_1, by_default, EVENTRING_ENDED, EVENTRING_END_SIGNAL, SIGHUP, "", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct eventring_info info = {.size = sizeof info};
    int left = run(cases[i].body, cases[i].preserve, &info);
    if (left != cases[i].left) fail_msg("case %zu: %d is left", i, left);
    if (left == NOTHING) continue;
    if (info.end_reason != cases[i].reason || info.end_detail != cases[i].detail ||
        strcmp(info.error_text, cases[i].error) != 0 || info.preserved != cases[i].preserved)
      fail_msg("case %zu: reason %d, detail %u, \"%s\", preserved %d", i, (int)info.end_reason,
               info.end_detail, info.error_text, info.preserved);
  }
}

static char noted[5000];
static size_t noted_size;
static void note_it(void) { eventring_note_error(noted, noted_size); exit(1); }

/* Checks what is recorded of a text of `size` bytes that the host notes. */
static void expect_text(size_t size, const char *expected, size_t expected_size) {
  struct eventring_info info = {.size = sizeof info};
  noted_size = size;
  assert_int_equal(run(note_it, by_default, &info), EVENTRING_ENDED);
  assert_int_equal(info.error_bytes, size);
  assert_int_equal(strlen(info.error_text), expected_size);
  assert_memory_equal(info.error_text, expected, expected_size);
}

static void texts_are_cut_between_characters(void **state) {
  static const char *const letters[] = {"x", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
  for (size_t l = 0; l < 4; l++) {
    size_t length = strlen(letters[l]);
    for (size_t shift = 0; shift < 4; shift++) {
      memset(noted, '.', shift);
      for (size_t at = shift; at + length <= sizeof noted; at += length)
        memcpy(noted + at, letters[l], length);
      size_t whole = shift + (EVENTRING_MAX_END_TEXT - shift) / length * length;
      expect_text(whole + length, noted, whole);
    }
  }
  memset(noted, 0x80, sizeof noted); /* no characters at all */
  char marks[EVENTRING_MAX_END_TEXT];
  memset(marks, '?', sizeof marks);
  expect_text(sizeof noted, marks, sizeof marks);
  memcpy(noted, "a\n\tb\0c\r\x1b\x7f\xc2\x80\xff", 12);
  expect_text(12, "a\n\tb?c??????", 12);
}

/* Checks a program that was compiled when `preserve` was a bool and there was no
   `keep`. */
static void former_configurations(void **state) {
  struct eventring_config config;
  struct eventring_error error;
  eventring_config_init(&config);
  config.size = offsetof(struct eventring_config, keep);
  config.keep = EVENTRING_MAX_KEEP + 1; /* out of range, but must not be read */
  assert_int_equal(config.preserve, EVENTRING_PRESERVE_ON_ERROR);
  assert_int_equal(true, EVENTRING_PRESERVE_ALWAYS);
  config.start = EVENTRING_START_ON;
  assert_int_equal(eventring_start(&config, &error), EVENTRING_OK);
  assert_int_equal(eventring_stop(), EVENTRING_OK);
  eventring_config_init(&config);
  config.start = EVENTRING_START_ON;
  config.preserve = 3;
  assert_int_equal(eventring_start(&config, &error), EVENTRING_E_CONFIG);
  config.preserve = EVENTRING_PRESERVE_ON_ERROR;
  config.keep = EVENTRING_MAX_KEEP + 1;
  assert_int_equal(eventring_start(&config, &error), EVENTRING_E_CONFIG);
}

static void from_the_environment(void **state) {
  static const struct { const char *value; int preserve; } good[] = {
      {"", EVENTRING_PRESERVE_ON_ERROR}, {"onerror", EVENTRING_PRESERVE_ON_ERROR},
      {"0", EVENTRING_PRESERVE_NEVER}, {"1", EVENTRING_PRESERVE_ALWAYS}};
  struct eventring_config config;
  struct eventring_error error;
  for (size_t i = 0; i < 4; i++) {
    setenv("T_PRESERVE", good[i].value, 1);
    setenv("T_KEEP", "3", 1);
    eventring_config_init(&config);
    assert_int_equal(eventring_config_from_env(&config, "T", &error), EVENTRING_OK);
    assert_int_equal(config.preserve, good[i].preserve);
    assert_int_equal(config.keep, 3);
    assert_true(config.keep_preserved);
  }
  setenv("T_PRESERVE", "2", 1);
  assert_int_equal(eventring_config_from_env(&config, "T", &error), EVENTRING_E_CONFIG);
  assert_string_equal(error.text, "T_PRESERVE=2: must be 0, 1 or onerror");
  unsetenv("T_PRESERVE");
  static const char *const bad[] = {"-1", "1000001", "8x", "99999999999999999999"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    setenv("T_KEEP", bad[i], 1);
    assert_int_equal(eventring_config_from_env(&config, "T", &error), EVENTRING_E_CONFIG);
    assert_non_null(strstr(error.text, "a whole number from 0 to 1000000"));
  }
  unsetenv("T_KEEP");
}

#ifdef LM_ID_NEWLM /* glibc only: a second copy of the library, which dlclose unloads */
/* Checks that a program that has unloaded the library ends like any other. */
static void unload(void) {
  char path[4096];
  const char *build = getenv("BUILDDIR");
  snprintf(path, sizeof path, "%s/.libs/libeventring.so", build ? build : ".");
  void *copy = dlmopen(LM_ID_NEWLM, path, RTLD_NOW | RTLD_LOCAL);
  if (!copy) exit(0); /* a build without shared libraries */
  int (*start)(const struct eventring_config *, struct eventring_error *) =
      (int (*)(const struct eventring_config *, struct eventring_error *))dlsym(copy,
                                                                                "eventring_start");
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  eventring_stop();
  if (!start || start(&config, NULL) != EVENTRING_OK) _exit(108);
  dlclose(copy);
  exit(3);
}

static void unloaded_before_the_exit(void **state) {
  struct eventring_info info = {.size = sizeof info};
  assert_int_equal(run(unload, by_default, &info), NOTHING);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kept_or_not),
      cmocka_unit_test(texts_are_cut_between_characters),
      cmocka_unit_test(former_configurations),
      cmocka_unit_test(from_the_environment),
#ifdef LM_ID_NEWLM
      cmocka_unit_test(unloaded_before_the_exit),
#endif
  };
  register_test_events();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
