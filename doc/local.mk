# SPDX-License-Identifier: MIT
# Documents for people (doc/README.md lists them), and the manual pages made of them.

EXTRA_DIST += doc

man_MANS = doc/eventring.1 doc/eventring.3 doc/eventring.5 doc/saros.1 doc/eventring-conditions.7
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

doc/eventring-conditions.7: doc/CONDITIONS.md doc/man.awk
	$(MAKE_PAGE) -v page=eventring-conditions -v section=7 -v what="the language of conditions on recorded programs" $(top_srcdir)/doc/CONDITIONS.md >$@
