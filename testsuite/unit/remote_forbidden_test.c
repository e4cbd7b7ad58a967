/* SPDX-License-Identifier: MIT */
/* remote_forbidden_test.c: messages that say why the memory of another process may not be
 * read: by which rule, and what to set. A test cannot change the rules of a machine, so
 * they are passed as data here (testsuite/tools/test_forbidden.sh tests the rules that a
 * process sets itself). */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "remote/forbidden.h"

static void says(struct remote_rights rights, const char *first, const char *second) {
  char text[256]; /* as large as in struct remote_host */
  remote_forbidden_text(&rights, text, sizeof text);
  if (strstr(text, first) && strstr(text, second) && strlen(text) < sizeof text - 1) return;
  fail_msg("no `%s' or `%s' in: %s", first, second, text);
}

static void test_users(void **state) {
  says((struct remote_rights){.own_user = 7, .known = true, .users = {8, 8, 8}},
       "user 8", "as that user, or as root");
  says((struct remote_rights){.own_user = 7, .known = true, .users = {7, 9, 7}, .closed = true},
       "user 9", "");
  says((struct remote_rights){.own_user = 7, .known = true, .users = {7, 7, 0}, .scope = 1},
       "user 0", "");
}

static void test_not_dumpable(void **state) {
  says((struct remote_rights){.own_user = 7, .known = true, .users = {7, 7, 7}, .closed = true,
                              .scope = 1},
       "not dumpable", "prctl(PR_SET_DUMPABLE, 1)");
}

static void test_yama(void **state) {
  struct remote_rights same = {.own_user = 7, .known = true, .users = {7, 7, 7}, .scope = 1};
  says(same, "kernel.yama.ptrace_scope is 1", "let eventring start the program");
  same.scope = 2;
  says(same, "kernel.yama.ptrace_scope is 2", "set it to 0, or run this as root");
  same.scope = 3;
  says(same, "kernel.yama.ptrace_scope is 3", "nobody");
  same.may_trace_all = true; /* this rule holds for root as well */
  says(same, "kernel.yama.ptrace_scope is 3", "nobody");
}

static void test_others(void **state) {
  says((struct remote_rights){.own_user = 7, .known = true, .users = {7, 7, 7}},
       "a filter of system calls", "CAP_SYS_PTRACE");
  says((struct remote_rights){.may_trace_all = true, .known = true, .users = {8, 8, 8},
                              .closed = true, .scope = 2},
       "a filter of system calls", "");
  /* /proc is hidden. */
  says((struct remote_rights){.own_user = 7}, "a filter of system calls", "");
}

static void test_own_process(void **state) {
  struct remote_rights rights;
  remote_rights_of(getpid(), &rights);
  assert_true(rights.known);
  assert_int_equal(rights.own_user, geteuid());
  assert_int_equal(rights.users[0], getuid());
  assert_int_equal(rights.users[1], geteuid());
  remote_rights_of(999999999, &rights);
  assert_false(rights.known);
  assert_false(rights.closed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_users),  cmocka_unit_test(test_not_dumpable),
      cmocka_unit_test(test_yama),   cmocka_unit_test(test_others),
      cmocka_unit_test(test_own_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
