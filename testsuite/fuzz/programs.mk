# SPDX-License-Identifier: MIT
# Random programs, run by $(LUA_REFERENCE) and by this build; what they log must be the
# same (testsuite/fuzz/programs; differences.lua there lists what may differ, and why).
#
#   make fuzz-programs [FUZZ_SECONDS=n] [SEED=n] [FUZZ_BUILDS="plain verify recording"]
#                      [FUZZ_OPTIONS="--count=n --batch=n"]
#
# Without SEED the clock chooses the programs. What differs is made smaller and kept in
# testsuite/fuzz/found-programs of the build directory. In a build that is slow
# (--enable-stress) FUZZ_BUILDS=plain and a smaller batch do.
# Not a part of `make fuzz`, which needs clang.

FUZZ_BUILDS = plain verify recording
FUZZ_OPTIONS =
PROGRAM_FUZZER = $(top_srcdir)/testsuite/fuzz/programs/fuzz.lua

fuzz_build_plain = --build=plain=$(abs_top_builddir)/saros
fuzz_build_verify = --build=verify="env SAROS_VERIFY=1 $(abs_top_builddir)/saros"
fuzz_build_recording = --build=recording="env SAROS_EVENTRING_START=1 \
	SAROS_EVENTRING_PREFIX=$(abs_top_builddir)/testsuite/fuzz/found-programs $(abs_top_builddir)/saros"

fuzz-programs: saros
	@if test -z "$(LUA_REFERENCE)"; then \
	  echo "skipped: no lua5.4 to compare with (Debian package: lua5.4)"; \
	else \
	  $(MKDIR_P) testsuite/fuzz/found-programs && \
	  $(LUA_REFERENCE) $(PROGRAM_FUZZER) --reference=$(LUA_REFERENCE) --seconds=$(FUZZ_SECONDS) \
	    --found=testsuite/fuzz/found-programs $(SEED:%=--seed=%) $(FUZZ_OPTIONS) \
	    $(foreach build,$(FUZZ_BUILDS),$(fuzz_build_$(build))); \
	fi

.PHONY: fuzz-programs

clean-local: clean-fuzz-programs
clean-fuzz-programs:
	rm -rf testsuite/fuzz/found-programs
