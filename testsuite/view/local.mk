# SPDX-License-Identifier: MIT
# make screenshots: the pictures of the page in the documentation, from a real run. Needs node and
# chromium.
screenshots: all
	@cd $$(mktemp -d) && SAROS=$(abs_top_builddir)/saros TESTSUITE=$(abs_top_srcdir)/testsuite && \
	export SAROS TESTSUITE EVENTRING=$(abs_top_builddir)/eventring/eventring && \
	. $$TESTSUITE/view/_pictures.sh && pictures $(abs_top_srcdir)/doc/pictures; \
	status=$$?; rmdir "$$PWD"; exit $$status

# make page-speed: how fast the page is when it is full
page-speed:
	@cd $$(mktemp -d) && for kind in limit full; do \
	  node $(abs_top_srcdir)/testsuite/view/_generate.mjs $$kind $$kind.html || exit 1; \
	done && node $(abs_top_srcdir)/testsuite/view/_speed.mjs chromium limit.html full.html; \
	status=$$?; rm -r "$$PWD"; exit $$status
.PHONY: screenshots page-speed
