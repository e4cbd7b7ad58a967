# Unit programs of libeventring, and its race test (which also runs under
# ThreadSanitizer).

if HAVE_CMOCKA
check_PROGRAMS += \
	testsuite/unit/eventring_events \
	testsuite/unit/eventring_loss \
	testsuite/unit/eventring_corrupt \
	testsuite/unit/eventring_lifecycle

testsuite_unit_eventring_events_SOURCES = testsuite/unit/eventring_events.c testsuite/unit/eventring_common.h
testsuite_unit_eventring_events_CPPFLAGS = $(SEE_EVENTRING) $(CMOCKA_CFLAGS)
testsuite_unit_eventring_events_LDADD = $(LINK_EVENTRING) $(CMOCKA_LIBS)
testsuite_unit_eventring_loss_SOURCES = testsuite/unit/eventring_loss.c testsuite/unit/eventring_common.h
testsuite_unit_eventring_loss_CPPFLAGS = $(SEE_EVENTRING) $(CMOCKA_CFLAGS)
testsuite_unit_eventring_loss_LDADD = $(LINK_EVENTRING) $(CMOCKA_LIBS)
testsuite_unit_eventring_corrupt_SOURCES = testsuite/unit/eventring_corrupt.c testsuite/unit/eventring_common.h
testsuite_unit_eventring_corrupt_CPPFLAGS = $(SEE_EVENTRING) $(CMOCKA_CFLAGS)
testsuite_unit_eventring_corrupt_LDADD = $(LINK_EVENTRING) $(CMOCKA_LIBS)
testsuite_unit_eventring_lifecycle_SOURCES = testsuite/unit/eventring_lifecycle.c testsuite/unit/eventring_common.h
testsuite_unit_eventring_lifecycle_CPPFLAGS = $(SEE_EVENTRING) $(CMOCKA_CFLAGS)
testsuite_unit_eventring_lifecycle_LDADD = $(LINK_EVENTRING) $(CMOCKA_LIBS)
endif

check_PROGRAMS += testsuite/concurrency/eventring_race
testsuite_concurrency_eventring_race_SOURCES = testsuite/concurrency/eventring_race.c
testsuite_concurrency_eventring_race_CPPFLAGS = $(SEE_EVENTRING)
testsuite_concurrency_eventring_race_LDADD = $(LINK_EVENTRING)

EXTRA_PROGRAMS += testsuite/bench/eventring_bench
bench_programs += testsuite/bench/eventring_bench
testsuite_bench_eventring_bench_SOURCES = testsuite/bench/eventring_bench.c
testsuite_bench_eventring_bench_CPPFLAGS = $(SEE_EVENTRING)
testsuite_bench_eventring_bench_LDADD = $(LINK_EVENTRING)
