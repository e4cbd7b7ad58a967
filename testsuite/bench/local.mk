# SPDX-License-Identifier: MIT
# Benches. `make bench` runs all of them: what the recorder costs, and the interpreter.

CLEANFILES += $(bench_programs)

EXTRA_PROGRAMS += testsuite/bench/eventring_bench
bench_programs += testsuite/bench/eventring_bench
testsuite_bench_eventring_bench_SOURCES = testsuite/bench/bench.h \
	testsuite/bench/eventring_bench.c testsuite/bench/harness.c testsuite/bench/probe_bench.c \
	testsuite/bench/writers.c testsuite/bench/reading.c testsuite/bench/starting.c \
	testsuite/bench/streams.c testsuite/bench/two.c testsuite/bench/children.c
testsuite_bench_eventring_bench_CPPFLAGS = $(SEE_EVENTRING)
testsuite_bench_eventring_bench_LDADD = $(LINK_EVENTRING)

BENCH_FLAGS = --saros=$(abs_top_builddir)/saros --folder=$(abs_top_srcdir)/testsuite/bench

if HAVE_LTTNG_UST
EXTRA_PROGRAMS += testsuite/bench/lttng_loop
bench_programs += testsuite/bench/lttng_loop
testsuite_bench_lttng_loop_CPPFLAGS = $(SEE_EVENTRING) -I$(top_srcdir)/testsuite/bench \
	$(LTTNG_UST_CFLAGS)
testsuite_bench_lttng_loop_LDADD = $(LTTNG_UST_LIBS)
BENCH_FLAGS += --lttng=$(abs_top_builddir)/testsuite/bench/lttng_loop
endif

# make bench-eventring [ROUNDS=n] [BENCH_OPTIONS=--json]
bench-eventring: all $(bench_programs)
	@testsuite/bench/eventring_bench $(BENCH_FLAGS) $(if $(ROUNDS),--rounds=$(ROUNDS)) \
	  $(BENCH_OPTIONS)

# make bench-stream [ROUNDS=n]: recordings that lose nothing
bench-stream: all testsuite/bench/eventring_bench
	@testsuite/bench/eventring_bench --only=streams --shm=/dev/shm \
	  $(if $(ROUNDS),--rounds=$(ROUNDS)) $(BENCH_OPTIONS)

# What eventring record is measured with, and make bench-recording [RECORDING="--only=sink"]
EXTRA_PROGRAMS += testsuite/bench/load
bench_programs += testsuite/bench/load
testsuite_bench_load_CPPFLAGS = $(SEE_EVENTRING)
testsuite_bench_load_LDADD = $(LINK_EVENTRING)
bench-recording: all testsuite/bench/load
	@$(SHELL) $(top_srcdir)/testsuite/bench/recording.sh \
	  --eventring=$(abs_top_builddir)/eventring/eventring \
	  --load=$(abs_top_builddir)/testsuite/bench/load $(RECORDING)

# Recordings of one kind of events each, for benches of what reads them
EXTRA_PROGRAMS += testsuite/bench/kinds
bench_programs += testsuite/bench/kinds
testsuite_bench_kinds_CPPFLAGS = $(SEE_EVENTRING)
testsuite_bench_kinds_LDADD = $(LINK_EVENTRING)

# make bench-ffi: the module ffi, where there is libffi.
bench-ffi: all $(check_DATA)
	@./saros $(srcdir)/testsuite/bench/ffi_bench.lua testsuite/ffi/libfixture.so

# make bench-profile [ROUNDS=n]: what a profile of calls costs
bench_programs += testsuite/bench/profile_bench
EXTRA_PROGRAMS += testsuite/bench/profile_bench
testsuite_bench_profile_bench_CPPFLAGS = $(SEE_EVENTRING)
testsuite_bench_profile_bench_LDADD = $(LINK_EVENTRING)
bench-profile: all testsuite/bench/profile_bench
	@testsuite/bench/profile_bench $(ROUNDS)
	@EVENTRING=$(abs_top_builddir)/eventring/eventring $(SHELL) \
	  $(top_srcdir)/testsuite/bench/profile.sh $(abs_top_builddir)/saros
.PHONY: bench-profile

