# SPDX-License-Identifier: MIT
# The race test that stops at named steps: the library is compiled into it with
# test points.
check_PROGRAMS += testsuite/concurrency/eventring_points_test
testsuite_concurrency_eventring_points_test_SOURCES = \
	testsuite/concurrency/eventring_points_test.c $(eventring_sources)
testsuite_concurrency_eventring_points_test_CPPFLAGS = $(SEE_EVENTRING_INSIDE) \
	-DEVENTRING_TESTPOINTS

check_PROGRAMS += testsuite/concurrency/triggers_test
testsuite_concurrency_triggers_test_SOURCES = testsuite/concurrency/triggers_test.c
testsuite_concurrency_triggers_test_CPPFLAGS = $(SEE_EVENTRING)
testsuite_concurrency_triggers_test_LDADD = $(LINK_EVENTRING)
