# Values, heap, collector, domains. Uses eventring only.

noinst_LIBRARIES += libruntime.a
libruntime_a_SOURCES =
libruntime_a_SOURCES += runtime/str.h runtime/str.c runtime/number.c
