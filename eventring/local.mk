# SPDX-License-Identifier: MIT
# libeventring: knows nothing of Lua; libc and pthread only.

# format: the layout of a file and what both sides need. producer and reader know it and not each
# other; self.c and trigger know both. tools know the public headers and analysis only.
eventring_sources = \
	eventring/format/format.h eventring/format/header.h eventring/format/array.h eventring/format/table.h eventring/format/now.h \
	eventring/format/law.h eventring/format/records.def eventring/format/records.h \
	eventring/format/records.c \
	eventring/format/atomics.h eventring/format/sized.h eventring/format/reasons.h eventring/format/samples.h \
	eventring/format/clock.h eventring/format/clock.c eventring/format/control.h \
	eventring/format/control.c \
	eventring/format/error.h eventring/format/error.c eventring/format/guard.h \
	eventring/format/guard.c \
	eventring/format/process.h eventring/format/process.c eventring/format/lent_memory.h \
	eventring/format/checksum.h eventring/format/checksum.c eventring/format/cpu.h \
	eventring/format/packed.h eventring/format/packed.c \
	eventring/format/text.h eventring/format/text.c eventring/format/unlink_same.h \
	eventring/format/unlink_same.c eventring/format/copy_file.h eventring/format/state_directory.h eventring/format/directory.h \
	eventring/format/directory.c eventring/format/rename_new.h eventring/format/rename_new.c \
	eventring/format/span_stack.h eventring/format/span_stack.c \
	eventring/format/builtins.h eventring/format/builtins.c \
	eventring/conditions/scan.h eventring/conditions/scan.c eventring/conditions/condition.c \
	eventring/conditions/trigger_text.h eventring/conditions/trigger_text.c \
	eventring/producer/watch.h eventring/producer/watch.c \
	eventring/producer/triggers.h eventring/producer/triggers.c \
	eventring/reader/parts.h eventring/reader/parts.c \
	eventring/trigger/helper.h eventring/trigger/helper.c eventring/trigger/save.c \
	eventring/producer/lock.h eventring/producer/lock.c eventring/producer/classes.h \
	eventring/producer/classes.c \
	eventring/producer/leaf_spans.h eventring/producer/leaf_spans.c \
	eventring/producer/open_spans.h eventring/producer/open_spans.c \
	eventring/producer/totals.h eventring/producer/totals.c \
	eventring/producer/block_source.h \
	eventring/producer/descriptor.h eventring/producer/descriptor.c \
	eventring/producer/extents.h eventring/producer/extents.c eventring/producer/record_blocks.h \
	eventring/producer/record_blocks.c \
	eventring/producer/calibration.c eventring/producer/deletion.c \
	eventring/producer/ending.c eventring/producer/gate.c \
	eventring/producer/outside.h eventring/producer/outside.c \
	eventring/producer/kept.c eventring/producer/recording_file.c \
	eventring/producer/stacks.h eventring/producer/stacks.c eventring/producer/heap_profile.h \
	eventring/producer/heap_profile.c eventring/producer/allocations.h eventring/producer/allocations.c \
	eventring/producer/file_name.h eventring/producer/file_name.c \
	eventring/producer/lane.h eventring/producer/lane.c eventring/producer/space.h \
	eventring/producer/space.c \
	eventring/producer/stream.h eventring/producer/stream.c \
	eventring/producer/recording.h eventring/producer/recording.c eventring/producer/ring.h \
	eventring/producer/growth.h eventring/producer/growth.c eventring/producer/ring.c \
	eventring/producer/room.h eventring/producer/room.c \
	eventring/producer/catalogue.h eventring/producer/catalogue.c \
	eventring/producer/producer.h eventring/producer/producer.c \
	eventring/producer/redact.c eventring/producer/redact.h eventring/producer/register.c \
	eventring/producer/domains.h eventring/producer/domains.c \
	eventring/producer/thread_exit.h eventring/producer/thread_exit.c \
	eventring/producer/off_cpu.h eventring/producer/off_cpu.c \
	eventring/producer/traces.h eventring/producer/traces.c \
	eventring/producer/config.h eventring/producer/config.c \
	eventring/producer/follow.h eventring/producer/follow.c eventring/producer/state.c \
	eventring/producer/lend.c eventring/producer/question.c eventring/reader/ask.c \
	eventring/producer/footprint.h eventring/producer/footprint.c \
	eventring/producer/pages.h eventring/producer/pages.c \
	eventring/reader/footprints.c eventring/reader/control_page.h \
	eventring/reader/control_page.c \
	eventring/format/profile_parts.h eventring/format/profile_parts.c \
	eventring/producer/replace.h eventring/producer/replace.c \
	eventring/producer/profiles.h eventring/producer/profiles.c \
	eventring/producer/last_stack.h eventring/producer/last_stack.c \
	eventring/reader/last_stack.h eventring/reader/last_stack.c \
	eventring/reader/packed_file.h eventring/reader/packed_file.c \
	eventring/reader/packed_map.h eventring/reader/packed_map.c \
	eventring/reader/unpack.h eventring/reader/unpack.c \
	eventring/reader/window.h eventring/reader/window.c eventring/reader/source.h \
	eventring/reader/source.c \
	eventring/reader/block.h eventring/reader/block.c \
	eventring/reader/decode.h eventring/reader/decode.c \
	eventring/reader/ahead.h eventring/reader/ahead.c \
	eventring/reader/units.h eventring/reader/units.c eventring/reader/live_copy.h \
	eventring/reader/live_copy.c \
	eventring/reader/metadata.h eventring/reader/metadata.c \
	eventring/reader/record_scan.h eventring/reader/record_scan.c \
	eventring/reader/definitions.h eventring/reader/definitions.c \
	eventring/reader/block_cursor.h eventring/reader/block_cursor.c \
	eventring/reader/backwards.h eventring/reader/backwards.c \
	eventring/reader/totals.h eventring/reader/totals.c \
	eventring/reader/ring_reader.h eventring/reader/ring_reader.c \
	eventring/reader/delivery.h eventring/reader/delivery.c eventring/reader/run.h \
	eventring/reader/batch.c eventring/reader/cursor.h \
	eventring/reader/cursor.c \
	eventring/reader/inspect.c eventring/reader/end_check.c \
	eventring/reader/locate.h eventring/reader/locate.c \
	eventring/reader/snapshot.c eventring/reader/saver_write.c eventring/reader/remove.c eventring/reader/remote.c \
	eventring/reader/process_directory.h eventring/reader/process_directory.c \
	eventring/reader/saver.h eventring/reader/saver.c eventring/reader/saver_stream.c \
	eventring/reader/saver_records.c eventring/reader/saver_front.c \
	eventring/reader/saver_strip.c eventring/reader/saver_merge.h \
	eventring/reader/saver_merge.c eventring/reader/saver_merge_events.c \
	eventring/reader/saver_merge_memory.c eventring/reader/saver_merge_records.c \
	eventring/reader/wait.c eventring/reader/stacks.h eventring/reader/stacks.c \
	eventring/reader/heaps.c eventring/reader/profiles.c \
	eventring/calls/lines.h eventring/calls/lines.c eventring/calls/segments.h \
	eventring/calls/segments.c eventring/calls/trie.c eventring/calls/nodes.c eventring/calls/flat.c \
	eventring/calls/trie_merge.c eventring/calls/inside.h eventring/calls/collector.h eventring/calls/collector.c \
	eventring/self.c

