# SPDX-License-Identifier: MIT
# Random programs while instruments are switched on and off; what they log must be what they
# log unwatched (testsuite/fuzz/programs: units_watched.lua, watch.lua).
#
#   make fuzz-watching [FUZZ_SECONDS=n] [SEED=n] [WATCH_BUILDS="inside outside both lua"]
#                      [FUZZ_OPTIONS="--count=n --batch=n --most=n"]
#
#   inside    the program switches: hooks, profile of calls, classes, samples, recordings ...
#   outside   commands switch beside it (testsuite/_switch_randomly.sh)
#   both      at once
#   lua       unwatched, by $(LUA_REFERENCE)
#
# Without SEED the clock chooses the programs. A program that differs, ends otherwise or
# does not end within a minute times TEST_SLOWNESS is a failure; its seed is printed, and it is
# made smaller, with its switches, and kept in testsuite/fuzz/found-watching of the build
# directory. EVENTRING: the command, where this build has none that may be used (stress).

WATCH_BUILDS = inside outside both lua
FOUND_WATCHING = $(abs_top_builddir)/testsuite/fuzz/found-watching

watch_inside = FUZZ_WATCH=all FUZZ_WATCH_DIRECTORY=$(FOUND_WATCHING)
watch_outside = EVENTRING=$(or $(EVENTRING),$(abs_top_builddir)/eventring/eventring) \
	SWITCH_LOG=$(FOUND_WATCHING)/switches.log
switch_randomly = $(SHELL) $(abs_top_srcdir)/testsuite/_switch_randomly.sh {seed}

watch_build_inside = --same=inside="env $(watch_inside) SAROS_EVENTRING_START=1 \
	SAROS_EVENTRING_PREFIX=$(FOUND_WATCHING) $(abs_top_builddir)/saros"
watch_build_outside = --same=outside="env $(watch_outside) FUZZ_ROUNDS=10 $(switch_randomly) \
	$(abs_top_builddir)/saros"
watch_build_both = --same=both="env $(watch_outside) $(watch_inside) $(switch_randomly) \
	$(abs_top_builddir)/saros"
watch_build_lua = $(if $(LUA_REFERENCE),--build=lua=$(LUA_REFERENCE))

fuzz-watching: saros $(if $(EVENTRING),,eventring/eventring$(EXEEXT))
	@$(MKDIR_P) $(FOUND_WATCHING) && rm -f $(FOUND_WATCHING)/switches.log
	@$(or $(LUA_REFERENCE),./saros) $(PROGRAM_FUZZER) --programs=watched \
	  --reference="env -u SAROS_EVENTRING_START $(abs_top_builddir)/saros" \
	  --seconds=$(FUZZ_SECONDS) --batch=20 --found=$(FOUND_WATCHING) $(SEED:%=--seed=%) \
	  $(FUZZ_OPTIONS) \
	  $(foreach build,$(WATCH_BUILDS),$(watch_build_$(build)))
	@if grep -s ^FAULT $(FOUND_WATCHING)/switches.log; then exit 1; fi

.PHONY: fuzz-watching

clean-local: clean-fuzz-watching
clean-fuzz-watching:
	rm -rf testsuite/fuzz/found-watching
