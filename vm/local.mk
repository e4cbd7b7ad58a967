# SPDX-License-Identifier: MIT
# Compiler, interpreter, C API. Uses runtime and eventring; main.c, the
# program, stands above all libraries.

noinst_LIBRARIES += libvm.a
libvm_a_SOURCES =
libvm_a_CFLAGS = $(AM_CFLAGS) $(VM_OPT_CFLAGS) $(PGO_CFLAGS)
libvm_a_SOURCES += vm/api.h vm/api_stack.c vm/api_table.c vm/api_object.c vm/api_format.c vm/api_chunk.h vm/api_chunk.c vm/api_call.c vm/api_coroutine.c vm/api_debug.c vm/api_state.c
libvm_a_SOURCES += vm/call.h vm/call.c vm/safe_point.h vm/safe_point.c vm/opcodes.h vm/opcodes.def vm/execute.h vm/execute.c vm/meta.h vm/meta.c vm/coroutine.h vm/coroutine.c vm/primitives.h vm/primitives.c vm/library_fields.h vm/library_fields.c
libvm_a_SOURCES += vm/debuginfo.h vm/debuginfo.c vm/debug_error.h vm/debug_error.c vm/function_names.h vm/function_names.c vm/last_stack.h vm/last_stack.c vm/hook.h vm/hook.c vm/watch.h vm/watch.c vm/noting.h vm/noting.c vm/contexts.h vm/contexts.c vm/traces.h vm/traces.c
libvm_a_SOURCES += vm/call_profile.h vm/call_profile.c vm/called_functions.c vm/call_profile_process.c
libvm_a_SOURCES += vm/compiler.h vm/tokens.def vm/arena.h vm/arena.c vm/lexer.h vm/lexer.c vm/compile_state.h vm/compile.c vm/scope.h vm/scope.c
libvm_a_SOURCES += vm/parser.h vm/parser.c vm/statements.c vm/codegen.h vm/codegen.c vm/codegen_ops.c vm/opcode_columns.h vm/opinfo.h vm/opinfo.c vm/disasm.h vm/disasm.c vm/varinfo.h vm/varinfo.c vm/verifier.h vm/verifier.c vm/verifier_plan.h vm/verifier_plan.c vm/check_instruction.h vm/check_instruction.c vm/chunk.c
libvm_a_SOURCES += vm/retain.h vm/retain_walk.h vm/retain_edge.h vm/retain.c vm/retain_edge.c vm/retain_kind.c vm/retain_order.c vm/retain_sites.c vm/retain_text.c vm/question.h vm/question.c vm/coroutine_groups.h vm/coroutine_groups.c
libvm_a_SOURCES += vm/transfer.h vm/transfer_encode.c vm/transfer_decode.c

bin_PROGRAMS += saros
saros_SOURCES = vm/main.c vm/repl.c vm/repl_edit.c vm/repl_complete.c vm/sarosc.c vm/program.h
saros_CFLAGS = $(AM_CFLAGS) $(LIBEDIT_CFLAGS)
saros_LDFLAGS = $(AM_LDFLAGS) $(PGO_CFLAGS) -Wl,--dynamic-list=$(top_srcdir)/vm/exports.list
saros_LDADD = libstdlib.a libanalysis.a libvm.a libruntime.a libeventring_host.a $(LIBFFI_LIBS) $(PROGRAM_LIBS)
saros_DEPENDENCIES = libstdlib.a libanalysis.a libvm.a libruntime.a libeventring_host.a vm/exports.list

# sarosc is saros under another name; `make uninstall` removes the links, too.
installed_links += $(bindir)/sarosc
if LUA_NAMES
installed_links += $(bindir)/lua5.4 $(bindir)/luac5.4 $(libdir)/liblua5.4.so $(libdir)/liblua5.4.a \
	$(pkgconfigdir)/lua-5.4.pc $(pkgconfigdir)/lua54.pc
own_folders += $(includedir)/lua5.4
endif
install-exec-hook:
	cd "$(DESTDIR)$(bindir)" && rm -f sarosc && $(LN_S) saros sarosc
