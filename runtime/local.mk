# SPDX-License-Identifier: MIT
# Values, heap, collector, domains. Uses eventring only.

noinst_LIBRARIES += libruntime.a
libruntime_a_SOURCES =
libruntime_a_SOURCES += runtime/str.h runtime/str.c runtime/number.h runtime/number.c
libruntime_a_SOURCES += runtime/object.h runtime/position.h runtime/known_names.h runtime/metamethods.def runtime/known_names.def runtime/table.h runtime/table.c runtime/assumed.h runtime/assumed.c runtime/probes.h runtime/probes.c runtime/events.def include/lua.h include/luaconf.h
libruntime_a_SOURCES += runtime/mappings.h runtime/mappings.c runtime/mapping_ahead.h runtime/mapping_ahead.c runtime/heap.h runtime/heap_internal.h runtime/heap.c runtime/heap_extent.c runtime/heap_large.c runtime/heap_trim.c runtime/heap_hosted.c runtime/heap_measure.h runtime/heap_measure.c runtime/gc.h runtime/gc_inline.h runtime/gc_internal.h runtime/gc.c runtime/gc_barrier.c runtime/gc_external.c runtime/gc_finalize.c runtime/gc_frame.c runtime/gc_mark.c runtime/gc_minor.c runtime/gc_overflow.c runtime/gc_pace.c runtime/gc_records.c runtime/gc_scan.c runtime/gc_ephemeron.c runtime/gc_sweep.c runtime/gc_thread.c runtime/gc_time.h runtime/gc_time.c runtime/gc_weak.c runtime/gc_verify.c
libruntime_a_SOURCES += runtime/func.h runtime/func.c runtime/frame.h runtime/thread.h runtime/thread.c runtime/throw.h runtime/throw.c runtime/runtime_hooks.h runtime/domain.h runtime/domain.c
libruntime_a_SOURCES += runtime/clock.h runtime/context.h runtime/os_thread.h runtime/os_thread.c runtime/peer.h runtime/peer_internal.h runtime/peer.c runtime/peer_wait.c runtime/message.h runtime/message.c runtime/channel.h runtime/channel.c
libruntime_a_SOURCES += runtime/introspection.h runtime/introspection.c
libruntime_a_SOURCES += runtime/footprint.h runtime/footprint.def runtime/footprint.c
libruntime_a_SOURCES += runtime/stress.h runtime/stress.c
libruntime_a_SOURCES += runtime/memprof.def runtime/memprof_kinds.h runtime/memprof.h runtime/memprof_internal.h runtime/memprof.c runtime/memprof_fate.c runtime/memprof_dump.c runtime/memprof_record.c runtime/memprof_random.c runtime/memprof_stack.c runtime/memprof_forget.c runtime/memprof_sites.h runtime/memprof_sites.c
