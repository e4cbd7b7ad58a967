# SPDX-License-Identifier: MIT
# Compiler, interpreter, C API. Uses runtime and eventring; main.c, the
# program, stands above all libraries.

noinst_LIBRARIES += libvm.a
libvm_a_SOURCES =
libvm_a_CFLAGS = $(AM_CFLAGS) $(VM_OPT_CFLAGS) $(PGO_CFLAGS)
libvm_a_SOURCES += vm/api.h vm/api_stack.c vm/api_table.c vm/api_object.c vm/api_format.c vm/api_chunk.h vm/api_chunk.c vm/api_call.c vm/api_coroutine.c vm/api_debug.c vm/api_state.c
libvm_a_SOURCES += vm/call.h vm/call.c vm/safe_point.h vm/safe_point.c vm/opcodes.h vm/opcodes.def vm/execute.h vm/execute.c vm/meta.h vm/meta.c vm/coroutine.h vm/coroutine.c vm/primitives.h vm/primitives.c
libvm_a_SOURCES += vm/debuginfo.h vm/debuginfo.c vm/debug_error.h vm/debug_error.c vm/function_names.h vm/function_names.c vm/last_stack.h vm/last_stack.c vm/hook.h vm/hook.c vm/watch.h vm/watch.c vm/contexts.h vm/contexts.c
libvm_a_SOURCES += vm/call_profile.h vm/call_profile.c vm/call_profile_names.c vm/call_profile_process.c
libvm_a_SOURCES += vm/compiler.h vm/tokens.def vm/arena.h vm/arena.c vm/lexer.h vm/lexer.c vm/compile.h vm/compile.c vm/scope.h vm/scope.c
libvm_a_SOURCES += vm/parser.h vm/parser.c vm/statements.c vm/codegen.h vm/codegen.c vm/codegen_ops.c vm/opcode_columns.h vm/opinfo.h vm/opinfo.c vm/disasm.h vm/disasm.c vm/varinfo.h vm/varinfo.c vm/verifier.h vm/verifier.c vm/verifier_plan.h vm/verifier_plan.c vm/check_instruction.h vm/check_instruction.c vm/chunk.c
libvm_a_SOURCES += vm/retain.h vm/retain_walk.h vm/retain_edge.h vm/retain.c vm/retain_edge.c vm/retain_kind.c vm/retain_order.c vm/retain_sites.c vm/retain_text.c vm/question.h vm/question.c
libvm_a_SOURCES += vm/transfer.h vm/transfer_encode.c vm/transfer_decode.c

bin_PROGRAMS += saros
saros_SOURCES = vm/main.c vm/repl.c vm/repl_edit.c vm/repl_complete.c vm/program.h
saros_CFLAGS = $(AM_CFLAGS) $(LIBEDIT_CFLAGS)
saros_LDFLAGS = $(AM_LDFLAGS) $(PGO_CFLAGS) -Wl,--dynamic-list=$(top_srcdir)/vm/exports.list
saros_LDADD = libstdlib.a libanalysis.a libvm.a libruntime.a libeventring_host.a $(LIBFFI_LIBS) $(PROGRAM_LIBS)
saros_DEPENDENCIES = libstdlib.a libanalysis.a libvm.a libruntime.a libeventring_host.a vm/exports.list
EXTRA_DIST += vm/exports.list

# For C modules and programs that embed the interpreter: the headers of Lua's C API,
# and one library with everything below main.c. It is one object whose only global
# names are those of the API, so that no function of ours meets one of the program's.
sarosincludedir = $(includedir)/saros
sarosinclude_HEADERS = include/lua.h include/luaconf.h include/lauxlib.h include/lualib.h include/lua.hpp
staticlibdir = $(libdir)
nodist_staticlib_DATA = libsaros.a
pkgconfig_DATA += vm/saros.pc
CLEANFILES += libsaros.a libsaros.o

libsaros.a: $(saros_DEPENDENCIES)
	$(AM_V_GEN)$(CC) -r -nostdlib -o libsaros.o -Wl,--whole-archive libstdlib.a libanalysis.a libvm.a libruntime.a libeventring_host.a && \
	$(OBJCOPY) --wildcard --keep-global-symbol='lua_*' --keep-global-symbol='luaL_*' --keep-global-symbol='luaopen_*' libsaros.o && \
	rm -f $@ && $(AR) $(ARFLAGS) $@ libsaros.o && rm -f libsaros.o