if LUA_NAMES
	cd "$(DESTDIR)$(bindir)" && rm -f lua5.4 luac5.4 && $(LN_S) saros lua5.4 && $(LN_S) saros luac5.4
	cd "$(DESTDIR)$(libdir)" && rm -f liblua5.4.so liblua5.4.a && $(LN_S) libsaros.a liblua5.4.a && \
	if test -e libsaros.so; then $(LN_S) libsaros.so liblua5.4.so; fi
	$(MKDIR_P) "$(DESTDIR)$(pkgconfigdir)" && cd "$(DESTDIR)$(pkgconfigdir)" && \
	rm -f lua-5.4.pc lua54.pc && $(LN_S) lua5.4.pc lua-5.4.pc && $(LN_S) lua5.4.pc lua54.pc
endif

# For C modules and programs that embed the interpreter: the headers of Lua's C API,
# and libraries with everything below main.c except libeventring, which they link: a program
# that records with it has one recording with the states of Lua.
#
#   libsaros.a       one object whose only global names are those of the API, so that no
#                    function of ours meets one of the program's
#   libsaros.so.0    the same names
#   liblua5.4.so.0   the stand-in: what the reference's library exports, under its SONAME and
#                    its version node, in a folder that ld.so does not search by itself.
#                    saros-host and doc/EMBEDDING.md say how a program gets it
sarosincludedir = $(includedir)/saros
sarosinclude_HEADERS = include/lua.h include/luaconf.h include/lauxlib.h include/lualib.h include/lua.hpp include/saros.h
# --with-lua-names: what Debian's liblua5.4-dev has, under the same names. A program that is linked
# so needs libsaros.so.0 when it runs, not the reference's library nor the stand-in.
if LUA_NAMES
luaincludedir = $(includedir)/lua5.4
luainclude_HEADERS = $(sarosinclude_HEADERS)
pkgconfig_DATA += vm/lua5.4.pc
nodist_man1_MANS = doc/lua5.4.1 doc/luac5.4.1
CLEANFILES += $(nodist_man1_MANS)
doc/lua5.4.1: doc/saros.1
	$(AM_V_GEN)echo .so man1/saros.1 >$@
doc/luac5.4.1: doc/sarosc.1
	$(AM_V_GEN)echo .so man1/sarosc.1 >$@
endif
staticlibdir = $(libdir)
nodist_staticlib_DATA = libsaros.a
pkgconfig_DATA += vm/saros.pc
CLEANFILES += libsaros.a libsaros.o
saroscmakedir = $(libdir)/cmake/saros
nodist_saroscmake_DATA = vm/cmake/saros-config.cmake vm/cmake/saros-config-version.cmake
CLEANFILES += $(nodist_saroscmake_DATA)
vm/cmake/saros-config.cmake: vm/cmake/saros-config.cmake.in Makefile
	$(fill_cmake) $(srcdir)/vm/cmake/saros-config.cmake.in >$@
vm/cmake/saros-config-version.cmake: eventring/cmake/version.cmake.in Makefile
	$(fill_cmake) $(srcdir)/eventring/cmake/version.cmake.in >$@

symbols_object = eventring/symbols/libeventring_host_a-symbols.$(OBJEXT)
libsaros.a: $(saros_DEPENDENCIES)
	$(AM_V_GEN)$(CC) -r -nostdlib -o libsaros.o -Wl,--whole-archive libstdlib.a libanalysis.a libvm.a libruntime.a -Wl,--no-whole-archive $(symbols_object) && \
	$(OBJCOPY) --wildcard --keep-global-symbol='lua_*' --keep-global-symbol='luaL_*' --keep-global-symbol='luaopen_*' --keep-global-symbol='saros_*' libsaros.o && \
	rm -f $@ && $(AR) $(ARFLAGS) $@ libsaros.o && rm -f libsaros.o