# As <eventring.h> and <eventring/probe.h>, here and where it is installed.
include_HEADERS = eventring/include/eventring.h
eventringincludedir = $(includedir)/eventring
eventringinclude_HEADERS = eventring/include/eventring/types.h eventring/include/eventring/probe.h \
	eventring/include/eventring/word.h eventring/include/eventring/read.h \
	eventring/include/eventring/tools.h eventring/include/eventring/saver.h \
	eventring/include/eventring/calls.h eventring/include/eventring/conditions.h \
	eventring/include/eventring/introspection.h eventring/include/eventring/question.h \
	eventring/include/eventring/memory.h eventring/include/eventring/footprint.h eventring/include/eventring/stack.h \
	eventring/include/eventring/trace.h

lib_LTLIBRARIES += libeventring.la
libeventring_la_SOURCES = $(eventring_sources)
libeventring_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden $(FIRST_CFLAGS)
libeventring_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -Wl,-z,nodelete \
	-Wl,--version-script=$(top_srcdir)/eventring/eventring.map $(FIRST_EVENTRING)
EXTRA_libeventring_la_DEPENDENCIES = $(top_srcdir)/eventring/eventring.map $(first_eventring)

noinst_LIBRARIES += libeventring_host.a
libeventring_host_a_SOURCES = $(eventring_sources) \
	eventring/symbols/symbols.c eventring/symbols/symbols.h
