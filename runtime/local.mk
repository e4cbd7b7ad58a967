# Values, heap, collector, domains. Uses eventring only.

noinst_LIBRARIES += libruntime.a
libruntime_a_SOURCES =
libruntime_a_SOURCES += runtime/str.h runtime/str.c runtime/number.c
libruntime_a_SOURCES += runtime/object.h runtime/domain.h runtime/metamethods.def runtime/table.h runtime/table.c runtime/trace.h runtime/trace.c runtime/events.def runtime/lua.h runtime/luaconf.h
