# The standard library, one library a file. Uses vm and everything below.

noinst_LIBRARIES += libstdlib.a
libstdlib_a_SOURCES =
