# SPDX-License-Identifier: MIT
# The standard library, one library a file. Uses vm and everything below.

noinst_LIBRARIES += libstdlib.a
libstdlib_a_SOURCES = \
	include/lauxlib.h include/lualib.h stdlib/init.c stdlib/own_modules.h \
	stdlib/auxlib.c stdlib/auxlib_buffer.c stdlib/auxlib_load.c stdlib/auxlib_traceback.c \
	stdlib/arguments.h stdlib/field_names.c stdlib/field_names.h stdlib/set_field.h stdlib/lib_base.c \
	stdlib/lib_coroutine.c \
	stdlib/lib_debug.c \
	stdlib/lib_domain.c stdlib/lib_channel.c stdlib/lib_pool.c stdlib/lib_profile.c stdlib/lib_retain.h stdlib/lib_retain.c stdlib/lib_coroutines.c stdlib/walk_report.h stdlib/walk_report.c stdlib/lib_domain.h \
	stdlib/lib_eventring.c stdlib/eventring_write.c stdlib/eventring_write.h \
	stdlib/eventring_trigger.c stdlib/eventring_trigger.h \
	stdlib/eventring_measure.c stdlib/eventring_measure.h \
	stdlib/lib_io.c stdlib/io_file.h stdlib/io_read.c stdlib/io_span.c stdlib/io_span.h \
	stdlib/lib_memprof.c stdlib/memprof_inherit.h \
	stdlib/memprof_samples.c stdlib/memprof_samples.h \
	stdlib/lib_math.c stdlib/math_random.c stdlib/math_random.h \
	stdlib/lib_os.c \
	stdlib/lib_package.c stdlib/require_span.c stdlib/require_span.h stdlib/retry.h \
	stdlib/lib_string.c stdlib/char_class.c stdlib/char_class.h stdlib/integer_text.h \
	stdlib/pattern.h stdlib/pattern_cache.c stdlib/pattern_cache.h stdlib/pattern_compile.c stdlib/pattern_match.c \
	stdlib/string_format.c stdlib/string_format.h stdlib/string_match.c stdlib/string_match.h \
	stdlib/string_pack.c stdlib/string_pack.h stdlib/string_position.h \
	stdlib/lib_table.c stdlib/table_range.h stdlib/table_range.c stdlib/table_access.h stdlib/table_concat.c stdlib/table_sort.c \
	stdlib/lib_utf8.c \
	stdlib/environment.c stdlib/environment.h stdlib/environment.def

# The foreign function interface, when there is libffi.
ffi_sources = stdlib/ffi/lib_ffi.c stdlib/ffi/ffi_core.h stdlib/ffi/ffi_basic.def stdlib/ffi/ffi_types.c stdlib/ffi/ffi_layout.c \
	stdlib/ffi/ffi_keywords.def stdlib/ffi/ffi_lexer.h stdlib/ffi/ffi_lexer.c stdlib/ffi/ffi_parser.h stdlib/ffi/ffi_parser.c \
	stdlib/ffi/ffi_specifiers.c stdlib/ffi/ffi_record.c stdlib/ffi/ffi_declarator.c stdlib/ffi/ffi_expression.c \
	stdlib/ffi/ffi_convert.c stdlib/ffi/ffi_initialize.c stdlib/ffi/ffi_cdata.c stdlib/ffi/ffi_arith.c \
	stdlib/ffi/ffi_abi.c stdlib/ffi/ffi_call.h stdlib/ffi/ffi_call.c stdlib/ffi/ffi_callback.c stdlib/ffi/ffi_library.c
if HAVE_FFI
libstdlib_a_SOURCES += $(ffi_sources)
else
EXTRA_DIST += $(ffi_sources)
endif
libstdlib_a_CFLAGS = $(AM_CFLAGS) $(LIBFFI_CFLAGS) $(PGO_CFLAGS)
