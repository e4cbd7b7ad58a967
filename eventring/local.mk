# libeventring: knows nothing of Lua; libc and pthread only.

eventring_sources = \
	eventring/catalogue.c eventring/clock.c eventring/config.c eventring/control.c \
	eventring/cursor.c eventring/deliver.c eventring/guard.c eventring/inspect.c eventring/lane.c eventring/locate.c \
	eventring/openspans.c eventring/process.c eventring/recorder.c eventring/recording.c eventring/remote.c \
	eventring/ring.c eventring/snapshot.c eventring/source.c eventring/spanstack.c \
	eventring/status.c eventring/trace.c eventring/window.c

eventring_headers = eventring/format.h eventring/internal.h eventring/reader.h eventring/recorder.h

eventringincludedir = $(includedir)/eventring
eventringinclude_HEADERS = eventring/eventring.h eventring/probe.h

lib_LTLIBRARIES += libeventring.la
libeventring_la_SOURCES = $(eventring_sources) $(eventring_headers)
libeventring_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libeventring_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 \
	-Wl,--version-script=$(top_srcdir)/eventring/eventring.map
EXTRA_libeventring_la_DEPENDENCIES = $(top_srcdir)/eventring/eventring.map

noinst_LIBRARIES += libeventring_host.a
libeventring_host_a_SOURCES = $(eventring_sources) $(eventring_headers)
libeventring_host_a_CFLAGS = $(AM_CFLAGS)

# The command. Argument parsing and printing only; all reading is the library's.
bin_PROGRAMS += eventring/eventring
eventring_eventring_SOURCES = \
	eventring/tools/cmd_clean.c eventring/tools/cmd_control.c \
	eventring/tools/cmd_dump.c eventring/tools/cmd_list.c \
	eventring/tools/cmd_show.c eventring/tools/cmd_snapshot.c eventring/tools/cmd_stats.c \
	eventring/tools/commands.def eventring/tools/dump_format.c eventring/tools/dump_format.h \
	eventring/tools/gc_clock.c eventring/tools/gc_clock.h \
	eventring/tools/histogram.c eventring/tools/histogram.h eventring/tools/json.c \
	eventring/tools/json.h eventring/tools/launch.c eventring/tools/launch.h \
	eventring/tools/main.c eventring/tools/names.c eventring/tools/names.h \
	eventring/tools/options.c eventring/tools/options.h eventring/tools/places.c \
	eventring/tools/places.h eventring/tools/reader.c eventring/tools/reader.h \
	eventring/tools/table.c eventring/tools/table.h eventring/tools/tally.c \
	eventring/tools/tally.h eventring/tools/tally_json.c eventring/tools/tally_text.c \
	eventring/tools/tool.c eventring/tools/tool.h eventring/tools/units.c \
	eventring/tools/units.h
eventring_eventring_LDADD = $(LINK_EVENTRING) $(PROGRAM_LIBS)

# What the tests of the command record with, and its statistics alone.
check_PROGRAMS += testsuite/tools/producer
testsuite_tools_producer_SOURCES = testsuite/tools/producer.c
testsuite_tools_producer_CPPFLAGS = $(SEE_EVENTRING)
testsuite_tools_producer_LDADD = $(LINK_EVENTRING)
if HAVE_CMOCKA
check_PROGRAMS += testsuite/tools/tally_test
testsuite_tools_tally_test_SOURCES = testsuite/tools/tally_test.c \
	eventring/tools/gc_clock.c eventring/tools/histogram.c \
	eventring/tools/tool.c eventring/tools/units.c
testsuite_tools_tally_test_CPPFLAGS = $(SEE_EVENTRING) $(CMOCKA_CFLAGS)
testsuite_tools_tally_test_LDADD = $(CMOCKA_LIBS)
endif

pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = eventring/eventring.pc

EXTRA_DIST += eventring/eventring.map