libeventring_host_a_CFLAGS = $(AM_CFLAGS)

# What tools compute from events and how they write it, on the public headers alone. A
# tool links it and decides what an error means.
noinst_LIBRARIES += libanalysis.a
libanalysis_a_SOURCES = \
	eventring/analysis/compare.c eventring/analysis/compare.h \
	eventring/analysis/call_rows.c eventring/analysis/call_rows.h \
	eventring/analysis/call_sum.c eventring/analysis/call_sum.h \
	eventring/analysis/ending.c eventring/analysis/ending.h \
	eventring/analysis/heap_sites.c eventring/analysis/heap_sites.h \
	eventring/analysis/frames.c eventring/analysis/frames.h \
	eventring/analysis/gaps.c eventring/analysis/gaps.h \
	eventring/analysis/gc_clock.c eventring/analysis/gc_clock.h \
	eventring/analysis/histogram.c eventring/analysis/histogram.h \
	eventring/analysis/json.c eventring/analysis/json.h \
	eventring/analysis/link_order.c \
	eventring/analysis/links.c eventring/analysis/links.h \
	eventring/analysis/links_table.h \
	eventring/analysis/lives.c eventring/analysis/reach.h eventring/analysis/lives.h \
	eventring/analysis/names.c eventring/analysis/names.h \
	eventring/analysis/read_all.c eventring/analysis/read_all.h \
	eventring/analysis/rules.c eventring/analysis/rules.h eventring/analysis/saturating.h \
	eventring/analysis/shares.c eventring/analysis/shares.h \
	eventring/analysis/so_far.c eventring/analysis/so_far.h \
	eventring/analysis/steps.c eventring/analysis/steps.h \
	eventring/analysis/tally.c eventring/analysis/tally.h \
	eventring/analysis/tally_lives.c eventring/analysis/tally_lives.h \
	eventring/analysis/top.c eventring/analysis/top.h eventring/analysis/traces.h \
	eventring/analysis/nearest.c eventring/analysis/nearest.h \
	eventring/analysis/figures.c eventring/analysis/figures.h \
	eventring/analysis/usage.c eventring/analysis/usage.h

# Reads the stacks of other processes, through <eventring/introspection.h>.
noinst_LIBRARIES += libremote.a
libremote_a_SOURCES = \
	eventring/remote/activity.c eventring/remote/activity.h \
	eventring/remote/coroutines.c eventring/remote/coroutines.h \
	eventring/remote/elf.c eventring/remote/elf.h \
	eventring/remote/forbidden.c eventring/remote/forbidden.h \
	eventring/remote/frame_fields.h \
	eventring/remote/functions.c eventring/remote/functions.h \
	eventring/remote/host.c eventring/remote/host.h \
	eventring/remote/process_memory.c eventring/remote/process_memory.h \
	eventring/remote/module_names.c eventring/remote/module_names.h \
	eventring/remote/mappings.c eventring/remote/mappings.h \
	eventring/remote/plan.c eventring/remote/plan.h \
	eventring/remote/search.c eventring/remote/search.h \
	eventring/remote/stack_read.c eventring/remote/stack_read.h \
	eventring/remote/tasks.c eventring/remote/tasks.h \
	eventring/remote/variables.c eventring/remote/variables.h

