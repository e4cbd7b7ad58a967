# SPDX-License-Identifier: MIT
# Documents for people (doc/README.md lists them), and the manual pages made of them.

# All of this folder goes into a distribution: dist-hook in testsuite/local.mk.

man_MANS = doc/eventring.1 doc/eventring.3 doc/eventring.5 doc/eventring-conditions.7
if SAROS
man_MANS += doc/saros.1 doc/sarosc.1 doc/saros-host.1 doc/saros.eventring.3 doc/saros.domain.3 \
	doc/saros.ffi.3 doc/saros.memprof.3 doc/saros.profile.3 doc/saros.retain.3 doc/saros.coroutines.3
endif
CLEANFILES += $(man_MANS)

MAKE_PAGE = $(AM_V_GEN)$(MKDIR_P) doc && $(AWK) -v version=$(VERSION) -f $(top_srcdir)/doc/man.awk

doc/eventring.1: doc/eventring.md doc/man.awk
	$(MAKE_PAGE) -v page=eventring -v section=1 -v what="reads and controls what programs record" $(top_srcdir)/doc/eventring.md >$@

doc/eventring.3: doc/libeventring.md doc/man.awk
	$(MAKE_PAGE) -v page=eventring -v section=3 -v what="flight recorder library" $(top_srcdir)/doc/libeventring.md >$@

doc/eventring.5: doc/FORMAT.md doc/man.awk
	$(MAKE_PAGE) -v page=eventring -v section=5 -v what="format of the files in which programs record" $(top_srcdir)/doc/FORMAT.md >$@

doc/saros.1: doc/saros.md doc/man.awk
	$(MAKE_PAGE) -v page=saros -v section=1 -v what="Lua 5.4 interpreter with a flight recorder" $(top_srcdir)/doc/saros.md >$@

doc/sarosc.1: doc/sarosc.md doc/man.awk
	$(MAKE_PAGE) -v page=sarosc -v section=1 -v what="compiles Lua programs" $(top_srcdir)/doc/sarosc.md >$@

doc/saros-host.1: doc/saros-host.md doc/man.awk
	$(MAKE_PAGE) -v page=saros-host -v section=1 -v what="runs programs that link Lua on Saros" $(top_srcdir)/doc/saros-host.md >$@

doc/eventring-conditions.7: doc/CONDITIONS.md doc/man.awk
	$(MAKE_PAGE) -v page=eventring-conditions -v section=7 -v what="the language of conditions on recorded programs" $(top_srcdir)/doc/CONDITIONS.md >$@

doc/saros.eventring.3: doc/saros.md doc/man.awk
	$(SECTION) -v section="The module saros.eventring" $(top_srcdir)/doc/saros.md | \
	  $(AWK) -v version=$(VERSION) -f $(top_srcdir)/doc/man.awk -v page=saros.eventring -v section=3 -v what="recording and reading events, from Lua" - >$@

doc/saros.retain.3: doc/saros.md doc/man.awk
	$(SECTION) -v section="The module saros.retain" $(top_srcdir)/doc/saros.md | \
	  $(AWK) -v version=$(VERSION) -f $(top_srcdir)/doc/man.awk -v page=saros.retain -v section=3 -v what="who holds the objects of a program, from Lua" - >$@

doc/saros.coroutines.3: doc/saros.md doc/man.awk
	$(SECTION) -v section="The module saros.coroutines" $(top_srcdir)/doc/saros.md | \
	  $(AWK) -v version=$(VERSION) -f $(top_srcdir)/doc/man.awk -v page=saros.coroutines -v section=3 -v what="which coroutines wait, from Lua" - >$@

doc/saros.domain.3: doc/DOMAINS.md doc/man.awk
	$(MAKE_PAGE) -v page=saros.domain -v section=3 -v what="running Lua in parallel" $(top_srcdir)/doc/DOMAINS.md >$@

doc/saros.ffi.3: doc/FFI.md doc/man.awk
	$(MAKE_PAGE) -v page=saros.ffi -v section=3 -v what="C libraries, from Lua" $(top_srcdir)/doc/FFI.md >$@

doc/saros.memprof.3: doc/MEMPROF.md doc/man.awk
	$(MAKE_PAGE) -v page=saros.memprof -v section=3 -v what="samples of allocations, from Lua" $(top_srcdir)/doc/MEMPROF.md >$@

doc/saros.profile.3: doc/PROFILE.md doc/man.awk
	$(MAKE_PAGE) -v page=saros.profile -v section=3 -v what="the profile of all calls" $(top_srcdir)/doc/PROFILE.md >$@

# The pictures of ARCHITECTURE.md, made of their texts. Both are in the tree; who changes a text
# needs dot (Debian package: graphviz).
pictures:
	for picture in parts life; do \
	  dot -Tsvg $(top_srcdir)/doc/pictures/$$picture.dot >$(top_srcdir)/doc/pictures/$$picture.svg || exit 1; \
	done
.PHONY: pictures

# The pages of the subcommands: eventring-NAME(1) is commands/NAME.md.
COMMAND_PAGES = doc/commands/autopsy.md doc/commands/check.md doc/commands/clean.md \
	doc/commands/control.md doc/commands/coroutines.md doc/commands/cut.md doc/commands/diff.md doc/commands/dump.md \
	doc/commands/export.md doc/commands/heap.md doc/commands/list.md doc/commands/memory.md \
	doc/commands/merge.md doc/commands/metrics.md doc/commands/pauses.md doc/commands/profile.md doc/commands/record.md doc/commands/serve.md \
	doc/commands/retain.md doc/commands/show.md doc/commands/snapshot.md doc/commands/spans.md \
	doc/commands/sql.md doc/commands/stack.md doc/commands/stats.md doc/commands/strip.md \
	doc/commands/top.md \
	doc/commands/view.md
SECTION = $(AM_V_GEN)$(MKDIR_P) doc && $(AWK) -f $(top_srcdir)/doc/section.awk
EXTRA_DIST += doc/section.awk
CLEANFILES += doc/commands.stamp doc/eventring-*.1

all-local: doc/commands.stamp
doc/commands.stamp: $(COMMAND_PAGES) doc/man.awk eventring/tools/commands.def
	$(AM_V_GEN)$(MKDIR_P) doc && rm -f doc/eventring-*.1 && \
	sed -n 's/^COMMAND(\([a-z]*\), "\(.*\)", "\(.*\)")/\1\t\2\t\3/p' \
	  $(top_srcdir)/eventring/tools/commands.def | \
	while IFS='	' read -r name operands summary; do \
	  $(AWK) -v name="$$name" -v operands="$$operands" \
	    'NR > 1 { print; next } { print "# " name "\n\n    eventring " name " [OPTIONS] " operands }' \
	    $(top_srcdir)/doc/commands/$$name.md | \
	  $(AWK) -v version=$(VERSION) -f $(top_srcdir)/doc/man.awk -v page="eventring-$$name" \
	    -v section=1 -v what="$$summary" - >doc/eventring-$$name.1 || exit 1; \
	done && touch $@

install-data-local: doc/commands.stamp
	$(MKDIR_P) "$(DESTDIR)$(man1dir)"
	$(INSTALL_DATA) doc/eventring-*.1 "$(DESTDIR)$(man1dir)"

uninstall-local:
	cd doc && for page in eventring-*.1; do rm -f "$(DESTDIR)$(man1dir)/$$page"; done
