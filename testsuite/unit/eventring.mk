# SPDX-License-Identifier: MIT
# Unit programs of libeventring, and its race test (which also runs under
# ThreadSanitizer).

if HAVE_CMOCKA
check_PROGRAMS += \
	testsuite/unit/eventring_conditions_test \
	testsuite/unit/eventring_triggers_test \
	testsuite/unit/eventring_events_test \
	testsuite/unit/eventring_loss_test \
	testsuite/unit/eventring_growth_test \
	testsuite/unit/eventring_stream_test testsuite/unit/eventring_ahead_test \
	testsuite/unit/eventring_backwards_test \
	testsuite/unit/eventring_recorded_test \
	testsuite/unit/eventring_interleaved_test \
	testsuite/unit/eventring_feedback_test \
	testsuite/unit/eventring_saver_test \
	testsuite/unit/eventring_ending_test \
	testsuite/unit/eventring_corrupt_test \
	testsuite/unit/eventring_lifecycle_test \
	testsuite/unit/eventring_place_test \
	testsuite/unit/eventring_openspans_test \
	testsuite/unit/eventring_openspans_plain_test \
	testsuite/unit/eventring_contexts_test \
	testsuite/unit/eventring_traces_test \
	testsuite/unit/eventring_own_time_test \
	testsuite/unit/eventring_memory_test \
	testsuite/unit/eventring_pages_test \
	testsuite/unit/eventring_off_cpu_test \
	testsuite/unit/eventring_let_read_test \
	testsuite/unit/eventring_records_test \
	testsuite/unit/eventring_format_test \
	testsuite/unit/eventring_format_plain_test \
	testsuite/unit/eventring_chunks_test \
	testsuite/unit/eventring_walk_test \
	testsuite/unit/eventring_block_cursor_test \
	testsuite/unit/eventring_window_test \
	testsuite/unit/eventring_signals_test \
	testsuite/unit/eventring_threads_test \
	testsuite/unit/eventring_wait_test \
	testsuite/unit/eventring_arguments_test \
	testsuite/unit/eventring_clock_test \
	testsuite/unit/eventring_clock_monotonic_test \
	testsuite/unit/eventring_failures_test \
	testsuite/unit/calls_test testsuite/unit/hash_table_test \
	testsuite/unit/remote_forbidden_test

testsuite_unit_remote_forbidden_test_LDADD = libremote.a $(CMOCKA_LIBS)

if HAVE_LIBZSTD
check_PROGRAMS += testsuite/unit/eventring_packed_test
testsuite_unit_eventring_packed_test_CPPFLAGS = $(SEE_EVENTRING_INSIDE) $(CMOCKA_CFLAGS) \
	$(LIBZSTD_CFLAGS)
testsuite_unit_eventring_packed_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=dlopen \
	-Wl,--wrap=evr_file_locked
testsuite_unit_eventring_packed_test_LDADD = $(LINK_EVENTRING) $(LIBZSTD_LIBS) $(CMOCKA_LIBS)
endif
testsuite_unit_hash_table_test_LDADD = $(CMOCKA_LIBS)
testsuite_unit_eventring_conditions_test_CPPFLAGS = $(SEE_EVENTRING) $(CMOCKA_CFLAGS)
testsuite_unit_eventring_ending_test_LDADD = $(LINK_EVENTRING) $(CMOCKA_LIBS) -ldl
testsuite_unit_eventring_place_test_LDADD = $(LINK_EVENTRING) $(CMOCKA_LIBS) -ldl
testsuite_unit_eventring_openspans_test_SOURCES = testsuite/unit/eventring_openspans_test.c \
	testsuite/unit/draw.h \
	eventring/producer/open_spans.c eventring/producer/leaf_spans.c \
	eventring/producer/totals.c eventring/producer/classes.c \
	eventring/format/checksum.c eventring/format/text.c
testsuite_unit_eventring_openspans_test_LDADD = $(CMOCKA_LIBS)
testsuite_unit_eventring_openspans_plain_test_SOURCES = \
	$(testsuite_unit_eventring_openspans_test_SOURCES)
testsuite_unit_eventring_openspans_plain_test_CPPFLAGS = $(SEE_EVENTRING_INSIDE) \
	-DEVENTRING_PLAIN_RUNS $(CMOCKA_CFLAGS)