# make bench-memprof [AWFY=FOLDER] [ROUNDS=n] [MEMPROF_ROWS="sample callback"]: what sampling costs
bench-memprof: all
	@bash $(top_srcdir)/testsuite/bench/memprof.sh --saros=$(abs_top_builddir)/saros \
	  $(if $(AWFY),--awfy=$(AWFY)) $(if $(ROUNDS),--rounds=$(ROUNDS)) $(MEMPROF_ROWS)
.PHONY: bench-memprof

# make bench-pauses [PAUSES="--rounds=5 --seconds=20 records"]
bench-pauses: all
	@$(SHELL) $(top_srcdir)/testsuite/bench/pauses.sh --saros=$(abs_top_builddir)/saros $(PAUSES)

# make bench-answers [ANSWERS_MB=1000] [ROUNDS=5] [KINDS="plain ints"]: questions over a long recording,
# beside cat, and over recordings of each kind of events; of these kinds alone
bench-answers: all testsuite/bench/kinds
	@BUILDDIR=$(abs_top_builddir) bash $(top_srcdir)/testsuite/bench/answers.sh \
	  $(or $(ANSWERS_MB),1000) $(or $(ROUNDS),5) $(KINDS)

# make figures [AWFY=FOLDER] [FIGURES_MB=1000] [ROUNDS=5] [FIGURE=WORD]: the first table of doc/PERFORMANCE.md
figures: all $(bench_programs)
	@python3 $(top_srcdir)/testsuite/bench/figures.py $(abs_top_builddir) $(top_srcdir) \
	  $(if $(AWFY),--awfy=$(AWFY)) $(if $(FIGURES_MB),--megabytes=$(FIGURES_MB)) \
	  $(if $(ROUNDS),--rounds=$(ROUNDS)) $(if $(FIGURE),--only=$(FIGURE))
.PHONY: figures

# make bench-exports [EXPORTS_MB=1000] [ROUNDS=3]: exports, beside cat of what they write
bench-exports: all
	@BUILDDIR=$(abs_top_builddir) bash $(top_srcdir)/testsuite/bench/exports.sh \
	  $(or $(EXPORTS_MB),1000) $(or $(ROUNDS),3)

# make gc-services [SERVICES="--rounds=5 NAME..."]: memory and time of shapes of services
gc-services: all
	@$(SHELL) $(top_srcdir)/testsuite/bench/services.sh --saros=$(abs_top_builddir)/saros $(SERVICES)

# make bench-patterns [PATTERNS="--rounds=5 --runs=3 queues.*"]: small patterns, against lua5.4
bench-patterns: all
	@$(SHELL) $(top_srcdir)/testsuite/bench/patterns.sh --saros=$(abs_top_builddir)/saros $(PATTERNS)

# make bench-calls [CALLS="math. span"]: instructions of calls of library functions
bench-calls: all
	@python3 $(top_srcdir)/testsuite/bench/calls.py $(abs_top_builddir)/saros $(CALLS)

# make bench-memory [MEMORY="--rounds=3 records_*"]: what a million objects of a shape take
bench-memory: all
	@$(SHELL) $(top_srcdir)/testsuite/bench/memory.sh --saros=$(abs_top_builddir)/saros $(MEMORY)

# make bench-hashes [LOAD=0.7]: how functions spread integer keys
EXTRA_PROGRAMS += testsuite/bench/hashes
bench_programs += testsuite/bench/hashes
testsuite_bench_hashes_LDADD =
bench-hashes: testsuite/bench/hashes
	@testsuite/bench/hashes $(LOAD)

BENCHES = bench-eventring bench-pauses
if HAVE_FFI
BENCHES += bench-ffi
endif

# make bench [AWFY=folder that holds are-we-fast-yet's benchmarks/Lua]
bench: $(BENCHES)
	@if test -n "$(AWFY)"; then \
	  $(SHELL) $(top_srcdir)/testsuite/bench/awfy.sh --saros=$(abs_top_builddir)/saros "$(AWFY)"; \
	else echo "AWFY is not set: are-we-fast-yet is left out"; fi

.PHONY: bench bench-answers bench-calls bench-eventring bench-exports bench-ffi bench-hashes bench-memory bench-patterns bench-pauses \
	bench-recording bench-stream gc-services
