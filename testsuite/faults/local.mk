# What the tests of this folder record with.

check_PROGRAMS += testsuite/faults/victim
testsuite_faults_victim_SOURCES = testsuite/faults/victim.c
testsuite_faults_victim_CPPFLAGS = $(SEE_EVENTRING)
testsuite_faults_victim_LDADD = $(LINK_EVENTRING)