# Recordings in the formats of other tools, on the public headers and the analysis.
noinst_LIBRARIES += libexport.a
libexport_a_SOURCES = \
	eventring/export/export.h eventring/export/formats.def eventring/export/folded.c \
	eventring/export/pprof.c eventring/export/speedscope.c \
	eventring/export/same_names.c eventring/export/same_names.h \
	eventring/export/bound.c eventring/export/bound.h \
	eventring/export/callgrind.c eventring/export/dot.c eventring/export/svg.c \
	eventring/export/paths.c eventring/export/paths.h \
	eventring/export/chrome.c eventring/export/csv.c eventring/export/ctf.c eventring/export/event_formats.h \
	eventring/export/faces.c eventring/export/faces.h eventring/export/out.c \
	eventring/export/metrics.c eventring/export/metrics.h eventring/export/metrics.def \
	eventring/export/openmetrics.c eventring/export/out.h eventring/export/perfetto.c eventring/export/processes.c eventring/export/processes.h \
	eventring/export/otlp.def eventring/export/otlp_batch.c eventring/export/otlp_batch.h \
	eventring/export/otlp_ids.c eventring/export/otlp_ids.h \
	eventring/export/otlp_resource.c eventring/export/otlp_resource.h \
	eventring/export/otlp_metrics.c eventring/export/otlp_profiles.c \
	eventring/export/otlp_records.c eventring/export/otlp_spans.c eventring/export/otlp_spans.h \
	eventring/export/otlp_traces.c eventring/export/otlp_traces.h \
	eventring/export/otlp_write.c eventring/export/otlp_write.h \
	eventring/export/protobuf.h \
	eventring/export/grouped.c eventring/export/grouped.h \
	eventring/export/kept_rows.c eventring/export/kept_rows.h \
	eventring/export/rows.c eventring/export/rows.h eventring/export/sql.c \
	eventring/export/strings.h \
	eventring/export/sql.h eventring/export/sqlite.c \
	eventring/export/tables.def \
	eventring/export/text_write.c eventring/export/text_write.h eventring/export/tracks.c \
	eventring/export/tracks.h
libexport_a_CFLAGS = $(AM_CFLAGS) $(ZLIB_CFLAGS) $(SQLITE_CFLAGS)

# The page that shows a run (eventring/view/DATA.md): its sections, on the public headers, the
# analysis and the tracks of the exporters.
noinst_LIBRARIES += libview.a
libview_a_SOURCES = \
	eventring/view/buckets.c eventring/view/buckets.h \
	eventring/view/cells.c eventring/view/cells.h eventring/view/cells_rows.h \
	eventring/view/cells_write.c \
	eventring/view/events.c eventring/view/events.h \
	eventring/view/grid.h \
	eventring/view/lists.c eventring/view/lists.h \
	eventring/view/losses.c \
	eventring/view/moments.c eventring/view/moments.h \
	eventring/view/pauses.c eventring/view/pauses.h \
	eventring/view/page.c eventring/view/page.h \
	eventring/view/part.h \
	eventring/view/cell_array.h \
	eventring/view/section.c eventring/view/section.h \
	eventring/view/share.c eventring/view/share.h \
	eventring/view/spans.c eventring/view/spans.h \
	eventring/view/spans_queue.c eventring/view/spans_queue.h \
	eventring/view/values.c eventring/view/values.h
libview_a_CFLAGS = $(AM_CFLAGS) $(ZLIB_CFLAGS)

# The text of the page, put together of its files; page.c has it in it.
view_scripts = eventring/view/format.js eventring/view/source.js eventring/view/model.js \
	eventring/view/selection.js eventring/view/figures.js eventring/view/trees.js \
	eventring/view/spans.js eventring/view/dom.js eventring/view/canvas.js \
	eventring/view/heatmap.js eventring/view/answers.js eventring/view/overview.js eventring/view/lanes.js \
	eventring/view/describe.js eventring/view/timeline_draw.js eventring/view/timeline.js \
	eventring/view/flame.js eventring/view/lines.js eventring/view/pauses.js \
	eventring/view/tables.js eventring/view/keyboard.js eventring/view/main.js
