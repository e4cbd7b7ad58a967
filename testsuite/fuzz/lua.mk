# SPDX-License-Identifier: MIT
# Hostile guests: fuzzers of source text, binary chunks, code that the verifier accepts,
# patterns, formats, numerals and (with libffi) C declarations.
# All of Saros is built anew for them with clang, libFuzzer, AddressSanitizer and
# UndefinedBehaviorSanitizer, asserts, and all but small objects from malloc, whatever
# this build is (but for NULL + 0, which all but libeventring uses). Not optimised: to compile
# takes clang a third of the time, and the fuzzers run longer instead. Frames are large then, and
# so is the stack. Results of patterns, formats
# and numerals are compared with those of $(LUA_REFERENCE). The fuzzer of recordings (local.mk)
# links the objects of libeventring.
#
#   make fuzz-lua [FUZZ_SECONDS=n] [LUA_FUZZERS="source chunk"]    n seconds each
#
# What is new is kept in testsuite/fuzz/found-NAME of the build directory, what fails
# beside it. `make fuzz` runs these too.

LUA_FUZZERS = source chunk code pattern format number
if HAVE_FFI
LUA_FUZZERS += declaration
endif
LUA_FUZZ_FLAGS = -std=gnu11 -O0 -gline-tables-only -fno-omit-frame-pointer \
	-fno-sanitize-recover=all \
	-fsanitize=address,undefined -D_GNU_SOURCE -DSAROS_DEBUG=1 -DHEAP_SMALL_MAX=512 \
	$(SEE_STDLIB) $(SEE_EVENTRING_INSIDE) $(LIBFFI_CFLAGS) -I$(top_srcdir)/testsuite/fuzz
lua_fuzz_sources = $(filter %.c,$(libeventring_host_a_SOURCES) $(libanalysis_a_SOURCES) $(libruntime_a_SOURCES) $(libvm_a_SOURCES) \
	$(libstdlib_a_SOURCES)) testsuite/fuzz/lua_harness.c testsuite/fuzz/lua_mutate.c testsuite/fuzz/lua_reference.c
# The interpreter's loop first: it takes clang as long as all the others together.
lua_fuzz_objects = $(patsubst %.c,testsuite/fuzz/lua/%.o,vm/execute.c $(filter-out vm/execute.c,$(lua_fuzz_sources)))

# Of the interpreter's loop, not the checks of each access that clang takes longest for (of 50 s
# more than 40): the build with gcc has them, and a null pointer ends the process anyway.
comma = ,
testsuite/fuzz/lua/%.o: $(top_srcdir)/%.c
	@$(MKDIR_P) $(@D)
	$(AM_V_CC)$(CLANG) $(LUA_FUZZ_FLAGS) $(if $(filter eventring/%,$*),,-fno-sanitize=pointer-overflow) \
	  $(if $(filter vm/execute,$*),-fno-sanitize=alignment$(comma)null$(comma)object-size) \
	  -fsanitize=fuzzer-no-link -MMD -c $< -o $@

testsuite/fuzz/lua_%_fuzzer: $(top_srcdir)/testsuite/fuzz/lua_%_fuzzer.c $(lua_fuzz_objects)
	$(AM_V_CCLD)$(CLANG) $(LUA_FUZZ_FLAGS) -fno-sanitize=pointer-overflow -fsanitize=fuzzer $< $(lua_fuzz_objects) $(LIBFFI_LIBS) -lpthread -ldl -lm -o $@ || \
	  { echo "no libFuzzer? (Debian package: libclang-rt-14-dev)"; exit 1; }

.SECONDARY: $(lua_fuzz_objects)

# The words of the languages, for mutations byte by byte.
testsuite/fuzz/lua.dict: $(top_srcdir)/vm/tokens.def $(top_srcdir)/stdlib/ffi/ffi_keywords.def
	$(AM_V_GEN)sed -n 's/^\(WORD\|SYMBOL\|KEYWORD\|ALIAS\)([A-Z0-9_]*, \("[^"]*"\)).*/\2/p' $^ >$@

fuzz-lua: testsuite/fuzz/lua/vm/execute.o $(LUA_FUZZERS:%=testsuite/fuzz/lua_%_fuzzer) testsuite/fuzz/lua.dict
	@cd testsuite/fuzz && ulimit -s 65536 && for name in $(LUA_FUZZERS); do \
	  mkdir -p found-$$name; echo "== lua_$${name}_fuzzer, $(FUZZ_SECONDS) s"; \
	  LUA_REFERENCE="$(LUA_REFERENCE)" UBSAN_OPTIONS=print_stacktrace=1 \
	  ./lua_$${name}_fuzzer -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=1024 -max_len=2048 \
	    -dict=lua.dict -artifact_prefix=$$name- -print_final_stats=1 \
	    found-$$name $(abs_top_srcdir)/testsuite/fuzz/corpus/lua_$$name || exit 1; \
	done

fuzz: fuzz-lua

# Random programs that know what must be alive, in this build; gc.sh says what is checked.
#   make gc-fuzz [SEED=n] [FUZZ_SECONDS=n] [GC_FUZZ="--bars= --scale=0.02"]
gc-fuzz: all
	@LUA_REFERENCE="$(LUA_REFERENCE)" $(SHELL) $(top_srcdir)/testsuite/fuzz/gc.sh --saros=$(abs_top_builddir)/saros \
	  --seconds=$(FUZZ_SECONDS) $(if $(SEED),--seed=$(SEED)) $(GC_FUZZ)

# Random structs, arguments and callbacks, of this build and of the C compiler (ffi.sh).
#   make fuzz-ffi [SEED=n] [FUZZ_SECONDS=n] [FUZZ_OPTIONS=--count=n]
fuzz-ffi: saros
	@$(SHELL) $(top_srcdir)/testsuite/fuzz/ffi.sh --saros=$(abs_top_builddir)/saros \
	  --seconds=$(FUZZ_SECONDS) $(if $(SEED),--seed=$(SEED)) $(FUZZ_OPTIONS)

-include $(lua_fuzz_objects:.o=.d)

.PHONY: fuzz-lua gc-fuzz fuzz-ffi

clean-local: clean-fuzz-lua
clean-fuzz-lua:
	rm -rf testsuite/fuzz/lua testsuite/fuzz/lua.dict testsuite/fuzz/found-* \
	  testsuite/fuzz/lua_source_fuzzer testsuite/fuzz/lua_chunk_fuzzer testsuite/fuzz/lua_pattern_fuzzer \
	  testsuite/fuzz/lua_code_fuzzer \
	  testsuite/fuzz/lua_format_fuzzer testsuite/fuzz/lua_number_fuzzer testsuite/fuzz/lua_declaration_fuzzer
