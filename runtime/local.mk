# Values, heap, collector, domains. Uses eventring only.

noinst_LIBRARIES += libruntime.a
libruntime_a_SOURCES =