view_files = eventring/view/page.html eventring/view/page.css $(view_scripts)
EXTRA_DIST += $(view_files) eventring/view/page.awk eventring/view/DATA.md
CLEANFILES += eventring/view/page.made
eventring/view/page.made: $(view_files) eventring/view/page.awk eventring/local.mk
	$(AM_V_GEN)$(MKDIR_P) eventring/view && rm -f $@ && \
	scripts= && for file in $(view_scripts); do scripts="$$scripts $(srcdir)/$$file"; done && \
	$(AWK) -v style=$(srcdir)/eventring/view/page.css -v scripts="$$scripts" \
	  -f $(srcdir)/eventring/view/page.awk $(srcdir)/eventring/view/page.html >$@.new && \
	mv $@.new $@
eventring/view/libview_a-page.$(OBJEXT): eventring/view/page.made

# What the command needs beyond libc, and the public headers.
noinst_LIBRARIES += libeventring_tools.a
libeventring_tools_a_SOURCES = \
	eventring/tools/writer/writer.h eventring/tools/writer/writer.c \
	eventring/tools/writer/backend.h eventring/tools/writer/backend.c \
	eventring/tools/writer/writer_serial.c eventring/tools/writer/writer_threads.c \
	eventring/tools/writer/writer_aio.c \
	eventring/tools/writer/pack.h eventring/tools/writer/pack.c
libeventring_tools_a_CPPFLAGS = $(SEE_EVENTRING_INSIDE)
libeventring_tools_a_CFLAGS = $(AM_CFLAGS) $(LIBZSTD_CFLAGS)

