# SPDX-License-Identifier: MIT
# Hostile recordings: deterministic mutations and a fuzzer. Both use a library that was built
# with AddressSanitizer, whatever this build is.

check_PROGRAMS += testsuite/fuzz/mutations_test
testsuite_fuzz_mutations_test_SOURCES = testsuite/fuzz/mutations_test.c \
	testsuite/fuzz/mutations_read.c \
	testsuite/fuzz/recording_input.c testsuite/fuzz/recording_input.h
testsuite_fuzz_mutations_test_CPPFLAGS = $(SEE_EVENTRING_INSIDE) -I$(top_srcdir)/testsuite/fuzz \
	-DSOURCE_DIRECTORY='"$(abs_top_srcdir)"'
testsuite_fuzz_mutations_test_LDADD = $(LINK_EVENTRING)

# The same files, and the questions that commands answer.
check_PROGRAMS += testsuite/fuzz/questions_test
testsuite_fuzz_questions_test_SOURCES = testsuite/fuzz/mutations_test.c \
	testsuite/fuzz/questions_read.c testsuite/fuzz/recording_input.c testsuite/fuzz/recording_input.h
testsuite_fuzz_questions_test_CPPFLAGS = $(testsuite_fuzz_mutations_test_CPPFLAGS)
COMMAND_OBJECTS = $(filter-out %eventring-eventring.$(OBJEXT),$(eventring_eventring_OBJECTS))
testsuite_fuzz_questions_test_LDADD = $(COMMAND_OBJECTS) $(eventring_eventring_LDADD)
testsuite_fuzz_questions_test_DEPENDENCIES = $(COMMAND_OBJECTS) $(eventring_eventring_DEPENDENCIES)

# Stacks of processes whose memory is hostile.
check_PROGRAMS += testsuite/fuzz/remote_test
testsuite_fuzz_remote_test_CPPFLAGS = $(SEE_EVENTRING_INSIDE)
testsuite_fuzz_remote_test_LDADD = libremote.a $(LINK_EVENTRING)

check_PROGRAMS += testsuite/fuzz/bit_flips_test
testsuite_fuzz_bit_flips_test_CPPFLAGS = $(SEE_EVENTRING_INSIDE)
testsuite_fuzz_bit_flips_test_LDADD = $(LINK_EVENTRING)

FUZZ_FLAGS = -std=gnu11 -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all \
	$(SEE_EVENTRING_INSIDE) \
	-I$(top_srcdir)/testsuite/fuzz -DSOURCE_DIRECTORY='"$(abs_top_srcdir)"'
FUZZ_FILES = $(patsubst %,$(top_srcdir)/%,$(filter %.c,$(eventring_sources))) \
	$(top_srcdir)/testsuite/fuzz/recording_input.c
FUZZ_CORPUS = $(abs_top_srcdir)/testsuite/fuzz/corpus/eventring
MUTATIONS = 20000
FUZZ_SECONDS = 60
CLANG = clang

# make check-mutations [MUTATIONS=n] [MUTATION_SEED=n]: the suite's own program, where it is
# built with AddressSanitizer
check-mutations: testsuite/fuzz/mutations_test
	@case "$(SANITIZER_FLAGS)" in *address*) program=mutations_test ;; \
	*) program=mutations-asan; $(CC) $(FUZZ_FLAGS) -fsanitize=address,undefined $(FUZZ_FILES) \
	  $(top_srcdir)/testsuite/fuzz/mutations_test.c \
	  $(top_srcdir)/testsuite/fuzz/mutations_read.c -lpthread -o testsuite/fuzz/$$program || exit 1 ;; esac; \
	cd testsuite/fuzz && SRCDIR=$(abs_top_srcdir) ./$$program $(MUTATIONS) $(MUTATION_SEED)

# make check-questions [QUESTIONS=100000] [QUESTION_SEED=n] [QUESTION_FILES=1000]: damaged
# recordings through all questions and exporters, in one process, and through the commands.
QUESTIONS = 100000
QUESTION_FILES = 1000
check-questions: all testsuite/fuzz/questions_test
	@$(MKDIR_P) testsuite/fuzz
	cd testsuite/fuzz && SRCDIR=$(abs_top_srcdir) ./questions_test $(QUESTIONS) $(QUESTION_SEED)
	QUESTIONS_FILES=$(QUESTION_FILES) QUESTIONS_SEED=$(or $(QUESTION_SEED),5) $(MAKE) check TESTFLAGS=--only=questions_damaged

# make fuzz-recordings [FUZZ_SECONDS=n] (make fuzz: all fuzzers). New inputs are kept in
# testsuite/fuzz/found of the build directory, those that fail beside it.
fuzz-recordings: testsuite/fuzz/eventring_fuzzer
	@$(MKDIR_P) testsuite/fuzz/found
	cd testsuite/fuzz && ./eventring_fuzzer -max_total_time=$(FUZZ_SECONDS) -timeout=10 \
	  -max_len=65536 -print_final_stats=1 found $(FUZZ_CORPUS)

# The objects of the library are those of the fuzzers of guests (lua.mk).
fuzz_library_objects = $(patsubst %.c,testsuite/fuzz/lua/%.o,$(filter %.c,$(eventring_sources)))
testsuite/fuzz/eventring_fuzzer: $(top_srcdir)/testsuite/fuzz/eventring_fuzzer.c \
		$(top_srcdir)/testsuite/fuzz/recording_input.c $(fuzz_library_objects)
	$(AM_V_CCLD)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer,address,undefined $^ -lpthread -o $@ || \
	  { echo "no libFuzzer? (Debian package: libclang-rt-14-dev)"; exit 1; }

fuzz: fuzz-recordings

.PHONY: check-questions check-mutations fuzz fuzz-recordings

clean-local: clean-fuzz
clean-fuzz:
	rm -rf testsuite/fuzz/found testsuite/fuzz/eventring_fuzzer testsuite/fuzz/mutations-asan
