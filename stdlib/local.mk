# The standard library, one library a file. Uses vm and everything below.

noinst_LIBRARIES += libstdlib.a
libstdlib_a_SOURCES = \
	stdlib/lauxlib.h stdlib/lualib.h stdlib/init.c \
	stdlib/auxlib.c stdlib/auxlib_buffer.c stdlib/auxlib_load.c stdlib/auxlib_trace.c \
	stdlib/lib_base.c \
	stdlib/lib_coroutine.c \
	stdlib/lib_debug.c \
	stdlib/lib_domain.c stdlib/lib_channel.c stdlib/domain_lib.h \
	stdlib/lib_eventring.c \
	stdlib/lib_io.c \
	stdlib/lib_math.c stdlib/math_random.c stdlib/math_random.h \
	stdlib/lib_os.c \
	stdlib/lib_package.c stdlib/require_span.c stdlib/require_span.h \
	stdlib/lib_string.c stdlib/char_class.c stdlib/char_class.h stdlib/integer_text.h \
	stdlib/pattern.h stdlib/pattern_cache.c stdlib/pattern_cache.h stdlib/pattern_compile.c stdlib/pattern_match.c \
	stdlib/string_format.c stdlib/string_format.h stdlib/string_match.c stdlib/string_match.h \
	stdlib/string_pack.c stdlib/string_pack.h stdlib/string_position.h \
	stdlib/lib_table.c stdlib/table_access.h stdlib/table_sort.c \
	stdlib/lib_utf8.c