# The command. Argument parsing and printing only; all reading is the library's.
bin_PROGRAMS += eventring/eventring
eventring_eventring_SOURCES = \
	eventring/tools/dead.c eventring/tools/dead.h \
	eventring/tools/await.c eventring/tools/await.h eventring/tools/class_list.c eventring/tools/class_list.h \
	eventring/tools/name_choice.c eventring/tools/name_choice.h \
	eventring/tools/command_fifo.c eventring/tools/command_fifo.h \
	eventring/tools/cmd_check.c eventring/tools/cmd_clean.c eventring/tools/cmd_control.c \
	eventring/tools/control_status.h eventring/tools/control_status.c \
	eventring/tools/heap_diff.c eventring/tools/heap_diff.h \
	eventring/tools/cmd_export.c eventring/tools/cmd_heap.c eventring/tools/heap_export.c \
	eventring/tools/heap_export.h eventring/tools/heap_query.c \
	eventring/tools/heap_query.h eventring/tools/heap_view.c eventring/tools/heap_view.h \
	eventring/tools/cmd_cut.c eventring/tools/cmd_dump.c eventring/tools/cmd_list.c \
	eventring/tools/cmd_merge.c eventring/tools/cmd_profile.c eventring/tools/cmd_record.c \
	eventring/tools/cmd_sql.c \
	eventring/tools/cmd_show.c eventring/tools/cmd_snapshot.c eventring/tools/cmd_stats.c \
	eventring/tools/line_notes.c eventring/tools/line_notes.h \
	eventring/tools/cmd_serve.c eventring/tools/serve_child.c eventring/tools/serve_child.h \
	eventring/tools/serve_page.c eventring/tools/serve_page.h \
	eventring/tools/cmd_metrics.c eventring/tools/gather.c eventring/tools/gather.h \
	eventring/tools/live_processes.c eventring/tools/live_processes.h \
	eventring/tools/sample.c eventring/tools/sample.h \
	eventring/tools/start.c eventring/tools/start.h \
	eventring/tools/sample_tree.c eventring/tools/sample_tree.h \
	eventring/tools/time_profile.h eventring/tools/profile_view.h \
	eventring/tools/profile_view.c eventring/tools/profile_tree.c \
	eventring/tools/profile_export.c \
	eventring/tools/profile_diff.c eventring/tools/profile_diff.h \
	eventring/tools/sample_diff.c eventring/tools/sample_diff.h \
	eventring/tools/diff_match.c eventring/tools/diff_match.h \
	eventring/tools/diff_rows.c eventring/tools/diff_rows.h \
	eventring/tools/perf_text.c eventring/tools/perf_text.h \
	eventring/tools/perf_merge.c eventring/tools/perf_merge.h \
	eventring/tools/sample_self.c eventring/tools/sample_self.h \
	eventring/tools/last_stacks.c eventring/tools/last_stacks.h \
	eventring/tools/coroutine_groups.c eventring/tools/coroutine_groups.h \
	eventring/tools/remote_frames.c eventring/tools/remote_frames.h \
	eventring/tools/cmd_coroutines.c \
	eventring/tools/coroutines_export.c eventring/tools/coroutines_export.h \
	eventring/tools/coroutines_file.c eventring/tools/coroutines_file.h \
	eventring/tools/cmd_stack.c eventring/tools/cmd_strip.c eventring/tools/ask.h eventring/tools/ask.c \
	eventring/tools/cmd_memory.c eventring/tools/memory_lines.c eventring/tools/memory_lines.h \
	eventring/tools/smaps.c eventring/tools/smaps.h \
	eventring/tools/child_answer.h eventring/tools/child_answer.c \
	eventring/tools/domain_state.h eventring/tools/domain_state.c \
	eventring/tools/retain_answer.h eventring/tools/retain_answer.c \
	eventring/tools/cmd_retain.c eventring/tools/cmd_pauses.c eventring/tools/cmd_spans.c \
	eventring/tools/pause_frames.c eventring/tools/pause_frames.h \
	eventring/tools/cmd_autopsy.c eventring/tools/autopsy.h eventring/tools/autopsy_last.c \
	eventring/tools/autopsy_views.c \
	eventring/tools/events_export.c eventring/tools/events_export.h \
	eventring/tools/formats.c eventring/tools/formats.h \
	eventring/tools/cmd_diff.c eventring/tools/runs.c eventring/tools/runs.h \
	eventring/tools/run_pairs.c eventring/tools/run_pairs.h \
	eventring/tools/signals.c eventring/tools/signals.h \
	eventring/tools/parents.c eventring/tools/parents.h \
	eventring/tools/query.c eventring/tools/query.h \
	eventring/tools/commands.def eventring/tools/dump_format.c eventring/tools/dump_format.h \
	eventring/tools/command.c eventring/tools/eventring.c \
	eventring/tools/launch.c eventring/tools/launch.h \
	eventring/tools/options.c eventring/tools/options.h eventring/tools/search_path.c \
	eventring/tools/examples.def \
	eventring/tools/search_path.h \
	eventring/tools/copy.c eventring/tools/copy.h \
	eventring/tools/new_file.c eventring/tools/new_file.h \
	eventring/tools/merge.h eventring/tools/merge.c \
	eventring/tools/file_names.c eventring/tools/file_names.h \
	eventring/tools/output.c eventring/tools/output.h \
	eventring/tools/recorder.c eventring/tools/recorder.h \
	eventring/tools/record_summary.c eventring/tools/record_summary.h \
	eventring/tools/group.c eventring/tools/group.h \
	eventring/tools/reader.c eventring/tools/reader.h eventring/tools/text_table.c \
	eventring/tools/time_window.c eventring/tools/time_window.h \
	eventring/tools/cmd_view.c eventring/tools/view_head.c eventring/tools/view_page.h \
	eventring/tools/view_parts.def \
	eventring/tools/view_stacks.c eventring/tools/view_stacks.h \
	eventring/tools/view_recorded.c eventring/tools/view_recorded.h \
	eventring/tools/view_samples.c eventring/tools/view_samples.h \
	eventring/tools/view_figures.c eventring/tools/view_figures.h \
	eventring/tools/view_tables.c eventring/tools/view_tables.h \
	eventring/tools/view_source.c \
	eventring/tools/cmd_top.c eventring/tools/top_child.c eventring/tools/top_child.h \
	eventring/tools/top_detail.c eventring/tools/top_detail.h \
	eventring/tools/top_list.c eventring/tools/top_list.h \
	eventring/tools/top_process.c eventring/tools/top_process.h \
	eventring/tools/top_screen.c eventring/tools/top_screen.h \
	eventring/tools/top_terminal.c eventring/tools/top_terminal.h \
	eventring/tools/text_table.h eventring/tools/view.c eventring/tools/view.h \
	eventring/tools/shared_views.c eventring/tools/shared_views.h \
	eventring/tools/tally_print.h eventring/tools/tally_choice.c eventring/tools/tally_views.c \
	eventring/tools/tool.c eventring/tools/tool.h
