# SPDX-License-Identifier: MIT
# What the tests of this folder record with.

check_PROGRAMS += testsuite/faults/victim
testsuite_faults_victim_CPPFLAGS = $(SEE_EVENTRING_INSIDE)
testsuite_faults_victim_LDADD = $(LINK_EVENTRING)

if SAROS
check_PROGRAMS += testsuite/faults/allocations_test
testsuite_faults_allocations_test_CPPFLAGS = $(SEE_STDLIB)
testsuite_faults_allocations_test_LDADD = $(LINK_STDLIB)

check_PROGRAMS += testsuite/faults/allocators_test
testsuite_faults_allocators_test_CPPFLAGS = $(SEE_STDLIB)
testsuite_faults_allocators_test_LDADD = $(LINK_STDLIB)

check_PROGRAMS += testsuite/faults/brim_test
testsuite_faults_brim_test_CPPFLAGS = $(SEE_STDLIB)
testsuite_faults_brim_test_LDADD = $(LINK_STDLIB)

check_PROGRAMS += testsuite/faults/usable_test
testsuite_faults_usable_test_SOURCES = testsuite/faults/usable_test.c
testsuite_faults_usable_test_CPPFLAGS = $(SEE_STDLIB)
testsuite_faults_usable_test_LDADD = $(LINK_STDLIB)
endif

# make kills [KILLS=n]
kills: all
	@SAROS=$(abs_top_builddir)/saros EVENTRING=$(abs_top_builddir)/eventring/eventring \
	  python3 $(abs_top_srcdir)/testsuite/faults/kills.py --kills $(or $(KILLS),1000)

.PHONY: kills
