# SPDX-License-Identifier: MIT
# Tests and benches. The runner finds guest suites and scripts by itself (see
# its top); unit programs are listed here or in the local.mk of their folder:
#
#   check_PROGRAMS += testsuite/unit/test_foo
#   testsuite_unit_test_foo_CPPFLAGS = $(SEE_RUNTIME) $(CMOCKA_CFLAGS)
#   testsuite_unit_test_foo_LDADD = $(LINK_RUNTIME) $(CMOCKA_LIBS)
#
# (inside `if HAVE_CMOCKA` when it uses cmocka; for libeventring the first line is enough, see
# AM_DEFAULT_SOURCE_EXT in Makefile.am). A program whose name is neither
# test_NAME nor NAME_test is one that tests use. Concurrency tests are named
# testsuite/concurrency/...: those also run under ThreadSanitizer, and so do the unit
# programs that runtests names.

# All of this folder and of doc/ goes into a distribution. EXTRA_DIST would also take what was
# built from the build directory: manual pages, which the build of a distribution elsewhere would
# find among the sources, and not install.
dist-hook:
	(cd $(srcdir) && find testsuite doc -type f ! -name '*.o' ! -name '.dirstamp' ! -name '*~' \
	    ! -path 'doc/*.[1-9]' ! -name '*.stamp' ! -path '*/.deps/*' ! -path '*/.libs/*' ! -path 'testsuite/log/*' | \
	  while read -r file; do test -e "$$file.c" || echo "$$file"; done | tar cf - -T -) | \
	(cd $(distdir) && tar xf -)

include testsuite/unit/eventring.mk
include testsuite/bench/local.mk
include testsuite/concurrency/local.mk
include testsuite/faults/local.mk
include testsuite/figures/local.mk
include testsuite/format/local.mk
include testsuite/fuzz/local.mk
include testsuite/fuzz/lua.mk
include testsuite/hooks/local.mk
include testsuite/fuzz/programs.mk
include testsuite/fuzz/watching.mk
include testsuite/abi/local.mk
include testsuite/arm64/local.mk
include testsuite/coverage/local.mk
include testsuite/memprof/local.mk
include testsuite/profile/local.mk
include testsuite/soak/local.mk
include testsuite/tools/local.mk
include testsuite/model/local.mk
include testsuite/ffi/local.mk
include testsuite/view/local.mk

if SAROS
if HAVE_CMOCKA
check_PROGRAMS += testsuite/unit/number_test testsuite/unit/api_test \
  testsuite/unit/watch_test testsuite/unit/heap_test testsuite/unit/mappings_test \
  testsuite/unit/channel_test testsuite/unit/external_test testsuite/unit/table_test testsuite/unit/position_test \
  testsuite/unit/memprof_random_test
testsuite_unit_number_test_CPPFLAGS = $(SEE_RUNTIME) $(CMOCKA_CFLAGS)
testsuite_unit_number_test_LDADD = $(LINK_RUNTIME) $(CMOCKA_LIBS)
testsuite_unit_heap_test_CPPFLAGS = $(SEE_RUNTIME) $(CMOCKA_CFLAGS)
testsuite_unit_heap_test_LDADD = $(LINK_RUNTIME) $(CMOCKA_LIBS)
testsuite_unit_table_test_CPPFLAGS = $(SEE_RUNTIME) $(CMOCKA_CFLAGS)
testsuite_unit_table_test_LDADD = $(LINK_RUNTIME) $(CMOCKA_LIBS)
testsuite_unit_memprof_random_test_CPPFLAGS = $(SEE_RUNTIME) $(CMOCKA_CFLAGS)
testsuite_unit_memprof_random_test_LDADD = $(LINK_RUNTIME) $(CMOCKA_LIBS)
testsuite_unit_channel_test_CPPFLAGS = $(SEE_RUNTIME) $(CMOCKA_CFLAGS)
testsuite_unit_channel_test_LDADD = $(LINK_RUNTIME) $(CMOCKA_LIBS)
testsuite_unit_mappings_test_CPPFLAGS = $(SEE_RUNTIME) $(CMOCKA_CFLAGS)
testsuite_unit_mappings_test_LDADD = $(LINK_RUNTIME) $(CMOCKA_LIBS)
testsuite_unit_api_test_CPPFLAGS = $(SEE_STDLIB) $(CMOCKA_CFLAGS)
testsuite_unit_api_test_LDADD = $(LINK_STDLIB) $(CMOCKA_LIBS)
testsuite_unit_watch_test_CPPFLAGS = $(SEE_STDLIB) $(CMOCKA_CFLAGS)
testsuite_unit_watch_test_LDADD = $(LINK_STDLIB) $(CMOCKA_LIBS)
testsuite_unit_external_test_CPPFLAGS = $(SEE_STDLIB) $(CMOCKA_CFLAGS)
testsuite_unit_external_test_LDADD = $(LINK_STDLIB) $(CMOCKA_LIBS)
testsuite_unit_position_test_CPPFLAGS = $(SEE_STDLIB) $(CMOCKA_CFLAGS)
testsuite_unit_position_test_LDADD = $(LINK_STDLIB) $(CMOCKA_LIBS)
endif
endif

RUN_TESTS = $(SHELL) $(top_srcdir)/testsuite/run-tests.sh --builddir=$(abs_top_builddir)

# TESTFLAGS: e.g. make check TESTFLAGS="--only language"
check-programs: all $(check_LIBRARIES) $(check_PROGRAMS) $(check_DATA) $(bench_programs)

# What the guest suites need
check-guests: saros $(check_DATA)

check-local: check-programs
	$(RUN_TESTS) --unit="$(check_PROGRAMS)" \
	  $(or $(TESTFLAGS),$(if $(findstring /_build/sub,$(abs_builddir)),$(DISTCHECK_TESTS)))

# The same without building anything: where only a part of the programs is built
check-built:
	$(RUN_TESTS) --unit="$(check_PROGRAMS)" $(TESTFLAGS)

# make check-steps [STEPS="ROW..."]: work of single steps of the collector, see the script's top
check-steps: all
	@cd $$(mktemp -d) && TESTSUITE=$(abs_top_srcdir)/testsuite SAROS=$(abs_top_builddir)/saros \
	  EVENTRING=$(abs_top_builddir)/eventring/eventring TEST_SLOWNESS=1 STEPS="$(or $(STEPS),all)" \
	  $(SHELL) $(abs_top_srcdir)/testsuite/recording/test_steps_bounded.sh; status=$$?; \
	  rm -rf "$$PWD"; exit $$status

check-layers: all
	$(SHELL) $(top_srcdir)/testsuite/check-layers.sh $(top_srcdir) $(abs_top_builddir)

# make check-laws [LAW=NAME], in a build of --enable-debug: see the script's top
check-laws: check-programs
	CC="$(CC)" COMPILE="$(SEE_EVENTRING_INSIDE) $(CFLAGS)" LIBS="$(CMOCKA_LIBS) $(LIBS) -lpthread" \
	  $(SHELL) $(top_srcdir)/testsuite/check-laws.sh $(top_srcdir) $(abs_top_builddir) $(LAW)

.PHONY: check-programs check-guests check-built check-layers check-laws check-steps

clean-local:
	rm -rf testsuite/log