# The page of serve, where the assembler finds it; serve_page.c has it in it.
EXTRA_DIST += eventring/tools/serve_page.html
CLEANFILES += eventring/tools/serve_page.made
eventring/tools/serve_page.made: eventring/tools/serve_page.html
	$(AM_V_GEN)$(MKDIR_P) eventring/tools && cp $(srcdir)/eventring/tools/serve_page.html $@.new && \
	mv $@.new $@
eventring/tools/eventring-serve_page.$(OBJEXT): eventring/tools/serve_page.made
eventring_eventring_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(NCURSES_CFLAGS) $(MICROHTTPD_CFLAGS)
eventring_eventring_LDADD = libeventring_tools.a libremote.a libview.a libexport.a \
	libanalysis.a $(LINK_EVENTRING) \
	$(LIBZSTD_LIBS) $(ZLIB_LIBS) $(SQLITE_LIBS) $(JANSSON_LIBS) $(NCURSES_LIBS) $(MICROHTTPD_LIBS) \
	$(PROGRAM_LIBS)

# What the tests of the command record with, and its statistics alone.
check_PROGRAMS += testsuite/tools/producer
testsuite_tools_producer_SOURCES = testsuite/tools/sample_producer.c
testsuite_tools_producer_CPPFLAGS = $(SEE_EVENTRING_INSIDE)
testsuite_tools_producer_LDADD = $(LINK_EVENTRING)
check_PROGRAMS += testsuite/tools/renamed_host
testsuite_tools_renamed_host_CPPFLAGS = $(SEE_EVENTRING)
testsuite_tools_renamed_host_LDADD = $(LINK_EVENTRING)
check_PROGRAMS += testsuite/tools/traced_host
testsuite_tools_traced_host_CPPFLAGS = $(SEE_EVENTRING)
testsuite_tools_traced_host_LDADD = $(LINK_EVENTRING)
# Records what a script says, at the times that it says.
check_PROGRAMS += testsuite/tools/timed_host
testsuite_tools_timed_host_CPPFLAGS = $(WITH_TEST_CLOCK) -DEVENTRING_TESTPOINTS
testsuite_tools_timed_host_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=read
testsuite_tools_timed_host_LDADD = testsuite/unit/libtest_eventring.a
check_PROGRAMS += testsuite/tools/sample_heap
testsuite_tools_sample_heap_CPPFLAGS = $(SEE_EVENTRING)
testsuite_tools_sample_heap_LDADD = $(LINK_EVENTRING) -lm
# Support program: answers questions with lies.
check_PROGRAMS += testsuite/tools/retain_target
testsuite_tools_retain_target_CPPFLAGS = $(SEE_EVENTRING)
testsuite_tools_retain_target_LDADD = $(LINK_EVENTRING)
if HAVE_CMOCKA
check_PROGRAMS += testsuite/tools/tally_test
testsuite_tools_tally_test_LDADD = libanalysis.a $(LINK_EVENTRING) $(CMOCKA_LIBS)
check_PROGRAMS += testsuite/tools/export_text_test
testsuite_tools_export_text_test_LDADD = libexport.a libanalysis.a $(LINK_EVENTRING) $(CMOCKA_LIBS) -lm
check_PROGRAMS += testsuite/tools/grouped_test
testsuite_tools_grouped_test_SOURCES = testsuite/tools/grouped_test.c testsuite/unit/draw.h
testsuite_tools_grouped_test_CPPFLAGS = $(SEE_EVENTRING_INSIDE) $(CMOCKA_CFLAGS)
testsuite_tools_grouped_test_LDADD = libexport.a libanalysis.a $(LINK_EVENTRING) $(CMOCKA_LIBS) -lm
check_PROGRAMS += testsuite/tools/tally_batch_test
testsuite_tools_tally_batch_test_LDADD = libanalysis.a $(LINK_EVENTRING) $(CMOCKA_LIBS)
check_PROGRAMS += testsuite/tools/intervals_test
testsuite_tools_intervals_test_CPPFLAGS = $(WITH_TEST_CLOCK) -DEVENTRING_TESTPOINTS $(CMOCKA_CFLAGS)
testsuite_tools_intervals_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=read
testsuite_tools_intervals_test_LDADD = libanalysis.a testsuite/unit/libtest_eventring.a $(CMOCKA_LIBS)
check_PROGRAMS += testsuite/tools/writer_test
testsuite_tools_writer_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=write_backend_open \
	-Wl,--wrap=pwrite
