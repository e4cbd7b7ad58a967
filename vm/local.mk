# Compiler, interpreter, C API. Uses runtime and eventring; main.c, the
# program, stands above all libraries.

noinst_LIBRARIES += libvm.a
libvm_a_SOURCES =
libvm_a_CFLAGS = $(AM_CFLAGS) $(VM_OPT_CFLAGS)
