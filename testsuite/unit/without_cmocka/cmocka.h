/* SPDX-License-Identifier: MIT */
/* cmocka.h: the part of cmocka that the tests use, for compilers that cannot link cmocka:
 * musl-gcc, for which Debian has no libraries. For these, configure puts this folder on
 * the include path.
 *
 * A check that fails prints the place and what is wrong, and ends its test: it jumps back
 * to the loop. The program's status is the number of tests that failed, as with cmocka. A
 * fault that raises a signal ends the whole program. All is in this header, which each
 * program includes in one file. */
#ifndef WITHOUT_CMOCKA_H
#define WITHOUT_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*CMUnitTestFunction)(void **state);
typedef int (*CMFixtureFunction)(void **state);
struct CMUnitTest {
  const char *name;
  CMUnitTestFunction test_func;
  CMFixtureFunction setup_func, teardown_func;
  void *initial_state;
};

#define cmocka_unit_test_prestate_setup_teardown(f, setup, teardown, state) \
  {#f, f, setup, teardown, state}
#define cmocka_unit_test(f) cmocka_unit_test_prestate_setup_teardown(f, NULL, NULL, NULL)
#define cmocka_unit_test_setup(f, setup) \
  cmocka_unit_test_prestate_setup_teardown(f, setup, NULL, NULL)
#define cmocka_unit_test_teardown(f, teardown) \
  cmocka_unit_test_prestate_setup_teardown(f, NULL, teardown, NULL)
#define cmocka_unit_test_setup_teardown(f, setup, teardown) \
  cmocka_unit_test_prestate_setup_teardown(f, setup, teardown, NULL)
#define cmocka_unit_test_prestate(f, state) \
  cmocka_unit_test_prestate_setup_teardown(f, NULL, NULL, state)

/* Where a check that failed (1) or skipped (2) jumps to. */
static jmp_buf cmocka_out;

__attribute__((noreturn, format(printf, 3, 4))) static inline void
cmocka_end_test(const char *file, int line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s:%d: error: ", file, line);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  longjmp(cmocka_out, 1);
}

static inline int cmocka_run(const struct CMUnitTest *test) {
  void *volatile state = test->initial_state;
  volatile int outcome = setjmp(cmocka_out);
  if (outcome == 0) {
    void *given = test->initial_state;
    if (test->setup_func != NULL && test->setup_func(&given) != 0) return 1;
    state = given;
    test->test_func(&given);
    state = given;
  }
  void *left = state;
  if (test->teardown_func != NULL && setjmp(cmocka_out) == 0 && test->teardown_func(&left) != 0)
    return 1;
  return outcome;
}

static inline int cmocka_run_tests(const char *group, const struct CMUnitTest *tests, size_t count,
                                   CMFixtureFunction setup, CMFixtureFunction teardown) {
  void *state = NULL;
  int failed = 0;
  fprintf(stderr, "[==========] %s: %zu tests\n", group, count);
  if (setup != NULL && setup(&state) != 0) return (int)count;
  for (size_t i = 0; i < count; i++) {
    struct CMUnitTest test = tests[i];
    if (test.initial_state == NULL) test.initial_state = state;
    int outcome = cmocka_run(&test);
    fprintf(stderr, "[ %s ] %s\n", outcome == 0 ? "     OK" : outcome == 1 ? " FAILED" : "SKIPPED",
            test.name);
    failed += outcome == 1;
  }
  if (teardown != NULL && teardown(&state) != 0) failed++;
  fprintf(stderr, "[==========] %d failed\n", failed);
  return failed;
}
#define cmocka_run_group_tests_name(group, tests, setup, teardown) \
  cmocka_run_tests(group, tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)
#define cmocka_run_group_tests(tests, setup, teardown) \
  cmocka_run_group_tests_name(#tests, tests, setup, teardown)

/* ---- Checks ----------------------------------------------------------------------- */

#define skip() longjmp(cmocka_out, 2)
#define fail() cmocka_end_test(__FILE__, __LINE__, "failed")
#define fail_msg(...) cmocka_end_test(__FILE__, __LINE__, __VA_ARGS__)
#define assert_true(c) ((c) ? (void)0 : fail_msg("not true: %s", #c))
#define assert_false(c) ((c) ? fail_msg("not false: %s", #c) : (void)0)
#define assert_null(p) assert_true((p) == NULL)
#define assert_non_null(p) assert_true((p) != NULL)

static inline void cmocka_compare(int wanted, uint64_t a, uint64_t b, const char *text,
                                  const char *file, int line) {
  if ((a == b) != wanted)
    cmocka_end_test(file, line, "%s: %#llx, %#llx", text, (unsigned long long)a,
                    (unsigned long long)b);
}
#define assert_int_equal(a, b) \
  cmocka_compare(1, (uint64_t)(a), (uint64_t)(b), #a " == " #b, __FILE__, __LINE__)
#define assert_int_not_equal(a, b) \
  cmocka_compare(0, (uint64_t)(a), (uint64_t)(b), #a " != " #b, __FILE__, __LINE__)
#define assert_ptr_equal(a, b) \
  cmocka_compare(1, (uintptr_t)(a), (uintptr_t)(b), #a " == " #b, __FILE__, __LINE__)
#define assert_ptr_not_equal(a, b) \
  cmocka_compare(0, (uintptr_t)(a), (uintptr_t)(b), #a " != " #b, __FILE__, __LINE__)

static inline void cmocka_in_range(uint64_t value, uint64_t least, uint64_t most, const char *text,
                                   const char *file, int line) {
  if (value < least || value > most)
    cmocka_end_test(file, line, "%s: %llu is not within %llu and %llu", text,
                    (unsigned long long)value, (unsigned long long)least, (unsigned long long)most);
}
#define assert_in_range(value, least, most) \
  cmocka_in_range((uint64_t)(value), (uint64_t)(least), (uint64_t)(most), #value, __FILE__, \
                  __LINE__)

static inline void cmocka_compare_text(int wanted, const char *a, const char *b, const char *file,
                                       int line) {
  if ((strcmp(a, b) == 0) != wanted) cmocka_end_test(file, line, "\"%s\", \"%s\"", a, b);
}
#define assert_string_equal(a, b) cmocka_compare_text(1, (a), (b), __FILE__, __LINE__)
#define assert_string_not_equal(a, b) cmocka_compare_text(0, (a), (b), __FILE__, __LINE__)
#define assert_memory_equal(a, b, size) assert_true(memcmp((a), (b), (size)) == 0)
#define assert_memory_not_equal(a, b, size) assert_true(memcmp((a), (b), (size)) != 0)

#endif