testsuite_tools_writer_test_LDADD = libeventring_tools.a $(CMOCKA_LIBS)
check_PROGRAMS += testsuite/tools/analysis_test
testsuite_tools_analysis_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc
testsuite_tools_analysis_test_LDADD = libanalysis.a $(LINK_EVENTRING) $(CMOCKA_LIBS) -lm
endif

pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = eventring/eventring.pc

# For find_package of CMake. (vm/local.mk has that of the interpreter's library.)
eventringcmakedir = $(libdir)/cmake/eventring
nodist_eventringcmake_DATA = eventring/cmake/eventring-config.cmake \
	eventring/cmake/eventring-config-version.cmake
EXTRA_DIST += eventring/cmake/eventring-config.cmake.in eventring/cmake/version.cmake.in \
	vm/cmake/saros-config.cmake.in
CLEANFILES += $(nodist_eventringcmake_DATA)
fill_cmake = $(AM_V_GEN)$(MKDIR_P) $(@D) && sed -e 's|[@]VERSION@|$(VERSION)|' \
	-e "s|[@]LIB_TO_INCLUDE@|`realpath -m --relative-to='$(libdir)' '$(includedir)'`|" \
	-e "s|[@]SAROS_ARCHIVE_LIBS@|`set -- $(SAROS_ARCHIVE_LIBS); IFS=';'; echo \"$$*\"`|"
eventring/cmake/eventring-config.cmake: eventring/cmake/eventring-config.cmake.in Makefile
	$(fill_cmake) $(srcdir)/eventring/cmake/eventring-config.cmake.in >$@
eventring/cmake/eventring-config-version.cmake: eventring/cmake/version.cmake.in Makefile
	$(fill_cmake) $(srcdir)/eventring/cmake/version.cmake.in >$@

# Completion, made of commands.def.
bashcompdir = $(datadir)/bash-completion/completions
bashcomp_DATA = eventring/completion/eventring
zshcompdir = $(datadir)/zsh/site-functions
zshcomp_DATA = eventring/completion/_eventring
CLEANFILES += eventring/completion/eventring eventring/completion/_eventring
EXTRA_DIST += eventring/completion/eventring.bash.in eventring/completion/eventring.zsh.in
COMMANDS_DEF = $(srcdir)/eventring/tools/commands.def

eventring/completion/eventring: eventring/completion/eventring.bash.in $(COMMANDS_DEF)
	$(AM_V_GEN)$(MKDIR_P) eventring/completion && \
	commands=`sed -n 's/^COMMAND(\([a-z]*\),.*/\1/p' $(COMMANDS_DEF) | tr '\n' ' '` && \
	sed "s/@COMMANDS@/$$commands/; s/  *--help/ --help/" \
	  $(srcdir)/eventring/completion/eventring.bash.in >$@

eventring/completion/_eventring: eventring/completion/eventring.zsh.in $(COMMANDS_DEF)
	$(AM_V_GEN)$(MKDIR_P) eventring/completion && \
	sed -n "s/^COMMAND(\([a-z]*\), \"[^\"]*\", \"\(.*\)\")/    '\1:\2'/p" $(COMMANDS_DEF) >$@.list && \
	sed -e "/@DESCRIPTIONS@/{r $@.list" -e 'd}' $(srcdir)/eventring/completion/eventring.zsh.in >$@ && \
	rm -f $@.list

EXTRA_DIST += eventring/eventring.map
