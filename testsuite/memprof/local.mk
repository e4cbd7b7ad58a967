# SPDX-License-Identifier: MIT
# make check-memprof [MEMPROF="FOLDER/NAME..."]: the guest suites while every word that
# they ask for is sampled, with callbacks that allocate and collect; see the script's top.
# MEMPROF_JOBS=n: this many at once.

check-memprof: all $(check_DATA)
	@work=$$(mktemp -d) && cd $$work && TESTSUITE=$(abs_top_srcdir)/testsuite \
	  SAROS=$(abs_top_builddir)/saros SRCDIR=$(abs_top_srcdir) BUILDDIR=$(abs_top_builddir) \
	  TEST_SLOWNESS=20 MEMPROF="$(or $(MEMPROF),all)" MEMPROF_JOBS=$(or $(MEMPROF_JOBS),2) \
	  MEMPROF_VERBOSE=1 LC_ALL=C.UTF-8 TZ=UTC EVENTRING=$(abs_top_builddir)/eventring/eventring \
	  ASAN_OPTIONS=exitcode=99:allocator_may_return_null=1 \
	  bash $(abs_top_srcdir)/testsuite/memprof/test_suites_sampled.sh; status=$$?; \
	  rm -rf "$$work"; exit $$status

.PHONY: check-memprof

# make check-memprof-truth [AWFY=FOLDER] [RATE=] [RUNS=]; see the script's top.
check-memprof-truth: all
	@work=$$(mktemp -d) && cd $$work && TESTSUITE=$(abs_top_srcdir)/testsuite \
	  SAROS=$(abs_top_builddir)/saros EVENTRING=$(abs_top_builddir)/eventring/eventring \
	  AWFY="$(AWFY)" RATE="$(RATE)" RUNS="$(RUNS)" PYTHONDONTWRITEBYTECODE=1 \
	  bash $(abs_top_srcdir)/testsuite/memprof/check_truth.sh; status=$$?; \
	  rm -rf "$$work"; exit $$status

.PHONY: check-memprof-truth

# make soak-memprof [SECONDS=1200] [RATE=0.01]; see the script's top.
soak-memprof: all
	SAROS_MEMPROF=$(or $(RATE),0.01) \
	  $(abs_top_builddir)/saros $(abs_top_srcdir)/testsuite/memprof/soak.lua \
	  $(or $(SECONDS),1200) $(or $(RATE),0.01)

.PHONY: soak-memprof
