# SPDX-License-Identifier: MIT
# The library itself, compiled with a clock that the test sets and with test points: for the
# tests of the clock (eventring.mk), and the race test that stops at named steps.
WITH_TEST_CLOCK = $(SEE_EVENTRING_INSIDE) -include $(top_srcdir)/testsuite/unit/test_clock.h
check_LIBRARIES += testsuite/unit/libtest_eventring.a
testsuite_unit_libtest_eventring_a_SOURCES = testsuite/unit/test_clock.h $(eventring_sources)
testsuite_unit_libtest_eventring_a_CPPFLAGS = $(WITH_TEST_CLOCK) -DEVENTRING_TESTPOINTS

check_PROGRAMS += testsuite/concurrency/eventring_points_test
testsuite_concurrency_eventring_points_test_CPPFLAGS = $(SEE_EVENTRING_INSIDE) \
	-DEVENTRING_TESTPOINTS
testsuite_concurrency_eventring_points_test_LDADD = testsuite/unit/libtest_eventring.a

check_PROGRAMS += testsuite/concurrency/triggers_test
testsuite_concurrency_triggers_test_CPPFLAGS = $(SEE_EVENTRING)
testsuite_concurrency_triggers_test_LDADD = $(LINK_EVENTRING)

check_PROGRAMS += testsuite/concurrency/deletion_test
testsuite_concurrency_deletion_test_CPPFLAGS = $(SEE_EVENTRING)
testsuite_concurrency_deletion_test_LDADD = $(LINK_EVENTRING)