testsuite_unit_eventring_openspans_plain_test_LDADD = $(CMOCKA_LIBS)
testsuite_unit_eventring_format_test_SOURCES = testsuite/unit/eventring_format_test.c \
	testsuite/unit/draw.h \
	eventring/format/checksum.c eventring/format/clock.c eventring/format/control.c \
	eventring/format/text.c eventring/format/error.c
testsuite_unit_eventring_format_test_LDADD = $(CMOCKA_LIBS)
testsuite_unit_eventring_format_plain_test_SOURCES = $(testsuite_unit_eventring_format_test_SOURCES)
testsuite_unit_eventring_format_plain_test_CPPFLAGS = $(SEE_EVENTRING_INSIDE) \
	-DEVENTRING_PLAIN_RUNS $(CMOCKA_CFLAGS)
testsuite_unit_eventring_format_plain_test_LDADD = $(CMOCKA_LIBS)

testsuite_unit_eventring_memory_test_LDADD = $(LINK_EVENTRING) $(CMOCKA_LIBS) -lm
testsuite_unit_eventring_off_cpu_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime
testsuite_unit_eventring_let_read_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=prctl
# The writer of blocks and what it needs: no ring, no file, no domain.
testsuite_unit_eventring_chunks_test_SOURCES = testsuite/unit/eventring_chunks_test.c \
	testsuite/unit/draw.h \
	eventring/producer/lane.c eventring/producer/open_spans.c eventring/producer/leaf_spans.c \
	eventring/producer/totals.c \
	eventring/producer/classes.c eventring/format/control.c eventring/format/checksum.c \
	eventring/format/text.c eventring/format/error.c
testsuite_unit_eventring_chunks_test_LDADD = $(CMOCKA_LIBS)
testsuite_unit_eventring_clock_test_SOURCES = testsuite/unit/eventring_clock_test.c \
	testsuite/unit/eventring_common.h testsuite/unit/test_clock.h
testsuite_unit_eventring_clock_test_CPPFLAGS = $(WITH_TEST_CLOCK) -DEVENTRING_TESTPOINTS -DTEST_MONOTONIC=0 \
	$(CMOCKA_CFLAGS)
testsuite_unit_eventring_clock_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=read
testsuite_unit_eventring_clock_test_LDADD = testsuite/unit/libtest_eventring.a $(CMOCKA_LIBS)
testsuite_unit_eventring_clock_monotonic_test_SOURCES = \
	$(testsuite_unit_eventring_clock_test_SOURCES)
testsuite_unit_eventring_clock_monotonic_test_CPPFLAGS = $(WITH_TEST_CLOCK) -DEVENTRING_TESTPOINTS -DTEST_MONOTONIC=1 \
	$(CMOCKA_CFLAGS)
testsuite_unit_eventring_clock_monotonic_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=read
testsuite_unit_eventring_clock_monotonic_test_LDADD = testsuite/unit/libtest_eventring.a $(CMOCKA_LIBS)
testsuite_unit_eventring_failures_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ftruncate \
	-Wl,--wrap=mmap -Wl,--wrap=open -Wl,--wrap=openat -Wl,--wrap=fcntl -Wl,--wrap=unlink \
	-Wl,--wrap=unlinkat -Wl,--wrap=renameat -Wl,--wrap=fstat -Wl,--wrap=fstatat \
	-Wl,--wrap=fstatfs -Wl,--wrap=pread -Wl,--wrap=pwrite -Wl,--wrap=read \
	-Wl,--wrap=posix_fallocate -Wl,--wrap=madvise -Wl,--wrap=getrlimit -Wl,--wrap=close \
	-Wl,--wrap=realpath -Wl,--wrap=gethostname -Wl,--wrap=sigaction -Wl,--wrap=opendir \
	-Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=posix_memalign \
	-Wl,--wrap=syscall
endif

check_PROGRAMS += testsuite/concurrency/eventring_race_test
testsuite_concurrency_eventring_race_test_CPPFLAGS = $(SEE_EVENTRING_INSIDE)
testsuite_concurrency_eventring_race_test_LDADD = $(LINK_EVENTRING)