# Finds the stand-in from where it is itself.
bin_SCRIPTS = vm/saros-host
CLEANFILES += $(bin_SCRIPTS)
vm/saros-host: vm/saros-host.in Makefile
	$(AM_V_GEN)$(MKDIR_P) vm && \
	sed -e "s|[@]FROM_BIN@|`realpath -m --relative-to='$(bindir)' '$(pkglibdir)/stand-in'`|g" \
	  -e 's|[@]VERSION@|$(VERSION)|' $(srcdir)/vm/saros-host.in >$@.new && \
	chmod 755 $@.new && mv $@.new $@
bashcomp_DATA += vm/completion/saros-host vm/completion/sarosc
zshcomp_DATA += vm/completion/_saros-host vm/completion/_sarosc

# The layers once more, position independent (-shared tells libtool to make no other objects).
# Calls within a library are direct: nothing of it is replaced by a program's function of the
# same name. A library stays when a module that linked it is unloaded: threads of it may run, and
# its recording ends with the process.
if SHARED
noinst_LTLIBRARIES += libsymbols_shared.la libanalysis_shared.la libruntime_shared.la \
	libvm_shared.la libstdlib_shared.la
SHARED_CFLAGS = $(AM_CFLAGS) -shared -fvisibility=hidden -fno-semantic-interposition $(FIRST_CFLAGS)
libsymbols_shared_la_SOURCES = eventring/symbols/symbols.c eventring/symbols/symbols.h
libsymbols_shared_la_CFLAGS = $(SHARED_CFLAGS)
libanalysis_shared_la_SOURCES = $(libanalysis_a_SOURCES)
libanalysis_shared_la_CFLAGS = $(SHARED_CFLAGS)
libruntime_shared_la_SOURCES = $(libruntime_a_SOURCES)
libruntime_shared_la_CFLAGS = $(SHARED_CFLAGS)
libvm_shared_la_SOURCES = $(libvm_a_SOURCES)
libvm_shared_la_CFLAGS = $(SHARED_CFLAGS) $(VM_OPT_CFLAGS)
libstdlib_shared_la_SOURCES = $(libstdlib_a_SOURCES)
libstdlib_shared_la_CFLAGS = $(SHARED_CFLAGS) $(LIBFFI_CFLAGS)

SHARED_LDFLAGS = $(AM_LDFLAGS) -shared -version-info 0:0:0 -Wl,-Bsymbolic-functions \
	-Wl,-z,defs -Wl,-z,nodelete $(FIRST_VM) -Wl,.libs/libeventring.so
if RPATH
RPATH_SAROS = -Wl,-rpath,'$$ORIGIN'
RPATH_STAND_IN = -Wl,-rpath,'$$ORIGIN/../..'
endif
SHARED_LIBADD = libstdlib_shared.la libanalysis_shared.la libvm_shared.la libruntime_shared.la \
	libsymbols_shared.la $(LIBFFI_LIBS) $(PROGRAM_LIBS)

# Both find libeventring.so.0 from where they are themselves, unless configured with
# --disable-rpath. (As libeventring.la libtool would link
# both again at each installation.)
lib_LTLIBRARIES += libsaros.la
libsaros_la_SOURCES =
libsaros_la_LDFLAGS = $(SHARED_LDFLAGS) $(RPATH_SAROS) \
	-Wl,--version-script=$(top_srcdir)/vm/saros.map
libsaros_la_LIBADD = $(SHARED_LIBADD)
EXTRA_libsaros_la_DEPENDENCIES = $(top_srcdir)/vm/saros.map $(first_vm) libeventring.la

standindir = $(pkglibdir)/stand-in
standin_LTLIBRARIES = liblua5.4.la
liblua5_4_la_SOURCES =
liblua5_4_la_LDFLAGS = $(SHARED_LDFLAGS) $(RPATH_STAND_IN) \
	-Wl,--version-script=$(top_srcdir)/vm/stand-in.map
liblua5_4_la_LIBADD = $(SHARED_LIBADD)
EXTRA_liblua5_4_la_DEPENDENCIES = $(top_srcdir)/vm/stand-in.map $(first_vm) libeventring.la
endif
