/* SPDX-License-Identifier: MIT */
/* eventring_let_read_test.c: who may read the memory of a process that records, where the
 * kernel requires permission (PR_SET_PTRACER): nobody by default; with `lets_read', or
 * REMOTE=allow, everybody from the start to the end of the recording, also in a forked
 * child. The kernel of a test machine may not require permission, so the test observes
 * the calls. */
#include "eventring_common.h"

#include <sys/prctl.h>
#include <sys/wait.h>

static unsigned long allowed; /* the process that was last named in a call */
static unsigned calls;

int __real_prctl(int option, ...);
int __wrap_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
int __wrap_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
  if (option != PR_SET_PTRACER) return __real_prctl(option, a, b, c, d);
  allowed = a;
  calls++;
  return 0;
}

static void by_default_nobody(void **state) {
  calls = 0;
  start_recording(EVENTRING_DEFAULT_WSIZE);
  eventring_stop();
  assert_int_equal(calls, 0);
}

static void all_while_it_records(void **state) {
  struct eventring_config config = test_config(EVENTRING_DEFAULT_WSIZE);
  config.lets_read = true;
  assert_int_equal(eventring_start(&config, NULL), EVENTRING_OK);
  assert_true(allowed == PR_SET_PTRACER_ANY);
  eventring_stop();
  assert_true(allowed == 0);
}

static void all_of_a_forked_child(void **state) {
  struct eventring_config config = test_config(EVENTRING_DEFAULT_WSIZE);
  config.lets_read = config.follow_forks = true;
  assert_int_equal(eventring_start(&config, NULL), EVENTRING_OK);
  eventring_domain *domain = start_domain("forks");
  calls = 0;
  const pid_t child = fork();
  if (child == 0) {
    eventring_state(); /* the child must be recorded by now */
    _exit(calls == 1 && allowed == PR_SET_PTRACER_ANY ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(calls, 0);
  eventring_domain_stop(domain);
  eventring_stop();
}

static void as_the_environment_says(void **state) {
  static const struct {
    const char *text;
    int status;
    bool closed, lets_read;
  } all[] = {{"allow", EVENTRING_OK, false, true}, {"1", EVENTRING_OK, false, false},
             {"0", EVENTRING_OK, true, false}, {"", EVENTRING_OK, false, false},
             {"allowed", EVENTRING_E_CONFIG, false, false},
             {"2", EVENTRING_E_CONFIG, false, false}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    struct eventring_config config = test_config(EVENTRING_DEFAULT_WSIZE);
    struct eventring_error error = {0};
    setenv("UNIT_REMOTE", all[i].text, 1);
    assert_int_equal(eventring_config_from_env(&config, "UNIT", &error), all[i].status);
    if (all[i].status != EVENTRING_OK) {
      assert_non_null(strstr(error.text, "UNIT_REMOTE="));
      assert_non_null(strstr(error.text, "must be 0, 1 or allow"));
      continue;
    }
    assert_int_equal(config.closed, all[i].closed);
    assert_int_equal(config.lets_read, all[i].lets_read);
  }
  unsetenv("UNIT_REMOTE");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(by_default_nobody),
      cmocka_unit_test(all_while_it_records),
      cmocka_unit_test(all_of_a_forked_child),
      cmocka_unit_test(as_the_environment_says),
  };
  register_test_events();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
